//! How a run ended: the exit code, one line for people, and a report for programs.

use std::fs;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::Ending;
use haltline_core::Instant;
use haltline_core::phase::{Finish, WeighedSignal};
use serde::Serialize;

use crate::cli::Run;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::run::{CommandExit, EndedRun, ProcessOutcome, StartError};
use crate::view::SCHEMA;
use crate::view::phase::PhaseRunView;

/// How many iterations a report lists.
pub const ITERATIONS_MAX: usize = 1_000;

/// Why a run is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The command ended by itself, outside a loop.
    Own { code: u8 },
    /// A hook stopped the agent; the client exits with 0 for that.
    HookStopped {
        /// The client's reason, if it gives one.
        reason: Option<String>,
    },
    /// The work is done.
    Completed {
        /// What declared it done.
        by: String,
    },
    /// The circuit is open.
    Tripped { reason: String },
    Budget {
        limit: String,
        /// When the run can go on, if that is known.
        retry_at: Option<Instant>,
    },
    /// A person ended the run.
    Aborted {
        /// True if the person skipped the phase with its failures known.
        is_skipped: bool,
    },
    /// A signal ended the run.
    Interrupted { signal: i32 },
    Unstartable {
        problem: String,
        /// The code that shells use for it.
        code: u8,
    },
    /// The command asked for a terminal.
    NeedsTerminal,
}

impl End {
    /// A budget that does not refill with time.
    pub fn budget(limit: String) -> Self {
        End::Budget { limit, retry_at: None }
    }

    pub fn unstartable(error: &StartError) -> Self {
        End::Unstartable { problem: error.to_string(), code: error.exit_code() }
    }

    /// The stable name of the ending.
    pub fn as_str(&self) -> &'static str {
        match self {
            End::Own { code: 0 } | End::Completed { .. } => "completed",
            End::Own { .. } => "command failed",
            End::HookStopped { .. } | End::Tripped { .. } => "tripped",
            End::Budget { .. } => "budget",
            End::Aborted { .. } | End::Interrupted { .. } => "aborted",
            End::Unstartable { .. } | End::NeedsTerminal => "command cannot run",
        }
    }

    /// The explanation after the name.
    fn detail(&self) -> String {
        match self {
            End::Own { code: 0 } => "the command ended with 0".to_owned(),
            End::Own { code } => format!("the command ended with {code}"),
            End::HookStopped { reason: Some(reason) } => match own_stop(reason) {
                Some(own) => format!("haltline's hook stopped the agent: {own}"),
                None => format!("a hook stopped the agent: {reason}"),
            },
            End::HookStopped { reason: None } => {
                "a hook stopped the agent; its client exits 0 for that (`haltline why` may know more)".to_owned()
            }
            End::Completed { by } => by.clone(),
            End::Tripped { reason } => reason.clone(),
            End::Budget { limit, retry_at: None } => limit.clone(),
            End::Budget { limit, retry_at: Some(at) } => format!("{limit}; go on after {}", at.to_seconds_text()),
            End::Aborted { is_skipped: false } => "a person aborted the run".to_owned(),
            End::Aborted { is_skipped: true } => "a person skipped the rest of the run".to_owned(),
            End::Interrupted { signal } => format!("signal {signal}"),
            End::Unstartable { problem, .. } => problem.clone(),
            End::NeedsTerminal => {
                "the command asks for a terminal; start it from one, without a pipe and without --loop".to_owned()
            }
        }
    }

    /// The exit code of the process (P8).
    pub fn exit_code(&self) -> ExitCode {
        match self {
            End::Own { code } => ExitCode::from(*code),
            End::Completed { .. } => exit_code::SUCCESS,
            End::HookStopped { .. } | End::Tripped { .. } => exit_code::denied(),
            End::Budget { .. } => exit_code::retry_later(),
            End::Aborted { .. } | End::Interrupted { .. } => exit_code::interrupted(),
            End::Unstartable { code, .. } => ExitCode::from(*code),
            End::NeedsTerminal => exit_code::ERROR,
        }
    }

    /// How the journal records the end; `None` for a trip and an abort, which it already has.
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
    pub iterations: Vec<IterationReportView>,
    #[serde(rename = "course", skip_serializing_if = "Option::is_none")]
    pub phase_run: Option<PhaseRunView>,
    #[serde(skip)]
    pub iteration_count: Option<u64>,
}

