//! The arguments of `haltline attempt`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::run::span;

#[derive(Debug, Subcommand)]
pub enum Attempt {
    /// Begin a slice: freeze its scope and keep the tree as it is now
    #[command(
        after_help = "Examples:\n  haltline attempt begin --slice S-12\n  haltline attempt begin --slice S-12 --graph .greenlight/GRAPH.json --contracts CONTRACTS.md\n  haltline attempt begin --slice S-12 --in-scope src/users/ tests/users.rs"
    )]
    Begin(AttemptBegin),
    /// Say whether work on a slice may go on, and whether a strategy was tried before: exit 0 or 77
    #[command(
        after_help = "Example:\n  haltline attempt check --slice S-12 --test rejects_duplicates --strategy \"check before insert\""
    )]
    Check {
        #[command(flatten)]
        slice: SliceArgument,
        /// The test that is to be made to pass
        #[arg(long)]
        test: Option<String>,
        /// What is about to be tried
        #[arg(long, requires = "test")]
        strategy: Option<String>,
    },
    /// Run a test, judge it by what its runner says, and count it
    #[command(
        after_help = "Examples:\n  haltline attempt run --slice S-12 --test rejects_duplicates --strategy \"check before insert\" -- cargo test rejects_duplicates\n  haltline attempt run --test tests/test_users.py::test_conflict --strategy \"unique index\" -- pytest tests/test_users.py\n\nThe command's own code is passed on; 77 where the circuit opened, 1 where the command\nended with 0 and the test did not run."
    )]
    Run(AttemptRun),
    /// Write down an attempt that was run elsewhere
    #[command(
        after_help = "Examples:\n  haltline attempt record --slice S-12 --test rejects_duplicates --result fail --strategy \"check before insert\" --error-file out.txt\n  haltline attempt record --test rejects_duplicates --result infra --strategy \"unique index\""
    )]
    Record(AttemptRecord),
    /// Show a slice: its counts, its tests, what may be changed, what is owed
    #[command(after_help = "Examples:\n  haltline attempt status\n  haltline attempt status --slice S-12 --json")]
    Status {
        #[command(flatten)]
        slice: SliceArgument,
    },
    /// List what happened to a slice, newest first
    #[command(after_help = "Example:\n  haltline attempt history --slice S-12 --limit 5")]
    History {
        #[command(flatten)]
        slice: SliceArgument,
        /// How many lines
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: usize,
    },
    /// Print the diagnostic report of a failing test, filled in with what is known, or file it
    #[command(
        after_help = "Examples:\n  haltline attempt report --slice S-12 > report.yaml\n  haltline attempt report --slice S-12 --test rejects_duplicates --file report.yaml"
    )]
    Report(AttemptReport),
    /// Ask whether files may be changed, and justify those that lie outside the scope: exit 0 or 77
    #[command(
        after_help = "Examples:\n  haltline attempt scope --slice S-12 src/users/service.rs\n  haltline attempt scope --slice S-12 src/shared/errors.rs --justify form.txt\n  haltline attempt scope --slice S-12 src/billing/ --unjustifiable\n\nThe form has four fields: File, Failing test, Reason, Relationship."
    )]
    Scope(AttemptScope),
    /// Write down unplanned work under deviation rule 1 to 3, or stop under rule 4
    #[command(
        after_help = "Examples:\n  haltline attempt deviate --slice S-12 --rule 1 --description \"off by one in the pager\" --path src/pager.rs\n  haltline attempt deviate --slice S-12 --rule 4 --description \"needs a new table\""
    )]
    Deviate(AttemptDeviate),
    /// Take the tree back to a checkpoint, exactly and reversibly (for people)
    #[command(
        after_help = "Examples:\n  haltline attempt rollback --slice S-12\n  haltline attempt rollback --slice S-12 --test rejects_duplicates\n  haltline attempt rollback --slice S-12 --to refs/haltline/…  # a kept tree: undo a rollback"
    )]
    Rollback(AttemptRollback),
    /// Take the tree back, count anew, and print what was tried for the next one (for people)
    #[command(
        after_help = "Example:\n  haltline attempt reset --slice S-12 --guidance \"the key is email_already_exists\""
    )]
    Reset(AttemptReset),
    /// Print the block on earlier tries for a fresh implementer
    #[command(after_help = "Example:\n  haltline attempt prior --slice S-12")]
    Prior {
        #[command(flatten)]
        slice: SliceArgument,
    },
    /// End a slice whose tests pass; a person may give up any
    #[command(
        after_help = "Examples:\n  haltline attempt end --slice S-12\n  haltline attempt end --slice S-12 --give-up --reason \"split into two\""
    )]
    End(AttemptEnd),
}

