//! The arguments of `haltline phase`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum Phase {
    /// Enter a phase: RED, GREEN, REFACTOR, DOCUMENT, QA or one of your own
    #[command(
        after_help = "Examples:\n  haltline phase begin RED\n  haltline phase begin GREEN --session-dir build/.prp"
    )]
    Begin(PhaseBegin),
    /// Say whether work may go on, and hand out guidance: exit 0 allowed, 77 halted
    #[command(after_help = "Example:\n  haltline phase check && claude -p \"make the next test pass\"")]
    Check {
        #[command(flatten)]
        place: PhaseRunSelector,
    },
    /// Report how an iteration ended
    #[command(
        after_help = "Examples:\n  haltline phase report --metric tests_passing=3 --metric tests_failing=7\n  haltline phase report --metric tests_passing=3 --error-type TypeError --error-file error.log\n  haltline phase report --neutral \"asked a question\"\n  haltline phase report < status-block.txt"
    )]
    Report(PhaseReport),
    /// Decide about a halted phase: reset, skip, abort or modify (for people)
    #[command(
        after_help = "Examples:\n  haltline phase decide\n  haltline phase decide reset --reason \"the fixture was wrong\"\n  haltline phase decide modify --guidance \"mock the clock\"\n  haltline phase decide reset --run"
    )]
    Decide(PhaseDecide),
    /// Show where a phase stands and what the last iteration was judged by
    #[command(after_help = "Examples:\n  haltline phase status\n  haltline phase status --run --json")]
    Status {
        #[command(flatten)]
        place: PhaseRunSelector,
    },
    /// List changes of state, progress and errors, newest first
    #[command(after_help = "Example:\n  haltline phase history --limit 5")]
    History {
        #[command(flatten)]
        place: PhaseRunSelector,
        /// How many lines
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: usize,
    },
}

/// Which course of work is meant.
#[derive(Debug, Args)]
pub struct PhaseRunSelector {
    /// The session folder; PRP_SESSION_DIR or .prp-session without it
    #[arg(long, value_name = "FOLDER", conflicts_with = "run")]
    pub session_dir: Option<PathBuf>,
    /// The course of `haltline run --loop`, by its name if it has one
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub run: Option<Option<String>>,
}

#[derive(Debug, Args)]
pub struct PhaseBegin {
    /// The phase
    pub phase: String,
    /// Start a new run, also after an abort (for people)
    #[arg(long = "new-run")]
    pub is_new_run: bool,
    /// Why
    #[arg(long, requires = "is_new_run")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub place: PhaseRunSelector,
}

#[derive(Debug, Args)]
pub struct PhaseReport {
    /// The phase, if it is not the current one
    #[arg(long)]
    pub phase: Option<String>,
    /// A number of this iteration: tests_passing=3
    #[arg(long = "metric", value_name = "NAME=NUMBER")]
    pub metrics: Vec<String>,
    /// The type of the error it ended with
    #[arg(long, value_name = "TYPE")]
    pub error_type: Option<String>,
    /// The error's text
    #[arg(long, value_name = "TEXT")]
    pub error_message: Option<String>,
    /// A file with the error's text
    #[arg(long, value_name = "FILE", conflicts_with = "error_message")]
    pub error_file: Option<PathBuf>,
    /// It says nothing about progress, and why
    #[arg(long, value_name = "REASON", conflicts_with_all = ["metrics", "error_type", "error_message", "error_file"])]
    pub neutral: Option<String>,
    #[command(flatten)]
    pub place: PhaseRunSelector,
}

impl PhaseReport {
    /// Whether the arguments say how the iteration ended.
    pub fn has_content(&self) -> bool {
        !self.metrics.is_empty()
            || self.error_type.is_some()
            || self.error_message.is_some()
            || self.error_file.is_some()
            || self.neutral.is_some()
    }
}

#[derive(Debug, Args)]
pub struct PhaseDecide {
    /// What to do; asked at the terminal without it
    #[arg(value_enum)]
    pub choice: Option<Decided>,
    /// What should be done differently, with modify
    #[arg(long, value_name = "TEXT")]
    pub guidance: Option<String>,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub place: PhaseRunSelector,
}

/// What a person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decided {
    /// Close, and count anew
    Reset,
    /// Leave the phase with its failures known
    Skip,
    /// End the run for good
    Abort,
    /// Close, and hand out guidance at the next check
    Modify,
}

impl Decided {
    pub fn as_str(self) -> &'static str {
        match self {
            Decided::Reset => "reset",
            Decided::Skip => "skip",
            Decided::Abort => "abort",
            Decided::Modify => "modify",
        }
    }
}
