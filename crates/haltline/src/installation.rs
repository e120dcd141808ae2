//! Records what `init` changed outside haltline's own folder: in which settings files, from what, to what.
//!
//! The record is in the state folder. `uninstall` undoes the changes by it and `doctor` compares with it; without it,
//! both still recognise haltline's entries.

mod foreign_file;
mod found_client;
pub mod git_exclude;
pub mod hook_program;
pub mod weakness;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::install::{InstallTrace, Relocation, Settings};
use haltline_core::{Instant, digest_hex};
use haltline_engine::file::{Links, read_regular};
use haltline_engine::project::Project;
use serde::{Deserialize, Serialize};

pub use foreign_file::{ForeignFile, make_folder, remove_folders};
pub use found_client::FoundClient;

use crate::environment::variable;
use crate::error::Failure;

const RECORD_SCHEMA: u32 = 1;
/// Name of the record in the state folder.
const RECORD_FILE: &str = "installed.json";
/// Largest record that is read.
const RECORD_BYTES_MAX: u64 = 16 << 20;

/// Whose settings haltline is installed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallScope {
    /// Every project of this user.
    User,
    /// One project, for everybody who works on it.
    Project,
}

impl InstallScope {
    /// The scope that `--project`, or its absence, selects.
    pub fn from_project_flag(is_project: bool) -> Self {
        if is_project { InstallScope::Project } else { InstallScope::User }
    }

    /// The command line options that select this scope and this client.
    pub fn options(self, client: Client) -> String {
        let client = match client {
            Client::Claude => String::new(),
            other => format!(" --client {}", other.cli_name()),
        };
        match self {
            InstallScope::User => client,
            InstallScope::Project => format!("{client} --project"),
        }
    }

    /// The client's settings file for this scope.
    pub fn settings_file(self, client: Client, project: &Project) -> Result<PathBuf, Failure> {
        let layout = &client.protocol().layout;
        match self {
            InstallScope::User => Ok(user_folder(client)?.join(layout.user.file)),
            InstallScope::Project => {
                let root = match layout.project.relocation {
                    Some(Relocation::MainCheckout) => project.main_checkout(),
                    Some(Relocation::Folder(_) | Relocation::FolderFromHome(_) | Relocation::Home(_)) | None => {
                        &project.root
                    }
                };
                Ok(root.join(layout.project.folder).join(layout.project.file))
            }
        }
    }
}

/// The folder in which a client keeps its files of the user.
pub fn user_folder(client: Client) -> Result<PathBuf, Failure> {
    let settings = &client.protocol().layout.user;
    let home = variable("HOME").map(PathBuf::from);
    match (moved_folder(settings, home.as_deref()), home) {
        (Some(folder), _) => Ok(std::path::absolute(folder)?),
        (None, Some(home)) => Ok(default_folder(settings.folder, home)),
        (None, None) => {
            let hint = settings.relocation.and_then(Relocation::variable).unwrap_or("HOME");
            let title = client.title();
            Err(Failure::Plain(format!("HOME is not set; set {hint} to the folder of {title}'s settings")))
        }
    }
}

/// The folder that an environment variable sets.
fn moved_folder(settings: &Settings, home: Option<&Path>) -> Option<PathBuf> {
    let moved = settings.relocation?;
    let named = PathBuf::from(variable(moved.variable()?)?);
    match moved {
        Relocation::Folder(_) => Some(named),
        Relocation::FolderFromHome(_) => match (named.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            (Ok(_) | Err(_), _) => Some(named),
        },
        Relocation::Home(_) => Some(named.join(settings.folder)),
        Relocation::MainCheckout => None,
    }
}

/// The folder if no variable of the client sets it; `XDG_CONFIG_HOME` may have moved `.config`.
fn default_folder(folder: &str, home: PathBuf) -> PathBuf {
    let moved = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|moved| moved.is_absolute());
    match (folder.strip_prefix(".config/"), moved) {
        (Some(rest), Some(moved)) => moved.join(rest),
        (_, _) => home.join(folder),
    }
}

/// All installations.
#[derive(Debug, Serialize, Deserialize)]
pub struct InstallationRecord {
    schema: u32,
    installations: Vec<Installation>,
}

