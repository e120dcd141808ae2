//! Status blocks: what an agent says of its own iteration, in the two forms agents are asked for (P7, P8).
//!
//! `PRP_PHASE_STATUS` reports a phase of work, `RALPH_STATUS` one iteration of a loop. An agent's text is read with
//! patience: what cannot be understood is missing, never guessed, so the form itself, which prompts repeat with
//! `true | false` in its fields, says nothing. A block that somebody files as a report is read strictly (E8).
//! A block without its end is no block: the text may have been cut in the middle of it.

mod lines;
mod phase;
mod ralph;

use std::fmt;

use haltline_core::shorten;

use lines::Line;
pub use phase::{BreakerState, BreakerTally, DualGate, FileTally, Hourly, PhaseStatus, RateLimit, TestTally};
pub use ralph::{RalphStatus, TestsStatus};

/// Either form.
#[derive(Clone, Debug, PartialEq)]
pub enum StatusBlock {
    /// `PRP_PHASE_STATUS`.
    Phase(Box<PhaseStatus>),
    /// `RALPH_STATUS`.
    Ralph(RalphStatus),
}

impl StatusBlock {
    /// How the work stands, where the block says so.
    pub fn status(&self) -> Option<Status> {
        match self {
            StatusBlock::Phase(block) => block.status,
            StatusBlock::Ralph(block) => block.status,
        }
    }

    /// Whether the agent wants the loop to end, where the block says so. It weighs more than the status.
    pub fn exit_signal(&self) -> Option<bool> {
        match self {
            StatusBlock::Phase(block) => block.exit_signal,
            StatusBlock::Ralph(block) => block.exit_signal,
        }
    }

    /// What the agent would do next.
    pub fn recommendation(&self) -> Option<&str> {
        match self {
            StatusBlock::Phase(block) => block.recommendation.as_deref(),
            StatusBlock::Ralph(block) => block.recommendation.as_deref(),
        }
    }
}

impl fmt::Display for StatusBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusBlock::Phase(block) => block.fmt(formatter),
            StatusBlock::Ralph(block) => block.fmt(formatter),
        }
    }
}

/// How the work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It goes on.
    InProgress,
    /// It cannot go on by itself.
    Blocked,
    /// It is done.
    Complete,
}

