//! How a run ended: the exit code, one line, and a report for programs.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::Ending;
use haltline_core::Instant;
use haltline_core::phase::{Finish, Weighed};
use serde::Serialize;

use crate::cli::Run;
use crate::error::Failure;
use crate::exit_code;
use crate::run::{Ended, How, Outcome};
use crate::view::SCHEMA;
use crate::view::phase::CourseView;

/// How many iterations a report lists.
pub const ITERATIONS_MAX: usize = 1_000;

/// Why a run is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The command ended by itself, outside a loop.
    Own {
        /// With this code.
        code: u8,
    },
    /// A hook stopped the agent, which its client calls success.
    HookStopped {
        /// Why, where the client says so.
        reason: Option<String>,
    },
    /// The work is done.
    Completed {
        /// Who says so.
        by: String,
    },
    /// The circuit is open.
    Tripped {
        /// Why.
        reason: String,
    },
    /// A limit is used up.
    Budget {
        /// Which.
        what: String,
        /// When it makes sense to go on, where that is known.
        retry_at: Option<Instant>,
    },
    /// A person ended the run.
    Aborted {
        /// By leaving it with its failures known.
        is_skipped: bool,
    },
    /// A signal.
    Interrupted {
        /// Which.
        signal: i32,
    },
    /// The command could not be started.
    Unstartable {
        /// Why.
        problem: String,
    },
    /// The command wants a terminal.
    NeedsTerminal,
}

impl End {
    /// A budget that time does not refill.
    pub fn budget(what: String) -> Self {
        End::Budget { what, retry_at: None }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            End::Own { code: 0 } | End::Completed { .. } => "completed",
            End::Own { .. } => "command failed",
            End::HookStopped { .. } | End::Tripped { .. } => "tripped",
            End::Budget { .. } => "budget",
            End::Aborted { .. } | End::Interrupted { .. } => "aborted",
            End::Unstartable { .. } | End::NeedsTerminal => "command cannot run",
        }
    }

    /// What follows the word.
    fn detail(&self) -> String {
        match self {
            End::Own { code: 0 } => "the command ended with 0".to_owned(),
            End::Own { code } => format!("the command ended with {code}"),
            End::HookStopped { reason: Some(reason) } => format!("a hook stopped the agent: {reason}"),
            End::HookStopped { reason: None } => {
                "a hook stopped the agent; its client exits 0 for that (`haltline why` may know more)".to_owned()
            }
            End::Completed { by } => by.clone(),
            End::Tripped { reason } => reason.clone(),
            End::Budget { what, retry_at: None } => format!("{what} used up"),
            End::Budget { what, retry_at: Some(at) } => format!("{what}; go on after {}", at.to_seconds_text()),
            End::Aborted { is_skipped: false } => "a person aborted the run".to_owned(),
            End::Aborted { is_skipped: true } => "a person skipped what was left of the run".to_owned(),
            End::Interrupted { signal } => format!("signal {signal}"),
            End::Unstartable { problem } => problem.clone(),
            End::NeedsTerminal => {
                "the command asks for a terminal; start it from one, without a pipe and without --loop".to_owned()
            }
        }
    }

    /// What the process ends with (P8).
    pub fn exit_code(&self) -> ExitCode {
        match self {
            End::Own { code } => ExitCode::from(*code),
            End::Completed { .. } => exit_code::FINE,
            End::HookStopped { .. } | End::Tripped { .. } => exit_code::refused(),
            End::Budget { .. } => exit_code::later(),
            End::Aborted { .. } | End::Interrupted { .. } => exit_code::interrupted(),
            End::Unstartable { .. } | End::NeedsTerminal => exit_code::ERROR,
        }
    }

    /// How the journal keeps it; a trip and an abort are there already.
    pub fn finish(&self) -> Option<Finish> {
        match self {
            End::Completed { .. } => Some(Finish::Completed),
            End::Budget { .. } => Some(Finish::Budget),
            End::Interrupted { .. } => Some(Finish::Interrupted),
            End::Unstartable { .. } | End::NeedsTerminal => Some(Finish::Unstartable),
            End::Own { .. } | End::HookStopped { .. } | End::Tripped { .. } | End::Aborted { .. } => None,
        }
    }
}

