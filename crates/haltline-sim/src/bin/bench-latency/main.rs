//! Measures commands as an agent runs them: a new process per call, with its event on standard input.
//!
//! Started by `bench/run` and `bench/instructions`; bench/README.md explains the numbers. It reports what it measured
//! and never rates a time: it fails only when a command fails.

mod hook;
mod payload;

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The standard input of every program.
const EVENT: &str = r#"{"v":1,"type":"violation","ts":"2026-02-12T10:30:00.000Z","session":"sess_abc123","client":"claude-code","constraint":"bench","action":"git push --force origin main"}"#;
/// Never trips and counts every violation, so that all records do the same work.
const CONSTRAINT: &str = "---\nid: bench\nstatus: active\nseverity: CRITICAL\ncircuit_breaker:\n  violation_threshold: 10000\n  dedup_seconds: 0\n---\n\n# Never force-push\n";
const CONFIG: &str = "[constraint]\nmirror = false\n";
const CONFIG_LARGE: &str = "[constraint]\nmirror = false\n\n[retention]\nstate_mb = 4096\njournal_days = 36500\n";
/// A circuit's row grows with its violations: after this many rounds the commands switch to a new project.
const ROUNDS_PER_PROJECT: usize = 25;
/// Violations recorded in a project before it is measured: the rule is known, and the row has its usual size.
const RECORDS_BEFORE: usize = 3;
/// The number of counts, each on a new store.
const COUNTS: usize = 3;
/// The project's targets: medians as multiples of the JSON-parsing program's, and of the small store's.
const CHECK_RATIO_TARGET: f64 = 2.4;
const RECORD_RATIO_TARGET: f64 = 2.8;
const GROWTH_RATIO_TARGET: f64 = 1.15;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let result = Bench::new(arguments).and_then(|bench| match command.as_str() {
        "latency" => bench.latency(),
        "growth" => bench.growth(),
        "hooks" => bench.hooks(),
        "hook-growth" => bench.hook_growth(),
        "crowd" => bench.crowd(),
        "count" => bench.count_fixed().and_then(|()| bench.count_hooks()),
        other => Err(format!("{other:?}: expected latency, growth, hooks, hook-growth, crowd or count").into()),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-latency: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The options of the command line.
struct Bench {
    options: HashMap<String, String>,
}

/// A store with its configuration, and the project in which commands run at the moment.
struct Workspace {
    folder: PathBuf,
    haltline: PathBuf,
    projects: usize,
}

struct Subject {
    label: &'static str,
    /// The index of the workspace it runs in.
    workspace: usize,
    program: PathBuf,
    arguments: &'static [&'static str],
    /// The target for its ratio.
    target: Option<f64>,
}

/// Times of one command, in nanoseconds and in order.
struct Times(Vec<u128>);

const CHECK: &[&str] = &["constraint", "check", "bench"];
const RECORD: &[&str] =
    &["constraint", "record", "bench", "--action", "git push --force origin main", "--session", "sess_abc123"];

impl Bench {
    fn new(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = HashMap::new();
        while let Some(argument) = arguments.next() {
            let name = argument.strip_prefix("--").ok_or_else(|| format!("{argument:?}: expected an option"))?;
            let value = if name.starts_with("without-") { String::new() } else { arguments.next().unwrap_or_default() };
            options.insert(name.to_owned(), value);
        }
        Ok(Self { options })
    }

    fn option(&self, name: &str) -> Outcome<&str> {
        Ok(self.options.get(name).ok_or_else(|| format!("--{name} is missing"))?)
    }

    fn number(&self, name: &str) -> Outcome<usize> {
        let text = self.option(name)?;
        let number = text.parse().ok().filter(|&number| number > 0);
        Ok(number.ok_or_else(|| format!("--{name} {text}: expected a positive whole number"))?)
    }

    fn is_without(&self, tool: &str) -> bool {
        self.options.contains_key(&format!("without-{tool}"))
    }

    fn program(&self, name: &str) -> Outcome<PathBuf> {
        Ok(Path::new(self.option("bin")?).join(name))
    }

    /// A new store. The program is copied next to it, so that its path has the same length in every run, too.
    fn place(&self, name: &str, config: &str) -> Outcome<Workspace> {
        let folder = Path::new(self.option("work")?).join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("event.json"), EVENT)?;
        fs::write(folder.join("config.toml"), config)?;
        let haltline = folder.join("haltline");
        fs::copy(self.program("haltline")?, &haltline)?;
        let mut workspace = Workspace { folder, haltline, projects: 0 };
        workspace.move_on()?;
        Ok(workspace)
    }

    /// Table 1.
    fn latency(&self) -> Outcome<()> {
        let mut workspaces = [self.place("plain", CONFIG)?, self.place("mirror", "")?];
        let plain = |label, program, arguments| Subject { label, workspace: 0, program, arguments, target: None };
        let haltline = workspaces[0].haltline.clone();
        let mut subjects = vec![
            plain("empty static Rust program", self.program("baseline-empty")?, &[]),
            plain("static Rust program that parses the event", self.program("baseline-json")?, &[]),
            plain("python3 -c pass", PathBuf::from(self.option("python")?), &["-c", "pass"]),
        ];
        if !self.is_without("jq") {
            let breaker = Path::new(self.option("bench")?).join("breaker.sh");
            subjects.push(plain("bash + jq: check", breaker.clone(), &["check"]));
            subjects.push(plain("bash + jq: record", breaker, &["record"]));
        }
        let check = plain("haltline constraint check", haltline.clone(), CHECK);
        let record = plain("haltline constraint record", haltline, RECORD);
        subjects.push(Subject { target: Some(CHECK_RATIO_TARGET), ..check });
        subjects.push(Subject { target: Some(RECORD_RATIO_TARGET), ..record });
        let mirrored =
            |label, arguments| Subject { workspace: 1, ..plain(label, workspaces[1].haltline.clone(), arguments) };
        subjects.push(mirrored("haltline constraint check, with mirror", CHECK));
        subjects.push(mirrored("haltline constraint record, with mirror", RECORD));

        let counts = self.count_all(&subjects, &workspaces)?;
        let times = time_all(&subjects, &mut workspaces, self.number("rounds")?)?;
        println!("\nTable 1. One process per call, {} rounds, {}\n", self.number("rounds")?, machine());
        println!("| command | p10 µs | median µs | p99 µs | instructions | × JSON, p10 | × JSON, median | target |");
        println!("|---|---:|---:|---:|---:|---:|---:|---:|");
        let [quick_unit, unit] = [10, 50].map(|percent| times[1].percentile_us(percent));
        for ((subject, times), count) in subjects.iter().zip(&times).zip(counts) {
            let [quick, median, p99] = [10, 50, 99].map(|percent| times.percentile_us(percent));
            let count = count.map_or_else(|| "–".to_owned(), |count| grouped(count as f64));
            let target = subject.target.map(|target| format!("≤ {target} ×")).unwrap_or_default();
            println!(
                "| {} | {} | {} | {} | {count} | {:.2} | {:.2} | {target} |",
                subject.label,
                grouped(quick),
                grouped(median),
                grouped(p99),
                quick / quick_unit,
                median / unit
            );
        }
        Ok(())
    }

    /// Counts before anything is timed, so that the amount of log to read is the same in every run.
    fn count_all(&self, subjects: &[Subject], workspaces: &[Workspace]) -> Outcome<Vec<Option<u64>>> {
        if self.is_without("valgrind") {
            return Ok(vec![None; subjects.len()]);
        }
        eprintln!("bench: counting instructions");
        subjects
            .iter()
            .map(|subject| workspaces[subject.workspace].count(&subject.program, subject.arguments).map(Some))
            .collect()
    }

    /// Table 2.
    fn growth(&self) -> Outcome<()> {
        let mut workspaces = [self.place("small", CONFIG_LARGE)?, self.place("large", CONFIG_LARGE)?];
        let (facts, circuits) = (self.number("facts")?, self.number("circuits")?);
        eprintln!("bench: adding {facts} facts and {circuits} circuits of other projects to the large store");
        // The small store gets nothing, but its log is folded back as well, so that both start alike.
        self.fill(&workspaces[0], 0, 0)?;
        self.fill(&workspaces[1], facts, circuits)?;
        move_all_on(&mut workspaces)?;
        let subject = |label, workspace: usize, arguments| {
            let program = workspaces[workspace].haltline.clone();
            Subject { label, workspace, program, arguments, target: Some(GROWTH_RATIO_TARGET) }
        };
        let subjects = [
            subject("haltline constraint check", 0, CHECK),
            subject("haltline constraint check", 1, CHECK),
            subject("haltline constraint record", 0, RECORD),
            subject("haltline constraint record", 1, RECORD),
        ];
        let counts = self.count_all(&subjects, &workspaces)?;
        let times = time_all(&subjects, &mut workspaces, self.number("rounds")?)?;
        println!("\nTable 2. The same project on an empty store and beside {} facts", grouped(facts as f64));
        println!("and {} circuits of others, {} rounds, {}\n", grouped(circuits as f64), times[0].0.len(), machine());
        println!(
            "| command | empty: median µs | full: median µs | × | target | empty: instructions | full: instructions |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|");
        for (index, pair) in times.chunks(2).enumerate() {
            let (small, large) = (pair[0].median_us(), pair[1].median_us());
            let [few, many] = [0, 1].map(|workspace| counts[index * 2 + workspace].map_or(0.0, |count| count as f64));
            println!(
                "| {} | {} | {} | {:.2} | ≤ {GROWTH_RATIO_TARGET} × | {} | {} |",
                subjects[index * 2].label,
                grouped(small),
                grouped(large),
                large / small,
                grouped(few),
                grouped(many)
            );
        }
        Ok(())
    }

    fn fill(&self, workspace: &Workspace, facts: usize, circuits: usize) -> Outcome<()> {
        let status = Command::new(self.option("python")?)
            .arg(Path::new(self.option("bench")?).join("fill-store.py"))
            .arg(workspace.folder.join("state/state.db"))
            .args([facts.to_string(), circuits.to_string()])
            .status()?;
        if status.success() { Ok(()) } else { Err(format!("fill-store.py: {status}").into()) }
    }

    /// Prints `name count` lines for `bench/instructions`; the spread of the counts goes to standard error.
    fn count_fixed(&self) -> Outcome<()> {
        let fixed = [("check", CONFIG, CHECK), ("record", CONFIG, RECORD), ("record-with-mirror", "", RECORD)];
        for (name, config, arguments) in fixed {
            let mut counts = Vec::with_capacity(COUNTS);
            for number in 0..COUNTS {
                let workspace = self.place(&format!("{name}-{number}"), config)?;
                counts.push(workspace.count(&workspace.haltline, arguments)?);
            }
            counts.sort_unstable();
            eprintln!("bench: {name}: {counts:?}");
            println!("{name} {}", counts[COUNTS / 2]);
        }
        Ok(())
    }
}

