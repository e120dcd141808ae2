//! A project in a temporary folder with its own state folder and configuration, and both real programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The program under test.
pub const SERVE: &str = env!("CARGO_BIN_EXE_haltline-serve");

/// The program `haltline`, which cargo builds beside this one. `cargo test -p haltline-serve` alone does not build it.
pub fn haltline() -> PathBuf {
    let path = Path::new(SERVE).with_file_name("haltline");
    assert!(path.is_file(), "{} is missing; build it: cargo build -p haltline", path.display());
    path
}

pub struct Site {
    folder: TempDir,
}

impl Site {
    pub fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().expect("temp folder") };
        fs::create_dir_all(site.project().join(".git")).expect("created");
        site
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Points a command at this site, whatever the environment of the tests is.
    pub fn configure(&self, command: &mut Command) {
        command.current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("USER", "ana").env("TZ", "UTC");
        command.env("HALTLINE_STATE_DIR", self.folder.path().join("state"));
        command.env("HALTLINE_CONFIG", self.folder.path().join("config.toml"));
        command.env("XDG_RUNTIME_DIR", self.folder.path());
    }

    /// Runs a program of this site to its end.
    pub fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        self.configure(&mut command);
        command.args(arguments).output().expect("the program starts")
    }
}
