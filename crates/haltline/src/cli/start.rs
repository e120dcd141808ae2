//! The arguments of the commands that install haltline and remove it. Doc comments in here are help texts.

use clap::Args;
use haltline_agents::Client;

use super::value::client_parser;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline init --dry-run\n  haltline init\n  haltline init --all\n  haltline init --client codex\n  haltline init --project --yes"
)]
pub struct Init {
    /// Install the hooks of this client; default: ask at a terminal, else claude
    #[arg(long, value_name = "CLIENT", value_parser = client_parser())]
    pub client: Option<Client>,
    /// Install for every client that is on this machine
    #[arg(long = "all", conflicts_with = "client")]
    pub is_all: bool,
    /// Change the project's settings instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Also show haltline in the client's status line, unless you use another one
    #[arg(long = "statusline")]
    pub is_status_line: bool,
    /// Hide haltline's state files in this project from `git status`
    #[arg(long = "git-exclude")]
    pub is_git_exclude: bool,
    /// Show what would change and change nothing
    #[arg(long = "dry-run")]
    pub is_dry_run: bool,
    /// Do not ask
    #[arg(long = "yes", short = 'y', conflicts_with = "is_dry_run")]
    pub is_agreed: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  haltline update\n  haltline update --check")]
pub struct Update {
    /// Change nothing; ask the package manager for the newest version
    #[arg(long = "check")]
    pub is_check: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haltline uninstall --dry-run\n  haltline uninstall --client codex\n  haltline uninstall --project\n  haltline uninstall --purge"
)]
pub struct Uninstall {
    /// Remove the hooks of this client
    #[arg(long, value_name = "CLIENT", default_value = "claude", value_parser = client_parser())]
    pub client: Client,
    /// Change the project's settings instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Delete haltline's state folder too: journal, incidents, circuits and backups
    #[arg(long = "purge")]
    pub is_purge: bool,
    /// Show what would change and change nothing
    #[arg(long = "dry-run")]
    pub is_dry_run: bool,
}
