//! View of `haltline update`.

use serde::Serialize;

use crate::installation::hook_program::InstalledBy;

/// The result of `haltline update`.
#[derive(Debug, Serialize)]
pub struct UpdateView {
    pub schema: u32,
    /// Version of this program.
    pub version: &'static str,
    /// Path of this program.
    pub program: String,
    /// What installed it.
    pub installed_by: InstalledBy,
    /// The programs that the installed hooks run.
    pub hooks_run: Vec<String>,
    /// Version of the first of them before the update, if it says one.
    pub hooks_version: Option<String>,
    pub outcome: UpdateOutcome,
    /// The command that gets a newer version, if a package manager installed this one.
    pub upgrade: Option<&'static str>,
    /// What the package manager says, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<NewestVersion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOutcome {
    /// No hooks are installed.
    NotInstalled,
    /// The hooks run another program than this one, at another path.
    Elsewhere,
    /// The hooks run this version.
    Current,
    /// The hooks run a copy of another version; nothing was changed.
    Outdated,
    /// The hooks run this version from now on.
    Updated,
}

/// The newest version that a package manager knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NewestVersion {
    Known { version: String, is_newer: bool },
    Unknown { reason: String },
}
