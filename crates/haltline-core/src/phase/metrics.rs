//! The metrics of an iteration, and which of them improved (P2).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Kind;
use crate::shorten;

/// A metric's value in thousandths: complexity scores have fractions, and equal floats could differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measure(u64);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metrics(BTreeMap<String, Measure>);

/// A metric that haltline cannot accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricError {
    Name {
        /// The name as given, shortened.
        shown: String,
    },
    Value {
        name: String,
        /// The value as given, shortened.
        shown: String,
    },
    TooMany,
}

/// The metrics that measure progress in the known phases. Other metrics never displace them from a baseline.
const LISTED: [&str; 13] = [
    "tests_generated",
    "criteria_covered",
    "tests_passing",
    "tests_failing",
    "tests_total",
    "tests_skipped",
    "patterns_applied",
    "complexity_score",
    "duplication_removed",
    "duplication_count",
    "docs_generated",
    "diagrams_valid",
    "findings",
];

/// Which direction of a metric is an improvement.
#[derive(Clone, Copy)]
enum Better {
    Higher,
    Lower,
}

impl Measure {
    const PER_ONE: u64 = 1_000;
    /// One trillion: no count here is larger.
    const ONES_MAX: u64 = 1_000_000_000_000;

    pub fn whole(number: u64) -> Self {
        Self(number.min(Self::ONES_MAX) * Self::PER_ONE)
    }

    /// Parses a number and keeps three decimals; `true` and `false` are 1 and 0.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "true" => return Some(Self::whole(1)),
            "false" => return Some(Self::whole(0)),
            _number => {}
        }
        let (ones, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(ones) || !is_digits(fraction) {
            return None;
        }
        let ones: u64 = ones.parse().ok().filter(|ones| *ones <= Self::ONES_MAX)?;
        let thousandths =
            fraction.bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        Some(Self(ones * Self::PER_ONE + thousandths))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ones, thousandths) = (self.0 / Self::PER_ONE, self.0 % Self::PER_ONE);
        if thousandths == 0 {
            return write!(formatter, "{ones}");
        }
        write!(formatter, "{}", format!("{ones}.{thousandths:03}").trim_end_matches('0'))
    }
}

impl Metrics {
    pub const MAX: usize = 64;
    const NAME_BYTES_MAX: usize = 64;

    /// Parses and adds a metric. Flags of seed 001 become counts here.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), MetricError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let fits = !name.is_empty() && name.len() <= Self::NAME_BYTES_MAX && name.bytes().all(allowed);
        if !fits {
            return Err(MetricError::Name { shown: shorten(name) });
        }
        let name = name.to_ascii_lowercase();
        let value =
            Measure::parse(value).ok_or_else(|| MetricError::Value { name: name.clone(), shown: shorten(value) })?;
        self.insert(&name, value)
    }

    /// Adds a metric. `pattern_applied` is an alias of `patterns_applied`.
    pub fn insert(&mut self, name: &str, value: Measure) -> Result<(), MetricError> {
        let name = match name {
            "pattern_applied" => "patterns_applied",
            other => other,
        };
        if !self.0.contains_key(name) && self.0.len() >= Self::MAX {
            return Err(MetricError::TooMany);
        }
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<Measure> {
        self.0.get(name).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All metrics, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Measure)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Updates the baseline of the next iteration. A metric that was not reported keeps its last value, so that leaving
    /// it out once does not make the same value progress again.
    pub(super) fn merge(&mut self, newer: &Metrics) {
        // A total that was reported once does not apply to later results that came without a total.
        if newer.get("tests_passing").or(newer.get("tests_failing")).is_some() {
            self.0.remove("tests_total");
            self.0.remove("tests_skipped");
        }
        for (name, value) in newer.iter() {
            let is_listed = LISTED.contains(&name);
            if is_listed && !self.has_room(name) {
                let other = self.0.keys().find(|known| !LISTED.contains(&known.as_str())).cloned();
                other.and_then(|other| self.0.remove(&other));
            }
            if self.has_room(name) {
                self.0.insert(name.to_owned(), value);
            }
        }
    }

    /// True if the baseline can store this metric. One that it cannot store would look new every time.
    fn has_room(&self, name: &str) -> bool {
        self.0.contains_key(name) || self.0.len() < Self::MAX
    }

    fn tests_total(&self) -> Option<u64> {
        let part = |name| self.get(name).map(|measure| measure.0);
        part("tests_total").or_else(|| {
            let (passing, failing) = (part("tests_passing")?, part("tests_failing")?);
            Some(passing.saturating_add(failing).saturating_add(part("tests_skipped").unwrap_or(0)))
        })
    }

    fn gained(&self, before: &Metrics, name: &str, better: Better) -> bool {
        let Some(now) = self.get(name) else { return false };
        match better {
            Better::Higher => now > before.get(name).unwrap_or(Measure(0)),
            Better::Lower => before.get(name).is_none_or(|before| now < before),
        }
    }

    /// A lower number of failures is progress only while the total number of tests stays the same.
    fn fewer_failing(&self, before: &Metrics) -> bool {
        let is_first = before.get("tests_failing").is_none();
        self.gained(before, "tests_failing", Better::Lower) && (is_first || self.tests_total() == before.tests_total())
    }

    /// The names of the metrics that improved since the last iteration of the same phase.
    pub fn gains(&self, before: &Metrics, kind: Kind) -> Vec<String> {
        use Better::{Higher, Lower};
        let listed = |names: &[(&str, Better)]| {
            let gained = names.iter().filter(|(name, better)| self.gained(before, name, *better));
            gained.map(|(name, _)| (*name).to_owned()).collect()
        };
        match kind {
            Kind::Red => listed(&[("tests_generated", Higher), ("criteria_covered", Higher)]),
            Kind::Green | Kind::Loop => {
                let mut gains: Vec<String> = listed(&[("tests_passing", Higher)]);
                gains.extend(self.fewer_failing(before).then(|| "tests_failing".to_owned()));
                gains
            }
            Kind::Refactor => listed(&[
                ("patterns_applied", Higher),
                ("complexity_score", Lower),
                ("duplication_removed", Higher),
                ("duplication_count", Lower),
            ]),
            Kind::Document => listed(&[("docs_generated", Higher), ("diagrams_valid", Higher)]),
            Kind::Qa => listed(&[("tests_passing", Higher), ("findings", Lower)]),
            Kind::Other => {
                let rose = self.0.keys().filter(|name| before.has_room(name) && self.gained(before, name, Higher));
                rose.cloned().collect()
            }
        }
    }
}

impl fmt::Display for MetricError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricError::Name { shown } => {
                write!(formatter, "metric {shown}: expected a name of letters, digits, `_`, `.` or `-`")
            }
            MetricError::Value { name, shown } => {
                write!(formatter, "metric {name} = {shown}: expected a number such as 3 or 12.5, or true or false")
            }
            MetricError::TooMany => write!(formatter, "too many metrics: expected at most {}", Metrics::MAX),
        }
    }
}

impl std::error::Error for MetricError {}