/// How a command's process ended.
#[derive(Debug, Serialize)]
pub struct CommandView {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// It did not end within its grace period and was killed.
    pub killed: bool,
    /// Processes that it left behind and that haltline ended.
    pub left_behind: Vec<LeftView>,
    /// How the client described its end, if it prints JSON.
    pub client: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct LeftView {
    pub pid: i32,
    pub name: String,
    pub is_gone: bool,
}

#[derive(Debug, Serialize)]
pub struct IterationReportView {
    pub iteration: u64,
    /// `progress`, `no_progress`, `neutral`, or `stale` if a person decided meanwhile.
    pub judged: &'static str,
    pub signs: Vec<WeighedSignal>,
    pub gains: Vec<String>,
    /// Examples of what changed.
    pub changed: Vec<String>,
    pub error: Option<String>,
    pub neutral: Option<String>,
    pub wall_seconds: u64,
    pub command: CommandView,
    pub output: Option<String>,
}

impl CommandView {
    pub fn new(ended: &EndedRun, client_ending: &Ending) -> Self {
        let (exit_code, signal) = match ended.exit {
            CommandExit::Exited(code) => (Some(code), None),
            CommandExit::Signalled(signal) => (None, Some(signal)),
            CommandExit::Unkillable => (None, None),
        };
        let left = ended.left_behind.iter();
        Self {
            exit_code,
            signal,
            killed: ended.was_killed,
            left_behind: left
                .map(|left| LeftView {
                    pid: left.pid,
                    name: left.name.clone(),
                    is_gone: !matches!(left.outcome, ProcessOutcome::Unkillable),
                })
                .collect(),
            client: client_ending_text(client_ending),
        }
    }
}

fn client_ending_text(client_ending: &Ending) -> Option<String> {
    Some(match client_ending {
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
    /// The report of a command that ran once.
    pub fn once(end: &End, ended: &EndedRun, client_ending: &Ending) -> Self {
        Self {
            command: Some(CommandView::new(ended, client_ending)),
            wall_seconds: ended.wall.as_secs(),
            ..Self::unstarted(end)
        }
    }

    /// The report of a run in which nothing was started.
    pub fn unstarted(end: &End) -> Self {
        let retry_at = match end {
            End::Budget { retry_at, .. } => retry_at.map(|at| at.to_string()),
            _other => None,
        };
        Self {
            schema: SCHEMA,
            end: end.as_str(),
            reason: end.detail(),
            retry_at,
            wall_seconds: 0,
            command: None,
            iterations: Vec::new(),
            phase_run: None,
            iteration_count: None,
        }
    }
}

/// Prints how the run ended as one line on standard error, and the report on standard output and into a file where that
/// is wanted.
pub fn print_end(command: &Run, view: &RunView, is_json: bool) -> Result<(), Failure> {
    if is_json {
        // The output of the command may come before it, so the report is one line.
        writeln!(std::io::stdout().lock(), "{}", serde_json::to_string(view).map_err(std::io::Error::from)?)?;
    }
    let iterations = view.iteration_count.map(|iterations| format!(" after {}", text::count(iterations, "iteration")));
    let time = span(Duration::from_secs(view.wall_seconds));
    let reason = view.reason.lines().next().unwrap_or_default();
    let end = match view.end {
        "tripped" | "budget" => "stopped",
        other => other,
    };
    text::note(&format!("haltline: {end}{} ({time}): {reason}", iterations.unwrap_or_default()));
    if let Some(path) = &command.report {
        let text = serde_json::to_string_pretty(view).expect("texts and numbers can be written") + "\n";
        fs::write(path, text).map_err(|error| Failure::Plain(format!("--report {}: {error}", path.display())))?;
    }
    Ok(())
}

/// Formats a duration, rounded to seconds, as `45 s`, `12 min 5 s` or `3 h 20 min`.
pub fn span(time: Duration) -> String {
    let seconds = (time + Duration::from_millis(500)).as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// What haltline's own hook said when it stopped the agent, for a reader whom the agent's client cannot ask; `None` if
/// the reason is another hook's.
pub fn own_stop(reason: &str) -> Option<&str> {
    let own = reason.strip_prefix("haltline: ").or_else(|| reason.starts_with("HALTLINE ").then_some(reason))?;
    Some(own.split("; the agent continues when").next().unwrap_or(own))
}
