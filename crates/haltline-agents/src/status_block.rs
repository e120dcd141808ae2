//! Status blocks: what an agent says about its own iteration, in the two forms that prompts ask for (P7, P8).
//!
//! `PRP_PHASE_STATUS` reports a phase of work, `RALPH_STATUS` one iteration of a loop. haltline reads an agent's text
//! leniently: a value it cannot parse is missing and never guessed, so the empty form, which prompts repeat with
//! `true | false` in its fields, says nothing. A block that is filed as a report is read strictly (E8).
//! A block without its end line is not a block: the text may have been cut off in the middle of it.

mod lines;
mod phase;
mod ralph;

use std::fmt;

use haltline_core::shorten;

use lines::Line;
pub use phase::{BreakerState, BreakerTally, DualGate, FileTally, Hourly, PhaseStatus, RateLimit, TestTally};
pub use ralph::{RalphStatus, TestsStatus};

/// A status block of either form.
#[derive(Clone, Debug, PartialEq)]
pub enum StatusBlock {
    Phase(Box<PhaseStatus>),
    Ralph(RalphStatus),
}

impl StatusBlock {
    /// The status of the work, if the block has it.
    pub fn status(&self) -> Option<Status> {
        match self {
            StatusBlock::Phase(block) => block.status,
            StatusBlock::Ralph(block) => block.status,
        }
    }

    /// Whether the agent wants the loop to end, if the block says so. It takes precedence over the status.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    InProgress,
    /// It cannot continue by itself.
    Blocked,
    Complete,
}

impl Status {
    const NAMES: [(&'static str, Status); 3] =
        [("IN_PROGRESS", Status::InProgress), ("BLOCKED", Status::Blocked), ("COMPLETE", Status::Complete)];

    /// The stable text in a block.
    pub fn as_str(self) -> &'static str {
        lines::name_of(self, &Self::NAMES)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

pub fn last_block(text: &str) -> Option<StatusBlock> {
    last_among_lines(text).or_else(|| {
        // A client that prints its output as JSON of an unknown form: the block is in it with escaped line breaks.
        let is_escaped = text.contains("_STATUS---\\n") || text.contains("_STATUS---\\r\\n");
        is_escaped.then(|| last_among_lines(&text.replace("\\r\\n", "\n").replace("\\n", "\n"))).flatten()
    })
}

/// Parses a block that is filed as a report: a field that does not fit is an error that names the field, its value and
/// what was expected. The last block in the text counts; the text around it does not.
pub fn parse_phase_status(text: &str) -> Result<PhaseStatus, StatusBlockError> {
    let lines = Line::all(text);
    let (mut start, mut found) = (None, None);
    for (index, line) in lines.iter().enumerate() {
        match line.delimiter() {
            Some(("PRP_PHASE_STATUS", true)) => start = Some(index + 1),
            Some(("PRP_PHASE_STATUS", false)) => found = start.take().map(|start| start..index).or(found),
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
    for (index, line) in lines.iter().enumerate() {
        match line.delimiter() {
            Some((name, true)) => open = Some((name, index + 1)),
            Some((name, false)) => {
                if let Some((_, start)) = open.take().filter(|(begun, _)| *begun == name) {
                    last = Some((name, start..index));
                }
            }
            // The form without delimiters has its fields indented below it.
            None if open.is_none() && line.indent == 0 && line.text == "RALPH_STATUS:" => {
                let below = lines[index + 1..].iter().take_while(|line| line.indent > 0 || line.text.is_empty());
                last = Some(("RALPH_STATUS", index + 1..index + 1 + below.count()));
            }
            None => {}
        }
    }
    let (name, index) = last?;
    Some(match name {
        "PRP_PHASE_STATUS" => StatusBlock::Phase(Box::new(PhaseStatus::read(&lines[index]))),
        _ => StatusBlock::Ralph(RalphStatus::read(&lines[index])),
    })
}

/// Why a text is not a status block, in one line for the person or program that filed it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct StatusBlockError {
    text: String,
}
