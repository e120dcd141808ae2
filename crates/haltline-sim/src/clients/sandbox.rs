//! The sandbox of a run: a home, a git project, haltline's state and configuration, all private to one test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use haltline_agents::Client;
use tempfile::TempDir;

use super::drivers;
use super::outcome::Outcome;
use super::plan::{Plan, Session, Stage};
use super::script::Script;
use super::settings;
use super::stand_in::{CannedAnswer, HookNote};

/// A private home, project and state for one run.
pub struct Sandbox {
    client: Client,
    folder: Option<TempDir>,
    root: PathBuf,
    runner: PathBuf,
    seconds_max: u64,
    requests_max: usize,
}

impl Sandbox {
    /// Creates an empty home and a project with one commit. `runner` is the program `client-run`.
    ///
    /// # Panics
    /// When the machine does not allow it; a test cannot continue then.
    pub fn new(client: Client, runner: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("client").tempdir().expect("a temporary folder");
        let root = fs::canonicalize(folder.path()).expect("it exists");
        let runner = PathBuf::from(runner);
        let sandbox = Self { client, folder: Some(folder), root, runner, seconds_max: 240, requests_max: 150 };
        for folder in ["home", "project", "programs", "temporary"] {
            fs::create_dir_all(sandbox.root.join(folder)).expect("created");
        }
        for (name, text) in drivers::installed(client).files {
            sandbox.write(&format!("home/{name}"), text);
        }
        sandbox.write("project/count.txt", "count = 0\n");
        sandbox.write("project/check", "#!/bin/sh\ngrep count count.txt && echo 1 passed\n");
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        sandbox.git(&["config", "user.name", "Ana"]);
        sandbox.git(&["config", "user.email", "ana@localhost"]);
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "--message=begin"]);
        sandbox
    }

    /// A sandbox in which the program `haltline` is installed for the client, with this configuration.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn with_haltline(client: Client, runner: &str, haltline: &str, config: &str) -> Self {
        let sandbox = Self::new(client, runner);
        sandbox.copy(haltline, "haltline");
        sandbox.write("config.toml", config);
        sandbox.settings(&sandbox.haltline_settings());
        sandbox.write_hook_files(&sandbox.haltline(), &sandbox.arguments());
        sandbox
    }

    /// A sandbox in which `haltline` is ready to be installed by its own `init`; its user agrees to unattended use if
    /// the configuration says so.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn with_program(client: Client, runner: &str, haltline: &str, config: &str) -> Self {
        let sandbox = Self::new(client, runner);
        sandbox.copy(haltline, "haltline");
        sandbox.write("home/.config/haltline/config.toml", config);
        sandbox
    }

    /// A sandbox with a hook that records every event and gives these answers instead of haltline's.
    ///
    /// # Panics
    /// When the sandbox cannot be written.
    pub fn with_stand_in(client: Client, runner: &str, answers: &[CannedAnswer]) -> Self {
        let sandbox = Self::new(client, runner);
        sandbox.write("answers.json", &serde_json::to_string(answers).expect("answers are JSON"));
        sandbox.settings(&sandbox.stand_in_settings());
        sandbox.write_hook_files(&sandbox.runner, &sandbox.stand_in_arguments());
        sandbox
    }

    /// The same sandbox with another time limit for the run.
    #[must_use]
    pub fn with_seconds_max(mut self, seconds_max: u64) -> Self {
        self.seconds_max = seconds_max;
        self
    }

    /// The folder that contains everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git project that the client works in.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The path of a project file, as a tool call names it.
    pub fn file(&self, name: &str) -> String {
        self.project().join(name).display().to_string()
    }

    /// The sandbox's copy of the haltline program.
    pub fn haltline(&self) -> PathBuf {
        self.root.join("programs/haltline")
    }

    /// haltline's state folder.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The user's haltline configuration.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Settings with haltline's hooks, as `haltline init` writes them.
    pub fn haltline_settings(&self) -> String {
        settings::hooks(self.client, &self.haltline(), &self.arguments())
    }

    fn arguments(&self) -> Vec<String> {
        let (state, config) = (self.state().display().to_string(), self.config().display().to_string());
        ["hook", self.client.cli_name(), "--state", &state, "--config", &config].map(str::to_owned).into()
    }

    /// Settings with the stand-in's hooks.
    pub fn stand_in_settings(&self) -> String {
        settings::hooks(self.client, &self.runner, &self.stand_in_arguments())
    }

    fn stand_in_arguments(&self) -> [String; 2] {
        ["stand-in".to_owned(), self.root.display().to_string()]
    }

    /// Writes the client's user settings.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn settings(&self, settings: &str) {
        let layout = &self.client.protocol().layout;
        self.write(&format!("home/{}/{}", layout.user.folder, layout.user.file), settings);
    }

    /// Writes the hooks that the client keeps in separate files.
    fn write_hook_files(&self, program: &Path, arguments: &[String]) {
        let user = &self.client.protocol().layout.user;
        let folder = Path::new(user.folder).join(user.file);
        for (name, text) in settings::hook_files(self.client, program, arguments) {
            self.write(&format!("home/{}", folder.with_file_name(name).display()), &text);
        }
    }

    /// Copies a program into the sandbox, in a separate process: if this process wrote the file, another test that
    /// starts a process at that moment would inherit it open for writing, and nobody could run it for a while.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn copy(&self, program: &str, name: &str) {
        let copied = Command::new("cp").arg(program).arg(self.root.join("programs").join(name)).status();
        assert!(copied.expect("cp runs").success(), "{program} is copied");
    }

    /// Writes a file of the sandbox.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("below the root")).expect("created");
        fs::write(&path, content).expect("written");
        let mode = if content.starts_with("#!") { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("made executable");
    }

    /// The lines of a project file; none if it does not exist.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.project().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Runs git in the project and returns its output.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, arguments: &[&str]) -> String {
        let git = Command::new("git").args(arguments).current_dir(self.project()).output();
        let output = git.expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs one client that follows the first of these scripts.
    pub fn play(&self, scripts: &[Script]) -> Outcome {
        self.run(scripts, &[Stage::Clients(vec![Session::from_script(&scripts[0])])])
    }

    /// Runs the stages inside new namespaces.
    ///
    /// # Panics
    /// When the namespaces cannot be created or the run writes no outcome.
    pub fn run(&self, scripts: &[Script], stages: &[Stage]) -> Outcome {
        let plan = Plan {
            client: self.client.cli_name().to_owned(),
            program: drivers::installed(self.client).path(),
            home: self.root.join("home"),
            temporary: self.root.join("temporary"),
            project: self.project(),
            programs: vec![self.root.join("programs")],
            scripts: scripts.to_vec(),
            stages: stages.to_vec(),
            requests_max: self.requests_max,
            seconds_max: self.seconds_max,
        };
        self.write("plan.json", &serde_json::to_string(&plan).expect("a plan is JSON"));
        let output = Command::new("unshare")
            .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .arg(&self.runner)
            .arg("carry-out")
            .arg(self.root.join("plan.json"))
            .output()
            .expect("unshare of util-linux is installed");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "namespaces need root, or user namespaces that are allowed: {stderr}");
        let outcome = fs::read(self.root.join("outcome.json")).expect("a run writes its outcome");
        serde_json::from_slice(&outcome).expect("an outcome is JSON")
    }

    /// What the stand-in recorded, in order of arrival.
    pub fn hook_notes(&self) -> Vec<HookNote> {
        HookNote::all(&self.root)
    }

    /// The text of a session's transcript.
    ///
    /// # Panics
    /// When there is none.
    pub fn transcript(&self, session: &str) -> String {
        let projects = fs::read_dir(self.root.join("home/.claude/projects")).expect("the client keeps transcripts");
        let mut paths = projects.flatten().map(|project| project.path().join(format!("{session}.jsonl")));
        let path = paths.find(|path| path.is_file()).expect("the session has a transcript");
        fs::read_to_string(path).expect("a transcript is text")
    }
}

impl Drop for Sandbox {
    /// A failed test keeps its sandbox, so that a person can examine it.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take().filter(|_| std::thread::panicking()) {
            eprintln!("kept for you to look at: {}", folder.keep().display());
        }
    }
}
