//! `RALPH_STATUS`: what an agent says at the end of one iteration of a loop.

use std::fmt;

use super::Status;
use super::lines::{self, Entry, Line};

/// One iteration as the agent reports it. `None` for what the agent did not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RalphStatus {
    pub status: Option<Status>,
    /// Tasks finished in this iteration.
    pub tasks_completed: Option<u64>,
    /// Files changed in this iteration.
    pub files_modified: Option<u64>,
    pub tests: Option<TestsStatus>,
    /// The kind of work, in capitals.
    pub work_type: Option<String>,
    /// Whether the loop should end.
    pub exit_signal: Option<bool>,
    /// What to do next.
    pub recommendation: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestsStatus {
    Passing,
    Failing,
    NotRun,
}

impl TestsStatus {
    const NAMES: [(&'static str, TestsStatus); 3] =
        [("PASSING", TestsStatus::Passing), ("FAILING", TestsStatus::Failing), ("NOT_RUN", TestsStatus::NotRun)];

    fn as_str(self) -> &'static str {
        lines::name_of(self, &Self::NAMES)
    }
}

const KEYS: [&str; 7] = [
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
        for entry in lines::entries(block, |key| KEYS.contains(&key)) {
            let Entry::Field(key, value) = entry else { continue };
            match key.as_str() {
                "STATUS" => status.status = lines::parse_name(value, &Status::NAMES),
                "TASKS_COMPLETED_THIS_LOOP" => status.tasks_completed = lines::parse_whole(value),
                "FILES_MODIFIED" => status.files_modified = lines::parse_whole(value),
                "TESTS_STATUS" => status.tests = lines::parse_name(value, &TestsStatus::NAMES),
                "WORK_TYPE" => status.work_type = work_type(value),
                "EXIT_SIGNAL" => status.exit_signal = lines::parse_flag(value),
                "RECOMMENDATION" => status.recommendation = lines::parse_text(value),
                _ => {}
            }
        }
        status
    }
}

/// The kinds of work are an open list: any single word is valid.
fn work_type(value: &str) -> Option<String> {
    let word = lines::bare_value(value).to_ascii_uppercase();
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_word.then_some(word)
}

impl fmt::Display for RalphStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "---RALPH_STATUS---")?;
        let fields = [
            ("STATUS", self.status.map(|status| status.as_str().to_owned())),
            ("TASKS_COMPLETED_THIS_LOOP", self.tasks_completed.map(|number| number.to_string())),
            ("FILES_MODIFIED", self.files_modified.map(|number| number.to_string())),
            ("TESTS_STATUS", self.tests.map(|tests| tests.as_str().to_owned())),
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
