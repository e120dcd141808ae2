//! The diagnostic report after a trip: eight fields, none of them empty (A4).
//!
//! A field that does not apply says so and why: `not applicable: the test never got as far as a file`. The same text
//! may replace a list. An empty list that is written out (`[]`) is valid only for the files and the scope violations,
//! and only if the journal has none either: there it is a complete answer, while an empty attempt log or a report
//! without recovery options never is. A field that is left out is missing, whatever the journal has.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::shorten;

/// The eight fields in order, each with what it must contain.
pub const FIELDS: [(&str, &str); 8] = [
    ("test_expectation", "what the test expects: the behaviour, not the assertion"),
    ("actual_error", "what the test runner printed, unchanged"),
    ("attempt_log", "each attempt with its strategy, files and result"),
    ("cumulative_files_modified", "every file changed by these attempts"),
    ("scope_violations", "changed files outside the scope, each with its justification"),
    ("best_hypothesis", "the best theory of the root cause, from all the evidence"),
    ("specific_question", "the one question whose answer would unblock the work"),
    ("recovery_options", "possible next steps, each with its risk"),
];

const PROBLEMS_MAX: usize = 20;

/// A list, or a text that replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed<T> {
    Items(Vec<T>),
    /// Why there is no list.
    #[serde(rename = "words")]
    Text(String),
}

impl<T> Listed<T> {
    /// The list; empty if a text replaces it.
    pub fn items(&self) -> &[T] {
        match self {
            Listed::Items(items) => items,
            Listed::Text(_) => &[],
        }
    }

    /// True if it is an empty list or an empty text.
    fn is_blank(&self) -> bool {
        match self {
            Listed::Items(items) => items.is_empty(),
            Listed::Text(text) => text.trim().is_empty(),
        }
    }
}

/// A field that nobody wrote, which is different from an empty list.
impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Its number, from 1.
    pub attempt: u32,
    pub strategy: String,
    /// The files it changed; may be empty.
    pub files: Vec<String>,
    pub result: String,
}

/// A file out of scope that was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeViolation {
    pub file: String,
    /// Why it was changed.
    pub justification: String,
}

/// A way to continue the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryOption {
    pub option: String,
    /// What may go wrong with it.
    pub risk: String,
}

/// The report. A field that was not written is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub test_expectation: String,
    /// What the runner printed.
    pub actual_error: String,
    pub attempt_log: Listed<LogLine>,
    pub cumulative_files_modified: Listed<String>,
    /// What was changed out of scope.
    pub scope_violations: Listed<ScopeViolation>,
    /// The best theory of the root cause.
    pub best_hypothesis: String,
    /// The one question whose answer would unblock the work.
    pub specific_question: String,
    /// Ways to continue the work.
    pub recovery_options: Listed<RecoveryOption>,
}

/// What the journal has and a report must not leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalEvidence<'journal> {
    pub attempts: &'journal [u32],
    /// The files that the attempts changed.
    pub files: &'journal [String],
    /// The files that were changed out of scope.
    pub violations: &'journal [String],
    /// The runner's output as haltline showed it to the author of the report.
    pub actual_error: Option<&'journal str>,
}

impl Report {
    /// Why the report cannot be filed yet, each as a sentence that names the field.
    pub fn problems(&self, known: JournalEvidence<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        let text = |field: &str, value: &str, problems: &mut Vec<String>| {
            problems.extend(lacking(value).map(|lacking| lacking.sentence(field)));
        };
        text("test_expectation", &self.test_expectation, &mut problems);
        text("actual_error", &self.actual_error, &mut problems);
        if let Some(printed) = known.actual_error
            && lacking(&self.actual_error).is_none()
            && !contains_text(&self.actual_error, printed)
        {
            problems
                .push("actual_error differs from what the test runner printed; copy the output unchanged.".to_owned());
        }
        list("attempt_log", &self.attempt_log, false, &mut problems, |at, line, problems| {
            text(&format!("attempt_log[{at}].strategy"), &line.strategy, problems);
            text(&format!("attempt_log[{at}].result"), &line.result, problems);
        });
        // A missing or empty log was reported above.
        if !self.attempt_log.is_blank() {
            let logged: BTreeSet<u32> = self.attempt_log.items().iter().map(|line| line.attempt).collect();
            for attempt in known.attempts.iter().filter(|attempt| !logged.contains(attempt)).take(PROBLEMS_MAX) {
                problems.push(format!("attempt_log omits attempt {attempt}, which the journal has."));
            }
        }
        let may_be_empty = known.files.is_empty();
        let files = &self.cumulative_files_modified;
        list("cumulative_files_modified", files, may_be_empty, &mut problems, |at, file, problems| {
            text(&format!("cumulative_files_modified[{at}]"), file, problems);
        });
        left_out("cumulative_files_modified", files, known.files, String::as_str, &mut problems);
        let may_be_empty = known.violations.is_empty();
        let violations = &self.scope_violations;
        list("scope_violations", violations, may_be_empty, &mut problems, |at, violation, problems| {
            text(&format!("scope_violations[{at}].file"), &violation.file, problems);
            text(&format!("scope_violations[{at}].justification"), &violation.justification, problems);
        });
        left_out("scope_violations", violations, known.violations, |violation| &violation.file, &mut problems);
        text("best_hypothesis", &self.best_hypothesis, &mut problems);
        text("specific_question", &self.specific_question, &mut problems);
        list("recovery_options", &self.recovery_options, false, &mut problems, |at, recovery, problems| {
            text(&format!("recovery_options[{at}].option"), &recovery.option, problems);
            text(&format!("recovery_options[{at}].risk"), &recovery.risk, problems);
        });
        if problems.len() > PROBLEMS_MAX {
            let more = problems.len() - PROBLEMS_MAX;
            problems.truncate(PROBLEMS_MAX);
            problems.push(format!("{more} more fields are incomplete."));
        }
        problems
    }
}

