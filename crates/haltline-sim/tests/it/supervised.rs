//! A stand-in agent under supervision in a temporary folder, and a list of its processes that are still alive.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const STAND_IN: &str = env!("CARGO_BIN_EXE_stand-in-agent");
pub const SUPERVISE: &str = env!("CARGO_BIN_EXE_supervise-one");

/// Longer than any wait on a busy machine; a test that waits this long fails.
const TIMEOUT: Duration = Duration::from_secs(120);

pub struct Site {
    folder: TempDir,
    run_id: String,
}

/// The result of a supervised run.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
    pub report: Value,
}

impl Site {
    pub fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        // The folder's name is random, so the run id is random too.
        let run_id = folder.path().file_name().expect("named").to_string_lossy().replace('.', "run-");
        let site = Self { folder, run_id };
        site.script("script", script);
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    pub fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    /// The supervisor, with options, around any command.
    pub fn runner(&self, options: &[&str], command: &[&str]) -> Command {
        let mut runner = Command::new(SUPERVISE);
        runner.arg(self.path("report")).arg(&self.run_id).args(options).arg("--").args(command);
        runner.current_dir(self.folder.path()).stdin(Stdio::null());
        runner
    }

    /// The supervisor around the stand-in with the site's script.
    pub fn supervised(&self, options: &[&str]) -> Command {
        let script = self.path("script");
        self.runner(options, &[STAND_IN, script.to_str().expect("temp folders are text")])
    }

    pub fn run(&self, options: &[&str]) -> Outcome {
        let mut runner = self.supervised(options);
        self.finish(runner.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts"))
    }

    /// Waits for the end of a supervisor.
    pub fn finish(&self, mut runner: Child) -> Outcome {
        let read = |mut from: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                from.read_to_end(&mut bytes).expect("read");
                bytes
            })
        };
        let out = runner.stdout.take().map(|out| read(Box::new(out)));
        let err = runner.stderr.take().map(|err| read(Box::new(err)));
        let code = finish(&mut runner);
        let out = out.map(|out| out.join().expect("read")).unwrap_or_default();
        let err = String::from_utf8_lossy(&err.map(|err| err.join().expect("read")).unwrap_or_default()).into_owned();
        Outcome { code, out, err, report: self.report() }
    }

    pub fn report(&self) -> Value {
        let text = fs::read(self.path("report")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or(Value::Null)
    }

    /// Waits until the script wrote a file, and returns its content.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.path(name);
        until(&format!("{name} is written"), || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
            .trim()
            .to_owned()
    }

    /// Every process of this site that is alive: it has the run id in its environment or the site's path in its command line.
    pub fn survivors(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let site = self.folder.path().to_string_lossy().into_owned();
        let marker = format!("={}", self.run_id);
        let mut alive = Vec::new();
        for entry in fs::read_dir("/proc").expect("there").flatten() {
            let id = entry.file_name().to_string_lossy().into_owned();
            if id == own || id.parse::<u32>().is_err() {
                continue;
            }
            let text = |name: &str| {
                let bytes = fs::read(entry.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let line = text("cmdline");
            if line.contains(&site) || text("environ").contains(&marker) {
                alive.push(format!("{id}: {line}"));
            }
        }
        alive
    }

    pub fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The processes of a failed test must not disturb the next test.
        for line in self.survivors() {
            let id = line.split(':').next().and_then(|id| id.parse().ok());
            if let Some(pid) = id.and_then(rustix::process::Pid::from_raw) {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        }
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

/// Waits for the end of a process and returns its exit code.
pub fn finish(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waited") {
            return status.code();
        }
        if started.elapsed() >= TIMEOUT {
            child.kill().expect("killed");
            panic!("the runner did not end within {} s", TIMEOUT.as_secs());
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Sends a signal to a supervisor.
pub fn signal(runner: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(runner), signal).expect("sent");
}
