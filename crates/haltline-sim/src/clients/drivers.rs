//! How each client is installed, set up and started in a test. A new client is a file below and an arm of [`of`];
//! `.ci/clients` reads package and version from that file.

mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod qwen;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use haltline_agents::Client;

use super::plan::Session;
use super::promises::Promises;

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
    /// Arguments that let hooks run which nobody has trusted.
    pub trusting: &'static [&'static str],
    /// What haltline does in it.
    pub promises: Promises,
    /// Its arguments for a session without a person.
    pub arguments: fn(session: &Session, model: SocketAddr) -> Vec<String>,
    /// What it needs to reach the model, and nobody else.
    pub environment: fn(model: SocketAddr) -> Vec<(&'static str, String)>,
}

/// How a client's promises are known.
pub enum Run {
    /// It is installed and runs in tests.
    Installed(&'static Driver),
    /// There is nothing to install: what its maker writes down is all that is known.
    Documented(&'static Promises),
}

/// How a client is run.
pub fn of(client: Client) -> Run {
    match client {
        Client::Claude => Run::Installed(&claude::DRIVER),
        Client::Codex => Run::Installed(&codex::DRIVER),
        Client::Gemini => Run::Installed(&gemini::DRIVER),
        Client::OpenCode => Run::Installed(&opencode::DRIVER),
        Client::Qwen => Run::Installed(&qwen::DRIVER),
        Client::Cline => Run::Installed(&cline::DRIVER),
        Client::Copilot => Run::Installed(&copilot::DRIVER),
        Client::Cursor => Run::Documented(&cursor::PROMISES),
    }
}

/// The driver of a client that can be installed.
///
/// # Panics
/// When it cannot.
pub fn installed(client: Client) -> &'static Driver {
    match of(client) {
        Run::Installed(driver) => driver,
        Run::Documented(_) => panic!("{} cannot be installed here", client.title()),
    }
}

impl Driver {
    /// The program that `.ci/clients` installed.
    ///
    /// # Panics
    /// When it is not there.
    pub fn path(&self) -> PathBuf {
        let program = folder().join("node_modules/.bin").join(self.program);
        assert!(program.exists(), "no client at {}: run .ci/clients, which installs it", program.display());
        program
    }
}

/// Where clients are installed.
fn folder() -> PathBuf {
    std::env::var_os("HALTLINE_CLIENTS").map_or_else(|| root().join("target/clients"), PathBuf::from)
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").to_owned()
}
