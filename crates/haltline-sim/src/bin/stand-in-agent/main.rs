//! A scripted replacement for an agent: a program that does what its script says, good or bad. Never shipped.
//!
//! ```text
//! stand-in-agent SCRIPT [--counter FILE] [--block NAME]
//! ```
//!
//! A script has one verb per line; empty lines and lines that begin with `#` are ignored. It has sections:
//!
//! - lines before the first section are executed in every run;
//! - `[run 1]`, `[run 2-4]`, `[run 5-]` are executed in these runs. `--counter FILE` keeps the number of runs so far;
//!   without it every run is the first;
//! - `[block NAME]` is executed where a verb names it.
//!
//! A script that reaches its end exits with 0. In every text `{run}` is the number of the run, `{pid}` the id of this
//! process and `{now}` a time that never repeats. Paths are relative to the folder it runs in.
//!
//! | verb | what it does |
//! |---|---|
//! | `say TEXT`, `complain TEXT` | a line to standard output, to standard error; JSON is text as well |
//! | `mutter TEXT` | to standard output, without an end of line |
//! | `print BYTES`, `print-error BYTES` | that many bytes, `pattern.rs` says which |
//! | `file PATH TEXT`, `append PATH TEXT`, `remove PATH` | writes a line to a file; folders are created |
//! | `in FOLDER` | changes to another folder |
//! | `git WORDS…` | git, with an author and no configuration of the user |
//! | `commit MESSAGE` | everything in this folder, `git add -A` and `git commit` |
//! | `shell TEXT` | `sh -c TEXT` |
//! | `sleep SECONDS`, `forever` | waits |
//! | `wait-for PATH` | until the file is there, a minute at most |
//! | `read` | reads a line of standard input and prints it |
//! | `show NAME` | a variable of the environment, as `NAME=value` |
//! | `do BLOCK`, `repeat TIMES BLOCK` | a block, here |
//! | `start BLOCK` | a block in a child process, without waiting for it |
//! | `detach BLOCK` | a block in a daemon: forked twice, in a new session |
//! | `detach-bare BLOCK` | the same, with an empty environment |
//! | `on SIGNAL BLOCK`, `ignore SIGNAL` | from now on; signals are `TERM`, `INT`, `HUP`, `QUIT`, `USR1`, … |
//! | `stop` | stops (SIGSTOP) until another process continues it |
//! | `mute` | closes both streams and continues |
//! | `storm CHAINS SECONDS` | this many processes at any time, each of which starts its successor and ends |
//! | `roaming-storm CHAINS SECONDS` | the same, each in a new session |
//! | `exit CODE`, `die SIGNAL` | ends |

mod pattern;
mod script;
mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;

use script::Script;
use verbs::Agent;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["--link", kind, until] => verbs::link(kind, until),
        [script, ref options @ ..] => run(script, options),
        [] => Err("expected a script; the head of stand-in-agent's source describes it".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("stand-in-agent: {problem}");
            ExitCode::from(125)
        }
    }
}

fn run(script: &str, options: &[&str]) -> Result<(), String> {
    let (mut counter, mut block, mut run, mut part) = (None, None, 1, "itself");
    for pair in options.chunks(2) {
        match *pair {
            ["--counter", file] => counter = Some(PathBuf::from(file)),
            ["--block", name] => block = Some(name),
            ["--as", name] => part = name,
            ["--run", number] => run = number.parse().map_err(|_| format!("--run {number}: not a number"))?,
            _ => return Err(format!("unknown option {pair:?}")),
        }
    }
    // Child processes start in whichever folder the script has changed to, so the path of the script must be absolute.
    let path = std::path::absolute(script).map_err(|error| format!("{script}: {error}"))?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{script}: {error}"))?;
    let script = Script::parse(&text)?;
    if let Some(file) = counter {
        let before: u64 = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        run = before + 1;
        std::fs::write(&file, run.to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let lines = match block {
        Some(name) => script.block(name)?.to_vec(),
        None => script.lines_of_run(run),
    };
    let agent = Agent::new(path, script, run);
    match (part, block) {
        ("middle", Some(block)) => return agent.leave_orphan(block),
        ("daemon", _) => drop(rustix::process::setsid().map_err(|error| error.to_string())?),
        _itself => {}
    }
    agent.carry_out(&lines)
}
