//! Where a run takes place: a home, a git project, haltline's state and configuration, all private to one test.

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
use super::stand_in::{Answer, Noted};

/// A private place for one run.
pub struct Place {
    client: Client,
    folder: Option<TempDir>,
    root: PathBuf,
    runner: PathBuf,
    seconds_max: u64,
    requests_max: usize,
}

impl Place {
    /// Lays out an empty home and a project with one commit. `runner` is the program `client-run`.
    ///
    /// # Panics
    /// When the machine does not allow it; a test cannot go on then.
    pub fn new(client: Client, runner: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("client").tempdir().expect("a temporary folder");
        let root = fs::canonicalize(folder.path()).expect("it exists");
        let runner = PathBuf::from(runner);
        let place = Self { client, folder: Some(folder), root, runner, seconds_max: 240, requests_max: 150 };
        for folder in ["home", "project", "programs", "temporary"] {
            fs::create_dir_all(place.root.join(folder)).expect("created");
        }
        for (name, text) in drivers::installed(client).files {
            place.write(&format!("home/{name}"), text);
        }
        place.write("project/count.txt", "count = 0\n");
        place.write("project/check", "#!/bin/sh\ngrep count count.txt && echo 1 passed\n");
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        place.git(&["config", "user.name", "Ana"]);
        place.git(&["config", "user.email", "ana@localhost"]);
        place.git(&["add", "--all"]);
        place.git(&["commit", "--quiet", "--message=begin"]);
        place
    }

    /// A place where the program `haltline` is installed for the client, with this configuration.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn with_haltline(client: Client, runner: &str, haltline: &str, config: &str) -> Self {
        let place = Self::new(client, runner);
        place.copy(haltline, "haltline");
        place.write("config.toml", config);
        place.settings(&place.haltline_settings());
        place.beside(&place.haltline(), &place.arguments());
        place
    }

    /// A place where `haltline` lies ready to be installed by its own `init`; its user agrees to unattended use where
    /// the configuration says so.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn with_program(client: Client, runner: &str, haltline: &str, config: &str) -> Self {
        let place = Self::new(client, runner);
        place.copy(haltline, "haltline");
        place.write("home/.config/haltline/config.toml", config);
        place
    }

    /// A place where a hook notes every event and gives these answers instead of haltline's.
    ///
    /// # Panics
    /// When the place cannot be written.
    pub fn with_stand_in(client: Client, runner: &str, answers: &[Answer]) -> Self {
        let place = Self::new(client, runner);
        place.write("answers.json", &serde_json::to_string(answers).expect("answers are JSON"));
        place.settings(&place.stand_in_settings());
        place.beside(&place.runner, &place.stand_in_arguments());
        place
    }

    /// The same place with another limit on the run's time.
    #[must_use]
    pub fn lasting(mut self, seconds_max: u64) -> Self {
        self.seconds_max = seconds_max;
        self
    }

    /// The folder that holds it all.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git project the client works in.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A file of the project, as a tool call names it.
    pub fn file(&self, name: &str) -> String {
        self.project().join(name).display().to_string()
    }

    /// haltline's own copy of the program.
    pub fn haltline(&self) -> PathBuf {
        self.root.join("programs/haltline")
    }

    /// haltline's state folder.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// haltline's configuration of the user.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Settings with haltline's hooks, as `haltline init` writes them.
    pub fn haltline_settings(&self) -> String {
        settings::hooks(self.client, &self.haltline(), &self.arguments())
    }

    fn arguments(&self) -> Vec<String> {
        let (state, config) = (self.state().display().to_string(), self.config().display().to_string());
        ["hook", self.client.word(), "--state", &state, "--config", &config].map(str::to_owned).into()
    }

    /// Settings with the stand-in's hooks.
    pub fn stand_in_settings(&self) -> String {
        settings::hooks(self.client, &self.runner, &self.stand_in_arguments())
    }

    fn stand_in_arguments(&self) -> [String; 2] {
        ["stand-in".to_owned(), self.root.display().to_string()]
    }

    /// Writes the client's settings of the user.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn settings(&self, settings: &str) {
        let layout = &self.client.protocol().layout;
        self.write(&format!("home/{}/{}", layout.user.folder, layout.user.file), settings);
    }

    /// Writes the hooks that stand in files of their own.
    fn beside(&self, program: &Path, arguments: &[String]) {
        let user = &self.client.protocol().layout.user;
        let folder = Path::new(user.folder).join(user.file);
        for (name, text) in settings::beside(self.client, program, arguments) {
            self.write(&format!("home/{}", folder.with_file_name(name).display()), &text);
        }
    }

    /// Copies a program to the place's own, by a process of its own: a test beside this one that starts something would
    /// for a moment hold it open for writing, and nobody could run it.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn copy(&self, program: &str, name: &str) {
        let copied = Command::new("cp").arg(program).arg(self.root.join("programs").join(name)).status();
        assert!(copied.expect("cp runs").success(), "{program} is copied");
    }

    /// Writes a file of the place.
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

    /// The lines of a file of the project; none while it is not there.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.project().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What git says in the project.
    ///
    /// # Panics
    /// When git refuses.
    pub fn git(&self, arguments: &[&str]) -> String {
        let git = Command::new("git").args(arguments).current_dir(self.project()).output();
        let output = git.expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// One client that follows the first of these scripts.
    pub fn play(&self, scripts: &[Script]) -> Outcome {
        self.run(scripts, &[Stage::Clients(vec![Session::of(&scripts[0])])])
    }

    /// Runs the stages inside new namespaces.
    ///
    /// # Panics
    /// When the namespaces cannot be made or the run leaves no outcome.
    pub fn run(&self, scripts: &[Script], stages: &[Stage]) -> Outcome {
        let plan = Plan {
            client: self.client.word().to_owned(),
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
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "namespaces need root, or user namespaces that are allowed: {said}");
        let outcome = fs::read(self.root.join("outcome.json")).expect("a run writes its outcome");
        serde_json::from_slice(&outcome).expect("an outcome is JSON")
    }

    /// What the stand-in noted, in the order of arrival.
    pub fn noted(&self) -> Vec<Noted> {
        Noted::all(&self.root)
    }

    /// The lines of a session's transcript.
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

impl Drop for Place {
    /// A failed test keeps its place, so that one can look.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take().filter(|_| std::thread::panicking()) {
            eprintln!("kept for you to look at: {}", folder.keep().display());
        }
    }
}
