//! A project in a temporary folder with its own state folder and configuration, and the real binary.

pub mod hooks;
pub mod terminal;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The binary under test.
pub const HALTLINE: &str = env!("CARGO_BIN_EXE_haltline");

pub struct Site {
    folder: TempDir,
}

/// The result of a run of the binary.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Answer {
    pub fn new(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
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

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The user's home folder.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the user's configuration. A person confirms it if it allows operator actions without a terminal.
    pub fn config(&self, text: &str) {
        fs::write(self.folder.path().join("config.toml"), text).expect("written");
        if text.contains("unattended = true") && self.run(&["trust", "--list"]).out.contains("operator.unattended") {
            let (code, seen) = terminal::Terminal::start(self, &["trust"]).confirm_and_end("Trusted:");
            assert_eq!(code, Some(0), "{seen}");
        }
    }

    /// Writes a file of the project.
    pub fn file(&self, path: &str, content: &str) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("below the project")).expect("created");
        fs::write(&path, content).expect("written");
        path
    }

    /// Writes an active constraint with these limits, as front matter lines.
    pub fn constraint(&self, id: &str, limits: &str) -> PathBuf {
        let limits: String = limits.lines().map(|line| format!("  {}\n", line.trim())).collect();
        let content = format!("---\nid: {id}\ncircuit_breaker:\n{limits}---\n# {id}\n");
        self.file(&format!("docs/constraints/active/{id}.md"), &content)
    }

    /// Points a command at this site, whatever the environment of the tests is.
    pub fn configure(&self, command: &mut Command) {
        command.current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("USER", "ana").env("TZ", "UTC");
        command.env("HALTLINE_STATE_DIR", self.state());
        command.env("HALTLINE_CONFIG", self.folder.path().join("config.toml"));
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HALTLINE);
        self.configure(&mut command);
        command.args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        Answer::new(&self.command(arguments).output().expect("the binary starts"))
    }

    /// Runs in a session without a terminal, as scripts do, even when the tests have one.
    pub fn run_detached(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let mut command = Command::new("setsid");
        self.configure(&mut command);
        command.arg("--wait").arg(HALTLINE).args(arguments).envs(variables.iter().copied());
        Answer::new(&command.output().expect("setsid of util-linux is there"))
    }

    pub fn record(&self, id: &str, action: &str) -> Answer {
        self.run(&["constraint", "record", id, "--action", action])
    }

    /// The circuit, from `status ID --json`.
    pub fn status(&self, id: &str) -> serde_json::Value {
        self.run(&["constraint", "status", id, "--json"]).json()
    }

    pub fn assert_verifies(&self) {
        let answer = self.run(&["journal", "verify"]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
    }
}

/// Columns of the terminal in [`on_terminal`].
pub const COLUMNS: u16 = 120;

/// What a run shows on a terminal, with these variables.
pub fn on_terminal(site: &Site, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let (mut device, side) = pty_process::blocking::open().expect("a pseudo terminal");
    device.resize(pty_process::Size::new(40, COLUMNS)).expect("resized");
    let mut command = pty_process::blocking::Command::new(HALTLINE).args(arguments).env_clear().env("TERM", "xterm");
    for (name, value) in site.command(arguments).get_envs() {
        command = command.env(name, value.expect("set, not removed"));
    }
    for (name, value) in variables {
        command = command.env(name, value);
    }
    let mut child = command.current_dir(site.project()).spawn(side).expect("starts");
    let mut seen = Vec::new();
    let mut bytes = [0; 4096];
    // Reading fails once the last process that has the terminal open ends.
    while let Ok(count) = device.read(&mut bytes)
        && count > 0
    {
        seen.extend_from_slice(&bytes[..count]);
    }
    assert!(child.wait().expect("it ends").success());
    String::from_utf8_lossy(&seen).replace("\r\n", "\n")
}

/// Runs a shell script as root of its own mount namespace. `None` where the system does not allow that; in CI it must.
pub fn in_mount_namespace(site: &Site, script: &str) -> Option<Answer> {
    let probe = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).output();
    let (program, arguments): (&str, &[&str]) = if probe.is_ok_and(|probe| probe.status.success()) {
        ("unshare", &["--user", "--map-root-user", "--mount", "sh", "-euc"])
    } else if Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success()) {
        ("unshare", &["--mount", "sh", "-euc"])
    } else {
        assert!(
            std::env::var_os("CI").is_none(),
            "mount namespaces are needed: unshare of util-linux, as root or with user namespaces"
        );
        eprintln!("not run: this system allows no mount namespace (unshare)");
        return None;
    };
    let mut command = Command::new(program);
    site.configure(&mut command);
    command.args(arguments).arg(script).env("HALTLINE", HALTLINE);
    Some(Answer::new(&command.output().expect("unshare starts")))
}

/// The names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    names
}
