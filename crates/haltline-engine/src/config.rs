//! Configuration in layers: built-in defaults, then seed 002's file, then the user's file, then the project's (E9,
//! L11).
//!
//! Every key is an entry of [`KEYS`]: its default, its range, who may set it, which direction loosens it and which field
//! of the policy it sets. The file reader, `config show`, the JSON schema and the reference page are all made from those
//! entries. Every hook loads the configuration, so only values that differ from the defaults are kept, and without files
//! nothing is.

mod breaker_file;
mod change;
mod key;
mod keys;
mod layer;
mod money;
mod price;
mod reference;
mod setter;
mod snapshot;

use std::path::{Path, PathBuf};

use haltline_core::trust::{Trust, TrustEvent, Values};
use haltline_core::{Policy, digest_hex};
use serde::{Deserialize, Serialize};

use crate::memory_protection::MemoryLimits;

pub use breaker_file::{BREAKER_FILE, BreakerFile};
pub use change::{ConfigChange, check, set_key, unset_key};
pub use key::{Key, Kind, Looser, Scope, Value};
pub use keys::KEYS;
pub use layer::{ConfigError, Layer};
pub use money::{parse as parse_dollars, show as show_dollars};
pub use price::Price;
pub use reference::{commented_toml, json_schema};
pub use setter::Setter;
pub use snapshot::{ConfigLocations, load_or_compile};

/// Name of a project's own configuration file, in its root.
pub const PROJECT_FILE: &str = ".haltline.toml";

/// What haltline answers when it fails itself (E7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailMode {
    /// The call may run.
    Open,
    /// The call is denied.
    Closed,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Default,
    /// Seed 002's file.
    BreakerFile,
    /// The user's file.
    User(PathBuf),
    /// The project's file.
    Project(PathBuf),
}

/// The value of one key in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static Key,
    pub value: Value,
    pub origin: Origin,
    /// Looser values from files that the operator has not trusted yet.
    pub waiting: Vec<PendingValue>,
}

/// A looser value that takes effect only when the operator trusts the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingValue {
    pub value: Value,
    /// The file that sets it, relative to the project's root.
    pub file: &'static str,
}

/// The configuration in force.
#[derive(Clone, Debug)]
pub struct Config {
    /// Only the keys that a file sets.
    settings: Vec<Setting>,
    policy: Policy,
    /// Path of the project's file, if there is one, and a digest of its content.
    pub project_file: Option<(PathBuf, String)>,
    requested: Option<Values>,
    seen_values_event: Option<TrustEvent>,
    /// Files that were rejected, and why.
    pub errors: Vec<ConfigError>,
    /// Values of seed 002's file that were rejected, and why.
    pub warnings: Vec<ConfigError>,
}

