//! What the environment variables say: where files go, and which session this process belongs to.
//!
//! Below a client, an agent chooses the environment. There the paths are those of the client's hooks, or what the
//! environment says with which the person started the client (E6, E9). Hooks and the status line ask for
//! [`own_paths`]: the client itself starts them.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::ancestry::{self, AncestorProcess};
use crate::error::Failure;
use crate::installation::InstallationRecord;

/// A variable's value; an empty one counts as unset.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The session this process was started in, if a client says so.
pub fn session() -> Option<String> {
    variable("HALTLINE_SESSION").or_else(|| haltline_agents::session_in(variable))
}

/// The state folder of this process.
pub fn state_folder() -> Result<PathBuf, Failure> {
    match client_paths() {
        Some(paths) => Ok(paths.state_folder.clone()),
        None => own_paths().state_folder(),
    }
}

/// The user's configuration file for this process.
pub fn user_config() -> Result<PathBuf, Failure> {
    match client_paths() {
        Some(paths) => Ok(paths.user_config.clone()),
        None => own_paths().user_config(),
    }
}

/// The paths that this process's own environment names.
pub fn own_paths() -> Paths<impl Fn(&str) -> Option<String>> {
    Paths { variable }
}

/// The state folder that the environment names with which a process was started.
pub fn folder_of(process: &AncestorProcess) -> Option<PathBuf> {
    paths_of(process).state_folder().ok()
}

fn paths_of(process: &AncestorProcess) -> Paths<impl Fn(&str) -> Option<String> + use<>> {
    let environment = process.environment();
    Paths { variable: move |name: &str| environment.variable(name) }
}

/// The paths that an environment names.
pub struct Paths<V> {
    variable: V,
}

impl<V: Fn(&str) -> Option<String>> Paths<V> {
    /// The state folder: `HALTLINE_STATE_DIR`, or below the XDG state folder.
    pub fn state_folder(&self) -> Result<PathBuf, Failure> {
        self.locate("HALTLINE_STATE_DIR", "XDG_STATE_HOME", ".local/state", "haltline")
    }

    /// The user's configuration file: `HALTLINE_CONFIG`, or below the XDG configuration folder.
    pub fn user_config(&self) -> Result<PathBuf, Failure> {
        self.locate("HALTLINE_CONFIG", "XDG_CONFIG_HOME", ".config", "haltline/config.toml")
    }

    fn locate(&self, own: &str, xdg: &str, below_home: &str, name: &str) -> Result<PathBuf, Failure> {
        let variable = &self.variable;
        if let Some(path) = variable(own) {
            return std::path::absolute(&path).map_err(|error| Failure::Plain(format!("{own}={path}: {error}")));
        }
        if let Some(folder) = variable(xdg).map(PathBuf::from).filter(|folder| folder.is_absolute()) {
            return Ok(folder.join(name));
        }
        match variable("HOME") {
            Some(home) => Ok(PathBuf::from(home).join(below_home).join(name)),
            None => Err(Failure::Plain(format!(
                "HOME is not set; set HOME, or set {own} to the place for haltline's files"
            ))),
        }
    }
}

/// Where haltline keeps its files for a client and everything below it.
#[derive(Debug, PartialEq, Eq)]
struct ClientPaths {
    state_folder: PathBuf,
    user_config: PathBuf,
}

/// The paths of the outermost client above this process; `None` if there is no sign of one. Asked for once: what is above
/// a process does not change.
fn client_paths() -> Option<&'static ClientPaths> {
    static FOUND: OnceLock<Option<ClientPaths>> = OnceLock::new();
    FOUND.get_or_init(find_client_paths).as_ref()
}

fn find_client_paths() -> Option<ClientPaths> {
    let ancestors: Vec<AncestorProcess> = ancestry::ancestors().collect();
    let folders = folders_below(&ancestors);
    let recorded = |process: &AncestorProcess| {
        // What the client itself was started with comes before what its agent may have chosen.
        let own = folder_of(process);
        own.iter().chain(&folders).find_map(|folder| Some((folder.clone(), process.client_record(folder)?)))
    };
    for (index, client) in ancestors.iter().enumerate().rev() {
        if let Some((folder, record)) = recorded(client) {
            let state_folder = record.state().map_or(folder, Path::to_owned);
            let record = client.client_record(&state_folder).unwrap_or(record);
            let user_config = record.config().map(Path::to_owned).or_else(|| paths_of(client).user_config().ok());
            return Some(ClientPaths { state_folder, user_config: user_config? });
        }
        let Some(name) = client.agent() else { continue };
        // A launcher starts the client itself, which the hooks recorded.
        let child = index.checked_sub(1).map(|child| &ancestors[child]);
        if child.is_some_and(|child| child.is_client(name) && recorded(child).is_some()) {
            continue;
        }
        if let (Ok(state_folder), Ok(user_config)) = (paths_of(client).state_folder(), paths_of(client).user_config()) {
            return Some(ClientPaths { state_folder, user_config });
        }
    }
    haltline_agents::marker_in(|name| variable(name).is_some())?;
    // Only the environment says that there is a client. Its hooks are those that `init` recorded, if any.
    let installed = |folder: &PathBuf| InstallationRecord::read(folder).ok()?.config().map(Path::to_owned);
    let own = own_paths().state_folder().ok();
    let found = own.iter().chain(&folders).find_map(|folder| Some((folder.clone(), installed(folder)?)));
    if let Some((state_folder, user_config)) = found {
        return Some(ClientPaths { state_folder, user_config });
    }
    let home = account_home().or_else(|| variable("HOME").map(PathBuf::from))?;
    Some(ClientPaths { state_folder: own?, user_config: home.join(".config/haltline/config.toml") })
}

/// Every state folder that this account may use: of its home, and of the environments of this process and of those that
/// it runs below.
pub fn state_folders() -> BTreeSet<PathBuf> {
    folders_below(&ancestry::ancestors().collect::<Vec<_>>())
}

fn folders_below(ancestors: &[AncestorProcess]) -> BTreeSet<PathBuf> {
    let home = |home: PathBuf| home.join(".local/state/haltline");
    let of_homes = account_home().into_iter().chain(variable("HOME").map(PathBuf::from)).map(home);
    let of_ancestors = ancestors.iter().filter_map(folder_of);
    of_homes.chain(own_paths().state_folder().ok()).chain(of_ancestors).collect()
}

/// The home folder that the system's list of accounts names: no variable changes it.
pub fn account_home() -> Option<PathBuf> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let own = rustix::process::getuid().as_raw().to_string();
    home_in(&accounts, &own)
}

fn home_in(accounts: &str, number: &str) -> Option<PathBuf> {
    let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let home = fields.into_iter().find(|fields| fields.get(2) == Some(&number))?.get(5).copied();
    home.filter(|home| home.starts_with('/') && *home != "/").map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_an_account_is_found_by_its_number() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\nbroken\nana:x:1000:1000::/home/ana:/bin/zsh\nx:x:9:9::/:/bin/sh\n";
        assert_eq!(home_in(accounts, "1000"), Some(PathBuf::from("/home/ana")));
        assert_eq!((home_in(accounts, "9"), home_in(accounts, "77")), (None, None));
    }
}
