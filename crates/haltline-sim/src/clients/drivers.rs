//! How each client is installed, set up and started in a test. A new client is a file below and an arm of [`of`];
//! `.ci/clients` reads package and version from that file.

mod claude;
mod codex;
mod opencode;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use haltline_agents::Client;

use super::plan::Session;

/// One client, as data.
pub struct Driver {
    /// Its package.
    pub package: &'static str,
    /// The version that the tests are written for.
    pub version: &'static str,
    /// Its program, below `node_modules/.bin`.
    pub program: &'static str,
    /// More files of the home: name and text.
    pub files: &'static [(&'static str, &'static str)],
    /// Its arguments for a session without a person.
    pub arguments: fn(session: &Session, model: SocketAddr) -> Vec<String>,
    /// What it needs to reach the model, and nobody else.
    pub environment: fn(model: SocketAddr) -> Vec<(&'static str, String)>,
}

/// The driver of a client.
pub fn of(client: Client) -> &'static Driver {
    match client {
        Client::Claude => &claude::DRIVER,
        Client::Codex => &codex::DRIVER,
        Client::OpenCode => &opencode::DRIVER,
    }
}

impl Driver {
    /// The program that `.ci/clients` installed.
    ///
    /// # Panics
    /// When it is not there.
    pub fn installed(&self) -> PathBuf {
        let folder = std::env::var_os("HALTLINE_CLIENTS").map_or_else(|| root().join("target/clients"), PathBuf::from);
        let program = folder.join("node_modules/.bin").join(self.program);
        assert!(program.exists(), "no client at {}: run .ci/clients, which installs it", program.display());
        program
    }
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").to_owned()
}
