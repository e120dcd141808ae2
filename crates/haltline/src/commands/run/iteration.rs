//! What one iteration of a loop was: signs of progress, an error, a reason why it says nothing, the end of the work.

use std::time::Duration;

use haltline_agents::headless::{Ending, Told};
use haltline_agents::status_block::{RalphStatus, Status, StatusBlock, last_block};
use haltline_agents::turn_end::{TurnEnd, complaint, reading};
use haltline_core::phase::{ErrorSeen, Metrics, Report, Signal, Source};
use haltline_core::{Instant, identity::Digest};
use haltline_engine::changes::{Change, Look};

use super::budget::taken;
use crate::run::{Cause, Ended, How};

/// How much of standard error is looked at for a complaint.
const STDERR_BYTES: usize = 16 * 1024;

/// An iteration that ended, with all that was seen of it.
pub struct Seen<'a> {
    /// The process.
    pub ended: &'a Ended,
    /// What the client said of itself.
    pub told: &'a Told,
    /// What changed.
    pub changes: &'a [Change],
    /// The tree afterwards.
    pub after: &'a Look,
    /// Test results.
    pub metrics: Metrics,
    /// The iteration's own time limit.
    pub limit: Option<Duration>,
}

/// What follows for the loop beside the report.
#[derive(Debug, Default)]
pub struct Outlook {
    /// The work is done, and who says so.
    pub is_done: Option<String>,
    /// Nothing can be done before this instant, and why.
    pub wait: Option<Wait>,
}

/// Something to wait for.
#[derive(Debug)]
pub struct Wait {
    /// Until when, where somebody said so.
    pub until: Option<Instant>,
    /// What is in the way.
    pub what: &'static str,
    /// In the client's words.
    pub why: String,
}

/// Judges nothing: puts what was seen into the words of the core.
pub fn report(seen: &Seen<'_>, now: Instant, ahead_of_utc_s: i32) -> (Report, Outlook) {
    let Seen { ended, told, changes, after, metrics, limit } = seen;
    let block = last_block(&told.words);
    let mut signals: Vec<Signal> =
        changes.iter().map(|change| Signal { source: change.source, count: change.count }).collect();
    signals.extend(self_report(block.as_ref()));
    let has_changed = !changes.is_empty();
    let mut outlook = Outlook { is_done: done(block.as_ref()), wait: None };
    let (error, neutral) = match (&told.ending, ended.cause) {
        (Ending::ApiLimit { resets, message }, _) => {
            let until = resets.as_ref().map(|reset| reset.moment_locally(now, ahead_of_utc_s));
            outlook.wait = Some(Wait { until, what: "the API's limit", why: message.clone() });
            (None, Some(format!("API limit: {message}")))
        }
        (Ending::Infrastructure { message }, _) => {
            outlook.wait = Some(Wait { until: None, what: "trouble outside", why: message.clone() });
            (None, Some(format!("trouble outside: {message}")))
        }
        // Ended by the clock in the middle of work is no failure of the work.
        (_, Cause::Wall | Cause::Idle) if has_changed => (None, None),
        (_, Cause::Wall) => {
            let limit = limit.unwrap_or_default().as_secs();
            (Some(ErrorSeen::new("timeout", &format!("the iteration did not end within {limit} s"))), None)
        }
        (_, Cause::Idle) => (Some(ErrorSeen::new("idle", "the iteration said nothing for too long")), None),
        (_, Cause::NeedsTerminal) => {
            (Some(ErrorSeen::new("terminal", "the command asked for a terminal, which a loop does not have")), None)
        }
        (Ending::Turns, _) if has_changed => (None, None),
        (
            Ending::Silent | Ending::Finished | Ending::Hook { .. } | Ending::Turns | Ending::Failed { .. },
            Cause::Own | Cause::Asked | Cause::Signal(_),
        ) => {
            let error = complaint(told, &tail(&ended.output.err.text()), exit(ended.how));
            match (error, reading(told)) {
                (Some(error), _) => (Some(ErrorSeen::new(&error.kind, &error.message)), None),
                (None, TurnEnd::Asked { question }) if outlook.is_done.is_none() => {
                    (None, Some(format!("asked a question: {question}")))
                }
                (None, TurnEnd::PlanOnly) if outlook.is_done.is_none() => (None, Some("only planned".to_owned())),
                (None, TurnEnd::Asked { .. } | TurnEnd::PlanOnly | TurnEnd::Other) => (None, None),
            }
        }
    };
    let report = Report {
        metrics: metrics.clone(),
        signals,
        tree: Some(digest(after)),
        error,
        neutral,
        denied: told.denials > told.hook_denials,
        spent: taken(told.spent, u64::try_from(ended.wall.as_millis()).unwrap_or(u64::MAX)),
        ..Report::default()
    };
    (report, outlook)
}

/// A look's content as the core keeps it.
pub fn digest(look: &Look) -> Digest {
    Digest::of(&[&look.fingerprint()])
}

fn tail(text: &str) -> String {
    let bytes = text.as_bytes();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(STDERR_BYTES)..]).into_owned()
}

/// As a shell shows it: a signal is 128 and its number.
fn exit(how: How) -> Option<i32> {
    match how {
        How::Exited(code) => Some(code),
        How::Signalled(signal) => Some(128 + signal),
        How::StillThere => None,
    }
}

/// What the agent says it did: a sign of progress, a weak one.
fn self_report(block: Option<&StatusBlock>) -> Option<Signal> {
    let count = match block? {
        StatusBlock::Phase(status) => {
            status.files.created.unwrap_or(0).saturating_add(status.files.modified.unwrap_or(0))
        }
        StatusBlock::Ralph(RalphStatus { files_modified, tasks_completed, .. }) => {
            files_modified.unwrap_or(0).max(tasks_completed.unwrap_or(0))
        }
    };
    (count > 0).then_some(Signal { source: Source::Status, count })
}

/// An explicit signal beats the status, and a status counts only where there is no signal.
fn done(block: Option<&StatusBlock>) -> Option<String> {
    let block = block?;
    match (block.exit_signal(), block.status()) {
        (Some(true), _) => Some("EXIT_SIGNAL: true".to_owned()),
        (None, Some(Status::Complete)) => Some("STATUS: COMPLETE".to_owned()),
        (Some(false), _) | (None, Some(Status::InProgress | Status::Blocked) | None) => None,
    }
}
