//! A constraint's limits and guards, and which changes of them make the rule looser (C5, C8, E9).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::identity::Action;
use crate::shell::CommandPattern;
use crate::{Instant, glob_matches};

/// The numbers of seed 003's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The circuit trips at this many counted violations in the window.
    pub violation_threshold: u32,
    /// The rolling window, in days.
    pub window_days: u32,
    /// How long the circuit stays OPEN, in hours.
    pub cooldown_hours: u32,
    /// Violations within this many seconds of a counted one do not count again.
    pub dedup_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { violation_threshold: 5, window_days: 30, cooldown_hours: 24, dedup_seconds: 300 }
    }
}

/// A number is out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    pub field: &'static str,
    pub value: i64,
    /// The smallest allowed value.
    pub low: u32,
    /// The largest allowed value.
    pub high: u32,
}

impl fmt::Display for LimitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, value, low, high } = self;
        write!(formatter, "{field} = {value}: expected a whole number from {low} to {high}")
    }
}

impl Limits {
    /// The keys with their smallest and largest values.
    pub const RANGES: [(&'static str, u32, u32); 4] = [
        ("violation_threshold", 1, 10_000),
        ("window_days", 1, 3_650),
        ("cooldown_hours", 1, 8_760),
        ("dedup_seconds", 0, 86_400),
    ];

    /// Sets one of the four numbers by its key.
    pub fn set(&mut self, field: &str, value: i64) -> Result<(), LimitError> {
        for (known, low, high) in Self::RANGES {
            if known != field {
                continue;
            }
            let out_of_range = LimitError { field: known, value, low, high };
            let number =
                u32::try_from(value).ok().filter(|number| (low..=high).contains(number)).ok_or(out_of_range)?;
            match known {
                "violation_threshold" => self.violation_threshold = number,
                "window_days" => self.window_days = number,
                "cooldown_hours" => self.cooldown_hours = number,
                _dedup_seconds => self.dedup_seconds = number,
            }
        }
        Ok(())
    }

    /// The values with their keys, in the order of [`Self::RANGES`].
    pub fn values(&self) -> [(&'static str, u32); 4] {
        [
            ("violation_threshold", self.violation_threshold),
            ("window_days", self.window_days),
            ("cooldown_hours", self.cooldown_hours),
            ("dedup_seconds", self.dedup_seconds),
        ]
    }

    pub fn window_ms(&self) -> u64 {
        u64::from(self.window_days) * 86_400_000
    }

    pub fn cooldown_ms(&self) -> u64 {
        u64::from(self.cooldown_hours) * 3_600_000
    }

    pub fn dedup_ms(&self) -> u64 {
        u64::from(self.dedup_seconds) * 1_000
    }

    /// Returns the stricter value for each number.
    fn stricter(self, other: Self) -> Self {
        Self {
            violation_threshold: self.violation_threshold.min(other.violation_threshold),
            window_days: self.window_days.max(other.window_days),
            cooldown_hours: self.cooldown_hours.max(other.cooldown_hours),
            dedup_seconds: self.dedup_seconds.min(other.dedup_seconds),
        }
    }
}

/// A pattern of actions that the constraint denies through client hooks while its circuit is OPEN (C8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// A glob on the tool's name.
    pub tool: String,
    /// A glob on the command; `None` matches any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A glob on the path; `None` matches any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Guard {
    /// Returns whether this guard matches an action, by meaning or by its text. A pattern does not match if the action
    /// lacks the part it applies to. Paths below `root` also match without it.
    pub fn covers(&self, action: &Action, root: &str) -> bool {
        let is_tool = glob_matches(&self.tool, &action.tool) || action.is_kind_of(&self.tool);
        is_tool && self.covers_command(action) && self.covers_path(action, root)
    }

    fn covers_command(&self, action: &Action) -> bool {
        let Some(pattern) = &self.command else { return true };
        action.command.as_deref().is_some_and(|command| glob_matches(pattern, command))
            || action
                .script
                .as_deref()
                .is_some_and(|script| CommandPattern::parse(pattern).is_some_and(|pattern| pattern.matches(script)))
    }

    fn covers_path(&self, action: &Action, root: &str) -> bool {
        let Some(glob) = &self.path else { return true };
        let below = |path: &String| {
            let rest = path.strip_prefix(root)?.strip_prefix('/')?;
            Some(glob_matches(glob, rest))
        };
        action.path.iter().chain(&action.targets).any(|path| glob_matches(glob, path) || below(path) == Some(true))
    }
}

/// What a constraint's file can set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub limits: Limits,
    /// The actions that the constraint guards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Guard>,
}

/// The file that sets a rule, and a digest of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Relative to the project's root, with forward slashes.
    pub path: String,
    /// A digest of the file's front matter.
    pub digest: String,
}

/// The content of a constraint's file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    pub rule: Rule,
    pub source: Source,
    /// When the constraint was created, if the file says so.
    pub created: Option<Instant>,
}

