//! Configuration in layers: built in, then the user's file, then the project's (E9).
//!
//! Every key is a row of [`KEYS`]: its default, its range, who may set it and which way it loosens. The file
//! reader, `config show`, the JSON schema and the reference page are all made from those rows. Every hook loads the
//! configuration, so only what differs from what is built in is kept, and without files nothing is.

mod key;
mod keys;
mod layer;
mod money;
mod policy;
mod price;
mod reference;

use std::path::{Path, PathBuf};

use haltline_core::{Policy, digest_hex};

use crate::memory_protection::MemoryLimits;

pub use key::{Key, Kind, Looser, Scope, Value};
pub use keys::KEYS;
pub use layer::{ConfigError, Layer};
pub use money::show as show_dollars;
pub use price::Price;
pub use reference::{commented_toml, json_schema};

/// The name of a project's own file, in its root.
pub const PROJECT_FILE: &str = ".haltline.toml";

/// What happens when haltline itself fails (E7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    /// The asker goes on.
    Open,
    /// The asker is refused.
    Closed,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's file.
    User(PathBuf),
    /// The project's file.
    Project(PathBuf),
}

/// One key's value in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its value.
    pub value: Value,
    /// Where that comes from.
    pub origin: Origin,
    /// A looser value the project's file asks for, which waits for the operator's trust.
    pub waiting: Option<Value>,
}

/// The configuration in force.
#[derive(Clone, Debug)]
pub struct Config {
    /// Of keys that a file names.
    settings: Vec<Setting>,
    policy: Policy,
    /// The project's file, if there is one: its path, and a digest of its content.
    pub project_file: Option<(PathBuf, String)>,
    /// Files that could not be taken, and why.
    pub errors: Vec<ConfigError>,
}

impl Config {
    /// Reads both files. A file that cannot be taken is left out whole and named in `errors`; `trusted` is the
    /// digest of the project file the operator accepted.
    pub fn load(user_file: &Path, project_root: Option<&Path>, trusted: impl FnOnce() -> Option<String>) -> Self {
        let mut config =
            Self { settings: Vec::new(), policy: Policy::default(), project_file: None, errors: Vec::new() };
        config.add_layer(Layer::read(user_file, Scope::User), |_setting, _value| true, Origin::User);
        let Some(root) = project_root else { return config };
        let path = root.join(PROJECT_FILE);
        let Some(layer) = Layer::read(&path, Scope::Project).transpose() else { return config };
        let digest = match &layer {
            Ok(layer) => digest_hex(&[&layer.content], 16),
            Err(_unreadable) => String::new(),
        };
        let is_trusted = !digest.is_empty() && trusted().is_some_and(|trusted| trusted == digest);
        config.add_layer(
            layer.map(Some),
            |setting, value| is_trusted || !setting.key.looser.is_looser(&setting.value, value),
            Origin::Project,
        );
        config.project_file = Some((path, digest));
        config
    }

    fn add_layer(
        &mut self,
        layer: Result<Option<Layer>, ConfigError>,
        may_set: impl Fn(&Setting, &Value) -> bool,
        origin: impl Fn(PathBuf) -> Origin,
    ) {
        let layer = match layer {
            Ok(Some(layer)) => layer,
            Ok(None) => return,
            Err(error) => return self.errors.push(error),
        };
        for (key, value) in layer.values {
            let place = self.settings.iter().position(|setting| setting.key == key).unwrap_or_else(|| {
                self.settings.push(Setting::built_in(key));
                self.settings.len() - 1
            });
            let setting = &mut self.settings[place];
            if may_set(setting, &value) {
                policy::set(&mut self.policy, key.name, &value);
                (setting.value, setting.origin) = (value, origin(layer.path.clone()));
            } else {
                setting.waiting = Some(value);
            }
        }
    }

    /// All settings in force, in the order of the reference.
    pub fn settings(&self) -> Vec<Setting> {
        KEYS.iter().map(|key| self.set(key.name).cloned().unwrap_or_else(|| Setting::built_in(key))).collect()
    }

    /// Whether the project's file asks for something that waits for trust.
    pub fn is_waiting_for_trust(&self) -> bool {
        self.settings.iter().any(|setting| setting.waiting.is_some())
    }

    /// A key that a file names.
    fn set(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }

