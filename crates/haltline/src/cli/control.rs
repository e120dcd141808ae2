//! The arguments of the commands with which a person decides. Doc comments in here are help texts.

use clap::{Args, Subcommand};

use super::value::{PauseLength, pause_length};

#[derive(Debug, Args)]
#[command(
    after_help = "While paused, haltline lets every call pass and counts nothing. Circuits stay as they\nare. When its time is up or the machine restarts, the pause ends.\n\nExamples:\n  haltline pause\n  haltline pause 2h --project\n  haltline pause today --reason \"release day\"\n  haltline pause session"
)]
pub struct Pause {
    /// How long: 30m or 2h, at most a day; `today`, until midnight; or `session`, until the
    /// newest session of this project ends
    #[arg(value_name = "TIME", default_value = "30m", value_parser = pause_length)]
    pub length: PauseLength,
    /// Pause only in this project
    #[arg(long = "project")]
    pub is_project: bool,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  haltline unpause")]
pub struct Unpause {
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  haltline trust --list\n  haltline trust --reason \"agreed with the team\"")]
pub struct Trust {
    /// List the settings that wait for your approval and accept none
    #[arg(long = "list")]
    pub is_list: bool,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show every value and where it comes from
    #[command(after_help = "Examples:\n  haltline config show\n  haltline config show --json")]
    Show,
    /// Print the value of a key
    #[command(after_help = "Examples:\n  haltline config get mode\n  haltline config get loop.repeat.deny --json")]
    Get {
        /// The key, such as mode
        key: String,
    },
    /// Set a key in your configuration file or the project's (people only)
    #[command(
        after_help = "Examples:\n  haltline config set mode observe\n  haltline config set agents.max_concurrent 8 --project\n  haltline config set notify.command '[\"notify-send\", \"haltline\"]'\n\nhaltline checks the value first. It keeps the comments in the file."
    )]
    Set(ConfigSet),
    /// Remove a key from a configuration file (people only)
    #[command(after_help = "Examples:\n  haltline config unset mode\n  haltline config unset mode --project")]
    Unset(ConfigUnset),
    /// Open a configuration file in your editor and check it (people only)
    #[command(
        after_help = "Examples:\n  haltline config edit\n  EDITOR=nano haltline config edit --project\n\nhaltline replaces the file only if the edited text has no error."
    )]
    Edit(ConfigEdit),
    /// Report all errors in your configuration file and the project's
    #[command(after_help = "Examples:\n  haltline config check\n  haltline config check --json")]
    Check,
    /// Print the JSON schema of the configuration file
    #[command(after_help = "Example:\n  haltline config schema > haltline.schema.json")]
    Schema,
    /// Print a commented file with all defaults
    #[command(after_help = "Example:\n  haltline config defaults > ~/.config/haltline/config.toml")]
    Defaults,
    /// Print the paths of the configuration files and the state folder
    #[command(after_help = "Example:\n  haltline config path")]
    Path,
}

#[derive(Debug, Args)]
pub struct ConfigSet {
    /// The key, such as mode
    pub key: String,
    /// The value, written as in the file, but text needs no quotes
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// Change the project's file instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct ConfigUnset {
    /// The key, such as mode
    pub key: String,
    /// Change the project's file instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct ConfigEdit {
    /// Edit the project's file instead of your own
    #[arg(long = "project")]
    pub is_project: bool,
    /// Reason for the journal
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}
