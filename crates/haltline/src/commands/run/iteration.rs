//! Turns one iteration of a loop into a report: signs of progress, an error, a reason why it is neutral, the end of the
//! work.

use std::time::Duration;

use haltline_agents::headless::{Ending, HeadlessReport};
use haltline_agents::status_block::{RalphStatus, Status, StatusBlock, last_block};
use haltline_agents::turn_end::{TurnEnd, iteration_error, turn_end_of};
use haltline_core::phase::{Metrics, Report, ReportedError, Signal, Source};
use haltline_core::{Instant, identity::Digest};
use haltline_engine::changes::{Change, WorkTreeSnapshot};
use jiff::tz::TimeZone;

use super::budget::to_phase_spent;
use crate::run::{CommandExit, EndCause, EndedRun};

/// How much of standard error is searched for an error.
const STDERR_BYTES: usize = 16 * 1024;

/// A finished iteration with everything that was observed.
pub struct ObservedIteration<'a> {
    pub ended: &'a EndedRun,
    /// What the client reported about itself.
    pub client_report: &'a HeadlessReport,
    pub changes: &'a [Change],
    /// The work tree afterwards.
    pub after: &'a WorkTreeSnapshot,
    pub metrics: Metrics,
    /// The time limit of the iteration.
    pub limit: Option<Duration>,
}

/// What the loop does next, besides counting the report.
#[derive(Debug, Default)]
pub struct Outlook {
    /// Why the work is done, if it is.
    pub is_done: Option<String>,
    /// What the loop has to wait for, if anything.
    pub wait: Option<Wait>,
}

#[derive(Debug)]
pub struct Wait {
    /// The end of the wait, if the client named one.
    pub until: Option<Instant>,
    pub obstacle: &'static str,
    /// The client's message.
    pub message: String,
}

/// Describes the iteration in the core's terms. It decides nothing.
pub fn report(observed: &ObservedIteration<'_>, now: Instant, zone: &TimeZone) -> (Report, Outlook) {
    let ObservedIteration { ended, client_report, changes, after, metrics, limit } = observed;
    let block = last_block(&client_report.text);
    let mut signals: Vec<Signal> =
        changes.iter().map(|change| Signal { source: change.source, count: change.count }).collect();
    signals.extend(self_report(block.as_ref()));
    let has_changed = !changes.is_empty();
    let mut outlook = Outlook { is_done: done(block.as_ref()), wait: None };
    let (error, neutral) = match (&client_report.ending, ended.cause) {
        (Ending::ApiLimit { resets, message }, _) => {
            let until = resets.as_ref().map(|reset| reset.moment(now, zone, |name| TimeZone::get(name).ok()));
            outlook.wait = Some(Wait { until, obstacle: "the API's limit", message: message.clone() });
            (None, Some(format!("API limit: {message}")))
        }
        (Ending::Infrastructure { message }, _) => {
            outlook.wait = Some(Wait { until: None, obstacle: "trouble outside", message: message.clone() });
            (None, Some(format!("trouble outside: {message}")))
        }
        // An iteration that the clock ended in the middle of work is not a failure of the work.
        (_, EndCause::WallLimit | EndCause::IdleLimit) if has_changed => (None, None),
        (_, EndCause::WallLimit) => {
            let limit = limit.unwrap_or_default().as_secs();
            (Some(ReportedError::new("timeout", &format!("the iteration did not end within {limit} s"))), None)
        }
        (_, EndCause::IdleLimit) => {
            (Some(ReportedError::new("idle", "the iteration printed nothing for too long")), None)
        }
        (_, EndCause::NeedsTerminal) => {
            (Some(ReportedError::new("terminal", "the command asked for a terminal, which a loop does not have")), None)
        }
        (Ending::Turns, _) if has_changed => (None, None),
        (
            Ending::Silent | Ending::Finished | Ending::Hook { .. } | Ending::Turns | Ending::Failed { .. },
            EndCause::Command | EndCause::Listener | EndCause::Signal(_),
        ) => {
            let error = iteration_error(client_report, &tail(&ended.output.err.text()), exit(ended.exit));
            match (error, turn_end_of(client_report)) {
                (Some(error), _) => (Some(ReportedError::new(&error.kind, &error.message)), None),
                (None, TurnEnd::AskedUser { question }) if outlook.is_done.is_none() => {
                    (None, Some(format!("asked a question: {question}")))
                }
                (None, TurnEnd::PlanOnly) if outlook.is_done.is_none() => (None, Some("only planned".to_owned())),
                (None, TurnEnd::AskedUser { .. } | TurnEnd::PlanOnly | TurnEnd::Other) => (None, None),
            }
        }
    };
    let report = Report {
        metrics: metrics.clone(),
        signals,
        tree: Some(digest(after)),
        error,
        neutral,
        permission_denied: client_report.denials > client_report.hook_denials,
        spent: to_phase_spent(client_report.spent, u64::try_from(ended.wall.as_millis()).unwrap_or(u64::MAX)),
        ..Report::default()
    };
    (report, outlook)
}

/// Digest of a snapshot's content, as the core keeps it.
pub fn digest(snapshot: &WorkTreeSnapshot) -> Digest {
    Digest::from_parts(&[&snapshot.fingerprint()])
}

fn tail(text: &str) -> String {
    let bytes = text.as_bytes();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(STDERR_BYTES)..]).into_owned()
}

/// The exit code as a shell shows it: 128 plus the number of the signal.
fn exit(how: CommandExit) -> Option<i32> {
    match how {
        CommandExit::Exited(code) => Some(code),
        CommandExit::Signalled(signal) => Some(128 + signal),
        CommandExit::Unkillable => None,
    }
}

/// The agent's own status report, a weak sign of progress.
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

/// Why the work is done. An explicit exit signal overrides the status; a status counts only without a signal.
fn done(block: Option<&StatusBlock>) -> Option<String> {
    let block = block?;
    match (block.exit_signal(), block.status()) {
        (Some(true), _) => Some("EXIT_SIGNAL: true".to_owned()),
        (None, Some(Status::Complete)) => Some("STATUS: COMPLETE".to_owned()),
        (Some(false), _) | (None, Some(Status::InProgress | Status::Blocked) | None) => None,
    }
}
