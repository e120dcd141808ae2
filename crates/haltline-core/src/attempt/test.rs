//! One test of a slice: its name, its attempts, and the seed's eight fields (A1, A3).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Report;
use crate::{Instant, shorten};

/// The exact name of a test, as its runner reports it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TestName(String);

/// The text is not a valid name of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestNameError {
    shown: String,
}

impl TestName {
    pub const BYTES_MAX: usize = 1024;

    /// Parses a name: one line, not empty. Surrounding blanks are removed.
    pub fn parse(text: &str) -> Result<Self, TestNameError> {
        let name = text.trim();
        let fits = !name.is_empty() && name.len() <= Self::BYTES_MAX && !name.chars().any(char::is_control);
        if fits { Ok(Self(name.to_owned())) } else { Err(TestNameError { shown: shorten(text) }) }
    }

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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestState {
    /// Failed attempts since the test last passed.
    pub attempt_count: u32,
    /// The newest attempts, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempted>,
    /// Number of attempts with any result since the slice began or was reset.
    #[serde(default)]
    pub attempts_total: u64,
    /// Runs in a row that say nothing about the test.
    #[serde(default)]
    pub infrastructure_in_a_row: u32,
    /// Every file that was changed during attempts on the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_touched: Vec<String>,
    /// The tree before anything was changed for the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The report, once the agent filed one. The runner's output is kept with the attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// Number among all attempts on the test since the slice began or was reset.
    pub number: u64,
    /// What the agent tried.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Number of changed files beyond those listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_more: u64,
    pub result: TestResult,
    /// The result was entered by hand; no runner reported it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_declared: bool,
    /// One sentence about what the runner reported.
    #[serde(rename = "said", default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The runner's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Printed>,
    /// It began before a person's decision, so it does not count (E12).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stale: bool,
    /// When it ended.
    pub at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestResult {
    /// It ran and passed.
    Pass,
    Fail,
    /// It did not run, which says nothing about the test (A3).
    Infra,
    /// haltline cannot tell whether it ran, and treats it as not run.
    Unclear,
}

impl TestResult {
    pub fn as_str(self) -> &'static str {
        match self {
            TestResult::Pass => "pass",
            TestResult::Fail => "fail",
            TestResult::Infra => "infra",
            TestResult::Unclear => "unclear",
        }
    }
}

/// A runner's output. The journal has the whole text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// The lines that describe the failure, verbatim.
    pub excerpt: String,
    /// Length of the whole output.
    pub bytes: u64,
    /// It contains something that looks like a secret, which haltline masks when it displays the text (E10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_secrets: bool,
    /// The exit code of the test command, if haltline ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
}

impl Printed {
    /// Limit on the output that the journal keeps (E10).
    pub const BYTES_MAX: usize = 256 * 1024;
    /// Limit on the excerpt that the slice's row keeps.
    pub const EXCERPT_BYTES_MAX: usize = 4 * 1024;
}

impl Attempted {
    /// True if the attempt counts as a failure.
    pub fn is_failure(&self) -> bool {
        match self.result {
            TestResult::Fail => !self.is_stale,
            TestResult::Pass | TestResult::Infra | TestResult::Unclear => false,
        }
    }
}

impl TestState {
    /// Limit on the attempts in the row; the journal keeps all.
    pub(super) const ATTEMPTS_MAX: usize = 32;
    /// Limit on the files listed per test.
    pub(super) const FILES_MAX: usize = 256;

    /// The failed attempts since the test last passed: the seed's `attempt_log`.
    pub fn log(&self) -> Vec<&Attempted> {
        let failures = self.attempts.iter().filter(|attempt| attempt.is_failure());
        let failures: Vec<&Attempted> = failures.collect();
        let behind = failures.len().saturating_sub(self.attempt_count as usize);
        failures[behind..].to_vec()
    }

    pub fn last(&self) -> Option<&Attempted> {
        self.attempts.last()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
