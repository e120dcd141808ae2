//! Classifies a turn that changed nothing by the agent's last message: a question to the user, a plan, or neither.
//!
//! An agent that waits for an answer makes no progress, but it is not looping either (P4). English only, and with a
//! short list of phrases: a missed question counts as an iteration without progress, which a few more iterations will
//! reveal; a rhetorical question that is mistaken for a real one would hide a looping agent.

mod iteration_error;

pub use iteration_error::{IterationError, iteration_error};

use crate::headless::{Ending, HeadlessReport};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    AskedUser {
        question: String,
    },
    /// The agent planned and wrote nothing.
    PlanOnly,
    Other,
}

/// The question must be among this many sentences at the end.
const SENTENCES_MAX: usize = 3;
/// How many list items may follow the question: the answers it offers.
const ITEMS_MAX: usize = 10;
/// This many items make a plan.
const PLAN_ITEMS_MIN: usize = 2;
/// How much of a question is kept.
const QUESTION_BYTES_MAX: usize = 500;

/// How a request begins that has no question mark.
const REQUESTS: [&str; 17] = [
    "please confirm",
    "please advise",
    "please clarify",
    "please choose",
    "please decide",
    "please specify",
    "please provide",
    "please tell me",
    "please let me know",
    "let me know",
    "tell me",
    "waiting for your",
    "awaiting your",
    "i'll wait for your",
    "i will wait for your",
    "i'm waiting for your",
    "i need your",
];

/// Words that mark a sentence with a question mark as addressed to the user. They must stand between blanks.
const ADDRESSES: [&str; 14] = [
    " you ",
    " your ",
    " you'd ",
    " should i ",
    " shall i ",
    " may i ",
    " can i ",
    " could i ",
    " do i ",
    " want me ",
    " should we ",
    " shall we ",
    " okay to ",
    " ok to ",
];

/// Phrases of courtesy: an agent that uses them has finished and is not asking.
const COURTESIES: [&str; 14] = [
    "anything else",
    "any questions",
    "any other questions",
    "any issues",
    "any problems",
    "any feedback",
    "any changes",
    "any further",
    "further assistance",
    "further changes",
    "is unclear",
    "need more detail",
    "need any",
    "have questions",
];

const PLANS: [&str; 15] = [
    "here is my plan",
    "here's my plan",
    "here is the plan",
    "here's the plan",
    "here is a plan",
    "here's a plan",
    "here is what i will do",
    "here's what i'll do",
    "implementation plan",
    "proposed plan",
    "plan",
    "my plan",
    "the plan",
    "i plan to",
    "i propose",
];

/// Phrases of a report about finished work, which a plan does not contain.
const REPORTS: [&str; 9] =
    [" done", " completed", " implemented", " i fixed", " i added", " i changed", " i updated", " i ran", "passed"];

pub fn turn_end_of(report: &HeadlessReport) -> TurnEnd {
    match &report.ending {
        Ending::Finished | Ending::Silent => {}
        Ending::Hook { .. }
        | Ending::ApiLimit { .. }
        | Ending::Infrastructure { .. }
        | Ending::Turns
        | Ending::Failed { .. } => return TurnEnd::Other,
    }
    let message = Prose::from_message(&report.last_message);
    if let Some(question) = report.question.clone().or_else(|| message.question()) {
        return TurnEnd::AskedUser { question };
    }
    if report.writing_calls == 0 && (report.is_planning || message.is_plan()) {
        return TurnEnd::PlanOnly;
    }
    TurnEnd::Other
}

/// A message without code, quotations and status blocks.
struct Prose {
    lines: Vec<Line>,
}

struct Line {
    text: String,
    is_item: bool,
}

impl Prose {
    fn from_message(message: &str) -> Self {
        let (mut is_code, mut is_block) = (false, false);
        let mut lines = Vec::new();
        for line in message.lines() {
            let line = line.trim();
            if line.starts_with("```") || line.starts_with("~~~") {
                is_code = !is_code;
            } else if !is_code && line.starts_with("---") && line.ends_with("_STATUS---") {
                is_block = !line.starts_with("---END_");
            } else if !is_code && !is_block && !line.starts_with('>') && !line.is_empty() {
                let (text, is_item) = without_bullet(line);
                lines.push(Line { text: without_markup(text), is_item });
            }
        }
        Self { lines }
    }

    fn question(&self) -> Option<String> {
        let (mut sentences_left, mut items_left) = (SENTENCES_MAX, ITEMS_MAX);
        for line in self.lines.iter().rev() {
            for sentence in sentences(&line.text).into_iter().rev() {
                let left = if line.is_item { &mut items_left } else { &mut sentences_left };
                *left = left.checked_sub(1)?;
                if is_question(sentence) {
                    let end = sentence.floor_char_boundary(QUESTION_BYTES_MAX);
                    return Some(sentence[..end].to_owned());
                }
            }
        }
        None
    }

    /// True when the message is a plan and nothing else.
    fn is_plan(&self) -> bool {
        let text = |line: &Line| format!(" {} ", line.text.to_lowercase().replace('’', "'"));
        let begins = self.lines.iter().filter(|line| !line.is_item).take(2).any(|line| {
            let text = text(line);
            PLANS.iter().any(|plan| text.trim_start().starts_with(plan))
        });
        let items = self.lines.iter().filter(|line| line.is_item).count();
        let reports = self.lines.iter().map(text).any(|text| REPORTS.iter().any(|report| text.contains(report)));
        begins && items >= PLAN_ITEMS_MIN && !reports
    }
}

/// The text of a list item, and whether the line is one.
fn without_bullet(line: &str) -> (&str, bool) {
    if let Some(rest) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| line.strip_prefix("• "))
    {
        return (rest, true);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") ")) {
        Some(rest) if digits > 0 => (rest, true),
        Some(_) | None => (line, false),
    }
}

/// The text without the markup of headings and emphasis, and without quoted text and code: a quoted question is not the
/// agent's own.
fn without_markup(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut within: Option<char> = None;
    for letter in text.trim_start_matches(['#', ' ']).chars() {
        match within {
            Some(end) if letter == end => within = None,
            Some(_) => {}
            None if letter == '`' || letter == '"' => within = Some(letter),
            None if letter == '“' => within = Some('”'),
            None if letter == '*' => {}
            None => kept.push(letter),
        }
    }
    kept
}

/// The sentences of a line, each with its punctuation mark.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((index, letter)) = characters.next() {
        let is_last = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if ".?!".contains(letter) && is_last {
            found.push(line[start..=index].trim());
            start = index + 1;
        }
    }
    found.push(line[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn is_question(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let words: String = lower.chars().map(|letter| if "?,;:!.()".contains(letter) { ' ' } else { letter }).collect();
    let words = format!(" {words} ");
    if COURTESIES.iter().any(|courtesy| lower.contains(courtesy)) {
        return false;
    }
    if lower.ends_with('?') {
        return ADDRESSES.iter().any(|address| words.contains(address));
    }
    // `Before I go on, please confirm …` is a request too; `the dialogue says please confirm` is not.
    let asks = lower.split([',', '—', ':']).map(str::trim_start);
    asks.take(3).any(|clause| REQUESTS.iter().any(|request| clause.starts_with(request)))
}
