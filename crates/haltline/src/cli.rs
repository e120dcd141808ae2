//! The definition of the command line. Doc comments in here are help texts.

mod attempt;
mod budget;
mod claim;
mod constraint;
mod control;
mod groups;
mod incident;
pub mod new_constraint;
mod phase;
mod plumbing;
mod ralph;
mod run;
mod see;
mod start;
mod status;
mod value;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::front::text::ColorChoice;

pub use attempt::{
    Attempt, AttemptBegin, AttemptDeviate, AttemptEnd, AttemptRecord, AttemptReport, AttemptReset, AttemptRollback,
    AttemptRun, AttemptScope, DeclaredResult, SliceArgument,
};
pub use budget::{Budget, BudgetRaise, BudgetSet, BudgetVerb, Prices, PricesUpdate, PricesVerb};
pub use claim::{
    Claim, ClaimAdd, ClaimChanges, ClaimCycle, ClaimEdit, ClaimReexamine, ClaimResolve, ClaimRound, ClaimVerb,
};
pub use constraint::{Constraint, Override, Record};
pub use control::{Config, ConfigEdit, ConfigSet, ConfigUnset, Pause, Trust, Unpause};
pub use incident::{FalsePositive, Incidents, Reset, Resume};
pub use phase::{Decided, Phase, PhaseBegin, PhaseDecide, PhaseReport, PhaseRunSelector};
pub use plumbing::{Completions, Event, Journal, Man, Memory, Notify, Purge, Stdio};
pub use ralph::{Ralph, RalphRecord};
pub use run::Run;
pub use see::{Backtest, Why};
pub use start::{Init, Uninstall, Update};
pub use status::{Status, Statusline};
pub use value::{PauseLength, Since, TranscriptFormat, preset};

/// Stop AI agents that no longer make progress
#[derive(Debug, Parser)]
#[command(
    name = "haltline",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:\n  haltline init                        Install the hooks of Claude Code\n  haltline status                      See what needs you\n  haltline why                         Explain the newest incident\n  haltline pause 30m                   Let everything pass for 30 minutes\n\nExit codes: 0 done, 1 error, 2 usage, 3 not installed, 75 denied until a time,\n77 denied until a person decides"
)]
pub struct Arguments {
    /// Run as if started in this folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "FOLDER", display_order = 900)]
    pub folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long = "json", global = true, display_order = 901)]
    pub is_json: bool,
    /// When to use colour: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        display_order = 902
    )]
    pub color: ColorChoice,
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The clap definition, with the commands grouped in the help.
    pub fn grouped_command() -> clap::Command {
        groups::with_groups(Self::command())
    }

    /// Parses the arguments of this process.
    pub fn read() -> Result<Self, clap::Error> {
        let mut command = Self::grouped_command();
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install hooks in Claude Code, Codex or another client
    Init(Init),
    /// Check the installation and play a loop through its hooks
    #[command(after_help = "Examples:\n  haltline doctor\n  haltline doctor --json")]
    Doctor,
    /// Show in ten seconds how haltline stops a loop
    #[command(after_help = "Example:\n  haltline demo")]
    Demo,
    /// Make the hooks run this version (people only)
    Update(Update),
    /// Remove haltline's hooks from a client (people only)
    Uninstall(Uninstall),

    /// Show what needs you, the sessions and their budgets
    Status(Status),
    /// List incidents of all breakers, open ones first
    #[command(after_help = "Examples:\n  haltline incidents\n  haltline incidents --all --limit 50")]
    Incidents(Incidents),
    /// Explain an incident: the evidence and what to do next
    Why(Why),
    /// Explain a code or a pattern: its limits and what to do
    #[command(after_help = "Examples:\n  haltline explain HL-FAIL-01\n  haltline explain agent_spawn")]
    Explain {
        /// A code or a pattern
        #[arg(value_name = "CODE|PATTERN")]
        what: String,
    },
    /// Show everything live in a web page on this machine
    #[command(
        disable_help_flag = true,
        after_help = "The program haltline-serve carries this out. It lies beside haltline and has its own help.\n\nWith --stdio, haltline itself answers the requests of a program that\nruns agents, one per line (docs/reference/protocol.md).\n\nExamples:\n  haltline serve\n  haltline serve --help\n  haltline serve --stdio --help"
    )]
    Serve {
        /// Options of haltline-serve
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<OsString>,
    },
    /// Replay recorded sessions and show what haltline would do
    Backtest(Backtest),

    /// Let work continue after an incident (people only)
    Resume(Resume),
    /// Close circuits and forget their counts (people only)
    Reset(Reset),
    /// Let everything pass for a while (people only)
    Pause(Pause),
    /// End a pause (people only)
    Unpause(Unpause),
    /// Show what is used of each budget, set or raise one
    Budget(Budget),
    /// Show what tokens cost, or take over other prices
    Prices(Prices),
    /// Never stop again for what caused an incident (people only)
    FalsePositive(FalsePositive),
    /// Approve project settings that loosen a limit (people only)
    Trust(Trust),
    /// Show, check and change the configuration
    #[command(subcommand)]
    Config(Config),

    /// Deny an action after too many violations of a rule
    #[command(subcommand)]
    Constraint(Constraint),
    /// Count iterations of a phase and halt it without progress
    #[command(subcommand)]
    Phase(Phase),
    /// Count attempts at the tests of a slice and guard its scope
    #[command(subcommand)]
    Attempt(Attempt),
    /// Count review rounds on claims and freeze those in dispute
    Claim(Claim),
    /// Run a command within limits, once or in a loop
    Run(Run),
    /// Act as the circuit breaker of a Ralph loop
    #[command(subcommand)]
    Ralph(Ralph),

    /// Answer one event of a client; the client runs this itself
    #[command(
        after_help = "Reads the event as JSON from standard input and prints nothing or one JSON object.\nAlways exits with 0. With --stream it answers every line of its input.\n\nExample:\n  haltline hook claude < event.json"
    )]
    Hook {
        /// The client, then --stream, --state FOLDER or --config FILE
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<String>,
    },
    /// Let an agent ask haltline and report to it, as an MCP server
    #[command(
        after_help = "Speaks the Model Context Protocol on standard input and output. It offers no operator action.\n\nExample:\n  claude mcp add haltline -- haltline mcp"
    )]
    Mcp,
    /// Answer plain events of any program with verdicts
    Event(Event),
    /// Read, verify or export the journal of facts
    #[command(subcommand)]
    Journal(Journal),
    /// Send waiting notifications of trips, or a test
    #[command(subcommand)]
    Notify(Notify),
    /// Keep an agent's memory folder small
    #[command(subcommand)]
    Memory(Memory),
    /// Delete the texts of a session permanently (people only)
    Purge(Purge),
    /// Print one line for the status bar of a client
    Statusline(Statusline),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page, or write all of them to a folder
    Man(Man),
    /// Print the help of a command
    #[command(after_help = "Examples:\n  haltline help\n  haltline help constraint record")]
    Help {
        /// The command
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Print the version
    #[command(after_help = "Example:\n  haltline version")]
    Version,
}
