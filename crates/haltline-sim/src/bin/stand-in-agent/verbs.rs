//! What each verb does.

use std::fs;
use std::io::{BufRead, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::iterator::Signals;

use crate::pattern;
use crate::script::Script;

/// How long `wait-for` waits.
const WAIT_FOR_MAX: Duration = Duration::from_secs(60);

/// The process that executes a script.
#[derive(Clone)]
pub struct Agent {
    path: PathBuf,
    script: Script,
    run: u64,
}

type Done = Result<(), String>;

impl Agent {
    pub fn new(path: PathBuf, script: Script, run: u64) -> Self {
        Self { path, script, run }
    }

    pub fn carry_out(&self, lines: &[String]) -> Done {
        lines.iter().try_for_each(|line| self.verb(line).map_err(|problem| format!("{line}: {problem}")))
    }

    fn verb(&self, line: &str) -> Done {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = &self.filled_in(rest);
        let first = rest.split_whitespace().next().unwrap_or_default();
        match verb {
            "say" => write(&mut std::io::stdout(), format!("{rest}\n").as_bytes()),
            "mutter" => write(&mut std::io::stdout(), rest.as_bytes()),
            "complain" => write(&mut std::io::stderr(), format!("{rest}\n").as_bytes()),
            "print" => print(&mut std::io::stdout(), number(first)?),
            "print-error" => print(&mut std::io::stderr(), number(first)?),
            "file" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                folder_of(path)?;
                fs::write(path, format!("{text}\n")).map_err(error_text)
            }
            "append" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                folder_of(path)?;
                let file = fs::OpenOptions::new().create(true).append(true).open(path);
                file.and_then(|mut file| writeln!(file, "{text}")).map_err(error_text)
            }
            "remove" => fs::remove_file(rest).map_err(error_text),
            "in" => std::env::set_current_dir(rest).map_err(error_text),
            "git" => git(&rest.split_whitespace().collect::<Vec<_>>()),
            "commit" => git(&["add", "-A"]).and_then(|()| git(&["commit", "-qm", rest])),
            "shell" => Command::new("sh").args(["-c", rest]).status().map(drop).map_err(error_text),
            "sleep" => wait(Duration::try_from_secs_f64(number(rest)?).map_err(|error| error.to_string())?),
            "forever" => loop {
                wait(WAIT_FOR_MAX)?;
            },
            "wait-for" => wait_for(Path::new(rest)),
            "read" => {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map_err(error_text)?;
                write(&mut std::io::stdout(), format!("read: {}\n", line.trim_end()).as_bytes())
            }
            "show" => {
                let value = std::env::var(rest).unwrap_or_default();
                write(&mut std::io::stdout(), format!("{rest}={value}\n").as_bytes())
            }
            "do" => self.carry_out(self.script.block(first)?),
            "repeat" => {
                let (times, block) = rest.split_once(' ').ok_or("expected TIMES BLOCK")?;
                (0..number::<u64>(times)?).try_for_each(|_| self.carry_out(self.script.block(block)?))
            }
            "start" => self.copy(first).spawn().map(drop).map_err(error_text),
            "detach" => self.detach(first, true),
            "detach-bare" => self.detach(first, false),
            "on" => self.on(rest),
            "ignore" => listen(signal(first)?, |_| ()),
            "stop" => kill_process(getpid(), Signal::STOP).map_err(|error| error.to_string()),
            "mute" => mute(),
            "storm" | "roaming-storm" => storm(verb, rest),
            "exit" => std::process::exit(number(first)?),
            "die" => {
                let signal = signal(first)?;
                signal_hook::low_level::emulate_default_handler(signal.as_raw()).map_err(error_text)?;
                Err("still alive".to_owned())
            }
            _ => Err("no such verb; the head of stand-in-agent's source lists them".to_owned()),
        }
    }

    fn filled_in(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let pid = std::process::id().to_string();
        text.replace("{run}", &self.run.to_string()).replace("{pid}", &pid).replace("{now}", &now_nanos().to_string())
    }

    /// A copy of this program that executes a block.
    fn copy(&self, block: &str) -> Command {
        let mut command = own();
        command.arg(&self.path).args(["--run", &self.run.to_string(), "--block", block]);
        command
    }

    /// Forks twice: the middle process ends at once and leaves an orphan, which opens its own session.
    fn detach(&self, block: &str, has_environment: bool) -> Done {
        let mut middle = self.copy(block);
        middle.args(["--as", "middle"]);
        if !has_environment {
            middle.env_clear();
        }
        middle.status().map(drop).map_err(error_text)
    }

    /// What the middle process does.
    pub fn leave_orphan(&self, block: &str) -> Done {
        self.copy(block).args(["--as", "daemon"]).spawn().map(drop).map_err(error_text)
    }

    fn on(&self, rest: &str) -> Done {
        let (name, block) = rest.split_once(' ').ok_or("expected SIGNAL BLOCK")?;
        self.script.block(block)?;
        let (agent, block) = (self.clone(), block.to_owned());
        listen(signal(name)?, move |_| {
            let done = agent.script.block(&block).and_then(|lines| agent.carry_out(lines));
            if let Err(problem) = done {
                eprintln!("stand-in-agent: {problem}");
                std::process::exit(125);
            }
        })
    }
}

