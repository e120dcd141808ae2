//! The arguments of `haltline phase`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum Phase {
    /// Begin a phase: RED, GREEN, REFACTOR, DOCUMENT, QA or any other name
    #[command(
        after_help = "Examples:\n  haltline phase begin RED\n  haltline phase begin GREEN --session-dir build/.prp"
    )]
    Begin(PhaseBegin),
    /// Check whether work may continue and print a waiting hint: exit 0 or 77
    #[command(after_help = "Example:\n  haltline phase check && claude -p \"make the next test pass\"")]
    Check(PhaseRunSelector),
    /// Report how an iteration ended
    #[command(
        after_help = "Examples:\n  haltline phase report --metric tests_passing=3 --metric tests_failing=7\n  haltline phase report --metric tests_passing=3 --error-type TypeError --error-file error.log\n  haltline phase report --neutral \"asked a question\"\n  haltline phase report < status-block.txt"
    )]
    Report(PhaseReport),
    /// Decide how a halted phase continues: reset, skip, abort or modify (people only)
    #[command(
        after_help = "Examples:\n  haltline phase decide\n  haltline phase decide reset --reason \"the fixture was wrong\"\n  haltline phase decide modify --hint \"mock the clock\"\n  haltline phase decide reset --run"
    )]
    Decide(PhaseDecide),
    /// Show the state of a phase and how the last iteration was judged
    #[command(after_help = "Examples:\n  haltline phase status\n  haltline phase status --run --json")]
    Status(PhaseRunSelector),
    /// List changes of state, progress and errors, newest first
    #[command(after_help = "Example:\n  haltline phase history --limit 5")]
    History {
        #[command(flatten)]
        place: PhaseRunSelector,
        /// Show at most this many
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: usize,
    },
}

/// Which phase run a command is about.
#[derive(Debug, Args)]
pub struct PhaseRunSelector {
    /// The session folder; default: PRP_SESSION_DIR or .prp-session
    #[arg(long, value_name = "FOLDER", conflicts_with = "run")]
    pub session_dir: Option<PathBuf>,
    /// The loop of `haltline run --loop`; with a name: --run=NAME
    #[arg(long, alias = "name", value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub run: Option<Option<String>>,
}

#[derive(Debug, Args)]
pub struct PhaseBegin {
    /// The phase
    pub phase: String,
    /// Start a new phase run, even after an abort (people only)
    #[arg(long = "new-run")]
    pub is_new_run: bool,
    /// Reason for the journal
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
    /// A metric of this iteration, such as tests_passing=3
    #[arg(long = "metric", value_name = "NAME=NUMBER")]
    pub metrics: Vec<String>,
    /// Type of the error that ended the iteration
    #[arg(long, value_name = "TYPE")]
    pub error_type: Option<String>,
    /// Text of the error
    #[arg(long, value_name = "TEXT")]
    pub error_message: Option<String>,
    /// File with the text of the error
    #[arg(long, value_name = "FILE", conflicts_with = "error_message")]
    pub error_file: Option<PathBuf>,
    /// Do not judge this iteration, for this reason
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
    /// reset, skip, abort or modify; default: haltline asks at the terminal
    #[arg(value_enum, hide_possible_values = true)]
    pub choice: Option<Decided>,
    /// With modify: what haltline tells the agent at the next check
    #[arg(long, value_name = "TEXT", alias = "guidance")]
    pub hint: Option<String>,
    /// Reason for the journal
    #[arg(long)]
    pub reason: Option<String>,
    #[command(flatten)]
    pub place: PhaseRunSelector,
}

/// What a person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decided {
    /// Close the circuit and start counting from zero
    Reset,
    /// Leave the phase and keep its failures
    Skip,
    /// End the phase run permanently
    Abort,
    /// Close the circuit and pass a hint to the agent
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
