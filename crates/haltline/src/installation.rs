//! What `init` changed outside haltline's own folder: whose settings, what they were, what they are.
//!
//! The record lies in the state folder. `uninstall` undoes by it, `doctor` compares with it; without it both still know
//! haltline's entries by sight.

mod foreign_file;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::install::{Moved, Settings, Trace};
use haltline_core::{Instant, digest_hex};
use haltline_engine::project::Project;
use serde::{Deserialize, Serialize};

pub use foreign_file::{ForeignFile, make_folder, remove_folders};

use crate::error::Failure;
use crate::surroundings::variable;

/// The version of the record.
const RECORD_SCHEMA: u32 = 1;
/// The record's name in the state folder.
const RECORD_FILE: &str = "installed.json";

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Every project of this user.
    User,
    /// One project, for everybody who works on it.
    Project,
}

impl Reach {
    /// The one that `--project` asks for, or not.
    pub fn new(is_project: bool) -> Self {
        if is_project { Reach::Project } else { Reach::User }
    }

    /// The options that ask for it, and for this client.
    pub fn options(self, client: Client) -> String {
        let client = match client {
            Client::Claude => String::new(),
            other => format!(" --client {}", other.word()),
        };
        match self {
            Reach::User => client,
            Reach::Project => format!("{client} --project"),
        }
    }

    /// The client's settings of this reach.
    pub fn settings(self, client: Client, project: &Project) -> Result<PathBuf, Failure> {
        let layout = &client.protocol().layout;
        match self {
            Reach::User => Ok(user_folder(client)?.join(layout.user.file)),
            Reach::Project => {
                let root = match layout.project.moved {
                    Some(Moved::MainCheckout) => project.main_checkout(),
                    Some(Moved::Folder(_) | Moved::FolderFromHome(_) | Moved::Home(_)) | None => &project.root,
                };
                Ok(root.join(layout.project.folder).join(layout.project.file))
            }
        }
    }
}

/// The folder in which a client keeps what is the user's.
pub fn user_folder(client: Client) -> Result<PathBuf, Failure> {
    let settings = &client.protocol().layout.user;
    let home = variable("HOME").map(PathBuf::from);
    match (moved(settings, home.as_deref()), home) {
        (Some(folder), _) => Ok(std::path::absolute(folder)?),
        (None, Some(home)) => Ok(below(settings.folder, home)),
        (None, None) => {
            let hint = settings.moved.and_then(Moved::variable).unwrap_or("HOME");
            let title = client.title();
            Err(Failure::Plain(format!("HOME is not set; set {hint} to the folder of {title}'s settings")))
        }
    }
}

/// Where a variable puts the folder.
fn moved(settings: &Settings, home: Option<&Path>) -> Option<PathBuf> {
    let moved = settings.moved?;
    let named = PathBuf::from(variable(moved.variable()?)?);
    match moved {
        Moved::Folder(_) => Some(named),
        Moved::FolderFromHome(_) => match (named.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            (Ok(_) | Err(_), _) => Some(named),
        },
        Moved::Home(_) => Some(named.join(settings.folder)),
        Moved::MainCheckout => None,
    }
}

/// A folder of the user's; those for settings may have been moved.
fn below(folder: &str, home: PathBuf) -> PathBuf {
    let moved = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|moved| moved.is_absolute());
    match (folder.strip_prefix(".config/"), moved) {
        (Some(rest), Some(moved)) => moved.join(rest),
        (_, _) => home.join(folder),
    }
}

/// All that is installed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    schema: u32,
    installations: Vec<Installation>,
}

/// One file haltline is installed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// Which client's.
    pub client: String,
    /// The settings.
    pub settings: PathBuf,
    /// When.
    pub at: String,
    /// By which haltline.
    pub version: String,
    /// What the hooks run.
    pub binary: PathBuf,
    /// The state folder they use.
    pub state: PathBuf,
    /// The configuration they use.
    pub config: PathBuf,
    /// Whether there was no file.
    pub is_new_file: bool,
    /// The digest of the file without haltline, where it is known.
    pub before: Option<String>,
    /// The digest of the file with haltline.
    pub after: String,
    /// The file as it was before.
    pub backup: Option<PathBuf>,
    /// What was made in it.
    pub trace: Trace,
    /// Folders that were made, outermost first.
    pub folders: Vec<PathBuf>,
}

impl Record {
    /// The record of a state folder.
    pub fn read(state: &Path) -> Result<Self, Failure> {
        let path = state.join(RECORD_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { schema: RECORD_SCHEMA, installations: Vec::new() });
            }
            Err(error) => return Err(Failure::Plain(format!("{}: {error}", path.display()))),
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::Plain(format!("{}: {error}; move it away and run the command again", path.display()))
        })?;
        if record.schema > RECORD_SCHEMA {
            let newer = record.schema;
            return Err(Failure::Plain(format!("{}: schema {newer} is of a newer haltline: upgrade", path.display())));
        }
        Ok(record)
    }

    /// The installation in these settings.
    pub fn of(&self, settings: &Path) -> Option<&Installation> {
        self.installations.iter().find(|installation| installation.settings == settings)
    }

    /// The record with this installation, in place of an older one in the same settings.
    pub fn with(&self, installation: Installation) -> Self {
        let mut record = self.without(&installation.settings);
        record.installations.push(installation);
        record
    }

    /// The record without what is installed in these settings.
    pub fn without(&self, settings: &Path) -> Self {
        let others = self.installations.iter().filter(|installation| installation.settings != settings);
        Self { schema: RECORD_SCHEMA, installations: others.cloned().collect() }
    }

    /// Keeps the record; an empty one leaves no file.
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

/// What a file's content is compared by.
pub fn digest(text: &str) -> String {
    digest_hex(&[text.as_bytes()], 32)
}

/// Keeps a copy of a file that is about to change, where only its owner can read it.
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
