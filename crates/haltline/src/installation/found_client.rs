//! Which clients are on this machine: by a program on the PATH, or by the folder that the client keeps for the user.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_agents::{Client, PROCESS_MARKERS};

use super::user_folder;

/// A client, and what shows that it is on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundClient {
    pub client: Client,
    program: Option<PathBuf>,
    folder: Option<PathBuf>,
}

impl FoundClient {
    pub fn look(client: Client) -> Self {
        let folder = user_folder(client).ok().filter(|folder| folder.is_dir());
        Self { client, program: programs(client).iter().find_map(|name| program_on_path(name)), folder }
    }

    /// Every client that is on this machine.
    pub fn all() -> Vec<Self> {
        Client::ALL.into_iter().map(Self::look).filter(Self::is_found).collect()
    }

    pub fn is_found(&self) -> bool {
        self.program.is_some() || self.folder.is_some()
    }

    /// What shows that the client is here, or that it is not.
    pub fn evidence(&self) -> String {
        let program = self.program.as_ref().map(|path| path.display().to_string());
        let folder = self.folder.as_ref().map(|path| path.display().to_string());
        match (program, folder) {
            (Some(program), _) => program,
            (None, Some(folder)) => format!("{folder} (no program on the PATH)"),
            (None, None) => {
                let names: Vec<String> = programs(self.client).iter().map(|name| format!("`{name}`")).collect();
                format!("no {} on the PATH and no settings folder", names.join(" or "))
            }
        }
    }
}

fn programs(client: Client) -> &'static [&'static str] {
    let markers = PROCESS_MARKERS.iter().find(|markers| markers.client == client.name());
    markers.map_or(&[], |markers| markers.programs)
}

fn program_on_path(name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
}
