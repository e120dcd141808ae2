//! The arguments of `haltline status` and `haltline statusline`. Doc comments in here are help texts.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  haltline status\n  haltline status --all\n  haltline status --json")]
pub struct Status {
    /// Also show the breakers, memory folders, resource use and the store
    #[arg(long = "verbose", short = 'v', conflicts_with = "is_all")]
    pub is_verbose: bool,
    /// Show every project of this store
    #[arg(long = "all")]
    pub is_all: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(
    after_help = "Examples:\n  haltline statusline claude < status.json\n  haltline statusline --segment --ascii\n  haltline statusline --json"
)]
pub struct Statusline {
    /// The client that sends its status on standard input
    #[arg(value_parser = ["claude"])]
    pub client: Option<String>,
    /// Print a short segment to include in your own status line
    #[arg(long = "segment")]
    pub is_segment: bool,
    /// Print only ASCII characters
    #[arg(long = "ascii")]
    pub is_ascii: bool,
    /// The state folder, as `init` wrote it
    #[arg(long = "state", value_name = "FOLDER")]
    pub state_folder: Option<PathBuf>,
    /// The configuration file, as `init` wrote it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The folder of the project, where the client does not say it.
    #[arg(skip)]
    pub folder: Option<PathBuf>,
    /// Set from the option that all commands share.
    #[arg(skip)]
    pub is_json: bool,
}