/// Which slice is meant.
#[derive(Debug, Args)]
pub struct SliceArgument {
    /// The slice; the only one under way without it
    #[arg(long = "slice", value_name = "SLICE")]
    pub id: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptBegin {
    /// The slice
    #[arg(long, value_name = "SLICE")]
    pub slice: String,
    /// The graph of slices; .greenlight/GRAPH.json or GRAPH.json without it
    #[arg(long, value_name = "FILE")]
    pub graph: Option<PathBuf>,
    /// Contracts: what they name is in scope
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub contracts: Vec<PathBuf>,
    /// What is in scope, in place of all else; without a path: nothing
    #[arg(long = "in-scope", value_name = "PATH", num_args = 0..)]
    pub in_scope: Option<Vec<String>>,
    /// Why the scope of a slice under way changes (for people)
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptRun {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The exact name of the test, as its runner reports it
    #[arg(long)]
    pub test: String,
    /// What was tried, in one sentence
    #[arg(long, value_name = "TEXT")]
    pub strategy: String,
    /// A JUnit XML file that the command writes
    #[arg(long, value_name = "FILE")]
    pub junit: Vec<PathBuf>,
    /// How long it may take, as in 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub timeout: Option<Duration>,
    /// Say what came of it by hand
    #[arg(long, value_enum)]
    pub result: Option<DeclaredResult>,
    /// The test command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What came of a test, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeclaredResult {
    /// It ran and passed.
    Pass,
    /// It ran and failed.
    Fail,
    /// It did not run.
    Infra,
}

#[derive(Debug, Args)]
pub struct AttemptRecord {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The exact name of the test, as its runner reports it
    #[arg(long)]
    pub test: String,
    /// What came of it
    #[arg(long, value_enum)]
    pub result: DeclaredResult,
    /// What was tried, in one sentence
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub strategy: String,
    /// A file with what the runner printed; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub error_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AttemptReport {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// The test; all that fail without it
    #[arg(long)]
    pub test: Option<String>,
    /// File this report; `-` is standard input
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
    /// A file with the filled-in form; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "is_unjustifiable")]
    pub justify: Option<PathBuf>,
    /// No honest justification can be written: stop for a change of architecture
    #[arg(long = "unjustifiable")]
    pub is_unjustifiable: bool,
}

#[derive(Debug, Args)]
pub struct AttemptDeviate {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// 1 bug, 2 critical and missing, 3 blocks the work, 4 architecture: stop
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub rule: u8,
    /// What
    #[arg(long, value_name = "TEXT")]
    pub description: String,
    /// In which file
    #[arg(long, value_name = "FILE")]
    pub path: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptRollback {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// To before the first attempt on this test
    #[arg(long, conflicts_with = "to")]
    pub test: Option<String>,
    /// To a kept tree, by its ref
    #[arg(long, value_name = "REF")]
    pub to: Option<String>,
    /// Take the branch back too; its tip is kept under a ref
    #[arg(long)]
    pub with_commits: bool,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptReset {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// What to do differently
    #[arg(long, value_name = "TEXT")]
    pub guidance: String,
    /// Leave the tree as it is
    #[arg(long, conflicts_with = "with_commits")]
    pub keep_tree: bool,
    /// Take the branch back too; its tip is kept under a ref
    #[arg(long)]
    pub with_commits: bool,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttemptEnd {
    #[command(flatten)]
    pub slice: SliceArgument,
    /// Also while tests fail or the circuit is open (for people)
    #[arg(long)]
    pub give_up: bool,
    /// Why
    #[arg(long, requires = "give_up")]
    pub reason: Option<String>,
}