impl Workspace {
    fn project(&self) -> PathBuf {
        self.folder.join(format!("project-{:04}", self.projects))
    }

    /// Begins a new project on the same store. Nothing of this is timed.
    fn move_on(&mut self) -> Outcome<()> {
        self.projects += 1;
        let project = self.project();
        fs::create_dir_all(project.join(".git"))?;
        fs::create_dir_all(project.join("docs/constraints/active"))?;
        fs::write(project.join("docs/constraints/active/bench.md"), CONSTRAINT)?;
        for _ in 0..RECORDS_BEFORE {
            self.time(&self.haltline, RECORD)?;
        }
        Ok(())
    }

    /// The same bare environment for every program, with nothing of ours in it.
    fn command(&self, program: &Path) -> Outcome<Command> {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.folder)
            .env("HALTLINE_STATE_DIR", self.folder.join("state"))
            .env("HALTLINE_CONFIG", self.folder.join("config.toml"))
            .env("CLAUDE_PROJECT_DIR", self.project())
            .current_dir(self.project())
            .stdin(File::open(self.folder.join("event.json"))?)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(command)
    }

    /// The time until the process has ended, in nanoseconds.
    fn time(&self, program: &Path, arguments: &[&str]) -> Outcome<u128> {
        let mut command = self.command(program)?;
        command.args(arguments);
        let began = Instant::now();
        let status = command.status()?;
        let took = began.elapsed().as_nanos();
        if !status.success() {
            return Err(format!("{} {}: {status}", program.display(), arguments.join(" ")).into());
        }
        Ok(took)
    }

    /// The instructions of a process and of all processes it starts.
    fn count(&self, program: &Path, arguments: &[&str]) -> Outcome<u64> {
        let mut command = self.command(Path::new("/usr/bin/valgrind"))?;
        command.args(["--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null"]);
        let output = command.arg(program).args(arguments).stderr(Stdio::piped()).output()?;
        let report = String::from_utf8_lossy(&output.stderr);
        let collected = report.lines().filter_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
        match (output.status.success(), collected.sum()) {
            (true, count) if count > 0 => Ok(count),
            (_, _) => Err(format!("callgrind {} {}: {report}", program.display(), arguments.join(" ")).into()),
        }
    }
}

