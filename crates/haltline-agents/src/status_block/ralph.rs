//! `RALPH_STATUS`: what an agent says at the end of one iteration of a loop.

use std::fmt;

use super::Status;
use super::lines::{self, Entry, Line};

/// One iteration, in the agent's own account. What the agent did not say is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RalphStatus {
    /// How the work stands.
    pub status: Option<Status>,
    /// Tasks it finished in this iteration.
    pub tasks_completed: Option<u64>,
    /// Files it changed in this iteration.
    pub files_modified: Option<u64>,
    /// How the tests stand.
    pub tests: Option<TestsStatus>,
    /// What kind of work it was, in capitals.
    pub work_type: Option<String>,
    /// Whether the loop should end.
    pub exit_signal: Option<bool>,
    /// What to do next.
    pub recommendation: Option<String>,
}

/// How the tests stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestsStatus {
    /// They pass.
    Passing,
    /// Some fail.
    Failing,
    /// Nobody ran them.
    NotRun,
}

impl TestsStatus {
    const WORDS: [(&'static str, TestsStatus); 3] =
        [("PASSING", TestsStatus::Passing), ("FAILING", TestsStatus::Failing), ("NOT_RUN", TestsStatus::NotRun)];

    fn word(self) -> &'static str {
        match self {
            TestsStatus::Passing => "PASSING",
            TestsStatus::Failing => "FAILING",
            TestsStatus::NotRun => "NOT_RUN",
        }
    }
}

const OWN: [&str; 7] = [
    "STATUS",
    "TASKS_COMPLETED_THIS_LOOP",
    "FILES_MODIFIED",
    "TESTS_STATUS",
    "WORK_TYPE",
    "EXIT_SIGNAL",
    "RECOMMENDATION",
];

impl RalphStatus {
    pub(super) fn read(block: &[Line<'_>]) -> Self {
        let mut status = Self::default();
        for entry in lines::entries(block, |key| OWN.contains(&key)) {
            let Entry::Field(key, value) = entry else { continue };
            match key.as_str() {
                "STATUS" => status.status = lines::word(value, &Status::WORDS),
                "TASKS_COMPLETED_THIS_LOOP" => status.tasks_completed = lines::whole(value),
                "FILES_MODIFIED" => status.files_modified = lines::whole(value),
                "TESTS_STATUS" => status.tests = lines::word(value, &TestsStatus::WORDS),
                "WORK_TYPE" => status.work_type = work_type(value),
                "EXIT_SIGNAL" => status.exit_signal = lines::flag(value),
                "RECOMMENDATION" => status.recommendation = lines::text(value),
                _ => {}
            }
        }
        status
    }
}

/// The kinds of work are an open list: any single word is one.
fn work_type(value: &str) -> Option<String> {
    let word = lines::bare(value).to_ascii_uppercase();
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_word.then_some(word)
}

impl fmt::Display for RalphStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "---RALPH_STATUS---")?;
        let fields = [
            ("STATUS", self.status.map(|status| status.word().to_owned())),
            ("TASKS_COMPLETED_THIS_LOOP", self.tasks_completed.map(|number| number.to_string())),
            ("FILES_MODIFIED", self.files_modified.map(|number| number.to_string())),
            ("TESTS_STATUS", self.tests.map(|tests| tests.word().to_owned())),
            ("WORK_TYPE", self.work_type.clone()),
            ("EXIT_SIGNAL", self.exit_signal.map(|signal| signal.to_string())),
            ("RECOMMENDATION", self.recommendation.clone()),
        ];
        for (key, value) in fields {
            if let Some(value) = value {
                writeln!(formatter, "{key}: {}", super::phase::one_line(&value))?;
            }
        }
        writeln!(formatter, "---END_RALPH_STATUS---")
    }
}
