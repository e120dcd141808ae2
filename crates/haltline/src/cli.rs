//! The definition of the command line. Doc comments in here are help texts.

mod attempt;
mod claim;
mod phase;
mod ralph;
mod run;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use haltline_agents::Client;
use haltline_agents::transcript::Format;
use haltline_core::Instant;
use haltline_core::loop_::Preset;

pub use attempt::{
    Attempt, AttemptBegin, AttemptDeviate, AttemptEnd, AttemptRecord, AttemptReport, AttemptReset, AttemptRollback,
    AttemptRun, AttemptScope, DeclaredResult, SliceArgument,
};
pub use claim::{
    Claim, ClaimAdd, ClaimChanges, ClaimCycle, ClaimEdit, ClaimReexamine, ClaimResolve, ClaimRound, ClaimVerb,
};
pub use phase::{Decided, Phase, PhaseBegin, PhaseDecide, PhaseReport, PhaseRunSelector};
pub use ralph::{Ralph, RalphRecord};
pub use run::Run;

/// Stops AI agents that have stopped making progress
#[derive(Debug, Parser)]
#[command(
    name = "haltline",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:\n  haltline status\n  haltline constraint check git-safety-force-push\n  haltline constraint record git-safety-force-push --action \"git push --force\"\n\nExit codes: 0 fine, 1 error, 2 usage, 3 not installed, 75 refused for now, 77 refused until a person decides"
)]
pub struct Arguments {
    /// Work as if started in this folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long = "json", global = true)]
    pub is_json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Count violations of a named rule and block it when there are too many
    #[command(subcommand)]
    Constraint(Constraint),
    /// Count iterations of a phase of work and halt it when they no longer help
    #[command(subcommand)]
    Phase(Phase),
    /// Count tries at the tests of a slice, guard what it may change, and start afresh
    #[command(subcommand)]
    Attempt(Attempt),
    /// Count review rounds on claims, freeze a claim nobody can agree on, and let the rest go on
    Claim(Claim),
    /// Run a command under supervision, once or in a loop that ends when it no longer helps
    #[command(
        after_help = "Examples:\n  haltline run --max-time 30m -- claude -p \"fix the build\"\n  haltline run --loop --max-iterations 20 --max-cost 5 -- claude -p --output-format stream-json --verbose \"next task of PLAN.md\"\n  haltline run --loop --test \"cargo test\" --done-if \"cargo test\" -- ./agent.sh\n  haltline run --loop --resume -- ./agent.sh\n\nExit codes of a loop: 0 completed, 75 budget, 77 tripped, 130 aborted, 1 the command cannot run.\nWithout --loop the command's own code is passed on; 75 where a limit ended it, 77 where a hook stopped the agent."
    )]
    Run(Run),
    /// Be the circuit breaker of a Ralph loop, with Ralph's own files, variables and exit codes
    #[command(subcommand)]
    Ralph(Ralph),
    /// Show what is open, what waits for you, and how the store is
    #[command(after_help = "Examples:\n  haltline status\n  haltline status --json")]
    Status,
    /// Explain an incident: what tripped, on what evidence, and what next
    #[command(after_help = "Examples:\n  haltline why\n  haltline why 4c58462d --json")]
    Why {
        /// The incident; the newest without it
        incident: Option<String>,
    },
    /// Take plain events from standard input and answer each with a verdict
    #[command(
        after_help = "Example:\n  echo '{\"v\":1,\"type\":\"prompt\",\"ts\":\"2026-02-01T10:00:00Z\",\"session\":\"s\",\"source\":\"user\"}' | haltline event\n\nExit codes of a single event: 0 pass or warn, 75 refused for now, 77 refused until a person decides"
    )]
    Event {
        /// The instant of each event governs, not the present one
        #[arg(long = "recorded")]
        is_recorded: bool,
    },
    /// Replay recorded sessions and report what haltline would have said
    #[command(
        after_help = "Examples:\n  haltline backtest\n  haltline backtest ~/.claude/projects --since 30d\n  haltline backtest sessions/ --json > sessions.jsonl\n  haltline backtest sessions/ --compare default literal"
    )]
    Backtest(Backtest),
    /// Close circuits of sessions and forget what they counted (for people)
    #[command(
        after_help = "Examples:\n  haltline reset 4c58462d\n  haltline reset --session sess_abc123\n  haltline reset --all --reason \"new day\""
    )]
    Reset(Reset),
    /// Allow one probe now, with a word for the agent (for people)
    #[command(
        after_help = "Examples:\n  haltline resume 4c58462d\n  haltline resume 4c58462d --hint \"mock jwt in the tests\""
    )]
    Resume {
        /// The incident
        incident: String,
        /// What the agent should know
        #[arg(long)]
        hint: Option<String>,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// Never trip on this again in this project (for people)
    #[command(
        after_help = "Examples:\n  haltline false-positive 4c58462d\n  haltline false-positive --list\n  haltline false-positive --revoke 4c58462d"
    )]
    FalsePositive(FalsePositive),
    /// Print one line for a client's status bar
    #[command(
        after_help = "Examples:\n  haltline statusline claude < status.json\n  haltline statusline --segment --ascii"
    )]
    Statusline(Statusline),
    /// Tell people of trips, or try out whether messages arrive
    #[command(subcommand)]
    Notify(Notify),
    /// Read the journal of facts, check it, or write it out
    #[command(subcommand)]
    Journal(Journal),
    /// Show, check or describe the configuration
    #[command(subcommand)]
    Config(Config),
    /// Accept what the project's files would loosen (for people)
    #[command(after_help = "Examples:\n  haltline trust --list\n  haltline trust --reason \"agreed with the team\"")]
    Trust(Trust),
    /// Keep the folder in which an agent remembers things small
    #[command(subcommand)]
    Memory(Memory),
    /// Forget the texts of a session; counts stay (for people)
    #[command(after_help = "Example:\n  haltline purge sess_abc123")]
    Purge {
        /// The session's name
        session: String,
    },
    /// Let an agent client ask haltline: add hooks to its settings
    #[command(
        after_help = "Examples:\n  haltline init --dry-run\n  haltline init\n  haltline init --client codex\n  haltline init --project --yes"
    )]
    Init(Init),
    /// Take haltline out of a client's settings again (for people)
    #[command(
        after_help = "Examples:\n  haltline uninstall --dry-run\n  haltline uninstall --client codex\n  haltline uninstall --project"
    )]
    Uninstall(Uninstall),
    /// Check the installation and play a loop through its hooks
    #[command(after_help = "Examples:\n  haltline doctor\n  haltline doctor --json")]
    Doctor,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  haltline completions bash > ~/.local/share/bash-completion/completions/haltline"
    )]
    Completions {
        /// Which shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub struct Backtest {
    /// Files and folders of transcripts, plain or gzip; your own of every known client without any
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How they are written: auto, or the name of a format
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = format)]
    pub format: TranscriptFormat,
    /// Only sessions that went on after this: 30d, 12h, 2026-02-01 or an instant
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
    /// Judge by this preset instead of the configured one: default or literal
    #[arg(long, value_name = "PRESET", value_parser = preset)]
    pub preset: Option<Preset>,
    /// Judge by this configuration file instead of the one in force
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Judge by two presets or configuration files and put the results side by side
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["preset", "config"])]
    pub compare: Vec<String>,
    /// How many workers; as many as there are cores without it
    #[arg(long, value_name = "NUMBER")]
    pub jobs: Option<usize>,
}