    fn kind(name: &str) -> &'static Kind {
        let key = KEYS.iter().find(|key| key.name == name);
        &key.expect("only names of KEYS are asked for").kind
    }

    fn number(&self, name: &str) -> u32 {
        match (self.set(name), Self::kind(name)) {
            (Some(setting), _) => policy::number(&setting.value),
            (None, Kind::Number { default, .. }) => *default,
            (None, _other) => unreachable!("{name} is a number in KEYS"),
        }
    }

    fn text(&self, name: &str) -> &str {
        match (self.set(name).map(|setting| &setting.value), Self::kind(name)) {
            (Some(Value::Text(text)), _) => text,
            (None, Kind::Choice(choices)) => choices[0],
            (None, Kind::Text(text) | Kind::Folder(text)) => text,
            (Some(_), _) | (None, _) => unreachable!("{name} is a text in KEYS"),
        }
    }

    fn flag(&self, name: &str) -> bool {
        match self.set(name) {
            Some(setting) => setting.value == Value::Flag(true),
            None => *Self::kind(name) == Kind::Flag(true),
        }
    }

    /// A list that is empty where nothing is set.
    fn list(&self, name: &str) -> &[String] {
        match self.set(name).map(|setting| &setting.value) {
            Some(Value::List(texts)) => texts,
            Some(_) | None => &[],
        }
    }

    /// What decisions see.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What happens when haltline itself fails.
    pub fn fail(&self) -> Fail {
        if self.text("fail") == "closed" { Fail::Closed } else { Fail::Open }
    }

    /// Whether operator verbs run where no terminal is.
    pub fn operator_unattended(&self) -> bool {
        self.flag("operator.unattended")
    }

    /// The limit of the state folder, in bytes.
    pub fn state_bytes_max(&self) -> u64 {
        u64::from(self.number("retention.state_mb")) * 1024 * 1024
    }

    /// How long facts are kept, in days.
    pub fn journal_days(&self) -> u32 {
        self.number("retention.journal_days")
    }

    /// Whether seed 003's state file is kept in step.
    pub fn constraint_mirror(&self) -> bool {
        self.flag("constraint.mirror")
    }

    /// Where constraint files stand, below the project's root.
    pub fn constraint_directory(&self) -> &str {
        self.text("constraint.directory")
    }

    /// The command that is told of trips; empty for none.
    pub fn notify_command(&self) -> &[String] {
        self.list("notify.command")
    }

    /// The address that is told of trips; empty for none.
    pub fn notify_webhook(&self) -> &str {
        self.text("notify.webhook")
    }

    /// What models cost, in the order they are asked.
    pub fn prices(&self) -> Vec<Price> {
        self.list("prices").iter().filter_map(|text| Price::parse(text)).collect()
    }

    /// Where an agent keeps telemetry and session states, below the project's root.
    pub fn memory_directory(&self) -> &str {
        self.text("memory.directory")
    }

    /// The limits of that folder.
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
        Self { key, value: key.default_value(), origin: Origin::Default, waiting: None }
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
        let trusted = trusted.map(|content| digest_hex(&[content.as_bytes()], 16));
        Config::load(&user_file, Some(folder.path()), || trusted)
    }

    #[test]
    fn without_files_the_defaults_of_the_seed_hold() {
        let config = Config::load(Path::new("/nonexistent/config.toml"), None, || None);
        assert_eq!(*config.policy(), Policy::default());
        assert_eq!((config.errors.len(), config.state_bytes_max()), (0, 64 * 1024 * 1024));
        assert!(config.constraint_mirror() && !config.operator_unattended());
        assert_eq!(config.fail(), Fail::Open);
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
        assert_eq!((config.policy().mode, config.fail()), (Mode::Enforce, Fail::Closed));
    }

    #[test]
    fn what_is_the_users_is_refused_in_a_project() {
        let config = load("", "[operator]\nunattended = true\n", None);
        assert!(!config.operator_unattended());
        let message = config.errors[0].to_string();
        assert!(message.contains("operator.unattended") && message.contains("user"), "{message}");
    }

    #[test]
    fn errors_name_the_line_the_key_and_the_likely_meaning() {
        for (text, expected) in [
            ("[constraint]\nviolation_treshold = 3\n", "did you mean `constraint.violation_threshold`"),
            ("[constraint]\nwindow_days = 0\n", "expected a whole number from 1 to 3650"),
            ("mode = \"obseve\"\n", "expected \"enforce\" or \"observe\""),
            ("mode = 3\n", "expected \"enforce\" or \"observe\""),
            ("[constraint]\nmirror = \"yes\"\n", "expected true or false"),
            ("[notify]\ncommand = \"x\"\n", "expected a list of texts"),
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
