//! The arguments of `haltline constraint`. Doc comments in here are help texts.

use clap::{Args, Subcommand};

use super::value::lifetime;

#[derive(Debug, Subcommand)]
pub enum Constraint {
    /// Write a constraint file and show which past calls it would have denied
    New(super::new_constraint::NewConstraint),
    /// Show all circuits, or one
    #[command(
        after_help = "Examples:\n  haltline constraint status\n  haltline constraint status git-safety-force-push --json"
    )]
    Status {
        /// The constraint; default: all
        #[arg(value_name = "ID", conflicts_with = "is_all")]
        id: Option<String>,
        /// Show all circuits
        #[arg(long = "all", hide = true)]
        is_all: bool,
    },
    /// Check whether an action is allowed: exit 0 allowed, 77 denied
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
    /// Record a clean action, which closes a HALF_OPEN circuit
    #[command(after_help = "Example:\n  haltline constraint pass git-safety-force-push")]
    Pass {
        /// The constraint
        id: String,
        /// The action
        #[arg(long)]
        action: Option<String>,
        /// The session of the action
        #[arg(long)]
        session: Option<String>,
        /// Do nothing if the circuit has changed since this generation, which `check --json` prints
        #[arg(long)]
        generation: Option<u64>,
    },
    /// Check, then record a violation or a clean action, in one step
    #[command(
        after_help = "Example:\n  haltline constraint enforce git-safety-force-push --action \"git push --force\" --violated"
    )]
    Enforce(Enforce),
    /// Close a circuit, or clear the counts of a closed one (people only)
    #[command(after_help = "Example:\n  haltline constraint reset git-safety-force-push --reason \"Root cause fixed\"")]
    Reset {
        /// The constraint
        id: String,
        /// Reason for the journal
        #[arg(long)]
        reason: Option<String>,
    },
    /// List violations, newest first
    #[command(after_help = "Example:\n  haltline constraint history git-safety-force-push --days 90")]
    History {
        /// The constraint
        id: String,
        /// Show this many days
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36500))]
        days: u32,
    },
    /// Show the current limits and where they come from
    #[command(after_help = "Example:\n  haltline constraint config git-safety-force-push")]
    Config {
        /// The constraint
        id: String,
    },
    /// Allow one action that haltline denies (people only)
    #[command(
        after_help = "Examples:\n  haltline constraint override git-safety-force-push --reason \"release\" --for 30m\n  haltline constraint override git-safety-force-push --revoke"
    )]
    Override(Override),
    /// Retire a circuit permanently and archive it (people only)
    #[command(
        after_help = "Example:\n  haltline constraint retire git-safety-force-push --reason \"protected branch\""
    )]
    Retire {
        /// The constraint
        id: String,
        /// Reason for the journal
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    /// The constraint
    pub id: String,
    /// The action
    #[arg(long)]
    pub action: String,
    /// The session of the action
    #[arg(long)]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct Enforce {
    /// The constraint
    pub id: String,
    /// The action
    #[arg(long)]
    pub action: String,
    /// The session of the action
    #[arg(long)]
    pub session: Option<String>,
    #[command(flatten)]
    pub outcome: EnforceOutcome,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct EnforceOutcome {
    /// Record that the action violates the rule
    #[arg(long = "violated")]
    pub is_violated: bool,
    /// Record that the action respects the rule
    #[arg(long = "clean")]
    pub is_clean: bool,
}

#[derive(Debug, Args)]
pub struct Override {
    /// The constraint
    pub id: String,
    /// Reason for the journal; required unless --revoke
    #[arg(long, required_unless_present = "is_revoked")]
    pub reason: Option<String>,
    /// How long the override is valid: 30m, 2h, 1d; at most a day
    #[arg(long = "for", default_value = "1h", value_name = "TIME", value_parser = lifetime)]
    pub lifetime_ms: u64,
    /// Revoke an unused override
    #[arg(long = "revoke")]
    pub is_revoked: bool,
}
