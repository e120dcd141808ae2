//! A stand-in agent under supervision in a folder of its own, and a look at what of it is still alive.

// Each test file uses its part of this.
#![allow(dead_code, reason = "shared by several test binaries")]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const STAND_IN: &str = env!("CARGO_BIN_EXE_stand-in-agent");
pub const SUPERVISE: &str = env!("CARGO_BIN_EXE_supervise-one");

/// Longer than anything takes on a busy machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Place {
    folder: TempDir,
    run_id: String,
}

/// What a supervised run came to.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
    pub report: Value,
}

impl Place {
    pub fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        // The folder's name is random, and so is the run's.
        let run_id = folder.path().file_name().expect("named").to_string_lossy().replace('.', "run-");
        let place = Self { folder, run_id };
        place.script("script", script);
        place
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

    /// The runner, with options, around any command.
    pub fn runner(&self, options: &[&str], command: &[&str]) -> Command {
        let mut runner = Command::new(SUPERVISE);
        runner.arg(self.path("report")).arg(&self.run_id).args(options).arg("--").args(command);
        runner.current_dir(self.folder.path()).stdin(Stdio::null());
        runner
    }

    /// The runner around the stand-in with the place's script.
    pub fn supervised(&self, options: &[&str]) -> Command {
        let script = self.path("script");
        self.runner(options, &[STAND_IN, script.to_str().expect("temp folders are text")])
    }

    pub fn run(&self, options: &[&str]) -> Outcome {
        let mut runner = self.supervised(options);
        self.finish(runner.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts"))
    }

    /// Waits for a runner's end.
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

    /// Waits until the script wrote a file, and returns what stands in it.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.path(name);
        until(&format!("{name} is written"), || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
            .trim()
            .to_owned()
    }

    /// Every process of this place that is alive: by the run's mark, or by the place's path in its command line.
    pub fn survivors(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let place = self.folder.path().to_string_lossy().into_owned();
        let mark = format!("={}", self.run_id);
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
            if line.contains(&place) || text("environ").contains(&mark) {
                alive.push(format!("{id}: {line}"));
            }
        }
        alive
    }

    pub fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that failed must not leave its processes to the next one.
        for line in self.survivors() {
            let id = line.split(':').next().and_then(|id| id.parse().ok());
            if let Some(pid) = id.and_then(rustix::process::Pid::from_raw) {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        }
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

/// Waits for a process's end; the code is as a shell shows it.
pub fn finish(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waited") {
            return status.code();
        }
        if started.elapsed() >= PATIENCE {
            child.kill().expect("killed");
            panic!("the runner did not end within {} s", PATIENCE.as_secs());
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Sends a signal to a runner.
pub fn signal(runner: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(runner), signal).expect("sent");
}
