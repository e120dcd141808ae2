//! The arguments of `haltline attempt`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::run::span;

#[derive(Debug, Subcommand)]
pub enum Attempt {
    /// Begin a slice: set its scope and save a checkpoint of the work tree
    #[command(
        after_help = "Examples:\n  haltline attempt begin --slice S-12\n  haltline attempt begin --slice S-12 --graph .greenlight/GRAPH.json --contracts CONTRACTS.md\n  haltline attempt begin --slice S-12 --in-scope src/users/ tests/users.rs"
    )]
    Begin(AttemptBegin),
    /// Check whether work may continue and whether a strategy is new: exit 0 or 77
    #[command(
        after_help = "Example:\n  haltline attempt check --slice S-12 --test rejects_duplicates --strategy \"check before insert\""
    )]
    Check {
        #[command(flatten)]
        slice: SliceArgument,
        /// The test
        #[arg(long)]
        test: Option<String>,
        /// The strategy, in one sentence
        #[arg(long, requires = "test")]
        strategy: Option<String>,
    },
    /// Run a test, read its result from the runner and count it
    #[command(
        after_help = "Examples:\n  haltline attempt run --slice S-12 --test rejects_duplicates --strategy \"check before insert\" -- cargo test rejects_duplicates\n  haltline attempt run --test tests/test_users.py::test_conflict --strategy \"unique index\" -- pytest tests/test_users.py\n  haltline attempt run -- cargo test\n\nExit codes: that of the command; 77 if the circuit is OPEN; 1 if the command exits\nwith 0 and the test did not run"
    )]
    Run(AttemptRun),
    /// Record an attempt that ran elsewhere
    #[command(
        after_help = "Examples:\n  haltline attempt record --slice S-12 --test rejects_duplicates --result fail --strategy \"check before insert\" --error-file out.txt\n  haltline attempt record --test rejects_duplicates --result infra --strategy \"unique index\""
    )]
    Record(AttemptRecord),
    /// Show the counts, the tests and the scope of a slice
    #[command(after_help = "Examples:\n  haltline attempt status\n  haltline attempt status --slice S-12 --json")]
    Status(SliceArgument),
    /// List what happened to a slice, newest first
    #[command(after_help = "Example:\n  haltline attempt history --slice S-12 --limit 5")]
    History {
        #[command(flatten)]
        slice: SliceArgument,
        /// Show at most this many
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: usize,
    },
    /// Print a diagnostic report of a failing test to fill in, or file it
    #[command(
        after_help = "Examples:\n  haltline attempt report --slice S-12 > report.yaml\n  haltline attempt report --slice S-12 --test rejects_duplicates --file report.yaml"
    )]
    Report(AttemptReport),
    /// Check whether files may change, or justify those out of scope: exit 0 or 77
    #[command(
        after_help = "Examples:\n  haltline attempt scope --slice S-12 src/users/service.rs\n  haltline attempt scope --slice S-12 src/shared/errors.rs --justify form.txt\n  haltline attempt scope --slice S-12 src/billing/ --unjustifiable\n\nThe form has four fields: File, Failing test, Reason, Relationship."
    )]
    Scope(AttemptScope),
    /// Record unplanned work, or stop for a change of architecture
    #[command(
        after_help = "Examples:\n  haltline attempt deviate --slice S-12 --rule 1 --description \"off by one in the pager\" --path src/pager.rs\n  haltline attempt deviate --slice S-12 --rule 4 --description \"needs a new table\""
    )]
    Deviate(AttemptDeviate),
    /// Restore the work tree from a checkpoint; you can undo this (people only)
    #[command(
        after_help = "Examples:\n  haltline attempt rollback --slice S-12\n  haltline attempt rollback --slice S-12 --test rejects_duplicates\n  haltline attempt rollback --slice S-12 --to refs/haltline/…  # undo a rollback"
    )]
    Rollback(AttemptRollback),
    /// Restore the work tree, start counting from zero, print what was tried
    /// (people only)
    #[command(
        after_help = "Example:\n  haltline attempt reset --slice S-12 --hint \"the key is email_already_exists\""
    )]
    Reset(AttemptReset),
    /// Print what was tried before, for the next agent
    #[command(after_help = "Example:\n  haltline attempt prior --slice S-12")]
    Prior(SliceArgument),
    /// End a slice whose tests pass; a person may give up any slice
    #[command(
        after_help = "Examples:\n  haltline attempt end --slice S-12\n  haltline attempt end --slice S-12 --give-up --reason \"split into two\""
    )]
    End(AttemptEnd),
}