/// The report of a run.
#[derive(Debug, Serialize)]
pub struct RunView {
    pub schema: u32,
    /// `completed`, `tripped`, `budget`, `aborted`, `command failed` or `command cannot run`.
    pub end: &'static str,
    pub reason: String,
    pub retry_at: Option<String>,
    pub wall_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandView>,
    /// The newest iterations, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<RoundView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course: Option<CourseView>,
    #[serde(skip)]
    pub rounds: Option<u64>,
}

/// How a command's process ended.
#[derive(Debug, Serialize)]
pub struct CommandView {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// It did not end in its grace and was killed.
    pub killed: bool,
    /// Processes it left, which were ended.
    pub left_behind: Vec<LeftView>,
    /// What its client said, where it speaks JSON.
    pub client: Option<String>,
}

/// A process that was left.
#[derive(Debug, Serialize)]
pub struct LeftView {
    pub pid: i32,
    pub name: String,
    pub is_gone: bool,
}

/// One iteration.
#[derive(Debug, Serialize)]
pub struct RoundView {
    pub iteration: u64,
    /// `progress`, `no_progress`, `neutral`, or `stale` where a person decided meanwhile.
    pub judged: &'static str,
    pub signs: Vec<Weighed>,
    pub gains: Vec<String>,
    /// Some of what changed.
    pub changed: Vec<String>,
    pub error: Option<String>,
    pub neutral: Option<String>,
    pub wall_seconds: u64,
    pub command: CommandView,
    pub output: Option<String>,
}

impl CommandView {
    /// How a process ended.
    pub fn new(ended: &Ended, said: &Ending) -> Self {
        let (exit_code, signal) = match ended.how {
            How::Exited(code) => (Some(code), None),
            How::Signalled(signal) => (None, Some(signal)),
            How::StillThere => (None, None),
        };
        let left = ended.left_behind.iter();
        Self {
            exit_code,
            signal,
            killed: ended.killed_hard,
            left_behind: left
                .map(|left| LeftView {
                    pid: left.pid,
                    name: left.name.clone(),
                    is_gone: !matches!(left.outcome, Outcome::StillThere),
                })
                .collect(),
            client: said_text(said),
        }
    }
}

fn said_text(said: &Ending) -> Option<String> {
    Some(match said {
        Ending::Silent => return None,
        Ending::Finished => "finished".to_owned(),
        Ending::Hook { reason: Some(reason) } => format!("stopped by a hook: {reason}"),
        Ending::Hook { reason: None } => "stopped by a hook".to_owned(),
        Ending::ApiLimit { message, .. } => format!("API limit: {message}"),
        Ending::Infrastructure { message } => format!("trouble outside: {message}"),
        Ending::Turns => "used up its turns".to_owned(),
        Ending::Failed { kind, message } => format!("{kind}: {message}"),
    })
}

impl RunView {
    /// A command that ran once.
    pub fn once(end: &End, ended: &Ended, said: &Ending) -> Self {
        Self {
            command: Some(CommandView::new(ended, said)),
            wall_seconds: ended.wall.as_secs(),
            ..Self::unstarted(end)
        }
    }

    /// Nothing ran.
    pub fn unstarted(end: &End) -> Self {
        let retry_at = match end {
            End::Budget { retry_at, .. } => retry_at.map(Instant::to_seconds_text),
            _other => None,
        };
        Self {
            schema: SCHEMA,
            end: end.word(),
            reason: end.detail(),
            retry_at,
            wall_seconds: 0,
            command: None,
            iterations: Vec::new(),
            course: None,
            rounds: None,
        }
    }
}

/// Says how it ended: one line on standard error, and the report where one is wanted.
pub fn tell(command: &Run, view: &RunView) -> Result<(), Failure> {
    let rounds = view.rounds.map(|rounds| format!(" after {}", crate::front::text::count(rounds, "iteration")));
    let time = span(Duration::from_secs(view.wall_seconds));
    let reason = view.reason.lines().next().unwrap_or_default();
    eprintln!("haltline: {}{} in {time}: {reason}", view.end, rounds.unwrap_or_default());
    if let Some(path) = &command.report {
        let text = serde_json::to_string_pretty(view).expect("texts and numbers can be written") + "\n";
        fs::write(path, text).map_err(|error| Failure::Plain(format!("--report {}: {error}", path.display())))?;
    }
    Ok(())
}

/// `45s`, `12m 5s`, `3h 20m`.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}
