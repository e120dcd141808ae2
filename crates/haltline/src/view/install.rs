//! Views of what `init` and `uninstall` do to a client's settings.

use haltline_agents::Client;
use serde::Serialize;

use crate::installation::InstallScope;

/// The result of `haltline init`.
#[derive(Debug, Serialize)]
pub struct InitView {
    pub schema: u32,
    pub client: &'static str,
    pub scope: InstallScope,
    pub settings: String,
    pub is_new_file: bool,
    pub binary: String,
    pub state: String,
    pub config: String,
    /// Events that get a hook.
    pub added: Vec<&'static str>,
    /// Number of existing haltline hooks that get new paths.
    pub replaced: usize,
    pub status_line: StatusLineView,
    /// haltline's own files next to the settings.
    pub files: Vec<OwnFileView>,
    /// The change to the settings as a unified diff.
    pub diff: String,
    /// Copy of the original settings, once they are changed.
    pub backup: Option<String>,
    pub outcome: InitOutcome,
    /// What the person has to do now, if anything.
    pub afterwards: Option<&'static str>,
    /// Other clients that are in use here and have no hooks yet.
    pub also: Vec<&'static str>,
    /// True if the client's program or its settings folder is on this machine.
    pub is_client_found: bool,
    /// What shows that the client is here, or that it is not.
    pub client_evidence: String,
    /// The work tree from which the client reads the project's hooks, if it is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_checkout: Option<String>,
    #[serde(skip)]
    pub client_kind: Client,
    /// Each handler as the file has it. The text output shows the handler once instead of twelve times.
    #[serde(skip)]
    pub handlers: Vec<String>,
}

/// The result of `haltline init` for several clients.
#[derive(Debug, Serialize)]
pub struct InitAllView {
    pub schema: u32,
    pub clients: Vec<InitView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InitOutcome {
    /// Nothing has been changed yet, or this is a dry run.
    Planned,
    /// Everything was already as it should be.
    Unchanged,
    Installed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusLineView {
    /// It was not requested.
    Untouched,
    Set,
    /// It already was haltline's.
    Unchanged,
    /// The user has another one, which stays.
    Foreign,
}

/// What happens to one of haltline's own files.
#[derive(Debug, Serialize)]
pub struct OwnFileView {
    pub file: String,
    pub change: OwnFileChange,
    /// Why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the file is and does, for people.
    #[serde(skip)]
    pub title: &'static str,
    #[serde(skip)]
    pub says: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnFileChange {
    Written,
    Removed,
    /// It is as it should be, or does not exist.
    Unchanged,
    /// The user wrote or changed it: it stays.
    Foreign,
    /// It cannot be read or written, and nothing depends on it.
    LeftOut,
}

/// The result of `haltline uninstall`.
#[derive(Debug, Serialize)]
pub struct UninstallView {
    pub schema: u32,
    pub client: &'static str,
    pub scope: InstallScope,
    pub settings: String,
    /// Number of removed hooks.
    pub removed: usize,
    /// haltline's own files next to the settings.
    pub files: Vec<OwnFileView>,
    /// The change to the settings as a unified diff.
    pub diff: String,
    pub outcome: UninstallOutcome,
    pub is_dry_run: bool,
    /// Copy of the settings before the change.
    pub backup: Option<String>,
    /// Other settings that still contain haltline's hooks.
    pub also: Option<String>,
    /// haltline's state folder, if it exists.
    pub state: Option<String>,
    /// True if the state folder is deleted as well.
    pub is_purge: bool,
    /// What is left in the state folder because haltline did not write it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_in_state: Vec<String>,
    /// Each handler as the file has it.
    #[serde(skip)]
    pub handlers: Vec<String>,
}

/// What happens to the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UninstallOutcome {
    /// They contain nothing of haltline's.
    Unchanged,
    /// They are byte for byte as before the installation.
    Restored,
    /// haltline's entries are removed, and the user's later edits stay.
    Edited,
    /// `init` created the file, and it contains nothing else.
    Deleted,
}