/// Which slice a command is about.
#[derive(Debug, Args)]
pub struct SliceArgument {
    /// The slice; default: the only one in progress
    #[arg(long = "slice", value_name = "SLICE")]
    pub id: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptBegin {
    /// The slice
    #[arg(long, value_name = "SLICE")]
    pub slice: String,
    /// The graph of slices; default: .greenlight/GRAPH.json or GRAPH.json
    #[arg(long, value_name = "FILE")]
    pub graph: Option<PathBuf>,
    /// Contracts, which name files in scope
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub contracts: Vec<PathBuf>,
    /// The files in scope, instead of graph and contracts; no path: none
    #[arg(long = "in-scope", value_name = "PATH", num_args = 0..)]
    pub in_scope: Option<Vec<String>>,
    /// Reason to change the scope of a slice in progress, or to begin a slice over the files of another (people only)
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptRun {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The exact name of the test, as its runner reports it; default: the failed test that the runner names
    #[arg(long, required_if_eq_any([("result", "pass"), ("result", "fail"), ("result", "infra")]))]
    pub test: Option<String>,
    /// The strategy, in one sentence
    #[arg(long, value_name = "TEXT")]
    pub strategy: Option<String>,
    /// JUnit XML file that the command writes
    #[arg(long, value_name = "FILE")]
    pub junit: Vec<PathBuf>,
    /// Time limit, such as 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub timeout: Option<Duration>,
    /// pass, fail or infra (did not run), instead of what haltline reads
    #[arg(long, value_enum, hide_possible_values = true)]
    pub result: Option<DeclaredResult>,
    /// The test command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The result of a test, as a person or an agent declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeclaredResult {
    /// The test ran and passed
    Pass,
    /// The test ran and failed
    Fail,
    /// The test did not run
    Infra,
}

#[derive(Debug, Args)]
pub struct AttemptRecord {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The exact name of the test, as its runner reports it
    #[arg(long)]
    pub test: String,
    /// pass, fail or infra (did not run)
    #[arg(long, value_enum, hide_possible_values = true)]
    pub result: DeclaredResult,
    /// The strategy, in one sentence
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub strategy: String,
    /// File with the output of the runner; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub error_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AttemptReport {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The test; default: all that fail
    #[arg(long)]
    pub test: Option<String>,
    /// Filled-in report to file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AttemptScope {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The files
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// File with the filled-in form; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "is_unjustifiable")]
    pub justify: Option<PathBuf>,
    /// Stop instead: the change needs another architecture
    #[arg(long = "unjustifiable")]
    pub is_unjustifiable: bool,
}

#[derive(Debug, Args)]
pub struct AttemptDeviate {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// Kind of work: 1 fixes a bug, 2 adds something critical that is missing, 3 removes a blocker, 4 changes the architecture and stops the slice
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub rule: u8,
    /// What was done
    #[arg(long, value_name = "TEXT")]
    pub description: String,
    /// The file
    #[arg(long, value_name = "FILE")]
    pub path: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptRollback {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// Restore the tree from before the first attempt at this test
    #[arg(long, conflicts_with = "to")]
    pub test: Option<String>,
    /// Restore the tree of this ref
    #[arg(long, value_name = "REF")]
    pub to: Option<String>,
    /// Move the branch back too; haltline keeps a ref to its old tip
    #[arg(long)]
    pub with_commits: bool,
    /// Reason for the journal
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptReset {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// What haltline tells the next agent
    #[arg(long, value_name = "TEXT", alias = "guidance")]
    pub hint: String,
    /// Leave the work tree as it is
    #[arg(long, conflicts_with = "with_commits")]
    pub keep_tree: bool,
    /// Move the branch back too; haltline keeps a ref to its old tip
    #[arg(long)]
    pub with_commits: bool,
    /// Reason for the journal
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptEnd {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// End the slice although tests fail or its circuit is OPEN (people only)
    #[arg(long)]
    pub give_up: bool,
    /// Reason for the journal
    #[arg(long, requires = "give_up")]
    pub reason: Option<String>,
}
