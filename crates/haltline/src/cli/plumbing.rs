//! The arguments of the commands that other programs start and of those that keep things tidy. Doc comments in here are
//! help texts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  echo '{\"v\":1,\"type\":\"prompt\",\"ts\":\"2026-02-01T10:00:00Z\",\"session\":\"s\",\"source\":\"user\"}' | haltline event\n\nExit codes of a single event: 0 pass or warn, 75 denied until a time, 77 denied until\na person decides"
)]
pub struct Event {
    /// Use the timestamp of each event instead of the current time
    #[arg(long = "recorded")]
    pub is_recorded: bool,
}

/// Answer the requests of a program that runs agents, one per line of standard input
#[derive(Debug, Parser)]
#[command(
    name = "haltline serve",
    bin_name = "haltline serve",
    after_help = "docs/reference/protocol.md describes the requests.\n\nExample:\n  echo '{\"v\":1,\"id\":1,\"method\":\"hello\"}' | haltline serve --stdio --memory"
)]
pub struct Stdio {
    /// Read requests from standard input and write responses to standard output
    #[arg(long = "stdio", required = true)]
    pub is_stdio: bool,
    /// Keep everything in memory, and forget it at the end of the process
    #[arg(long = "memory")]
    pub is_in_memory: bool,
    /// Run as if started in this folder
    #[arg(short = 'C', long = "directory", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Notify {
    /// Send the notifications that wait
    #[command(after_help = "Example:\n  haltline notify deliver")]
    Deliver,
    /// Send a made-up incident to every configured target
    #[command(after_help = "Example:\n  haltline notify test")]
    Test,
}

#[derive(Debug, Subcommand)]
pub enum Journal {
    /// Show the newest facts of this project
    #[command(
        after_help = "Examples:\n  haltline journal show --limit 20\n  haltline journal show --circuit constraint/git-safety-force-push\n  haltline journal show --everywhere"
    )]
    Show {
        /// Only this circuit, such as constraint/ID
        #[arg(long, value_name = "CIRCUIT")]
        circuit: Option<String>,
        /// Show at most this many
        #[arg(long, default_value_t = 50, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
        /// Show facts that concern all projects: pauses and changes of your configuration
        #[arg(long = "everywhere")]
        is_everywhere: bool,
    },
    /// Recompute the state from all facts and compare it with the stored state
    #[command(after_help = "Example:\n  haltline journal verify --all")]
    Verify {
        /// Verify all projects, not only this one
        #[arg(long = "all")]
        is_all: bool,
    },
    /// Print all facts of this project as JSON Lines
    #[command(after_help = "Example:\n  haltline journal export > journal.jsonl")]
    Export,
}

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Show the size of the memory folders and what haltline would clean
    #[command(
        after_help = "Examples:\n  haltline memory report\n  haltline memory report --memory notes/memory --json"
    )]
    Report {
        /// Only this memory folder, not haltline's own and the project's
        #[arg(long = "memory", alias = "dir", value_name = "FOLDER")]
        memory_folder: Option<PathBuf>,
    },
    /// Rotate telemetry, compress old session states and shorten long lists
    #[command(after_help = "Examples:\n  haltline memory clean\n  haltline memory clean --session sess_abc123")]
    Clean {
        /// Only this memory folder, not haltline's own and the project's
        #[arg(long = "memory", alias = "dir", value_name = "FOLDER")]
        memory_folder: Option<PathBuf>,
        /// The active session, whose state stays untouched; default: the one this runs in
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  haltline purge sess_abc123\n  haltline purge sess_abc123 --yes")]
pub struct Purge {
    /// Delete the texts of this session permanently
    pub session: String,
    /// Do not ask
    #[arg(long = "yes", short = 'y')]
    pub is_agreed: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  haltline completions bash > ~/.local/share/bash-completion/completions/haltline")]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline man | man -l -\n  haltline man constraint record\n  haltline man --to ~/.local/share/man/man1"
)]
pub struct Man {
    /// The command; default: haltline itself
    #[arg(value_name = "COMMAND", conflicts_with = "folder")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long = "to", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}