fn move_all_on(workspaces: &mut [Workspace]) -> Outcome<()> {
    workspaces.iter_mut().try_for_each(Workspace::move_on)
}

/// Times every subject once per round. The order changes, so that none always follows the same one.
fn time_all(subjects: &[Subject], workspaces: &mut [Workspace], rounds: usize) -> Outcome<Vec<Times>> {
    let mut times: Vec<Vec<u128>> = vec![Vec::with_capacity(rounds); subjects.len()];
    let mut shuffle = Shuffle::new(subjects.len());
    for round in 0..rounds {
        if round % ROUNDS_PER_PROJECT == 0 {
            move_all_on(workspaces)?;
        }
        if round % 100 == 0 {
            eprintln!("bench: round {round} of {rounds}");
        }
        for &index in shuffle.next() {
            let Subject { workspace, program, arguments, .. } = &subjects[index];
            times[index].push(workspaces[*workspace].time(program, arguments)?);
        }
    }
    Ok(times.into_iter().map(Times::new).collect())
}

/// An order that is different each time.
struct Shuffle {
    order: Vec<usize>,
    seed: u64,
}

impl Shuffle {
    fn new(length: usize) -> Self {
        Self { order: (0..length).collect(), seed: 1 }
    }

    fn next(&mut self) -> &[usize] {
        for last in (1..self.order.len()).rev() {
            // Any simple sequence will do; this one is Knuth's.
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.order.swap(last, (self.seed >> 33) as usize % (last + 1));
        }
        &self.order
    }
}

impl Times {
    fn new(mut nanoseconds: Vec<u128>) -> Self {
        nanoseconds.sort_unstable();
        Self(nanoseconds)
    }

    fn percentile_us(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0[rank - 1] as f64 / 1_000.0
    }

    fn median_us(&self) -> f64 {
        self.percentile_us(50)
    }
}

/// The load of the machine, without which a time means little.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{cores} cores, load {}", load.split(' ').next().unwrap_or("unknown"))
}

/// A whole number with a comma before every three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
