//! The arguments of `haltline ralph`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Ralph {
    /// Create the state files and check whether a cooldown has ended
    #[command(after_help = "Examples:\n  haltline ralph init\n  CB_AUTO_RESET=true haltline ralph init")]
    Init,
    /// Record one loop: exit 0, or 1 if the circuit is OPEN after it
    #[command(
        after_help = "Examples:\n  haltline ralph record 4 2 false 5120\n  haltline ralph record 5 0 true 980 --error-file build.log\n\nExit codes: 0 continue, 1 the circuit is OPEN, 2 usage"
    )]
    Record(RalphRecord),
    /// Show the circuit as Ralph does
    #[command(after_help = "Examples:\n  haltline ralph status\n  haltline ralph status --json")]
    Status,
    /// Close the circuit and start counting from zero (people only)
    #[command(after_help = "Example:\n  haltline ralph reset \"the prompt was wrong\"")]
    Reset {
        /// Reason for the journal
        reason: Option<String>,
    },
    /// Check whether the loop must halt: exit 0 halt, 1 continue
    #[command(
        after_help = "Example:\n  if haltline ralph halt; then break; fi\n\nExit codes: 0 halt, 1 continue, 2 usage"
    )]
    Halt,
}

/// How a loop ended. The four numbers are texts here, so that haltline explains a wrong one in one line.
#[derive(Debug, Args)]
pub struct RalphRecord {
    /// Number of the loop
    #[arg(value_name = "LOOP", allow_negative_numbers = true)]
    pub loop_number: String,
    /// Number of files that the loop changed
    #[arg(allow_negative_numbers = true)]
    pub files_changed: String,
    /// true if the loop had errors, else false
    #[arg(allow_negative_numbers = true)]
    pub has_errors: String,
    /// Length of the agent's output in bytes; not used
    #[arg(allow_negative_numbers = true)]
    pub output_length: String,
    /// Text of the error
    #[arg(long, value_name = "TEXT")]
    pub error_message: Option<String>,
    /// File with the text of the error
    #[arg(long, value_name = "FILE", conflicts_with = "error_message")]
    pub error_file: Option<PathBuf>,
}
