//! Tables 3 to 5: what a client's hooks cost in a CLOSED session, in an old session among many, and with eight agents
//! at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use super::payload::{Event, payload, payload_with_output};
use super::{Bench, COUNTS, GROWTH_RATIO_TARGET, Outcome, Shuffle, Times, Workspace, grouped, machine};

/// The retention is long enough to keep the long history.
const CONFIG: &str = "[retention]\nstate_mb = 4096\njournal_days = 36500\n";
/// The target and the goal for a hook's median, as multiples of the median of the JSON-parsing program.
const HOOK_RATIO_TARGET: f64 = 2.4;
const HOOK_RATIO_GOAL: f64 = 2.0;
/// A session's row grows with its first calls: after this many rounds the hooks switch to a new session.
const ROUNDS_PER_SESSION: usize = 25;
/// Calls of a session before it is measured.
const CALLS_BEFORE: usize = 10;
/// Agents that work at once in table 5.
const AGENTS: usize = 8;
/// The target of table 5: this many times the median of a single agent, times the number of agents per core.
const CROWD_RATIO_TARGET: f64 = 5.0;
/// A call with a shell command line, which is the most expensive kind.
const SHELL_CALL: usize = 900_000;

/// A program that receives the events of calls.
struct Runner {
    label: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    /// The events it receives, one process each, in this order.
    events: &'static [Event],
    target: String,
}

const CALL: &[Event] = &[Event::Pre, Event::Post];

impl Runner {
    fn label(&self, event: Event) -> String {
        match (self.events.len(), event) {
            (1, _) => self.label.to_owned(),
            (_, Event::Pre) => format!("{}: PreToolUse", self.label),
            (_, Event::Post) => format!("{}: PostToolUse", self.label),
        }
    }

    fn arguments(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }
}

/// The hook as `init` writes it into a client's settings.
fn haltline(workspace: &Workspace) -> Runner {
    let path = |name: &str| workspace.folder.join(name).display().to_string();
    let arguments = ["hook", "claude", "--state", &path("state"), "--config", &path("config.toml")].map(str::to_owned);
    Runner {
        label: "haltline hook",
        program: workspace.haltline.clone(),
        arguments: arguments.to_vec(),
        events: CALL,
        target: format!("≤ {HOOK_RATIO_TARGET} ×, goal {HOOK_RATIO_GOAL:.1} ×"),
    }
}

impl Workspace {
    /// Writes the standard input of the next process.
    fn write_event(&self, event: Event, session: &str, call: usize) -> Outcome<()> {
        Ok(fs::write(self.folder.join("event.json"), payload(event, session, call))?)
    }

    fn store_bytes(&self) -> [u64; 2] {
        ["state.db", "state.db-wal"]
            .map(|name| fs::metadata(self.folder.join("state").join(name)).map_or(0, |file| file.len()))
    }

    /// Begins a session; nothing of this is timed.
    fn warm(&self, runner: &Runner, session: &str) -> Outcome<()> {
        let before = self.store_bytes();
        for call in 0..CALLS_BEFORE {
            for &event in runner.events {
                self.write_event(event, session, call)?;
                self.time(&runner.program, &runner.arguments())?;
            }
        }
        // A hook never fails; a hook that recorded nothing would look fast.
        if runner.program == self.haltline && self.store_bytes() == before {
            return Err("the hook wrote nothing".into());
        }
        Ok(())
    }
}