/// One link of a storm: starts its successor and ends.
pub fn link(kind: &str, until: &str) -> Done {
    if now_nanos() >= number::<u128>(until)? {
        return Ok(());
    }
    if kind == "roaming-storm" {
        // The first link of a chain may lead a group already.
        rustix::process::setsid().ok();
    }
    own().args(["--link", kind, until]).spawn().map(drop).map_err(error_text)
}

fn storm(kind: &str, rest: &str) -> Done {
    let (chains, seconds) = rest.split_once(' ').ok_or("expected CHAINS SECONDS")?;
    let until = now_nanos() + u128::from(number::<u64>(seconds)?) * 1_000_000_000;
    (0..number::<u32>(chains)?)
        .try_for_each(|_| own().args(["--link", kind, &until.to_string()]).spawn().map(drop).map_err(error_text))
}

fn own() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|_| PathBuf::from("stand-in-agent")))
}

fn write(to: &mut dyn Write, bytes: &[u8]) -> Done {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        // Like programs that do not handle SIGPIPE: the signal ends them.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            signal_hook::low_level::emulate_default_handler(Signal::PIPE.as_raw()).map_err(error_text)
        }
        done => done.map_err(error_text),
    }
}

fn print(to: &mut dyn Write, length: u64) -> Done {
    let mut offset = 0;
    while offset < length {
        let piece = usize::try_from((length - offset).min(1 << 16)).unwrap_or(1);
        write(to, &pattern::bytes(offset, piece))?;
        offset += piece as u64;
    }
    Ok(())
}

fn git(arguments: &[&str]) -> Done {
    let mut command = Command::new("git");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Stand-in").env(format!("GIT_{who}_EMAIL"), "stand-in@example.invalid");
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let status = command.args(arguments).status().map_err(error_text)?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

fn folder_of(path: &str) -> Done {
    match Path::new(path).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::create_dir_all(folder).map_err(error_text),
        _here => Ok(()),
    }
}

fn wait(time: Duration) -> Done {
    let (_nobody_sends, receiver) = mpsc::channel::<()>();
    receiver.recv_timeout(time).or(Ok(()))
}

fn wait_for(path: &Path) -> Done {
    let until = now_nanos() + WAIT_FOR_MAX.as_nanos();
    while now_nanos() < until {
        if path.exists() {
            return Ok(());
        }
        wait(Duration::from_millis(5))?;
    }
    Err(format!("not there within {} s", WAIT_FOR_MAX.as_secs()))
}

fn listen(signal: Signal, mut act: impl FnMut(i32) + Send + 'static) -> Done {
    let mut signals = Signals::new([signal.as_raw()]).map_err(error_text)?;
    std::thread::spawn(move || signals.forever().for_each(&mut act));
    Ok(())
}

fn mute() -> Done {
    let nothing = fs::OpenOptions::new().write(true).open("/dev/null").map_err(error_text)?;
    rustix::stdio::dup2_stdout(&nothing)
        .and_then(|()| rustix::stdio::dup2_stderr(&nothing))
        .map_err(|error| error.to_string())
}

fn signal(name: &str) -> Result<Signal, String> {
    Ok(match name {
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "QUIT" => Signal::QUIT,
        "ABRT" => Signal::ABORT,
        "KILL" => Signal::KILL,
        "USR1" => Signal::USR1,
        "SEGV" => Signal::SEGV,
        "USR2" => Signal::USR2,
        "PIPE" => Signal::PIPE,
        "TERM" => Signal::TERM,
        "CONT" => Signal::CONT,
        "TSTP" => Signal::TSTP,
        "WINCH" => Signal::WINCH,
        _ => return Err(format!("{name}: not a signal known here")),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text}: not a number"))
}

fn now_nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|time| time.as_nanos()).unwrap_or(0)
}

fn error_text(error: std::io::Error) -> String {
    error.to_string()
}
