//! How each client is installed, set up and started in a test. A new client is a file below and an arm of [`run_of`];
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
    /// The npm package.
    pub package: &'static str,
    /// The version that the tests are written for.
    pub version: &'static str,
    /// The program, relative to `node_modules/.bin`.
    pub program: &'static str,
    /// Additional files of the home folder: name and text.
    pub files: &'static [(&'static str, &'static str)],
    /// Arguments that let hooks run although nobody has trusted them.
    pub trust_arguments: &'static [&'static str],
    /// What haltline does in this client.
    pub promises: Promises,
    /// The arguments for a session without a person.
    pub arguments: fn(session: &Session, model: SocketAddr) -> Vec<String>,
    /// The environment variables it needs to reach the scripted model, and nothing else.
    pub environment: fn(model: SocketAddr) -> Vec<(&'static str, String)>,
}

/// How a client's promises are known.
pub enum DriverRun {
    /// It is installed and runs in tests.
    Installed(&'static Driver),
    /// There is nothing to install: only its vendor's documentation is known.
    Documented(&'static Promises),
}

/// How the tests run a client.
pub fn run_of(client: Client) -> DriverRun {
    match client {
        Client::Claude => DriverRun::Installed(&claude::DRIVER),
        Client::Codex => DriverRun::Installed(&codex::DRIVER),
        Client::Gemini => DriverRun::Installed(&gemini::DRIVER),
        Client::OpenCode => DriverRun::Installed(&opencode::DRIVER),
        Client::Qwen => DriverRun::Installed(&qwen::DRIVER),
        Client::Cline => DriverRun::Installed(&cline::DRIVER),
        Client::Copilot => DriverRun::Installed(&copilot::DRIVER),
        Client::Cursor => DriverRun::Documented(&cursor::PROMISES),
    }
}

/// The driver of a client that can be installed.
///
/// # Panics
/// When the client cannot be installed.
pub fn installed(client: Client) -> &'static Driver {
    match run_of(client) {
        DriverRun::Installed(driver) => driver,
        DriverRun::Documented(_) => panic!("{} cannot be installed here", client.title()),
    }
}

impl Driver {
    /// The path of the program that `.ci/clients` installed.
    ///
    /// # Panics
    /// When the program is missing.
    pub fn path(&self) -> PathBuf {
        let program = folder().join("node_modules/.bin").join(self.program);
        assert!(program.exists(), "no client at {}: run .ci/clients, which installs it", program.display());
        program
    }
}

/// The folder in which clients are installed.
fn folder() -> PathBuf {
    std::env::var_os("HALTLINE_CLIENTS").map_or_else(|| root().join("target/clients"), PathBuf::from)
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/NAME lies two folders below the root").to_owned()
}