impl Bench {
    /// Table 3.
    pub fn hooks(&self) -> Outcome<()> {
        let workspace = self.place("hooks", "")?;
        let runners = self.runners(&workspace)?;
        let mut counts = Vec::new();
        for runner in &runners {
            workspace.warm(runner, "counted")?;
            counts.push(self.count_events(&workspace, runner, "counted")?);
        }
        let workspaces: Vec<&Workspace> = runners.iter().map(|_| &workspace).collect();
        let times = time_events(&runners, &workspaces, self.number("rounds")?, Sessions::Renewed)?;
        let median = |event: usize| times[1][event % times[1].len()].median_us();
        println!("\nTable 3. Hooks of a CLOSED session, {} rounds, {}\n", self.number("rounds")?, machine());
        println!("| hook | p10 µs | median µs | p99 µs | instructions | × JSON, median | target |");
        println!("|---|---:|---:|---:|---:|---:|---:|");
        for ((runner, times), counts) in runners.iter().zip(&times).zip(&counts) {
            for (index, times) in times.iter().enumerate() {
                let [quick, middle, p99] = [10, 50, 99].map(|percent| grouped(times.percentile_us(percent)));
                let count = counts.get(index).map_or_else(|| "–".to_owned(), |count| grouped(*count as f64));
                println!(
                    "| {} | {quick} | {middle} | {p99} | {count} | {:.2} | {} |",
                    runner.label(runner.events[index]),
                    times.median_us() / median(index),
                    runner.target
                );
            }
        }
        Ok(())
    }

    fn runners(&self, workspace: &Workspace) -> Outcome<Vec<Runner>> {
        let other = |label, program: PathBuf, arguments: &[&Path], events| Runner {
            label,
            program,
            arguments: arguments.iter().map(|argument| argument.display().to_string()).collect(),
            events,
            target: String::new(),
        };
        let bench = Path::new(self.option("bench")?);
        let mut runners = vec![
            other("/bin/true", PathBuf::from("/bin/true"), &[], &[Event::Pre]),
            other("static Rust program that parses the event", self.program("baseline-json")?, &[], CALL),
            other("python3 hook", PathBuf::from(self.option("python")?), &[&bench.join("hook.py")], CALL),
        ];
        if !self.is_without("jq") {
            runners.push(other("bash + jq hook", bench.join("hook.sh"), &[], CALL));
        }
        runners.push(haltline(workspace));
        Ok(runners)
    }

    /// The instructions of each event of one more call; empty if they cannot be counted.
    fn count_events(&self, workspace: &Workspace, runner: &Runner, session: &str) -> Outcome<Vec<u64>> {
        if self.is_without("valgrind") {
            return Ok(Vec::new());
        }
        let count = |&event: &Event| {
            workspace.write_event(event, session, SHELL_CALL)?;
            workspace.count(&runner.program, &runner.arguments())
        };
        runner.events.iter().map(count).collect()
    }

    /// Table 4.
    pub fn hook_growth(&self) -> Outcome<()> {
        let (calls, sessions) = (self.number("calls")?, self.number("sessions")?);
        let workspaces = [self.place("young", CONFIG)?, self.place("old", CONFIG)?];
        eprintln!("bench: adding {calls} calls to the long session, and {sessions} sessions beside it");
        self.fill_sessions(&workspaces[0], CALLS_BEFORE, 0)?;
        self.fill_sessions(&workspaces[1], calls, sessions)?;
        let runners = [haltline(&workspaces[0]), haltline(&workspaces[1])];
        let mut counts = Vec::new();
        for (runner, workspace) in runners.iter().zip(&workspaces) {
            // The first hook after a constraint's file changed rebuilds the list of guards, once.
            workspace.write_event(Event::Pre, "measured", SHELL_CALL - 1)?;
            workspace.time(&runner.program, &runner.arguments())?;
            counts.push(self.count_events(workspace, runner, "measured")?);
        }
        let times = time_events(&runners, &workspaces.each_ref(), self.number("rounds")?, Sessions::Kept)?;
        println!("\nTable 4. A session of {CALLS_BEFORE} calls alone, and one of {}", grouped(calls as f64));
        println!("beside {} others, {} rounds, {}\n", grouped(sessions as f64), self.number("rounds")?, machine());
        println!("| hook | young: median µs | old: median µs | × | target | young: instructions | old: instructions |");
        println!("|---|---:|---:|---:|---:|---:|---:|");
        for (index, &event) in CALL.iter().enumerate() {
            let [young, old] = [0, 1].map(|workspace| times[workspace][index].median_us());
            let [few, many] =
                [0, 1].map(|workspace: usize| counts[workspace].get(index).map_or(0.0, |count| *count as f64));
            println!(
                "| {} | {} | {} | {:.2} | ≤ {GROWTH_RATIO_TARGET} × | {} | {} |",
                runners[0].label(event),
                grouped(young),
                grouped(old),
                old / young,
                grouped(few),
                grouped(many)
            );
        }
        Ok(())
    }