/// How transcripts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// As their content says.
    Auto,
    /// In this format.
    As(Format),
}

/// Where time begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// This many milliseconds before now.
    Ago(i64),
    /// At an instant.
    At(Instant),
}

#[derive(Debug, Subcommand)]
pub enum Constraint {
    /// Show all circuits, or one of them
    #[command(
        after_help = "Examples:\n  haltline constraint status --all\n  haltline constraint status git-safety-force-push --json"
    )]
    Status {
        /// The constraint; all of them without it
        #[arg(value_name = "ID", conflicts_with = "is_all")]
        id: Option<String>,
        /// Show all circuits
        #[arg(long = "all")]
        is_all: bool,
    },
    /// Say whether an action would be blocked: exit 0 allowed, 77 blocked
    #[command(after_help = "Example:\n  haltline constraint check git-safety-force-push && git push --force")]
    Check {
        /// The constraint
        id: String,
    },
    /// Record a violation
    #[command(
        after_help = "Example:\n  haltline constraint record git-safety-force-push --action \"git push --force\""
    )]
    Record(Record),
    /// Record a clean action: what closes a circuit that is on trial
    #[command(after_help = "Example:\n  haltline constraint pass git-safety-force-push")]
    Pass {
        /// The constraint
        id: String,
        /// What was done
        #[arg(long)]
        action: Option<String>,
        /// The session it was done in
        #[arg(long)]
        session: Option<String>,
        /// The generation `check --json` named; if the circuit has changed since, it stays as it is
        #[arg(long)]
        generation: Option<u64>,
    },
    /// Check, then record a violation or a clean action, in one step
    #[command(
        after_help = "Example:\n  haltline constraint enforce git-safety-force-push --action \"git push --force\" --violated"
    )]
    Enforce(Enforce),
    /// Close a circuit, or clear the window of a closed one (for people)
    #[command(after_help = "Example:\n  haltline constraint reset git-safety-force-push --reason \"Root cause fixed\"")]
    Reset {
        /// The constraint
        id: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// List violations, newest first
    #[command(after_help = "Example:\n  haltline constraint history git-safety-force-push --days 90")]
    History {
        /// The constraint
        id: String,
        /// How far back
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36500))]
        days: u32,
    },
    /// Show the limits in force and where they come from
    #[command(after_help = "Example:\n  haltline constraint config git-safety-force-push")]
    Config {
        /// The constraint
        id: String,
    },
    /// Allow one refused action, or take that back (for people)
    #[command(
        after_help = "Examples:\n  haltline constraint override git-safety-force-push --reason \"release\" --for 30m\n  haltline constraint override git-safety-force-push --revoke"
    )]
    Override(Override),
    /// End a circuit for good and archive it (for people)
    #[command(
        after_help = "Example:\n  haltline constraint retire git-safety-force-push --reason \"protected branch\""
    )]
    Retire {
        /// The constraint
        id: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    /// The constraint
    pub id: String,
    /// What was done
    #[arg(long)]
    pub action: String,
    /// The session it was done in
    #[arg(long)]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct Enforce {
    /// The constraint
    pub id: String,
    /// What is about to be done
    #[arg(long)]
    pub action: String,
    /// The session it is done in
    #[arg(long)]
    pub session: Option<String>,
    #[command(flatten)]
    pub outcome: EnforceOutcome,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct EnforceOutcome {
    /// The action violates the rule
    #[arg(long = "violated")]
    pub is_violated: bool,
    /// The action respects the rule
    #[arg(long = "clean")]
    pub is_clean: bool,
}

#[derive(Debug, Args)]
pub struct Override {
    /// The constraint
    pub id: String,
    /// Why; required unless --revoke
    #[arg(long, required_unless_present = "is_revoked")]
    pub reason: Option<String>,
    /// How long it may be used: 30m, 2h, 1d; at most a day
    #[arg(long = "for", default_value = "1h", value_name = "TIME", value_parser = lifetime)]
    pub lifetime_ms: u64,
    /// Take an unused override back
    #[arg(long = "revoke")]
    pub is_revoked: bool,
}

#[derive(Debug, Args)]
pub struct Trust {
    /// Only list what waits
    #[arg(long = "list")]
    pub is_list: bool,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Reset {
    #[command(flatten)]
    pub which: ResetSelection,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ResetSelection {
    /// The incident
    pub incident: Option<String>,
    /// All circuits of a session and its sub-agents
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// All circuits of all sessions of this project
    #[arg(long = "all")]
    pub is_all: bool,
}

#[derive(Debug, Args)]
pub struct FalsePositive {
    #[command(flatten)]
    pub which: FalsePositiveSelection,
    /// Why
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct FalsePositiveSelection {
    /// The incident
    pub incident: Option<String>,
    /// Only list what never trips
    #[arg(long = "list")]
    pub is_list: bool,
    /// Take one back
    #[arg(long, value_name = "INCIDENT")]
    pub revoke: Option<String>,
}

#[derive(Debug, Default, Args)]
pub struct Statusline {
    /// The client; its status comes on standard input
    #[arg(value_parser = ["claude"])]
    pub client: Option<String>,
    /// Only the short part, to put into a line of your own
    #[arg(long = "segment")]
    pub is_segment: bool,
    /// Only ASCII characters
    #[arg(long = "ascii")]
    pub is_ascii: bool,
    /// Where state is kept, as `init` wrote it
    #[arg(long = "state", value_name = "FOLDER")]
    pub state_folder: Option<PathBuf>,
    /// The configuration file, as `init` wrote it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Notify {
    /// Tell people of trips they have not heard of
    #[command(after_help = "Example:\n  haltline notify deliver")]
    Deliver,
    /// Send a made-up incident to the configured command and webhook
    #[command(after_help = "Example:\n  haltline notify test")]
    Test,
}

#[derive(Debug, Args)]
pub struct Init {
    /// Whose settings
    #[arg(long, value_name = "CLIENT", default_value = "claude", value_parser = client)]
    pub client: Client,
    /// In the project's settings instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Also show haltline in the status line, unless you have one
    #[arg(long = "statusline")]
    pub is_status_line: bool,
    /// Only show what would change
    #[arg(long = "dry-run")]
    pub is_dry_run: bool,
    /// Do not ask
    #[arg(long = "yes", conflicts_with = "is_dry_run")]
    pub is_agreed: bool,
}

#[derive(Debug, Args)]
pub struct Uninstall {
    /// Whose settings
    #[arg(long, value_name = "CLIENT", default_value = "claude", value_parser = client)]
    pub client: Client,
    /// From the project's settings instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Only show what would change
    #[arg(long = "dry-run")]
    pub is_dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub enum Journal {
    /// Show the newest facts of this project
    #[command(
        after_help = "Examples:\n  haltline journal show --limit 20\n  haltline journal show --circuit constraint/git-safety-force-push"
    )]
    Show {
        /// Only this circuit, such as constraint/ID
        #[arg(long)]
        circuit: Option<String>,
        /// How many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
    },
    /// Fold all facts again and compare with the stored state
    #[command(after_help = "Example:\n  haltline journal verify --all")]
    Verify {
        /// All projects, not only this one
        #[arg(long = "all")]
        is_all: bool,
    },
    /// Write all facts of this project as JSON Lines
    #[command(after_help = "Example:\n  haltline journal export > journal.jsonl")]
    Export,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show every value and where it comes from
    #[command(after_help = "Examples:\n  haltline config show\n  haltline config show --json")]
    Show,
    /// Check both configuration files
    #[command(after_help = "Example:\n  haltline config check")]
    Check,
    /// Print the JSON schema of a configuration file
    #[command(after_help = "Example:\n  haltline config schema > haltline.schema.json")]
    Schema,
    /// Print a commented file with all defaults
    #[command(after_help = "Example:\n  haltline config defaults > ~/.config/haltline/config.toml")]
    Defaults,
    /// Print where configuration and state are
    #[command(after_help = "Example:\n  haltline config path")]
    Path,
}

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Show how full it is and what is due
    #[command(after_help = "Examples:\n  haltline memory report\n  haltline memory report --dir notes/memory --json")]
    Report {
        /// This folder instead of haltline's own and the project's
        #[arg(long = "dir", value_name = "DIR")]
        memory_folder: Option<PathBuf>,
    },
    /// Rotate telemetry, pack old session states away, cut long lists
    #[command(after_help = "Examples:\n  haltline memory clean\n  haltline memory clean --session sess_abc123")]
    Clean {
        /// This folder instead of haltline's own and the project's
        #[arg(long = "dir", value_name = "DIR")]
        memory_folder: Option<PathBuf>,
        /// The session that is active, whose state is never touched; the one this runs in without it
        #[arg(long)]
        session: Option<String>,
    },
}

/// `30m`, `2h` or `1d` in milliseconds, from a minute to a day.
fn lifetime(text: &str) -> Result<u64, String> {
    let expected = || format!("{text:?}: expected a time from 1m to 24h, such as 30m, 2h or 1d");
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        Some(_) | None => return Err(expected()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    let millis = number.checked_mul(unit).ok_or_else(expected)?;
    if (60_000..=86_400_000).contains(&millis) { Ok(millis) } else { Err(expected()) }
}

/// A format by its name.
fn format(name: &str) -> Result<TranscriptFormat, String> {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    match Format::from_name(name) {
        Some(format) => Ok(TranscriptFormat::As(format)),
        None if name == "auto" => Ok(TranscriptFormat::Auto),
        None => Err(format!("{name:?}: expected auto, {}", names.join(", "))),
    }
}

/// A preset by its name.
pub fn preset(name: &str) -> Result<Preset, String> {
    match name {
        "default" => Ok(Preset::Default),
        "literal" => Ok(Preset::Literal),
        _other => Err(format!("{name:?}: expected default or literal")),
    }
}

/// `30d`, `12h`, `45m`, `2026-02-01` or an instant.
fn since(text: &str) -> Result<Since, String> {
    let expected = || format!("{text:?}: expected a time such as 30d, 12h, 2026-02-01 or 2026-02-01T10:00:00Z");
    if text.contains('-') {
        let instant = if text.contains('T') { text.to_owned() } else { format!("{text}T00:00:00Z") };
        return Instant::parse(&instant).map(Since::At).map_err(|_| expected());
    }
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        Some('w') => 604_800_000,
        Some(_) | None => return Err(expected()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    Ok(Since::Ago(i64::from(number).saturating_mul(unit)))
}

fn client(name: &str) -> Result<Client, String> {
    let known = || Client::ALL.map(Client::cli_name).join(", ");
    Client::from_cli_name(name).ok_or_else(|| format!("{name:?}: expected one of {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_number_with_a_unit_up_to_a_day() {
        for (text, millis) in [("1m", 60_000), ("30m", 1_800_000), ("2h", 7_200_000), ("1d", 86_400_000)] {
            assert_eq!(lifetime(text), Ok(millis));
        }
        for text in ["", "0m", "25h", "2d", "10", "h", "-1h", "1.5h", "99999999999999999999d", "5é"] {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }
}