fn list<T>(
    field: &str,
    listed: &Listed<T>,
    may_be_empty: bool,
    problems: &mut Vec<String>,
    mut each: impl FnMut(usize, &T, &mut Vec<String>),
) {
    match listed {
        Listed::Items(items) if items.is_empty() && !may_be_empty => problems.push(Lacking::Empty.sentence(field)),
        Listed::Items(items) => {
            for (at, item) in items.iter().enumerate() {
                each(at + 1, item, problems);
            }
        }
        Listed::Text(text) => match lacking(text) {
            Some(lacking) => problems.push(lacking.sentence(field)),
            None if reason_for_none(text).is_some() => {}
            None => problems.push(format!("{field} is {}: expected a list, or `not applicable: …`.", shorten(text))),
        },
    }
}

/// Adds a problem for each item that the journal has and the list leaves out.
fn left_out<T>(
    field: &str,
    listed: &Listed<T>,
    known: &[String],
    name: impl Fn(&T) -> &str,
    problems: &mut Vec<String>,
) {
    let named: BTreeSet<&str> = listed.items().iter().map(|item| name(item).trim().trim_start_matches("./")).collect();
    // `list` has reported a missing or empty list.
    if listed.is_blank() {
        return;
    }
    for file in known.iter().filter(|file| !named.contains(file.as_str())).take(PROBLEMS_MAX) {
        problems.push(format!("{field} omits {}, which the journal has.", shorten(file)));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lacking {
    Empty,
    Reason,
    Unfilled,
}

impl Lacking {
    fn sentence(self, field: &str) -> String {
        match self {
            Lacking::Empty => format!("{field} is missing or empty."),
            Lacking::Reason => format!("{field} does not say why it does not apply; write `not applicable: …`."),
            Lacking::Unfilled => format!("{field} is not filled in yet."),
        }
    }
}

fn lacking(text: &str) -> Option<Lacking> {
    let text = text.trim();
    if !text.chars().any(char::is_alphanumeric) {
        return Some(Lacking::Empty);
    }
    if matches!(text.to_lowercase().as_str(), "todo" | "tbd" | "fixme" | "null" | "...")
        || (text.starts_with('<') && text.ends_with('>') && !text[1..text.len() - 1].contains(['<', '>']))
    {
        return Some(Lacking::Unfilled);
    }
    match reason_for_none(text) {
        Some(reason) if !is_reason(reason) => Some(Lacking::Reason),
        Some(_) | None => None,
    }
}

/// The text after "not applicable" or a synonym, if the text begins with one as a statement of its own.
fn reason_for_none(text: &str) -> Option<&str> {
    let text = text.trim();
    ["not applicable", "not available", "n/a", "n.a.", "none", "nothing", "na"].iter().find_map(|word| {
        let head = text.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word))?;
        let rest = text[head.len()..].trim_start();
        let is_end = rest.is_empty() || rest.starts_with([':', ',', '.', ';', '(', '-', '–', '—']);
        let because = ["because", "since", "as "].iter().any(|word| rest.starts_with(word));
        (is_end || because).then(|| rest.trim_start_matches(|letter: char| !letter.is_alphanumeric()))
    })
}

/// One word is not a reason, and neither is another "not applicable".
fn is_reason(reason: &str) -> bool {
    let words = reason.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    words >= 2 && reason_for_none(reason).is_none()
}

/// True if `text` contains all of `printed`, ignoring differences in white space.
fn contains_text(text: &str, printed: &str) -> bool {
    let normalized = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    normalized(text).contains(&normalized(printed))
}