/// One file in which haltline is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    pub client: String,
    /// The settings file.
    pub settings: PathBuf,
    pub at: String,
    /// The version of haltline that installed it.
    pub version: String,
    /// The program that the hooks run.
    pub binary: PathBuf,
    /// The state folder that the hooks use.
    pub state: PathBuf,
    /// The configuration file that the hooks use.
    pub config: PathBuf,
    /// True if `init` created the settings file.
    pub is_new_file: bool,
    /// Digest of the file without haltline, if known.
    pub before: Option<String>,
    /// Digest of the file with haltline.
    pub after: String,
    /// A copy of the file as it was before.
    pub backup: Option<PathBuf>,
    /// What was added to the file.
    pub trace: InstallTrace,
    /// Folders that were created, outermost first.
    pub folders: Vec<PathBuf>,
}

impl InstallationRecord {
    /// Reads the record of a state folder; it is empty if there is no file.
    pub fn read(state: &Path) -> Result<Self, Failure> {
        let path = state.join(RECORD_FILE);
        let text = match read_regular(&path, RECORD_BYTES_MAX, Links::Reject) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { schema: RECORD_SCHEMA, installations: Vec::new() });
            }
            Err(error) => return Err(Failure::Plain(format!("{}: {error}", path.display()))),
        };
        let record: Self = serde_json::from_slice(&text).map_err(|error| {
            Failure::Plain(format!("{}: {error}; move it away and run the command again", path.display()))
        })?;
        if record.schema > RECORD_SCHEMA {
            let newer = record.schema;
            return Err(Failure::Plain(format!(
                "{}: schema {newer} is from a newer haltline: upgrade",
                path.display()
            )));
        }
        Ok(record)
    }

    /// The installations in other settings files than this one.
    pub fn others(&self, settings: &Path) -> impl Iterator<Item = &Installation> {
        self.installations.iter().filter(move |installation| installation.settings != settings)
    }

    /// True if haltline is installed nowhere.
    pub fn is_empty(&self) -> bool {
        self.installations.is_empty()
    }

    /// True if haltline is installed for this client somewhere.
    pub fn names(&self, client: Client) -> bool {
        self.installations.iter().any(|installation| installation.client == client.name())
    }

    /// The programs that the installed hooks run, each once.
    pub fn hook_programs(&self) -> Vec<&Path> {
        let mut programs: Vec<&Path> = Vec::new();
        for installation in &self.installations {
            if !programs.contains(&installation.binary.as_path()) {
                programs.push(&installation.binary);
            }
        }
        programs
    }

    /// The configuration file that the hooks installed last read.
    pub fn config(&self) -> Option<&Path> {
        self.installations.last().map(|installation| installation.config.as_path())
    }

    /// The installation in this settings file.
    pub fn find(&self, settings: &Path) -> Option<&Installation> {
        self.installations.iter().find(|installation| installation.settings == settings)
    }

    /// The record with this installation, which replaces an older one in the same settings file.
    pub fn with(&self, installation: Installation) -> Self {
        let mut record = self.without(&installation.settings);
        record.installations.push(installation);
        record
    }

    /// The record without the installation in this settings file.
    pub fn without(&self, settings: &Path) -> Self {
        let others = self.installations.iter().filter(|installation| installation.settings != settings);
        Self { schema: RECORD_SCHEMA, installations: others.cloned().collect() }
    }

    /// Writes the record; an empty one leaves no file.
    pub fn write(&self, state: &Path) -> Result<(), Failure> {
        let path = state.join(RECORD_FILE);
        let file = ForeignFile::read(&path)?;
        if self.installations.is_empty() {
            return file.delete();
        }
        make_private_folder(state)?;
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        file.replace(&(text + "\n"), false)
    }
}

/// A digest by which the content of a file is compared.
pub fn digest(text: &str) -> String {
    digest_hex(&[text.as_bytes()], 32)
}

/// Keeps a copy of a file that is about to change, readable only by its owner.
pub fn keep_backup(state: &Path, at: Instant, name: &Path, text: &str) -> Result<PathBuf, Failure> {
    let instant = at.to_seconds_text().replace(':', "-");
    let name = name.file_name().unwrap_or(name.as_os_str());
    for number in 1..=BACKUPS_PER_SECOND_MAX {
        let folder = if number == 1 { instant.clone() } else { format!("{instant}-{number}") };
        let folder = state.join("backup").join(folder);
        make_private_folder(&folder)?;
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                file.sync_data()?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::Plain(format!("backup {}: {error}", path.display()))),
        }
    }
    Err(Failure::Plain(format!("{}: too many backups of this second", state.join("backup").display())))
}

/// More than anybody makes.
const BACKUPS_PER_SECOND_MAX: u32 = 100;

fn make_private_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::Plain(format!("folder {}: {error}", folder.display())))
}