    fn fill_sessions(&self, workspace: &Workspace, calls: usize, sessions: usize) -> Outcome<()> {
        let status = Command::new(self.option("filler")?)
            .args([workspace.folder.join("state"), workspace.folder.join("config.toml"), workspace.project()])
            .args(["measured", &calls.to_string(), &sessions.to_string()])
            .status()?;
        if status.success() { Ok(()) } else { Err(format!("bench-fill: {status}").into()) }
    }

    /// Table 5.
    pub fn crowd(&self) -> Outcome<()> {
        let workspace = self.place("crowd", "")?;
        let rounds = self.number("rounds")?;
        let (alone, _) = Agent::new(&workspace, "alone")?.work(rounds)?;
        let agents: Vec<Agent<'_>> =
            (0..AGENTS).map(|number| Agent::new(&workspace, &format!("agent-{number}"))).collect::<Outcome<_>>()?;
        let worked = thread::scope(|scope| {
            let threads: Vec<_> = agents
                .iter()
                .map(|agent| scope.spawn(move || agent.work(rounds).map_err(|error| error.to_string())))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("an agent does not panic")).collect::<Vec<_>>()
        });
        let (mut times, mut failures) = (Vec::new(), 0);
        for worked in worked {
            let (own, own_failures) = worked?;
            times.extend(own);
            failures += own_failures;
        }
        let waiting = fs::read_dir(workspace.folder.join("state/spool")).map_or(0, Iterator::count);
        let (alone, together) = (Times::new(alone), Times::new(times));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let limit = CROWD_RATIO_TARGET * alone.median_us() * AGENTS as f64 / cores as f64;
        println!("\nTable 5. One agent, and {AGENTS} at once on one store, {rounds} calls each, {}\n", machine());
        println!("| agents | median µs | p99 µs | slowest µs | p99 target µs | lock errors | target |");
        println!("|---:|---:|---:|---:|---:|---:|---:|");
        let row = |times: &Times| [50, 99, 100].map(|percent| grouped(times.percentile_us(percent))).join(" | ");
        println!("| 1 | {} |  |  |  |", row(&alone));
        println!("| {AGENTS} | {} | {} | {} | 0 |", row(&together), grouped(limit), failures + waiting);
        Ok(())
    }

    /// Prints the lines of the hooks for `bench/instructions`.
    pub fn count_hooks(&self) -> Outcome<()> {
        let mut counts: Vec<(&str, Vec<u64>)> = ["hook-pre", "hook-post"].map(|name| (name, Vec::new())).to_vec();
        for number in 0..COUNTS {
            let workspace = self.place(&format!("hook-{number}"), "")?;
            let runner = haltline(&workspace);
            workspace.warm(&runner, "counted")?;
            for ((_, counts), count) in counts.iter_mut().zip(self.count_events(&workspace, &runner, "counted")?) {
                counts.push(count);
            }
        }
        for (name, counts) in &mut counts {
            counts.sort_unstable();
            eprintln!("bench: {name}: {counts:?}");
            println!("{name} {}", counts[COUNTS / 2]);
        }
        // Three megabytes of test output: this shows when haltline reads something more than once.
        let workspace = self.place("hook-large", "")?;
        let lines: String = (0..).map(|line| format!("test cart::total_{line} ... ok\\n")).take(100_000).collect();
        let large = payload_with_output(Event::Post, "counted", SHELL_CALL, &lines);
        let runner = haltline(&workspace);
        workspace.warm(&runner, "counted")?;
        fs::write(workspace.folder.join("event.json"), large)?;
        println!("hook-post-3-mb {}", workspace.count(&runner.program, &runner.arguments())?);
        println!("json-3-mb {}", workspace.count(&self.program("baseline-json")?, &[])?);
        Ok(())
    }
}