impl Status {
    const WORDS: [(&'static str, Status); 3] =
        [("IN_PROGRESS", Status::InProgress), ("BLOCKED", Status::Blocked), ("COMPLETE", Status::Complete)];

    /// The word in a block.
    pub fn word(self) -> &'static str {
        match self {
            Status::InProgress => "IN_PROGRESS",
            Status::Blocked => "BLOCKED",
            Status::Complete => "COMPLETE",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// The last complete block in the text.
pub fn last_block(text: &str) -> Option<StatusBlock> {
    last_among_lines(text).or_else(|| {
        // A client that prints its answer as JSON of a form nobody knows: the block stands in it with its line breaks
        // written out.
        let is_escaped = text.contains("_STATUS---\\n") || text.contains("_STATUS---\\r\\n");
        is_escaped.then(|| last_among_lines(&text.replace("\\r\\n", "\n").replace("\\n", "\n"))).flatten()
    })
}

/// A block that somebody files: what does not fit is an error that names the field, its value and what was expected.
/// Of several blocks in the text the last one counts; what stands around it does not.
pub fn parse_phase_status(text: &str) -> Result<PhaseStatus, StatusBlockError> {
    let lines = Line::all(text);
    let (mut start, mut found) = (None, None);
    for (place, line) in lines.iter().enumerate() {
        match line.delimiter() {
            Some(("PRP_PHASE_STATUS", true)) => start = Some(place + 1),
            Some(("PRP_PHASE_STATUS", false)) => found = start.take().map(|start| start..place).or(found),
            Some(_) | None => {}
        }
    }
    let expected_end = start.is_some() && found.is_none();
    let found = found.ok_or_else(|| {
        let missing = if expected_end { phase::END } else { phase::BEGIN };
        StatusBlockError { text: format!("status block {}: expected the line {missing}", shorten(text.trim())) }
    })?;
    PhaseStatus::read_strictly(&lines[found]).map_err(|text| StatusBlockError { text })
}

fn last_among_lines(text: &str) -> Option<StatusBlock> {
    let lines = Line::all(text);
    let mut open = None;
    let mut last = None;
    for (place, line) in lines.iter().enumerate() {
        match line.delimiter() {
            Some((name, true)) => open = Some((name, place + 1)),
            Some((name, false)) => {
                if let Some((_, start)) = open.take().filter(|(begun, _)| *begun == name) {
                    last = Some((name, start..place));
                }
            }
            // The form without delimiters: its fields stand below it, indented.
            None if open.is_none() && line.indent == 0 && line.text == "RALPH_STATUS:" => {
                let below = lines[place + 1..].iter().take_while(|line| line.indent > 0 || line.text.is_empty());
                last = Some(("RALPH_STATUS", place + 1..place + 1 + below.count()));
            }
            None => {}
        }
    }
    let (name, place) = last?;
    Some(match name {
        "PRP_PHASE_STATUS" => StatusBlock::Phase(Box::new(PhaseStatus::read(&lines[place]))),
        _ => StatusBlock::Ralph(RalphStatus::read(&lines[place])),
    })
}

/// A text that is no status block, in one line for the one who filed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusBlockError {
    text: String,
}

impl fmt::Display for StatusBlockError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for StatusBlockError {}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS | COMPLETE | BLOCKED\nTASKS_COMPLETED_THIS_LOOP: <number>\n\
        EXIT_SIGNAL: false | true\nRECOMMENDATION: <one line>\n---END_RALPH_STATUS---\n";

    fn exit_signal(text: &str) -> Option<Option<bool>> {
        last_block(text).map(|block| block.exit_signal())
    }

    #[test]
    fn a_form_that_was_not_filled_in_signals_nothing() {
        let block = last_block(FORM).expect("a block");
        assert_eq!((block.status(), block.exit_signal()), (None, None));
    }

    #[test]
    fn the_last_whole_block_counts_whichever_form_it_has() {
        let early = "---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n";
        let late = "---PRP_PHASE_STATUS---\nEXIT_SIGNAL: false\n---END_PRP_PHASE_STATUS---\n";
        assert_eq!(exit_signal(&format!("{early}{late}")), Some(Some(false)));
        assert_eq!(exit_signal(&format!("{late}{early}")), Some(Some(true)));
        let cut = "---RALPH_STATUS---\nEXIT_SIGNAL: true\n";
        assert_eq!(exit_signal(&format!("{late}{cut}")), Some(Some(false)));
        assert_eq!(exit_signal(cut), None);
        assert_eq!(exit_signal(&format!("{cut}{early}")), Some(Some(true)));
        // An end that belongs to another block ends nothing.
        assert_eq!(exit_signal("---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_PRP_PHASE_STATUS---\n"), None);
    }

    #[test]
    fn a_block_inside_the_json_of_an_unknown_client_is_found() {
        let line =
            r#"{"answer":"Done.\n---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n"}"#;
        assert_eq!(exit_signal(line), Some(Some(true)));
        assert_eq!(exit_signal(&line.replace("\\n", "\\r\\n")), Some(Some(true)));
    }

    #[test]
    fn words_about_a_block_are_no_block() {
        for text in [
            "",
            "I will end with a ---RALPH_STATUS--- block.",
            "RALPH_STATUS: fine",
            "  RALPH_STATUS:\n    EXIT_SIGNAL: true",
            "EXIT_SIGNAL: true",
            "---END_RALPH_STATUS---",
        ] {
            assert_eq!(last_block(text), None, "{text}");
        }
    }

    #[test]
    fn a_report_that_is_no_block_is_told_which_line_is_missing() {
        let told = |text: &str| parse_phase_status(text).expect_err("no block").to_string();
        assert_eq!(told("hello\n"), r#"status block "hello": expected the line ---PRP_PHASE_STATUS---"#);
        assert_eq!(
            told("---PRP_PHASE_STATUS---\nPHASE: RED\n"),
            r#"status block "---PRP_PHASE_STATUS---\nPHASE: RED": expected the line ---END_PRP_PHASE_STATUS---"#
        );
        assert_eq!(told(""), r#"status block "": expected the line ---PRP_PHASE_STATUS---"#);
    }
}
