//! The keys there are.

use std::fmt;

use haltline_core::constraint::Limits;

/// A key of the configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// `table.name`, or a bare name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Who may set it.
    pub scope: Scope,
    /// Which way it loosens.
    pub looser: Looser,
    /// What it is for, one sentence.
    pub help: &'static str,
}

/// What a key takes, with its default.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in a range.
    Number {
        /// Smallest.
        low: u32,
        /// Largest.
        high: u32,
        /// Where nothing is set.
        default: u32,
    },
    /// One of these; the first is the default.
    Choice(&'static [&'static str]),
    /// Any text.
    Text(&'static str),
    /// Yes or no.
    Flag(bool),
    /// A list of texts, empty by default.
    List,
}

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the user's own file.
    User,
    /// The project's file as well.
    Project,
}

/// Which way a key loosens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looser {
    /// Larger numbers.
    Higher,
    /// Smaller numbers.
    Lower,
    /// This word.
    Word(&'static str),
    /// Any change.
    AnyChange,
    /// It does not.
    Never,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// Texts.
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(formatter, "{number}"),
            Value::Text(text) => write!(formatter, "{text:?}"),
            Value::Flag(flag) => write!(formatter, "{flag}"),
            Value::List(texts) => write!(formatter, "{texts:?}"),
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Number(number) => (*number).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Flag(flag) => (*flag).into(),
            Value::List(texts) => texts.as_slice().into(),
        }
    }
}

impl Looser {
    /// Whether `asked` is looser than `in_force`.
    pub fn is_looser(self, in_force: &Value, asked: &Value) -> bool {
        match (self, in_force, asked) {
            (Looser::Higher, Value::Number(in_force), Value::Number(asked)) => asked > in_force,
            (Looser::Lower, Value::Number(in_force), Value::Number(asked)) => asked < in_force,
            (Looser::Word(word), in_force, Value::Text(asked)) => {
                asked == word && *in_force != Value::Text(asked.clone())
            }
            (Looser::Never, _, _) => false,
            (Looser::AnyChange | Looser::Higher | Looser::Lower | Looser::Word(_), in_force, asked) => {
                in_force != asked
            }
        }
    }
}

const fn limit(name: &'static str, index: usize, default: u32, looser: Looser, help: &'static str) -> Key {
    let (_, low, high) = Limits::RANGES[index];
    Key { name, kind: Kind::Number { low, high, default }, scope: Scope::Project, looser, help }
}

/// All keys, in the order of the reference.
pub const KEYS: &[Key] = &[
    Key {
        name: "mode",
        kind: Kind::Choice(&["enforce", "observe"]),
        scope: Scope::Project,
        looser: Looser::Word("observe"),
        help: "Whether open circuits refuse, or only write down what they would have refused.",
    },
    Key {
        name: "fail",
        kind: Kind::Choice(&["open", "closed"]),
        scope: Scope::Project,
        looser: Looser::Word("open"),
        help: "What happens when haltline itself fails: the agent goes on, or is refused.",
    },
    Key {
        name: "operator.unattended",
        kind: Kind::Flag(false),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "Whether operator verbs run without a terminal. Inside an agent they never do.",
    },
    Key {
        name: "retention.state_mb",
        kind: Kind::Number { low: 4, high: 65_536, default: 64 },
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "The state folder stays under this many megabytes; the oldest facts are folded together.",
    },
    Key {
        name: "retention.journal_days",
        kind: Kind::Number { low: 31, high: 36_500, default: 400 },
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "Facts older than this many days are folded together; totals stay exact.",
    },
    Key {
        name: "notify.command",
        kind: Kind::List,
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "A program and its arguments, started once per trip with the incident as JSON on its input.",
    },
    Key {
        name: "notify.webhook",
        kind: Kind::Text(""),
        scope: Scope::User,
        looser: Looser::AnyChange,
        help: "An http or https address that gets the incident as a JSON POST, once per trip.",
    },
    limit(
        "constraint.violation_threshold",
        0,
        5,
        Looser::Higher,
        "This many counted violations within the window trip a constraint's circuit.",
    ),
    limit("constraint.window_days", 1, 30, Looser::Lower, "The rolling window in which violations count, in days."),
    limit("constraint.cooldown_hours", 2, 24, Looser::Lower, "How long a tripped circuit stays OPEN, in hours."),
    limit(
        "constraint.dedup_seconds",
        3,
        300,
        Looser::Higher,
        "Violations this soon after a counted one do not count again, in seconds.",
    ),
    Key {
        name: "constraint.directory",
        kind: Kind::Text("docs/constraints"),
        scope: Scope::Project,
        looser: Looser::AnyChange,
        help: "Where the constraint files stand, below the project's root.",
    },
    Key {
        name: "constraint.mirror",
        kind: Kind::Flag(true),
        scope: Scope::Project,
        looser: Looser::Never,
        help: "Whether `.circuit-state.json` in that folder is kept in step with the store.",
    },
];

impl Key {
    /// The value where nothing is set.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } => Value::Number(default.into()),
            Kind::Choice(choices) => Value::Text(choices[0].to_owned()),
            Kind::Text(text) => Value::Text(text.to_owned()),
            Kind::Flag(flag) => Value::Flag(flag),
            Kind::List => Value::List(Vec::new()),
        }
    }

    /// What it takes, in words.
    pub fn expectation(&self) -> String {
        match self.kind {
            Kind::Number { low, high, .. } => format!("a whole number from {low} to {high}"),
            Kind::Choice(choices) => {
                choices.iter().map(|choice| format!("{choice:?}")).collect::<Vec<_>>().join(" or ")
            }
            Kind::Text(_) => "a text".to_owned(),
            Kind::Flag(_) => "true or false".to_owned(),
            Kind::List => "a list of texts".to_owned(),
        }
    }

    /// Takes a value from a file.
    pub fn accept(&self, value: &toml::Value) -> Option<Value> {
        match (&self.kind, value) {
            (Kind::Number { low, high, .. }, toml::Value::Integer(number)) => {
                (i64::from(*low)..=i64::from(*high)).contains(number).then_some(Value::Number(*number))
            }
            (Kind::Choice(choices), toml::Value::String(text)) => {
                choices.contains(&text.as_str()).then(|| Value::Text(text.clone()))
            }
            (Kind::Text(_), toml::Value::String(text)) => Some(Value::Text(text.clone())),
            (Kind::Flag(_), toml::Value::Boolean(flag)) => Some(Value::Flag(*flag)),
            (Kind::List, toml::Value::Array(items)) => {
                let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                texts.map(Value::List)
            }
            (Kind::Number { .. } | Kind::Choice(_) | Kind::Text(_) | Kind::Flag(_) | Kind::List, _other) => None,
        }
    }
}
