//! A project with a stand-in agent, the real `haltline`, and a home, a state and a configuration of its own.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::outcome::Outcome;

pub const HALTLINE: &str = env!("CARGO_BIN_EXE_haltline-now");
pub const STAND_IN: &str = env!("CARGO_BIN_EXE_stand-in-agent");

/// Longer than anything takes on a busy machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a person may do without a terminal, and nothing else.
const CONFIG: &str = "[operator]\nunattended = true\n";

pub struct Place {
    folder: TempDir,
    root: PathBuf,
}

impl Place {
    /// A git project with one commit, and a script for the agent. What is not in `work` is not looked at.
    pub fn new(script: &str) -> Self {
        let place = Self::without_git(script);
        place.write("work/tracked.txt", "first\n");
        place.git("work", &["init", "--quiet", "--initial-branch=main"]);
        place.git("work", &["add", "--all"]);
        place.git("work", &["commit", "--quiet", "--message=begin"]);
        place
    }

    /// The same without git.
    pub fn without_git(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("loop").tempdir().expect("temp folder");
        let root = fs::canonicalize(folder.path()).expect("it is there");
        let place = Self { folder, root };
        for folder in ["work", "home"] {
            fs::create_dir(place.path(folder)).expect("created");
        }
        place.write("script", script);
        place.write("config.toml", CONFIG);
        place
    }

    /// The same with this in the user's configuration.
    pub fn configured(self, text: &str) -> Self {
        self.write("config.toml", &format!("{text}\n{CONFIG}"));
        self
    }

    /// A path of the place; the agent runs in `work`, so that it is `../NAME` for it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below the root")).expect("created");
        fs::write(path, text).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Git in a folder of the place.
    pub fn git(&self, folder: &str, words: &[&str]) {
        let mut git = Command::new("git");
        self.surround(&mut git, folder);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        git.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.invalid"]).args(words);
        let output = git.output().expect("git is installed");
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A repository of its own below the place.
    pub fn repository(&self, folder: &str) {
        self.write(&format!("{folder}/begun.txt"), "begun\n");
        self.git(folder, &["init", "--quiet", "--initial-branch=main"]);
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--message=begin"]);
    }

    /// Nothing of the surroundings of the tests but where programs lie: neither a terminal's nor an agent's.
    fn surround(&self, command: &mut Command, folder: &str) {
        command.current_dir(self.path(folder)).env_clear().stdin(Stdio::null());
        for name in ["PATH", "LLVM_PROFILE_FILE"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.path("home")).env("USER", "ana").env("LANG", "C.UTF-8");
        command.env("HALTLINE_STATE_DIR", self.path("state")).env("HALTLINE_CONFIG", self.path("config.toml"));
    }

    /// haltline in a session without a terminal, as scripts start it, even where the tests have one.
    fn program(&self, words: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        self.surround(&mut command, "work");
        command.arg("--wait").arg(HALTLINE).args(words);
        command
    }

    /// What haltline answers.
    pub fn ask(&self, words: &[&str]) -> Answer {
        Answer::new(&self.program(words).output().expect("setsid of util-linux is there"))
    }

    /// `run` around any command; the report goes to a file of the place.
    pub fn runner(&self, options: &[&str], command: &[&str]) -> Command {
        let mut runner = Command::new(HALTLINE);
        self.surround(&mut runner, "work");
        runner.args(["run", "--report"]).arg(self.path("report")).args(options).arg("--").args(command);
        runner.stdout(Stdio::piped()).stderr(Stdio::piped());
        runner
    }

    /// `run` around the stand-in with the place's script.
    pub fn agent(&self, options: &[&str]) -> Command {
        let (script, counter) = (self.path("script"), self.path("counter"));
        let text = |path: &Path| path.to_str().expect("temp folders are text").to_owned();
        self.runner(options, &[STAND_IN, &text(&script), "--counter", &text(&counter)])
    }

    /// A loop around the stand-in, begun.
    pub fn start(&self, options: &[&str]) -> Running<'_> {
        self.begin(self.agent(&[&["--loop"], options].concat()))
    }

    /// A runner, begun.
    pub fn begin(&self, mut runner: Command) -> Running<'_> {
        // What an earlier run left must not pass for this one's.
        fs::remove_file(self.path("report")).ok();
        let mut child = runner.spawn().expect("starts");
        let out = listen(child.stdout.take().expect("piped"));
        let err = listen(child.stderr.take().expect("piped"));
        Running { place: self, child, out, err }
    }

    /// A loop around the stand-in, to its end.
    pub fn run(&self, options: &[&str]) -> Outcome {
        self.start(options).finish()
    }

    /// One run of the stand-in, to its end.
    pub fn once(&self, options: &[&str]) -> Outcome {
        self.begin(self.agent(options)).finish()
    }

    /// Waits until somebody wrote a file, and returns what stands in it.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.path(name);
        let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until(&format!("{name} is written"), read).trim().to_owned()
    }

    /// How often the stand-in was started.
    pub fn starts(&self) -> u64 {
        self.read("counter").trim().parse().unwrap_or(0)
    }

    /// The course of the loop, as `phase status` tells it.
    pub fn course(&self) -> Value {
        self.ask(&["phase", "status", "--run", "--json"]).json()
    }

    /// Every process of this place that is alive: by its environment, or by its command line.
    pub fn survivors(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let place = self.root.to_string_lossy().into_owned();
        let mut alive = Vec::new();
        for entry in fs::read_dir("/proc").expect("Linux has it").flatten() {
            let id = entry.file_name().to_string_lossy().into_owned();
            if id == own || id.parse::<u32>().is_err() {
                continue;
            }
            let text = |name: &str| {
                let bytes = fs::read(entry.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let line = text("cmdline");
            if line.contains(&place) || text("environ").contains(&place) {
                alive.push(format!("{id}: {line}"));
            }
        }
        alive
    }

    /// Nothing of the place is alive, whoever started it.
    pub fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that failed must not leave its processes to the next one.
        for line in self.survivors() {
            let pid = line.split(':').next().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
            if let Some(pid) = pid {
                // It may have ended by itself meanwhile.
                kill_process(pid, Signal::KILL).ok();
            }
        }
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("kept for you to look at: {}", self.root.display());
        }
    }
}

/// A runner on its way.
pub struct Running<'a> {
    place: &'a Place,
    child: Child,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
}

impl Running<'_> {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("sent");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Outcome {
        let code = self.wait();
        let report = serde_json::from_str(&self.place.read("report")).unwrap_or(Value::Null);
        Outcome { code, out: self.out.join().expect("read"), err: self.err.join().expect("read"), report }
    }

    /// Kills the runner alone; what it started goes on, and holds its streams open.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        assert_eq!(self.wait(), None, "killed");
    }

    fn wait(&mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                return status.code();
            }
            if started.elapsed() >= PATIENCE {
                self.child.kill().expect("killed");
                panic!("the runner did not end within {} s", PATIENCE.as_secs());
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

fn listen(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What a command of haltline answered.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Answer {
    fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The answer of something that went well.
    pub fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Waits until something is so.
pub fn until<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = is_so() {
            return value;
        }
        assert!(started.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