/// Whether the measured sessions are renewed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sessions {
    /// Every few rounds.
    Renewed,
    /// Never: the long history is what is measured.
    Kept,
}

/// Times every runner's events once per round, those of one call in order; the order of the runners changes.
fn time_events(
    runners: &[Runner],
    workspaces: &[&Workspace],
    rounds: usize,
    sessions: Sessions,
) -> Outcome<Vec<Vec<Times>>> {
    let mut times: Vec<Vec<Vec<u128>>> =
        runners.iter().map(|runner| vec![Vec::with_capacity(rounds); runner.events.len()]).collect();
    let mut shuffle = Shuffle::new(runners.len());
    let mut session = "measured".to_owned();
    for round in 0..rounds {
        if round % 100 == 0 {
            eprintln!("bench: round {round} of {rounds}");
        }
        if sessions == Sessions::Renewed && round % ROUNDS_PER_SESSION == 0 {
            session = format!("session-{round}");
            for (runner, workspace) in runners.iter().zip(workspaces) {
                workspace.warm(runner, &session)?;
            }
        }
        for &index in shuffle.next() {
            let (runner, workspace) = (&runners[index], workspaces[index]);
            for (times, &event) in times[index].iter_mut().zip(runner.events) {
                // Calls of the history before have lower numbers.
                workspace.write_event(event, &session, 1_000_000 + round)?;
                times.push(workspace.time(&runner.program, &runner.arguments())?);
            }
        }
    }
    Ok(times.into_iter().map(|times| times.into_iter().map(Times::new).collect()).collect())
}

/// One of several agents that work at once, each in its own session, on a shared store.
struct Agent<'a> {
    workspace: &'a Workspace,
    runner: Runner,
    session: String,
    /// The folder of its payloads, and of the files that record which notices haltline has shown.
    folder: PathBuf,
}

impl<'a> Agent<'a> {
    fn new(workspace: &'a Workspace, session: &str) -> Outcome<Self> {
        let folder = workspace.folder.join(session);
        fs::create_dir_all(&folder)?;
        let runner = haltline(workspace);
        // haltline says so when it sees a session for the first time; any output from here on is a failure.
        workspace.warm(&runner, session)?;
        Ok(Self { workspace, runner, session: session.to_owned(), folder })
    }

    /// The times of all its hooks, and how many of them failed.
    fn work(&self, rounds: usize) -> Outcome<(Vec<u128>, usize)> {
        let (mut times, mut failures) = (Vec::with_capacity(rounds * 2), 0);
        for call in 0..rounds {
            for &event in CALL {
                let file = self.folder.join("event.json");
                fs::write(&file, payload(event, &self.session, CALLS_BEFORE + call))?;
                let mut command = self.workspace.command(&self.runner.program)?;
                command.args(&self.runner.arguments).stdin(fs::File::open(&file)?).stdout(Stdio::piped());
                command.env("XDG_RUNTIME_DIR", &self.folder);
                let began = Instant::now();
                let output = command.output()?;
                times.push(began.elapsed().as_nanos());
                if !output.stdout.is_empty() {
                    // haltline prints nothing when a call passes, so it could not write and spooled the event.
                    failures += 1;
                    eprintln!("bench: {}: {}", self.session, String::from_utf8_lossy(&output.stdout).trim_end());
                    self.forget_notices()?;
                }
            }
        }
        Ok((times, failures))
    }

    /// haltline reports a failure once per session; here each of them must be counted.
    fn forget_notices(&self) -> Outcome<()> {
        for entry in fs::read_dir(&self.folder)?.flatten().filter(|entry| entry.path().is_dir()) {
            fs::remove_dir_all(entry.path())?;
        }
        Ok(())
    }
}