/// A key of a rule that a newer version of its file would loosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loosened {
    pub field: &'static str,
    /// The value in force.
    pub from: String,
    /// The value the file asks for.
    pub to: String,
}

impl Rule {
    /// Returns the rule that may take effect at once when a file asks for `requested` while `self` is in force: the
    /// stricter value for each key.
    pub fn tightened_by(&self, requested: &Rule) -> Rule {
        let mut guards = self.guards.clone();
        for guard in &requested.guards {
            if !guards.contains(guard) {
                guards.push(guard.clone());
            }
        }
        Rule { limits: self.limits.stricter(requested.limits), guards }
    }

    /// Returns the keys in which `requested` is looser than `self`.
    pub fn loosened_by(&self, requested: &Rule) -> Vec<Loosened> {
        let allowed = self.tightened_by(requested);
        let mut loosened: Vec<Loosened> = std::iter::zip(allowed.limits.values(), requested.limits.values())
            .filter(|(allowed, requested)| allowed != requested)
            .map(|((field, from), (_, to))| Loosened { field, from: from.to_string(), to: to.to_string() })
            .collect();
        if self.guards.iter().any(|guard| !requested.guards.contains(guard)) {
            let (from, to) = (allowed.guards.len(), requested.guards.len());
            loosened.push(Loosened { field: "guards", from: from.to_string(), to: to.to_string() });
        }
        loosened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(tool: &str) -> Guard {
        Guard { tool: tool.to_owned(), command: None, path: None }
    }

    #[test]
    fn each_number_has_a_range_and_says_so() {
        let mut limits = Limits::default();
        for (field, low, high) in Limits::RANGES {
            for value in [low, high] {
                limits.set(field, value.into()).expect("within range");
                assert_eq!(limits.values().iter().find(|(key, _)| *key == field), Some(&(field, value)));
            }
            for value in [i64::from(low) - 1, i64::from(high) + 1] {
                assert_eq!(limits.set(field, value), Err(LimitError { field, value, low, high }));
            }
        }
        let message = limits.set("window_days", 0).expect_err("too small").to_string();
        assert_eq!(message, "window_days = 0: expected a whole number from 1 to 3650");
    }

    #[test]
    fn looser_means_more_violations_a_shorter_window_a_shorter_cooldown_or_a_longer_dedup() {
        let rule = Rule::default();
        for (field, value, looser) in [
            ("violation_threshold", 6, true),
            ("violation_threshold", 4, false),
            ("window_days", 29, true),
            ("window_days", 31, false),
            ("cooldown_hours", 23, true),
            ("cooldown_hours", 25, false),
            ("dedup_seconds", 301, true),
            ("dedup_seconds", 299, false),
        ] {
            let mut requested = rule.clone();
            requested.limits.set(field, value).expect("in range");
            let fields: Vec<_> = rule.loosened_by(&requested).into_iter().map(|loosened| loosened.field).collect();
            assert_eq!(fields, if looser { vec![field] } else { vec![] }, "{field} = {value}");
            let allowed = rule.tightened_by(&requested);
            assert_eq!(allowed, if looser { rule.clone() } else { requested.clone() }, "{field} = {value}");
        }
    }

    #[test]
    fn dropping_a_guard_loosens_and_adding_one_does_not() {
        let both = Rule { guards: vec![guard("Bash"), guard("Edit")], ..Rule::default() };
        let one = Rule { guards: vec![guard("Bash")], ..Rule::default() };
        assert_eq!(both.loosened_by(&one)[0].field, "guards");
        let twice = Rule { guards: vec![guard("Bash"), guard("Bash")], ..Rule::default() };
        assert_eq!(both.loosened_by(&twice)[0].field, "guards");
        assert_eq!(one.loosened_by(&twice), vec![]);
        assert_eq!(one.loosened_by(&both), vec![]);
        assert_eq!(one.tightened_by(&both), both);
        assert_eq!(both.tightened_by(&one), both);
    }

    #[test]
    fn a_guard_covers_what_all_its_globs_match() {
        let push = Guard { tool: "Bash".into(), command: Some("git push*--force*".into()), path: None };
        let bash = |command: &str| Action::new("Bash", &serde_json::json!({"command": command}).to_string(), None);
        let write = |path: &str| Action::new("Write", &serde_json::json!({"file_path": path}).to_string(), Some("/p"));
        assert!(push.covers(&bash("git push --force"), "/p"));
        assert!(!push.covers(&bash("git push"), "/p"));
        assert!(!push.covers(&write("git push --force"), "/p"));
        let edits = Guard { tool: "*".into(), command: None, path: Some("migrations/*".into()) };
        assert!(edits.covers(&write("migrations/001.sql"), "/p"));
        assert!(edits.covers(&write("/p/migrations/001.sql"), "/p"));
        assert!(!edits.covers(&write("/q/migrations/001.sql"), "/p"));
        assert!(!edits.covers(&write("src/lib.rs"), "/p"));
    }
}
