//! Supervises one command as `haltline run` does, and writes down how it ended. For tests of the supervision only.
//!
//! ```text
//! supervise-one REPORT RUN_ID [--wall MS] [--idle MS] [--grace MS] [--end-on TEXT] [--lease FILE] [--inherit] -- CMD…
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haltline::run::{
    Ended, Go, Identity, Inbox, Keep, KeptStream, Lease, LeftProcess, Limits, Listener, Stream, Supervised, Taken,
    Terminal, supervise,
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(report), Some(run_id)) = (words.next(), words.next().and_then(|id| id.into_string().ok())) else {
        eprintln!("error: expected REPORT RUN_ID … -- CMD…");
        return ExitCode::from(2);
    };
    let mut options = Options::default();
    while let Some(word) = words.next().filter(|word| word != "--") {
        let mut value = || words.next().and_then(|value| value.into_string().ok()).unwrap_or_default();
        match word.to_str() {
            Some("--wall") => options.wall = milliseconds(&value()),
            Some("--idle") => options.idle = milliseconds(&value()),
            Some("--grace") => options.grace = milliseconds(&value()),
            Some("--end-on") => options.end_on = Some(value()),
            Some("--lease") => options.lease = Some(PathBuf::from(value())),
            Some("--inherit") => options.terminal = Some(Terminal::Inherit),
            _ => {
                eprintln!("error: unknown option {}", word.display());
                return ExitCode::from(2);
            }
        }
    }
    let command: Vec<OsString> = words.collect();
    match run(&options, &run_id, &command) {
        Ok((code, told)) => {
            // Written beside and renamed: a test that waits for it must not see half of it.
            let beside = Path::new(&report).with_extension("tmp");
            let written = std::fs::write(&beside, told.to_string()).and_then(|()| std::fs::rename(&beside, &report));
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
    let mut listener = Ear { end_on: options.end_on.clone(), ..Ear::default() };
    let mut found = json!(null);
    if let Some(path) = &options.lease {
        match Lease::take(path, run_id).map_err(|error| error.to_string())? {
            Taken::Busy { pid } => return Ok((75, json!({"busy": pid}))),
            Taken::Held(lease) => {
                found = json!({"iteration": lease.former().map(|former| former.iteration)});
                if let Some(leftovers) = lease.leftovers() {
                    found["names"] = leftovers.names().into_iter().map(|(_, name)| name).collect();
                    let ended = leftovers.end(Duration::from_secs(2), &mut |limit| inbox.wait(limit).is_some());
                    found["ended"] = left(&ended);
                }
                listener.lease = Some(lease);
            }
        }
    }
    let wanted = Supervised {
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
        keep: Keep::default(),
    };
    let ended = supervise(&wanted, &mut listener, &mut inbox).map_err(|error| error.to_string())?;
    if let Some(lease) = listener.lease.take() {
        lease.release().map_err(|error| error.to_string())?;
    }
    let mut told = tell(&ended);
    told["heard"] = json!([listener.heard_out, listener.heard_err]);
    told["former"] = found;
    Ok((ended.how.exit_code(), told))
}

#[derive(Default)]
struct Ear {
    end_on: Option<String>,
    lease: Option<Box<Lease>>,
    said: String,
    heard_out: u64,
    heard_err: u64,
}

impl Listener for Ear {
    fn started(&mut self, command: Identity) -> Go {
        match self.lease.as_mut().map(|lease| lease.note(Some(command), 7)) {
            Some(Err(_)) => Go::End,
            Some(Ok(())) | None => Go::On,
        }
    }

    fn heard(&mut self, stream: Stream, bytes: &[u8]) -> Go {
        match stream {
            Stream::Out => self.heard_out += bytes.len() as u64,
            Stream::Err => self.heard_err += bytes.len() as u64,
        }
        let Some(mark) = &self.end_on else { return Go::On };
        self.said.push_str(&String::from_utf8_lossy(bytes));
        if self.said.contains(mark) { Go::End } else { Go::On }
    }

    fn ticked(&mut self) -> Go {
        Go::On
    }
}

fn tell(ended: &Ended) -> Value {
    let stream = |kept: &KeptStream| {
        json!({
            "first": kept.first().len(),
            "last": kept.last().len(),
            "left_out": kept.left_out(),
            "shown": format!("{:?}", kept.shown),
            "text": if kept.first().len() + kept.last().len() < 4096 { kept.text() } else { String::new() },
        })
    };
    json!({
        "how": format!("{:?}", ended.how),
        "cause": format!("{:?}", ended.cause),
        "killed_hard": ended.killed_hard,
        "left_behind": left(&ended.left_behind),
        "out": stream(&ended.output.out),
        "err": stream(&ended.output.err),
    })
}

fn left(processes: &[LeftProcess]) -> Value {
    processes.iter().map(|process| json!([process.name, format!("{:?}", process.outcome)])).collect()
}
