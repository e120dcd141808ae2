//! What the environment variables say: where files go, and which session this process belongs to.

use std::env;
use std::path::PathBuf;

use crate::error::Failure;

/// A variable's value; an empty one counts as unset.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The session this process was started in, if a client says so.
pub fn session() -> Option<String> {
    variable("HALTLINE_SESSION").or_else(|| haltline_agents::session_in(variable))
}

/// The state folder: `HALTLINE_STATE_DIR`, or below the XDG state folder.
pub fn state_folder() -> Result<PathBuf, Failure> {
    locate("HALTLINE_STATE_DIR", "XDG_STATE_HOME", ".local/state", "haltline")
}

/// The user's configuration file: `HALTLINE_CONFIG`, or below the XDG configuration folder.
pub fn user_config() -> Result<PathBuf, Failure> {
    locate("HALTLINE_CONFIG", "XDG_CONFIG_HOME", ".config", "haltline/config.toml")
}

fn locate(own: &str, xdg: &str, below_home: &str, name: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = variable(own) {
        return std::path::absolute(&path).map_err(|error| Failure::Plain(format!("{own}={path}: {error}")));
    }
    if let Some(folder) = variable(xdg).map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        return Ok(folder.join(name));
    }
    match variable("HOME") {
        Some(home) => Ok(PathBuf::from(home).join(below_home).join(name)),
        None => {
            Err(Failure::Plain(format!("HOME is not set; set HOME, or set {own} to the place for haltline's files")))
        }
    }
}
