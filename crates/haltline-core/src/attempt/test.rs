//! One test of a slice: its name, its attempts, and the seed's eight fields (A1, A3).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Report;
use crate::{Instant, shorten};

/// The exact name of a test, as its runner reports it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TestName(String);

/// The text cannot name a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestNameError {
    shown: String,
}

impl TestName {
    /// How long a name may be, in bytes.
    pub const BYTES_MAX: usize = 1024;

    /// Takes a text as a name: one line, not empty. Blanks around it are no part of it.
    pub fn parse(text: &str) -> Result<Self, TestNameError> {
        let name = text.trim();
        let fits = !name.is_empty() && name.len() <= Self::BYTES_MAX && !name.chars().any(char::is_control);
        if fits { Ok(Self(name.to_owned())) } else { Err(TestNameError { shown: shorten(text) }) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TestName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_debug())
    }
}

impl fmt::Display for TestNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown } = self;
        let max = TestName::BYTES_MAX;
        write!(formatter, "test {shown}: expected the name the runner reports, on one line, at most {max} bytes")
    }
}

impl std::error::Error for TestNameError {}

/// What is known of one test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestState {
    /// Failed attempts since it last passed.
    pub attempt_count: u32,
    /// The newest attempts, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempted>,
    /// How many attempts there were in this try, of any outcome.
    #[serde(default)]
    pub attempts_total: u64,
    /// Runs in a row that say nothing about the test.
    #[serde(default)]
    pub infrastructure_in_a_row: u32,
    /// Every file that was changed during attempts on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_touched: Vec<String>,
    /// The tree before anything was changed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Its report, once one was filed. What the runner printed stands with the attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
}

/// An attempt, as it was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// Its number among all attempts on the test in this try.
    pub number: u64,
    /// What was tried.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// The files that were changed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many more files were changed than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_more: u64,
    /// What came of it.
    pub result: TestResult,
    /// Somebody said so by hand; no runner did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_declared: bool,
    /// One sentence of what the runner said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// What it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Printed>,
    /// It began before a person decided, so it counts for nothing (E12).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stale: bool,
    /// When it ended.
    pub at: Instant,
}

/// What came of a run of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestResult {
    /// It ran and passed.
    Pass,
    /// It ran and failed.
    Fail,
    /// It did not run: this says nothing about the test (A3).
    Infra,
    /// Nobody can tell whether it ran, so it is taken as not run.
    Unclear,
}

impl TestResult {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            TestResult::Pass => "pass",
            TestResult::Fail => "fail",
            TestResult::Infra => "infra",
            TestResult::Unclear => "unclear",
        }
    }
}

/// What a runner printed. The whole text stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// The lines that tell of the failure, word for word.
    pub excerpt: String,
    /// How long the whole is.
    pub bytes: u64,
    /// It holds what looks like a secret: masked where it is shown (E10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_secrets: bool,
}

impl Printed {
    /// The longest text of a runner that is kept (E10).
    pub const BYTES_MAX: usize = 256 * 1024;
    /// The longest part of it that is kept at hand.
    pub const EXCERPT_BYTES_MAX: usize = 4 * 1024;
}

impl Attempted {
    /// Whether it counted.
    pub fn is_failure(&self) -> bool {
        match self.result {
            TestResult::Fail => !self.is_stale,
            TestResult::Pass | TestResult::Infra | TestResult::Unclear => false,
        }
    }
}

impl TestState {
    /// How many attempts are kept at hand; the journal keeps all.
    pub(super) const ATTEMPTS_MAX: usize = 32;
    /// How many files are listed.
    pub(super) const FILES_MAX: usize = 256;

    /// The failed attempts since it last passed: the seed's `attempt_log`.
    pub fn log(&self) -> Vec<&Attempted> {
        let failures = self.attempts.iter().filter(|attempt| attempt.is_failure());
        let failures: Vec<&Attempted> = failures.collect();
        let behind = failures.len().saturating_sub(self.attempt_count as usize);
        failures[behind..].to_vec()
    }

    /// The newest attempt.
    pub fn last(&self) -> Option<&Attempted> {
        self.attempts.last()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
