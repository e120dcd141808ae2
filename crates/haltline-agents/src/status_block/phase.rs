//! `PRP_PHASE_STATUS`: what an agent says about a phase of its work, and the same block as haltline prints it (P7).

use std::collections::BTreeMap;
use std::fmt;

use haltline_core::{Instant, shorten};

use super::Status;
use super::lines::{self, Entry, Line};

pub(super) const BEGIN: &str = "---PRP_PHASE_STATUS---";
pub(super) const END: &str = "---END_PRP_PHASE_STATUS---";

/// The state of one phase. `None` for what the agent did not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseStatus {
    pub timestamp: Option<Instant>,
    /// The name of the phase, as it was spelt.
    pub phase: Option<String>,
    pub status: Option<Status>,
    /// The iteration of the phase, starting at 1.
    pub iteration: Option<u64>,
    /// From 0 to 100.
    pub progress_percent: Option<u64>,
    pub tests: TestTally,
    pub files: FileTally,
    /// The breaker, as the writer of the block saw it.
    pub circuit_breaker: BreakerTally,
    /// The two conditions for leaving the phase.
    pub dual_gate: DualGate,
    /// The remaining calls.
    pub rate_limit: RateLimit,
    /// Further numbers by name, in lower case: `METRICS`, `QA_METRICS`, and the length of `PATTERNS_APPLIED`.
    pub metrics: BTreeMap<String, f64>,
    /// The blockers; an empty list says that there are none.
    pub blockers: Option<Vec<String>>,
    /// Whether the phase should end.
    pub exit_signal: Option<bool>,
    /// What to do next.
    pub recommendation: Option<String>,
}

/// `TESTS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestTally {
    pub total: Option<u64>,
    pub passing: Option<u64>,
    pub failing: Option<u64>,
    pub skipped: Option<u64>,
}

/// `FILES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTally {
    pub created: Option<u64>,
    pub modified: Option<u64>,
    pub deleted: Option<u64>,
}

/// `CIRCUIT_BREAKER`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BreakerTally {
    pub state: Option<BreakerState>,
    pub no_progress_count: Option<u64>,
    pub same_error_count: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    HalfOpen,
    Open,
}

impl BreakerState {
    const NAMES: [(&'static str, BreakerState); 3] =
        [("CLOSED", BreakerState::Closed), ("HALF_OPEN", BreakerState::HalfOpen), ("OPEN", BreakerState::Open)];

    fn as_str(self) -> &'static str {
        lines::name_of(self, &Self::NAMES)
    }
}

/// `DUAL_GATE`: gate 1 is what the numbers allow, gate 2 what the agent wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualGate {
    pub gate_1: Option<bool>,
    pub gate_2: Option<bool>,
    pub can_exit: Option<bool>,
}

/// `RATE_LIMIT`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    pub hourly: Option<Hourly>,
    /// The state of the five-hour limit, in free text.
    pub five_hours: Option<String>,
}

/// Calls in the current hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hourly {
    pub made: u64,
    /// The allowed number, if the block has it.
    pub limit: Option<u64>,
}

const KEYS: [&str; 15] = [
    "TIMESTAMP",
    "PHASE",
    "STATUS",
    "ITERATION",
    "PROGRESS_PERCENT",
    "TESTS",
    "FILES",
    "CIRCUIT_BREAKER",
    "DUAL_GATE",
    "RATE_LIMIT",
    "METRICS",
    "QA_METRICS",
    "BLOCKERS",
    "EXIT_SIGNAL",
    "RECOMMENDATION",
];

/// Keys that end a section although haltline keeps nothing of them.
const IGNORED_KEYS: [&str; 4] = ["PATTERNS_APPLIED", "MEMORY_CONTEXT", "VERDICT", "ATTEMPT"];

const NUMBER: &str = "a whole number";
const FLAG: &str = "true or false";

