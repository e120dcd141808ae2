//! What `init` and `uninstall` do to a client's settings, as seen.

use serde::Serialize;

use crate::installation::Reach;

/// `haltline init`.
#[derive(Debug, Serialize)]
pub struct InitView {
    pub schema: u32,
    pub client: &'static str,
    pub scope: Reach,
    pub settings: String,
    pub is_new_file: bool,
    pub binary: String,
    pub state: String,
    pub config: String,
    /// Events that get a hook.
    pub added: Vec<&'static str>,
    /// How many hooks of another haltline get new paths.
    pub replaced: usize,
    pub status_line: StatusLineView,
    pub slash_command: SlashCommandView,
    /// The change to the settings as a unified diff.
    pub diff: String,
    /// The settings as they were, once they are changed.
    pub backup: Option<String>,
    pub outcome: InitOutcome,
    /// One handler as the file has it, which the text shows once and not twelve times.
    #[serde(skip)]
    pub handler: String,
}

/// How `init` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InitOutcome {
    /// Nothing is changed yet, or nothing was to be.
    Planned,
    /// Everything was as it should be.
    Unchanged,
    Installed,
}

/// What becomes of the status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusLineView {
    /// Nobody asked.
    Untouched,
    Set,
    /// It was ours already.
    Unchanged,
    /// The user's own stays.
    Foreign,
}

/// What becomes of the `/circuit-status` command.
#[derive(Debug, Serialize)]
pub struct SlashCommandView {
    pub file: String,
    pub change: SlashCommandChange,
}

/// What becomes of the `/circuit-status` command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlashCommandChange {
    Written,
    Removed,
    /// It is as it should be, or not there.
    Unchanged,
    /// The user's own, or changed by the user: it stays.
    Foreign,
}

/// `haltline uninstall`.
#[derive(Debug, Serialize)]
pub struct UninstallView {
    pub schema: u32,
    pub client: &'static str,
    pub scope: Reach,
    pub settings: String,
    /// How many hooks go.
    pub removed: usize,
    pub slash_command: SlashCommandView,
    /// The change to the settings as a unified diff.
    pub diff: String,
    pub outcome: UninstallOutcome,
    pub is_dry_run: bool,
    /// Other settings that still have haltline's hooks.
    pub also: Option<String>,
    /// One handler as the file has it.
    #[serde(skip)]
    pub handler: String,
}

/// What becomes of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UninstallOutcome {
    /// Nothing of ours was in them.
    Unchanged,
    /// They are what they were, byte for byte.
    Restored,
    /// Our entries are gone and the user's later edits stay.
    Edited,
    /// `init` made the file, and nothing else was in it.
    Deleted,
}