impl Config {
    /// A configuration of values: the policy as given, everything else as built in.
    pub fn from_policy(policy: Policy) -> Self {
        Self {
            settings: Vec::new(),
            policy,
            project_file: None,
            requested: None,
            seen_values_event: None,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the files. A file with an error is ignored whole and listed in `errors`; of seed 002's file only the bad
    /// value is ignored and listed in `warnings`. `trusted` returns what the operator has trusted of the project's
    /// files.
    pub fn load(user_file: &Path, project_root: Option<&Path>, trusted: impl FnOnce() -> Option<Trust>) -> Self {
        let mut config = Self::from_policy(Policy::default());
        let trust = project_root.and_then(|_| trusted());
        if let Some(root) = project_root {
            config.add_breaker_file_layer(root, trust.as_ref().and_then(|trust| trust.limits.as_ref()));
        }
        config.add_layer(Layer::read(user_file, Scope::User), |_setting, _value| true, Origin::User);
        let Some(root) = project_root else { return config };
        let path = root.join(PROJECT_FILE);
        let Some(layer) = Layer::read(&path, Scope::Project).transpose() else { return config };
        let digest = match &layer {
            Ok(layer) => digest_hex(&[&layer.content], 16),
            Err(_unreadable) => String::new(),
        };
        let is_trusted = !digest.is_empty() && trust.is_some_and(|trust| trust.digest.as_ref() == Some(&digest));
        config.add_layer(
            layer.map(Some),
            |setting, value| is_trusted || !setting.key.looser.is_looser(&setting.value, value),
            Origin::Project,
        );
        config.project_file = Some((path, digest));
        config
    }

    /// Adds seed 002's file, or the values that haltline remembers of it.
    fn add_breaker_file_layer(&mut self, root: &Path, seen: Option<&Values>) {
        let file = BreakerFile::read(root);
        if file.is_none() && seen.is_none() {
            return;
        }
        let BreakerFile { values: requested, warnings } = file.unwrap_or_default();
        self.warnings = warnings;
        let (in_force, waiting) = match seen {
            Some(seen) => breaker_file::apply_trust(seen, &requested),
            None => (requested.clone(), Vec::new()),
        };
        for key in KEYS {
            let Some(number) = in_force.get(key.name) else { continue };
            let value = breaker_file::to_value(key, *number);
            key.setter.set(&mut self.policy, &value);
            self.settings.push(Setting { key, value, origin: Origin::BreakerFile, waiting: Vec::new() });
        }
        if !waiting.is_empty() {
            self.requested = Some(requested);
        }
        for (key, value) in waiting {
            self.setting(key).waiting.push(PendingValue { value, file: BREAKER_FILE });
        }
        if seen != Some(&in_force) {
            self.seen_values_event = Some(TrustEvent::LimitsSeen { before: seen.cloned(), values: in_force });
        }
    }

    fn setting(&mut self, key: &'static Key) -> &mut Setting {
        let index = self.settings.iter().position(|setting| setting.key == key).unwrap_or_else(|| {
            self.settings.push(Setting::built_in(key));
            self.settings.len() - 1
        });
        &mut self.settings[index]
    }

    fn add_layer(
        &mut self,
        layer: Result<Option<Layer>, Vec<ConfigError>>,
        may_set: impl Fn(&Setting, &Value) -> bool,
        origin: impl Fn(PathBuf) -> Origin,
    ) {
        let layer = match layer {
            Ok(Some(layer)) => layer,
            Ok(None) => return,
            Err(errors) => return self.errors.extend(errors),
        };
        for (key, value) in layer.values {
            let setting = self.setting(key);
            if may_set(setting, &value) {
                (setting.value, setting.origin) = (value.clone(), origin(layer.path.clone()));
                key.setter.set(&mut self.policy, &value);
            } else {
                setting.waiting.push(PendingValue { value, file: PROJECT_FILE });
            }
        }
    }

    /// All settings in force, in the order of the reference.
    pub fn settings(&self) -> Vec<Setting> {
        KEYS.iter().map(|key| self.configured(key.name).cloned().unwrap_or_else(|| Setting::built_in(key))).collect()
    }

    /// True if the project's file sets looser values that the operator has not trusted.
    pub fn is_waiting_for_trust(&self) -> bool {
        self.settings.iter().flat_map(|setting| &setting.waiting).any(|waiting| waiting.file == PROJECT_FILE)
    }

    /// All values that seed 002's file sets, if some of them are not trusted yet.
    pub fn requested_breaker_values(&self) -> Option<&Values> {
        self.requested.as_ref()
    }

    /// The event that records the values of seed 002's file, if they are new.
    pub fn seen_values_event(&self) -> Option<&TrustEvent> {
        self.seen_values_event.as_ref()
    }

    /// The setting of a key that a file sets.
    fn configured(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }

    fn kind(name: &str) -> &'static Kind {
        let key = KEYS.iter().find(|key| key.name == name);
        &key.expect("only names of KEYS are asked for").kind
    }

    fn number(&self, name: &str) -> u32 {
        match (self.configured(name), Self::kind(name)) {
            (Some(setting), _) => setter::number(&setting.value),
            (None, Kind::Number { default, .. }) => *default,
            (None, _other) => unreachable!("{name} is a number in KEYS"),
        }
    }

    fn text(&self, name: &str) -> &str {
        match (self.configured(name).map(|setting| &setting.value), Self::kind(name)) {
            (Some(Value::Text(text)), _) => text,
            (None, Kind::Choice(choices)) => choices[0],
            (None, Kind::Text(text) | Kind::Folder(text)) => text,
            (Some(_), _) | (None, _) => unreachable!("{name} is a text in KEYS"),
        }
    }

    fn flag(&self, name: &str) -> bool {
        match self.configured(name) {
            Some(setting) => setting.value == Value::Flag(true),
            None => *Self::kind(name) == Kind::Flag(true),
        }
    }

    fn list(&self, name: &str) -> Vec<&str> {
        match (self.configured(name).map(|setting| &setting.value), Self::kind(name)) {
            (Some(Value::List(texts)), _) => texts.iter().map(String::as_str).collect(),
            (None, Kind::List(texts)) => texts.to_vec(),
            // There are no built-in prices and targets.
            (None, Kind::Prices | Kind::Targets) => Vec::new(),
            (Some(_), _) | (None, _) => unreachable!("{name} is a list in KEYS"),
        }
    }

    /// The part of the configuration that decisions depend on.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What haltline answers when it fails itself.
    pub fn fail_mode(&self) -> FailMode {
        if self.text("fail") == "closed" { FailMode::Closed } else { FailMode::Open }
    }

    /// True if haltline interrupts a client that no answer can stop.
    pub fn interrupts(&self) -> bool {
        self.flag("loop.interrupt")
    }

    /// True if operator actions run without a terminal.
    pub fn operator_unattended(&self) -> bool {
        self.flag("operator.unattended")
    }

    /// The size limit of the state folder.
    pub fn state_bytes_max(&self) -> u64 {
        u64::from(self.number("retention.state_mb")) * 1024 * 1024
    }

    /// How long facts are kept.
    pub fn journal_days(&self) -> u32 {
        self.number("retention.journal_days")
    }

    /// How long a command may save its work before it is killed.
    pub fn run_grace_seconds(&self) -> u32 {
        self.number("run.grace_seconds")
    }

    /// True if haltline keeps seed 003's state file up to date.
    pub fn constraint_mirror(&self) -> bool {
        self.flag("constraint.mirror")
    }

    /// The folder of constraint files, relative to the project's root.
    pub fn constraint_directory(&self) -> &str {
        self.text("constraint.directory")
    }

    /// The targets of notifications; empty for none.
    pub fn notify_to(&self) -> Vec<&str> {
        self.list("notify.to")
    }

    /// The command that is run for each trip; empty for none.
    pub fn notify_command(&self) -> Vec<&str> {
        self.list("notify.command")
    }

    /// True if hooks deny edits outside the scope of the current slice.
    pub fn attempt_lock(&self) -> bool {
        self.flag("attempt.lock")
    }

    /// Tools that change the files they name, in addition to the clients' own editing tools.
    pub fn attempt_writers(&self) -> Vec<&str> {
        self.list("attempt.writers")
    }

    /// The URL that trips are posted to; empty for none.
    pub fn notify_webhook(&self) -> &str {
        self.text("notify.webhook")
    }

    /// Prices of models; the first one that matches applies.
    pub fn price_lines(&self) -> Vec<&str> {
        self.list("prices")
    }

    /// The same, parsed.
    pub fn prices(&self) -> Vec<Price> {
        self.list("prices").iter().filter_map(|text| Price::parse(text)).collect()
    }

    /// The folder where an agent keeps telemetry and session states, relative to the project's root.
    pub fn memory_directory(&self) -> &str {
        self.text("memory.directory")
    }

    /// The limits of the memory folder.
    pub fn memory_limits(&self) -> MemoryLimits {
        MemoryLimits {
            telemetry_lines_max: self.number("memory.telemetry_max_lines"),
            telemetry_kb_max: self.number("memory.telemetry_max_kb"),
            telemetry_age_days_max: self.number("memory.telemetry_max_age_days"),
            rotations_kept: self.number("memory.telemetry_keep_rotations"),
            sessions_max: self.number("memory.session_max_active"),
            session_age_days_max: self.number("memory.session_max_age_days"),
            evidence_entries_max: self.number("memory.evidence_ledger_max"),
            tool_history_entries_max: self.number("memory.tool_history_max"),
            ..MemoryLimits::default()
        }
    }
}

impl Setting {
    fn built_in(key: &'static Key) -> Self {
        Self { key, value: key.default_value(), origin: Origin::Default, waiting: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use haltline_core::Mode;
    use haltline_core::loop_::Preset;

    use super::*;

    fn load(user: &str, project: &str, trusted: Option<&str>) -> Config {
        let folder = tempfile::tempdir().expect("temp folder");
        let user_file = folder.path().join("config.toml");
        std::fs::write(&user_file, user).expect("written");
        if !project.is_empty() {
            std::fs::write(folder.path().join(PROJECT_FILE), project).expect("written");
        }
        let digest = trusted.map(|content| digest_hex(&[content.as_bytes()], 16));
        Config::load(&user_file, Some(folder.path()), || Some(Trust { digest, limits: None }))
    }

    /// Loads with seed 002's file and the values that were in force of it before.
    fn load_breaker(breaker: Option<&str>, user: &str, seen: Option<&[(&str, i64)]>) -> Config {
        let folder = tempfile::tempdir().expect("temp folder");
        let user_file = folder.path().join("config.toml");
        std::fs::write(&user_file, user).expect("written");
        if let Some(content) = breaker {
            std::fs::create_dir_all(folder.path().join(".claude/memory")).expect("created");
            std::fs::write(folder.path().join(BREAKER_FILE), content).expect("written");
        }
        let seen = seen.map(|seen| seen.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect());
        Config::load(&user_file, Some(folder.path()), || Some(Trust { digest: None, limits: seen }))
    }

    const LOOSER_LIMITS: &str =
        r#"{"circuit_breakers": {"tool_failure": {"threshold": 9, "cooldown_base_seconds": 60}}}"#;

    #[test]
    fn the_breaker_file_counts_as_first_seen_and_the_users_file_wins_over_it() {
        let first = load_breaker(Some(LOOSER_LIMITS), "", None);
        assert_eq!(first.policy().loop_.tool_failure.threshold, 9);
        assert_eq!((first.requested_breaker_values(), first.errors.len()), (None, 0));
        let Some(TrustEvent::LimitsSeen { before: None, values }) = first.seen_values_event() else {
            panic!("not remembered")
        };
        assert_eq!(values.len(), 2);
        let user = load_breaker(Some(LOOSER_LIMITS), "[loop.tool_failure]\nthreshold = 4\n", None);
        assert_eq!(user.policy().loop_.tool_failure.threshold, 4);
        assert_eq!(user.policy().loop_.tool_failure.cooldown_s, 60);
    }

    #[test]
    fn a_breaker_file_that_loosens_later_waits_and_one_that_tightens_does_not() {
        let seen = [("loop.tool_failure.threshold", 4)];
        let config = load_breaker(Some(LOOSER_LIMITS), "", Some(&seen));
        let pattern = config.policy().loop_.tool_failure;
        assert_eq!((pattern.threshold, pattern.cooldown_s), (4, 60));
        assert!(config.requested_breaker_values().is_some() && !config.is_waiting_for_trust());
        let Some(TrustEvent::LimitsSeen { before: Some(_), values }) = config.seen_values_event() else {
            panic!("not remembered")
        };
        assert_eq!(values["loop.tool_failure.cooldown_base_seconds"], 60);
        let same =
            load_breaker(Some(LOOSER_LIMITS), "", Some(&[seen[0], ("loop.tool_failure.cooldown_base_seconds", 60)]));
        assert_eq!(same.seen_values_event(), None, "nothing new is not written again");
    }

    #[test]
    fn deleting_or_breaking_the_breaker_file_does_not_loosen() {
        for breaker in [None, Some("{ broken"), Some("{}")] {
            let config = load_breaker(breaker, "", Some(&[("loop.tool_failure.threshold", 2)]));
            assert_eq!(config.policy().loop_.tool_failure.threshold, 2, "{breaker:?}");
            assert!(config.requested_breaker_values().is_some_and(Values::is_empty), "{breaker:?}");
        }
    }

    #[test]
    fn without_files_the_defaults_of_the_seed_apply() {
        let config = Config::load(Path::new("/nonexistent/config.toml"), None, || None);
        assert_eq!(*config.policy(), Policy::default());
        assert_eq!((config.errors.len(), config.state_bytes_max()), (0, 64 * 1024 * 1024));
        assert!(config.constraint_mirror() && !config.operator_unattended());
        assert_eq!(config.fail_mode(), FailMode::Open);
        assert_eq!(config.memory_limits(), MemoryLimits::default());
        assert_eq!((config.memory_directory(), config.prices()), (".claude/memory", Vec::new()));
        assert_eq!(config.settings().len(), KEYS.len());
    }

    #[test]
    fn tables_within_tables_dollars_and_prices_are_read() {
        let config = load(
            "prices = [\"big-* 3 15 0.3 3.75\"]\n[loop.tool_failure]\nthreshold = 4\n[loop]\npreset = \"literal\"\n\
             [loop.external_api]\nusd_per_call = 0.05\ncommands = [\"ask.py\"]\n[budget]\nusd_hard = 2.5\ntokens_soft = 9\n",
            "",
            None,
        );
        assert_eq!(config.errors, vec![]);
        let limits = &config.policy().loop_;
        assert_eq!((limits.tool_failure.threshold, limits.preset), (4, Preset::Literal));
        assert_eq!(
            (limits.api.call_micros, limits.api.commands.as_slice()),
            (Some(50_000), &["ask.py".to_owned()][..])
        );
        assert_eq!((limits.budget.micros.hard, limits.budget.micros.soft), (Some(2_500_000), None));
        assert_eq!(limits.budget.tokens.soft, Some(9));
        assert_eq!(config.prices()[0].output, 15_000_000);
    }

    #[test]
    fn a_project_may_not_lift_a_budget_or_switch_a_pattern_off() {
        let user = "[budget]\nusd_hard = 2\n";
        let project = "[budget]\nusd_hard = 0\nturns_hard = 9\n[loop.repeat]\nenabled = false\n";
        let config = load(user, project, None);
        let limits = &config.policy().loop_;
        assert_eq!((limits.budget.micros.hard, limits.budget.turns.hard), (Some(2_000_000), Some(9)));
        assert!(limits.repeat.enabled && config.is_waiting_for_trust());
        assert_eq!(load(user, project, Some(project)).policy().loop_.budget.micros.hard, None);
    }

    #[test]
    fn a_project_tightens_at_once_and_loosens_only_when_trusted() {
        let user = "[constraint]\nviolation_threshold = 6\n";
        let project = "[constraint]\nviolation_threshold = 9\ncooldown_hours = 48\n";
        let config = load(user, project, None);
        assert_eq!(config.policy().constraint.violation_threshold, 6);
        assert_eq!(config.policy().constraint.cooldown_hours, 48);
        assert!(config.is_waiting_for_trust());
        let trusted = load(user, project, Some(project));
        assert_eq!(trusted.policy().constraint.violation_threshold, 9);
        assert!(!trusted.is_waiting_for_trust());
        let changed = load(user, project, Some("other content"));
        assert_eq!(changed.policy().constraint.violation_threshold, 6);
    }

    #[test]
    fn observe_mode_and_a_softer_failure_are_loosening() {
        let config = load("fail = \"closed\"\n", "mode = \"observe\"\nfail = \"open\"\n", None);
        assert_eq!((config.policy().mode, config.fail_mode()), (Mode::Enforce, FailMode::Closed));
    }

    #[test]
    fn a_key_of_the_user_is_rejected_in_a_project_file() {
        let config = load("", "[operator]\nunattended = true\n", None);
        assert!(!config.operator_unattended());
        let message = config.errors[0].to_string();
        assert!(message.contains("operator.unattended") && message.contains("user"), "{message}");
    }

    #[test]
    fn errors_name_the_line_the_key_and_a_suggestion() {
        for (text, expected) in [
            ("[constraint]\nviolation_treshold = 3\n", "did you mean `constraint.violation_threshold`"),
            ("[constraint]\nwindow_days = 0\n", "expected a whole number from 1 to 3650"),
            ("mode = \"obseve\"\n", "expected \"enforce\" or \"observe\""),
            ("mode = 3\n", "expected \"enforce\" or \"observe\""),
            ("[constraint]\nmirror = \"yes\"\n", "expected true or false"),
            ("[notify]\ncommand = \"x\"\n", "expected a list of strings"),
            ("[notify]\nto = [\"slack:no-address\"]\n", "notify.to: expected a list of \"desktop\""),
            ("mode = \n", "line 1"),
            ("constraint = 3\n", "expected a table"),
            ("[retention]\nstate_mb = 1.5\n", "expected a whole number"),
            ("[loop]\ntool_failure = 3\n", "loop.tool_failure: expected a table"),
            ("[loop.tool_failure]\ntreshold = 3\n", "did you mean `loop.tool_failure.threshold`"),
            ("[budget]\nusd_hard = -1\n", "expected dollars from 0.00 to 1000000.00"),
            ("[api]\ncost_warn_usd = 0\n", "expected dollars from 0.01"),
            ("[loop.external_api]\nusd_per_call = \"free\"\n", "or \"unknown\""),
            ("prices = [\"model 1 2\"]\n", "MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE"),
            ("[memory]\ndirectory = \"../..\"\n", "below the project's root"),
        ] {
            let config = load(text, "", None);
            let message = config.errors.first().map(ToString::to_string).unwrap_or_default();
            assert!(message.contains(expected) && !message.contains('\n'), "{text:?} gave {message:?}");
            assert_eq!(*config.policy(), Policy::default(), "a broken file is left out whole");
        }
    }
}
