//! A configuration key: its type, its range, who may set it and which direction loosens it.

use std::fmt;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::money;
use super::price::Price;
use super::setter::Setter;
use crate::notify_target::Target;

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `table.name`, `table.table.name`, or a bare name.
    pub name: &'static str,
    pub kind: Kind,
    pub scope: Scope,
    /// Which change of the value loosens protection.
    pub looser: Looser,
    /// What the key is for, in one sentence.
    pub help: &'static str,
    /// Where decisions find the value.
    pub setter: Setter,
}

/// Keys are equal if their names are: a name is unique, and addresses of functions cannot be compared.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Key {}

/// The type of a key's values, with the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in a range.
    Number {
        low: u32,
        high: u32,
        default: u32,
    },
    /// One of these texts; the first is the default.
    Choice(&'static [&'static str]),
    Text(&'static str),
    Flag(bool),
    List(&'static [&'static str]),
    /// Dollars in a range, stored in millionths.
    Money {
        low: u64,
        default: u64,
    },
    /// Dollars, or unknown, which is the default.
    Cost,
    /// Prices of models, one text each; none by default.
    Prices,
    /// Targets of notifications, one text each; none by default.
    Targets,
    /// A folder below the project's root.
    Folder(&'static str),
}

/// Which file may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the user's own file.
    User,
    /// The user's file and the project's file.
    Project,
}

/// Which change of a key's value loosens protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looser {
    /// A larger number.
    Higher,
    /// A smaller number.
    Lower,
    /// A larger number, or zero, which means no limit.
    HigherOrZero,
    Off,
    Choice(&'static str),
    AnyChange,
    /// No change does.
    Never,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    Number(i64),
    Text(String),
    Flag(bool),
    List(Vec<String>),
    /// Millionths of a dollar.
    Money(u64),
    /// A cost that is not known.
    Unknown,
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(formatter, "{number}"),
            Value::Text(text) => write!(formatter, "{text:?}"),
            Value::Flag(flag) => write!(formatter, "{flag}"),
            Value::List(texts) => write!(formatter, "{texts:?}"),
            Value::Money(micros) => formatter.write_str(&money::show(*micros)),
            Value::Unknown => formatter.write_str("\"unknown\""),
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
            // Amounts are at most a million dollars, for which a double is exact to the millionth.
            Value::Money(micros) => (*micros as f64 / 1e6).into(),
            Value::Unknown => "unknown".into(),
        }
    }
}

impl Looser {
    /// True if `requested` is looser than `in_force`.
    pub fn is_looser(self, in_force: &Value, requested: &Value) -> bool {
        let (before, after) = (in_force.amount(), requested.amount());
        match (self, before, after) {
            (Looser::Higher, Some(before), Some(after)) => after > before,
            (Looser::Lower, Some(before), Some(after)) => after < before,
            (Looser::HigherOrZero, Some(before), Some(after)) => before != 0 && (after == 0 || after > before),
            (Looser::Never, _, _) => false,
            (Looser::Off, _, _) => *in_force == Value::Flag(true) && *requested == Value::Flag(false),
            (Looser::Choice(choice), _, _) => {
                in_force != requested && matches!(requested, Value::Text(text) if text == choice)
            }
            (Looser::AnyChange | Looser::Higher | Looser::Lower | Looser::HigherOrZero, _, _) => in_force != requested,
        }
    }
}

impl Value {
    /// The value as a number or an amount of money, for comparisons.
    fn amount(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Money(micros) => i64::try_from(*micros).ok(),
            Value::Text(_) | Value::Flag(_) | Value::List(_) | Value::Unknown => None,
        }
    }
}

