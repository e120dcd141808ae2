//! What `init` and `uninstall` do to a client's settings, as seen.

use haltline_agents::Client;
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
    /// Whole files of haltline's own beside the settings.
    pub files: Vec<OwnFileView>,
    /// The change to the settings as a unified diff.
    pub diff: String,
    /// The settings as they were, once they are changed.
    pub backup: Option<String>,
    pub outcome: InitOutcome,
    /// What the person has to do now, where there is something.
    pub afterwards: Option<&'static str>,
    /// Other clients that are used here and not asked about.
    pub also: Vec<&'static str>,
    /// The work tree in which the client reads the project's hooks, where it is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_checkout: Option<String>,
    #[serde(skip)]
    pub of: Client,
    /// Each handler as the file has it, which the text shows once and not twelve times.
    #[serde(skip)]
    pub handlers: Vec<String>,
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

/// What becomes of a file of haltline's own.
#[derive(Debug, Serialize)]
pub struct OwnFileView {
    pub file: String,
    pub change: OwnFileChange,
    /// Why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is and does, for the person.
    #[serde(skip)]
    pub title: &'static str,
    #[serde(skip)]
    pub says: &'static str,
}

/// What becomes of a file of haltline's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnFileChange {
    Written,
    Removed,
    /// It is as it should be, or not there.
    Unchanged,
    /// The user's own, or changed by the user: it stays.
    Foreign,
    /// It cannot be read or written, and nothing depends on it.
    LeftOut,
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
    /// Whole files of haltline's own beside the settings.
    pub files: Vec<OwnFileView>,
    /// The change to the settings as a unified diff.
    pub diff: String,
    pub outcome: UninstallOutcome,
    pub is_dry_run: bool,
    /// Other settings that still have haltline's hooks.
    pub also: Option<String>,
    /// Each handler as the file has it.
    #[serde(skip)]
    pub handlers: Vec<String>,
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
