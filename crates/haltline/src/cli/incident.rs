//! Arguments of the commands about incidents.

use clap::Args;

#[derive(Debug, Args)]
pub struct Incidents {
    /// Show incidents of all projects
    #[arg(long = "all")]
    pub is_all: bool,
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For a loop, haltline allows one probe; for a limit, one more call. It resets a constraint or\na slice. It resets a phase, or with --hint gives the agent the hint as guidance. For a claim, it\nprints how you can end the dispute.\n\nExamples:\n  haltline resume\n  haltline resume 4c58462d --hint \"mock jwt in the tests\""
)]
pub struct Resume {
    /// The incident's id or the beginning of it [default: the newest that is open]
    pub incident: Option<String>,
    /// What the agent should know or do differently
    #[arg(long, value_name = "TEXT", alias = "guidance")]
    pub hint: Option<String>,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline reset\n  haltline reset 4c58462d\n  haltline reset --session sess_abc123\n  haltline reset --all --reason \"new day\""
)]
pub struct Reset {
    #[command(flatten)]
    pub which: ResetSelection,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct ResetSelection {
    /// The incident's id or the beginning of it [default: the newest that is open]
    pub incident: Option<String>,
    /// Close all circuits of a session and its sub-agents
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Close all circuits of all sessions of this project
    #[arg(long = "all")]
    pub is_all: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline false-positive\n  haltline false-positive 4c58462d\n  haltline false-positive --list\n  haltline false-positive --revoke 4c58462d"
)]
pub struct FalsePositive {
    #[command(flatten)]
    pub which: FalsePositiveSelection,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct FalsePositiveSelection {
    /// The incident's id or the beginning of it [default: the newest of a session]
    pub incident: Option<String>,
    /// List the exempt calls
    #[arg(long = "list")]
    pub is_list: bool,
    /// End the exemption that this incident began
    #[arg(long, value_name = "INCIDENT")]
    pub revoke: Option<String>,
}
