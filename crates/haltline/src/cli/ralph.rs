//! The arguments of `haltline ralph`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Ralph {
    /// Make the state files, and see whether a cooldown has ended
    #[command(after_help = "Examples:\n  haltline ralph init\n  CB_AUTO_RESET=true haltline ralph init")]
    Init,
    /// Count one loop: exit 1 when the circuit is open after it, else 0
    #[command(
        after_help = "Examples:\n  haltline ralph record 4 2 false 5120\n  haltline ralph record 5 0 true 980 --error-file build.log\n\nExit codes: 0 go on, 1 the circuit is open, 2 usage"
    )]
    Record(RalphRecord),
    /// Show the circuit as Ralph does
    #[command(after_help = "Examples:\n  haltline ralph status\n  haltline ralph status --json")]
    Status,
    /// Close the circuit and count anew (for people)
    #[command(after_help = "Example:\n  haltline ralph reset \"the prompt was wrong\"")]
    Reset {
        /// Why
        reason: Option<String>,
    },
    /// Say whether the loop must halt: exit 0 halt, 1 go on
    #[command(
        after_help = "Example:\n  if haltline ralph halt; then break; fi\n\nExit codes: 0 halt, 1 go on, 2 usage"
    )]
    Halt,
}

/// How a loop ended. The four numbers are texts here: what is wrong with one is said in one line.
#[derive(Debug, Args)]
pub struct RalphRecord {
    /// The loop's number
    #[arg(value_name = "LOOP", allow_negative_numbers = true)]
    pub loop_number: String,
    /// How many files it changed
    #[arg(allow_negative_numbers = true)]
    pub files_changed: String,
    /// Whether there were errors: true or false
    #[arg(allow_negative_numbers = true)]
    pub has_errors: String,
    /// How long the agent's output is, in bytes; taken as Ralph gives it, and not used
    #[arg(allow_negative_numbers = true)]
    pub output_length: String,
    /// The error's text
    #[arg(long, value_name = "TEXT")]
    pub error_message: Option<String>,
    /// A file with the error's text
    #[arg(long, value_name = "FILE", conflicts_with = "error_message")]
    pub error_file: Option<PathBuf>,
}
