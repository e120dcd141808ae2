//! A project with a stand-in agent and the real `haltline`, with a separate home, state folder and configuration.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::run_loop::outcome::Outcome;

pub const HALTLINE: &str = env!("CARGO_BIN_EXE_haltline-now");
pub const STAND_IN: &str = env!("CARGO_BIN_EXE_stand-in-agent");

/// Longer than any wait on a busy machine; a test that waits this long fails.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Allows operator actions without a terminal.
const CONFIG: &str = "[operator]\nunattended = true\n";

pub struct Site {
    folder: TempDir,
    root: PathBuf,
}

impl Site {
    /// A git project with one commit, and a script for the agent. haltline sees only changes in `work`.
    pub fn new(script: &str) -> Self {
        let site = Self::without_git(script);
        site.write("work/tracked.txt", "first\n");
        site.git("work", &["init", "--quiet", "--initial-branch=main"]);
        site.git("work", &["add", "--all"]);
        site.git("work", &["commit", "--quiet", "--message=begin"]);
        site
    }

    /// The same without git.
    pub fn without_git(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("loop").tempdir().expect("temp folder");
        let root = fs::canonicalize(folder.path()).expect("it is there");
        let site = Self { folder, root };
        for folder in ["work", "home"] {
            fs::create_dir(site.path(folder)).expect("created");
        }
        site.write("script", script);
        site.configured("")
    }

    /// The same with this text in the user's configuration, which a person confirms.
    pub fn configured(self, text: &str) -> Self {
        self.write("config.toml", &format!("{text}\n{CONFIG}"));
        let mut person = Command::new("script");
        self.configure(&mut person, "work");
        let output = person.args(["-qec", &format!("{HALTLINE} trust"), "/dev/null"]).output();
        let shown = output.expect("script of util-linux is there").stdout;
        assert!(shown.starts_with(b"Trusted:"), "{}", String::from_utf8_lossy(&shown));
        self
    }

    /// A path of the site. The agent runs in `work`, so its scripts use `../NAME`.
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

    /// Runs git in a folder of the site.
    pub fn git(&self, folder: &str, arguments: &[&str]) {
        let mut git = Command::new("git");
        self.configure(&mut git, folder);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        git.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.invalid"]).args(arguments);
        let output = git.output().expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Creates a separate repository below the site.
    pub fn repository(&self, folder: &str) {
        self.write(&format!("{folder}/begun.txt"), "begun\n");
        self.git(folder, &["init", "--quiet", "--initial-branch=main"]);
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--message=begin"]);
    }

    /// Clears the environment except `PATH`, so that no variable of a terminal or an agent reaches the command.
    fn configure(&self, command: &mut Command, folder: &str) {
        command.current_dir(self.path(folder)).env_clear().stdin(Stdio::null());
        for name in ["PATH", "LLVM_PROFILE_FILE"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.path("home")).env("USER", "ana").env("LANG", "C.UTF-8");
        command.env("HALTLINE_STATE_DIR", self.path("state")).env("HALTLINE_CONFIG", self.path("config.toml"));
    }

    /// haltline in a session without a terminal, as scripts start it, even when the tests have one.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        self.configure(&mut command, "work");
        command.arg("--wait").arg(HALTLINE).args(arguments);
        command
    }

    /// Runs a command of haltline.
    pub fn ask(&self, arguments: &[&str]) -> Answer {
        Answer::new(&self.program(arguments).output().expect("setsid of util-linux is there"))
    }

    /// `run` around any command; the report goes to a file of the site.
    pub fn runner(&self, options: &[&str], command: &[&str]) -> Command {
        let mut runner = Command::new(HALTLINE);
        self.configure(&mut runner, "work");
        runner.args(["run", "--report"]).arg(self.path("report")).args(options).arg("--").args(command);
        runner.stdout(Stdio::piped()).stderr(Stdio::piped());
        runner
    }

    /// `run` around the stand-in with the site's script.
    pub fn agent(&self, options: &[&str]) -> Command {
        let (script, counter) = (self.path("script"), self.path("counter"));
        let text = |path: &Path| path.to_str().expect("temp folders are text").to_owned();
        self.runner(options, &[STAND_IN, &text(&script), "--counter", &text(&counter)])
    }

    /// Starts a loop around the stand-in.
    pub fn start(&self, options: &[&str]) -> Running<'_> {
        self.begin(self.agent(&[&["--loop"], options].concat()))
    }

    /// Starts a runner.
    pub fn begin(&self, mut runner: Command) -> Running<'_> {
        // The report of an earlier run must not count as this one's.
        fs::remove_file(self.path("report")).ok();
        let mut child = runner.spawn().expect("starts");
        let out = listen(child.stdout.take().expect("piped"));
        let err = listen(child.stderr.take().expect("piped"));
        Running { site: self, child, out, err }
    }

    /// Runs a loop around the stand-in to its end.
    pub fn run(&self, options: &[&str]) -> Outcome {
        self.start(options).finish()
    }

    /// Runs the stand-in once, without a loop.
    pub fn once(&self, options: &[&str]) -> Outcome {
        self.begin(self.agent(options)).finish()
    }

    /// Waits until a file is written, and returns its content.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.path(name);
        let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until(&format!("{name} is written"), read).trim().to_owned()
    }

    /// How often the stand-in was started.
    pub fn starts(&self) -> u64 {
        self.read("counter").trim().parse().unwrap_or(0)
    }

    /// The phase run of the loop, from `phase status`.
    pub fn phase_run(&self) -> Value {
        self.ask(&["phase", "status", "--run", "--json"]).json()
    }

    /// Every process of this site that is alive, found by its environment or its command line.
    pub fn survivors(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let site = self.root.to_string_lossy().into_owned();
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
            if line.contains(&site) || text("environ").contains(&site) {
                alive.push(format!("{id}: {line}"));
            }
        }
        alive
    }

    /// Fails if a process of the site is alive.
    pub fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The processes of a failed test must not disturb the next test.
        for line in self.survivors() {
            let pid = line.split(':').next().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
            if let Some(pid) = pid {
                // The process may have ended by itself.
                kill_process(pid, Signal::KILL).ok();
            }
        }
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("kept for you to look at: {}", self.root.display());
        }
    }
}

/// A running `haltline run`.
pub struct Running<'a> {
    site: &'a Site,
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

    /// Waits for the end of the runner.
    pub fn finish(mut self) -> Outcome {
        let code = self.wait();
        let report = serde_json::from_str(&self.site.read("report")).unwrap_or(Value::Null);
        Outcome { code, out: self.out.join().expect("read"), err: self.err.join().expect("read"), report }
    }

    /// Kills only the runner; the processes it started continue and keep its streams open.
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
            if started.elapsed() >= TIMEOUT {
                self.child.kill().expect("killed");
                panic!("the runner did not end within {} s", TIMEOUT.as_secs());
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

/// The result of a command of haltline.
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

    /// Fails unless the command succeeded.
    pub fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Waits until `check` returns a value. `expected` is for the message of a failure.
pub fn until<T>(expected: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = check() {
            return value;
        }
        assert!(started.elapsed() < TIMEOUT, "not within {} s: {expected}", TIMEOUT.as_secs());
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