impl Key {
    /// The value if no file sets the key.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } => Value::Number(default.into()),
            Kind::Choice(choices) => Value::Text(choices[0].to_owned()),
            Kind::Text(text) | Kind::Folder(text) => Value::Text(text.to_owned()),
            Kind::Flag(flag) => Value::Flag(flag),
            Kind::List(texts) => Value::List(texts.iter().map(|text| (*text).to_owned()).collect()),
            Kind::Money { default, .. } => Value::Money(default),
            Kind::Cost => Value::Unknown,
            Kind::Prices | Kind::Targets => Value::List(Vec::new()),
        }
    }

    /// Describes the allowed values, for error messages and the reference.
    pub fn expectation(&self) -> String {
        match self.kind {
            Kind::Number { low, high, .. } => format!("a whole number from {low} to {high}"),
            Kind::Choice(choices) => {
                choices.iter().map(|choice| format!("{choice:?}")).collect::<Vec<_>>().join(" or ")
            }
            Kind::Text(_) => "a string".to_owned(),
            Kind::Flag(_) => "true or false".to_owned(),
            Kind::List(_) => "a list of strings".to_owned(),
            Kind::Money { low, .. } => {
                format!("dollars from {} to {}", money::show(low), money::show(money::MICROS_MAX))
            }
            Kind::Cost => format!("dollars from 0.00 to {}, or \"unknown\"", money::show(money::MICROS_MAX)),
            Kind::Prices => {
                "a list of strings such as \"MODEL INPUT OUTPUT CACHE_READ CACHE_WRITE\", in dollars per million tokens"
                    .to_owned()
            }
            Kind::Targets => {
                "a list of \"desktop\", \"slack:URL\", \"discord:URL\", \"ntfy:TOPIC\", \"command:SHELL COMMAND\" or \
                 \"webhook:URL\""
                    .to_owned()
            }
            Kind::Folder(_) => "a folder below the project's root, without `..`".to_owned(),
        }
    }

    /// True if the key can have this value.
    pub fn allows(&self, value: &Value) -> bool {
        match (&self.kind, value) {
            (Kind::Number { low, high, .. }, Value::Number(number)) => {
                (i64::from(*low)..=i64::from(*high)).contains(number)
            }
            (Kind::Choice(choices), Value::Text(text)) => choices.contains(&text.as_str()),
            (Kind::Text(_), Value::Text(_)) | (Kind::Flag(_), Value::Flag(_)) | (Kind::List(_), Value::List(_)) => true,
            (Kind::Prices, Value::List(texts)) => texts.iter().all(|text| Price::parse(text).is_some()),
            (Kind::Targets, Value::List(texts)) => texts.iter().all(|text| Target::parse(text).is_some()),
            (Kind::Money { low, .. }, Value::Money(micros)) => (*low..=money::MICROS_MAX).contains(micros),
            (Kind::Cost, Value::Money(micros)) => *micros <= money::MICROS_MAX,
            (Kind::Cost, Value::Unknown) => true,
            (Kind::Folder(_), Value::Text(text)) => is_below_project(text),
            (_, _other) => false,
        }
    }

    /// Converts a value from a file; `None` if the key cannot have it.
    pub fn from_toml(&self, value: &toml::Value) -> Option<Value> {
        let is_money = matches!(self.kind, Kind::Money { .. } | Kind::Cost);
        let value = match value {
            toml::Value::Integer(whole) if is_money => Value::Money(money::from_number(*whole as f64)?),
            toml::Value::Float(number) if is_money => Value::Money(money::from_number(*number)?),
            toml::Value::String(text) if self.kind == Kind::Cost && text == "unknown" => Value::Unknown,
            toml::Value::Integer(number) => Value::Number(*number),
            toml::Value::String(text) => Value::Text(text.clone()),
            toml::Value::Boolean(flag) => Value::Flag(*flag),
            toml::Value::Array(items) => Value::List(texts(items)?),
            toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
        };
        self.allows(&value).then_some(value)
    }
}

fn texts(items: &[toml::Value]) -> Option<Vec<String>> {
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// haltline deletes files in this folder, so it must not lead out of the project.
fn is_below_project(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    !text.is_empty() && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_of_loosening_is_known() {
        let number = |from, to| (Value::Number(from), Value::Number(to));
        let text_value = |text: &str| Value::Text(text.to_owned());
        let cases = [
            (Looser::Higher, number(3, 4), true),
            (Looser::Higher, number(3, 2), false),
            (Looser::Lower, number(3, 2), true),
            (Looser::Lower, number(3, 4), false),
            (Looser::HigherOrZero, number(3, 0), true),
            (Looser::HigherOrZero, number(3, 4), true),
            (Looser::HigherOrZero, number(3, 2), false),
            (Looser::HigherOrZero, number(0, 9), false),
            (Looser::Higher, (Value::Money(1), Value::Money(2)), true),
            (Looser::Off, (Value::Flag(true), Value::Flag(false)), true),
            (Looser::Off, (Value::Flag(false), Value::Flag(true)), false),
            (Looser::Choice("default"), (text_value("literal"), text_value("default")), true),
            (Looser::Choice("default"), (text_value("default"), text_value("literal")), false),
            (Looser::AnyChange, number(3, 3), false),
            (Looser::AnyChange, number(3, 2), true),
            (Looser::Never, number(3, 2), false),
        ];
        for (looser, (in_force, requested), expected) in cases {
            assert_eq!(looser.is_looser(&in_force, &requested), expected, "{looser:?}: {in_force} to {requested}");
        }
    }

    #[test]
    fn a_folder_stays_below_the_project() {
        for (text, expected) in [("a/b", true), ("./a", true), ("", false), ("/a", false), ("a/../..", false)] {
            assert_eq!(is_below_project(text), expected, "{text:?}");
        }
    }
}