impl PhaseStatus {
    pub(super) fn read(block: &[Line<'_>]) -> Self {
        let mut status = Self::default();
        for entry in entries(block) {
            // Lenient: a field that does not fit is missing.
            status.read_entry(&entry).ok();
        }
        status
    }

    /// Like `read`, but the first field that does not fit is an error.
    pub(super) fn read_strictly(block: &[Line<'_>]) -> Result<Self, String> {
        let mut status = Self::default();
        for entry in entries(block) {
            status.read_entry(&entry).map_err(|expected| {
                let (Entry::Field(key, value) | Entry::Item(key, value)) = &entry;
                format!("{key} {}: expected {expected}", shorten(value))
            })?;
        }
        let TestTally { total, passing, failing, skipped } = status.tests;
        if let (Some(total), Some(passing), Some(failing), Some(skipped)) = (total, passing, failing, skipped) {
            let sum = passing.saturating_add(failing).saturating_add(skipped);
            if sum != total {
                let parts = format!("PASSING {passing}, FAILING {failing} and SKIPPED {skipped}");
                return Err(format!("TESTS.TOTAL \"{total}\": expected {sum}, the sum of {parts}"));
            }
        }
        Ok(status)
    }

    fn read_entry(&mut self, entry: &Entry<'_>) -> Result<(), &'static str> {
        match entry {
            Entry::Field(key, value) => self.read_field(key, value),
            Entry::Item(list, item) => {
                match list.as_str() {
                    "BLOCKERS" if !lines::is_none(item) => {
                        self.blockers.get_or_insert_default().push((*item).to_owned());
                    }
                    "PATTERNS_APPLIED" if !lines::is_none(item) => {
                        *self.metrics.entry("patterns_applied".to_owned()).or_default() += 1.0;
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }

    fn read_field(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let number = || lines::parse_whole(value).ok_or(NUMBER);
        let flag = || lines::parse_flag(value).ok_or(FLAG);
        match key {
            "TIMESTAMP" => {
                let instant = Instant::parse(lines::bare_value(value)).ok();
                self.timestamp = Some(instant.ok_or("RFC 3339, such as 2026-02-12T10:30:00Z")?);
            }
            "PHASE" => self.phase = Some(phase_name(value).ok_or("the name of a phase, such as GREEN")?),
            "STATUS" => {
                let status = lines::parse_name(value, &Status::NAMES);
                self.status = Some(status.ok_or("one of IN_PROGRESS, BLOCKED, COMPLETE")?);
            }
            "ITERATION" => {
                let iteration = lines::parse_whole(value).filter(|&number| number > 0);
                self.iteration = Some(iteration.ok_or("a whole number, 1 or more")?);
            }
            "PROGRESS_PERCENT" => {
                let percent = lines::parse_whole(value).filter(|&number| number <= 100);
                self.progress_percent = Some(percent.ok_or("a whole number from 0 to 100")?);
            }
            "TESTS.TOTAL" => self.tests.total = Some(number()?),
            "TESTS.PASSING" => self.tests.passing = Some(number()?),
            "TESTS.FAILING" => self.tests.failing = Some(number()?),
            "TESTS.SKIPPED" => self.tests.skipped = Some(number()?),
            "FILES.CREATED" => self.files.created = Some(number()?),
            "FILES.MODIFIED" => self.files.modified = Some(number()?),
            "FILES.DELETED" => self.files.deleted = Some(number()?),
            "CIRCUIT_BREAKER.STATE" => {
                let state = lines::parse_name(value, &BreakerState::NAMES);
                self.circuit_breaker.state = Some(state.ok_or("one of CLOSED, HALF_OPEN, OPEN")?);
            }
            "CIRCUIT_BREAKER.NO_PROGRESS_COUNT" => self.circuit_breaker.no_progress_count = Some(number()?),
            "CIRCUIT_BREAKER.SAME_ERROR_COUNT" => self.circuit_breaker.same_error_count = Some(number()?),
            "DUAL_GATE.GATE_1" => self.dual_gate.gate_1 = Some(flag()?),
            "DUAL_GATE.GATE_2" => self.dual_gate.gate_2 = Some(flag()?),
            "DUAL_GATE.CAN_EXIT" => self.dual_gate.can_exit = Some(flag()?),
            "RATE_LIMIT.HOURLY" => {
                let made = number()?;
                let limit = lines::bare_value(value).split_once('/').and_then(|(_, limit)| lines::parse_whole(limit));
                self.rate_limit.hourly = Some(Hourly { made, limit });
            }
            "RATE_LIMIT.5H_LIMIT" => self.rate_limit.five_hours = lines::parse_text(value),
            "BLOCKERS" if value.is_empty() || lines::is_none(value) => self.blockers = Some(Vec::new()),
            "BLOCKERS" => self.blockers = Some(vec![value.to_owned()]),
            "EXIT_SIGNAL" => self.exit_signal = Some(flag()?),
            "RECOMMENDATION" => self.recommendation = lines::parse_text(value),
            "TESTS" | "FILES" | "CIRCUIT_BREAKER" | "DUAL_GATE" | "RATE_LIMIT" | "METRICS" | "QA_METRICS"
                if !value.is_empty() =>
            {
                return Err("nothing: its fields follow below it, indented");
            }
            "PATTERNS_APPLIED" => {
                self.metrics.insert("patterns_applied".to_owned(), 0.0);
            }
            other => {
                let metric = other.strip_prefix("METRICS.").or_else(|| other.strip_prefix("QA_METRICS."));
                if let Some(name) = metric {
                    self.metrics.insert(name.to_ascii_lowercase(), parse_number(value).ok_or("a number")?);
                }
            }
        }
        Ok(())
    }
}

fn entries<'a>(block: &[Line<'a>]) -> Vec<Entry<'a>> {
    lines::entries(block, |key| KEYS.contains(&key) || IGNORED_KEYS.contains(&key))
}

/// Phases are an open list: any name is valid.
fn phase_name(value: &str) -> Option<String> {
    const NAME_BYTES_MAX: usize = 64;
    let name = lines::bare_value(value);
    let is_name = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_name.then(|| name.to_owned())
}

/// A number that may have a fraction or be negative; the 3 in `3/10`. `true` and `false` are 1 and 0.
fn parse_number(value: &str) -> Option<f64> {
    let whole = lines::parse_whole(value).map(|number| number as f64);
    let flag = || lines::parse_flag(value).map(|flag| f64::from(u8::from(flag)));
    let decimal = || lines::bare_value(value).parse::<f64>().ok().filter(|number| number.is_finite());
    whole.or_else(flag).or_else(decimal)
}

/// The text on one line, because a block has one field per line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for PhaseStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: Option<u64>| value.map(|number| number.to_string());
        let flag = |value: Option<bool>| value.map(|flag| flag.to_string());
        let mut writer = BlockWriter { formatter };
        writer.line(BEGIN)?;
        writer.field("TIMESTAMP", self.timestamp.map(timestamp_text))?;
        writer.field("PHASE", self.phase.clone())?;
        writer.field("STATUS", self.status.map(|status| status.as_str().to_owned()))?;
        writer.field("ITERATION", number(self.iteration))?;
        writer.field("PROGRESS_PERCENT", number(self.progress_percent))?;
        let TestTally { total, passing, failing, skipped } = self.tests;
        let tests = [("TOTAL", total), ("PASSING", passing), ("FAILING", failing), ("SKIPPED", skipped)];
        writer.section("TESTS", tests.map(|(key, value)| (key, number(value))))?;
        let FileTally { created, modified, deleted } = self.files;
        let files = [("CREATED", created), ("MODIFIED", modified), ("DELETED", deleted)];
        writer.section("FILES", files.map(|(key, value)| (key, number(value))))?;
        let BreakerTally { state, no_progress_count, same_error_count } = self.circuit_breaker;
        writer.section(
            "CIRCUIT_BREAKER",
            [
                ("STATE", state.map(|state| state.as_str().to_owned())),
                ("NO_PROGRESS_COUNT", number(no_progress_count)),
                ("SAME_ERROR_COUNT", number(same_error_count)),
            ],
        )?;
        let DualGate { gate_1, gate_2, can_exit } = self.dual_gate;
        let gates = [("GATE_1", gate_1), ("GATE_2", gate_2), ("CAN_EXIT", can_exit)];
        writer.section("DUAL_GATE", gates.map(|(key, value)| (key, flag(value))))?;
        let hourly = self.rate_limit.hourly.map(|Hourly { made, limit }| match limit {
            Some(limit) => format!("{made}/{limit}"),
            None => made.to_string(),
        });
        writer.section("RATE_LIMIT", [("HOURLY", hourly), ("5H_LIMIT", self.rate_limit.five_hours.clone())])?;
        let is_qa = self.phase.as_deref().is_some_and(|phase| phase.eq_ignore_ascii_case("QA"));
        let metrics = self.metrics.iter().map(|(name, value)| (name.to_ascii_uppercase(), Some(value.to_string())));
        writer.section(if is_qa { "QA_METRICS" } else { "METRICS" }, metrics)?;
        if let Some(blockers) = &self.blockers {
            writer.line("BLOCKERS:")?;
            blockers.iter().try_for_each(|blocker| writer.line(&format!("  - {}", one_line(blocker))))?;
            if blockers.is_empty() {
                writer.line("  - none")?;
            }
        }
        writer.field("EXIT_SIGNAL", flag(self.exit_signal))?;
        writer.field("RECOMMENDATION", self.recommendation.clone())?;
        writer.line(END)
    }
}

/// Whole seconds as the original files spell them, milliseconds if there are any.
fn timestamp_text(instant: Instant) -> String {
    if instant == instant.whole_second() { instant.to_seconds_text() } else { instant.to_string() }
}

/// Writes a block and leaves out what is missing.
struct BlockWriter<'a, 'b> {
    formatter: &'a mut fmt::Formatter<'b>,
}

impl BlockWriter<'_, '_> {
    fn line(&mut self, text: &str) -> fmt::Result {
        writeln!(self.formatter, "{text}")
    }

    fn field(&mut self, key: &str, value: Option<String>) -> fmt::Result {
        match value.map(|value| one_line(&value)).filter(|value| !value.is_empty()) {
            Some(value) => writeln!(self.formatter, "{key}: {value}"),
            None => Ok(()),
        }
    }

    fn section<K: AsRef<str>>(
        &mut self,
        name: &str,
        fields: impl IntoIterator<Item = (K, Option<String>)>,
    ) -> fmt::Result {
        let mut is_begun = false;
        for (key, value) in fields {
            if value.is_some() && !is_begun {
                writeln!(self.formatter, "{name}:")?;
                is_begun = true;
            }
            self.field(&format!("  {}", key.as_ref()), value)?;
        }
        Ok(())
    }
}
