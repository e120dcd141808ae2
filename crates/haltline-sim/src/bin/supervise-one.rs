//! Supervises one command as `haltline run` does, and writes a report of how it ended. For tests of supervision only.
//!
//! ```text
//! supervise-one REPORT RUN_ID [--wall MS] [--idle MS] [--grace MS] [--end-on TEXT] [--lease FILE] [--inherit] -- CMD…
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline::run::{
    EndedRun, Inbox, KeepLimits, KeptStream, Lease, LeaseAttempt, LeftProcess, Limits, Listener, OutputStream,
    ProcessIdentity, RunControl, SupervisedCommand, Terminal, supervise,
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(report), Some(run_id)) = (arguments.next(), arguments.next().and_then(|id| id.into_string().ok())) else {
        eprintln!("error: expected REPORT RUN_ID … -- CMD…");
        return ExitCode::from(2);
    };
    let mut options = Options::default();
    while let Some(argument) = arguments.next().filter(|argument| argument != "--") {
        let mut value = || arguments.next().and_then(|value| value.into_string().ok()).unwrap_or_default();
        match argument.to_str() {
            Some("--wall") => options.wall = milliseconds(&value()),
            Some("--idle") => options.idle = milliseconds(&value()),
            Some("--grace") => options.grace = milliseconds(&value()),
            Some("--end-on") => options.end_on = Some(value()),
            Some("--lease") => options.lease = Some(PathBuf::from(value())),
            Some("--inherit") => options.terminal = Some(Terminal::Inherit),
            _ => {
                eprintln!("error: unknown option {}", argument.display());
                return ExitCode::from(2);
            }
        }
    }
    let command: Vec<OsString> = arguments.collect();
    match run(&options, &run_id, &command) {
        Ok((code, ending)) => {
            // Written to a temporary file and renamed: a test that waits for the report must not see half of it.
            let temporary = Path::new(&report).with_extension("tmp");
            let written =
                std::fs::write(&temporary, ending.to_string()).and_then(|()| std::fs::rename(&temporary, &report));
            written.map_or(ExitCode::from(2), |()| ExitCode::from(code))
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Options {
    wall: Option<Duration>,
    idle: Option<Duration>,
    grace: Option<Duration>,
    end_on: Option<String>,
    lease: Option<PathBuf>,
    terminal: Option<Terminal>,
}

fn milliseconds(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

fn run(options: &Options, run_id: &str, command: &[OsString]) -> Result<(u8, Value), String> {
    let mut inbox = Inbox::open().map_err(|error| error.to_string())?;
    let mut listener = TestListener { end_on: options.end_on.clone(), ..TestListener::default() };
    let mut found = json!(null);
    if let Some(path) = &options.lease {
        match Lease::acquire(path, run_id).map_err(|error| error.to_string())? {
            LeaseAttempt::Busy { pid } => return Ok((75, json!({"busy": pid}))),
            LeaseAttempt::Acquired(lease) => {
                found = json!({"iteration": lease.previous().map(|former| former.iteration)});
                if let Some(leftovers) = lease.leftovers() {
                    found["names"] = leftovers.processes().into_iter().map(|(_, name)| name).collect();
                    let ended = leftovers.end(Duration::from_secs(2), &mut |limit| inbox.wait(limit).is_some());
                    found["ended"] = left(&ended);
                }
                listener.lease = Some(lease);
            }
        }
    }
    let wanted = SupervisedCommand {
        command,
        folder: Path::new("."),
        environment: &[],
        run_id,
        terminal: options.terminal.unwrap_or(Terminal::Pipe),
        limits: Limits {
            wall: options.wall,
            idle: options.idle,
            grace: options.grace.unwrap_or(Duration::from_secs(30)),
        },
        keep: KeepLimits::default(),
    };
    let ended = supervise(&wanted, &mut listener, &mut inbox).map_err(|error| error.to_string())?;
    if let Some(lease) = listener.lease.take() {
        lease.release().map_err(|error| error.to_string())?;
    }
    let mut ending = ending_json(&ended);
    ending["heard"] = json!([listener.out_bytes, listener.err_bytes]);
    ending["former"] = found;
    Ok((ended.exit.exit_code(), ending))
}

#[derive(Default)]
struct TestListener {
    end_on: Option<String>,
    lease: Option<Box<Lease>>,
    output: String,
    out_bytes: u64,
    err_bytes: u64,
}

impl Listener for TestListener {
    fn on_start(&mut self, command: ProcessIdentity) -> RunControl {
        match self.lease.as_mut().map(|lease| lease.record_command(Some(command), 7)) {
            Some(Err(_)) => RunControl::End,
            Some(Ok(())) | None => RunControl::Continue,
        }
    }

    fn on_output(&mut self, stream: OutputStream, bytes: &[u8]) -> RunControl {
        match stream {
            OutputStream::Out => self.out_bytes += bytes.len() as u64,
            OutputStream::Err => self.err_bytes += bytes.len() as u64,
        }
        let Some(end_text) = &self.end_on else { return RunControl::Continue };
        self.output.push_str(&String::from_utf8_lossy(bytes));
        if self.output.contains(end_text) { RunControl::End } else { RunControl::Continue }
    }

    fn on_tick(&mut self) -> RunControl {
        RunControl::Continue
    }
}

fn ending_json(ended: &EndedRun) -> Value {
    let stream = |kept: &KeptStream| {
        json!({
            "first": kept.first().len(),
            "last": kept.last().len(),
            "left_out": kept.left_out(),
            "shown": format!("{:?}", kept.forwarded),
            "text": if kept.first().len() + kept.last().len() < 4096 { kept.text() } else { String::new() },
        })
    };
    json!({
        "how": format!("{:?}", ended.exit),
        "cause": format!("{:?}", ended.cause),
        "killed_hard": ended.was_killed,
        "left_behind": left(&ended.left_behind),
        "out": stream(&ended.output.out),
        "err": stream(&ended.output.err),
    })
}

fn left(processes: &[LeftProcess]) -> Value {
    processes.iter().map(|process| json!([process.name, format!("{:?}", process.outcome)])).collect()
}
