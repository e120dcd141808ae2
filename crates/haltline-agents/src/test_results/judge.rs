//! Whether one test passed, failed or was never run, by what its runner said (A3).
//!
//! A failure costs one of three attempts and a pass gives them back, so neither is said where the runner did not say it.
//! Only a test that was executed and failed has failed: an exception in the test counts, since the test was running; a
//! broken fixture, hook, import or build does not, even in the file under work. What cannot be told is `Unclear`, which
//! the caller treats as infrastructure and says so.
//!
//! - The runner's words go before the exit code: `|| true` and pipes hide failures. Where every test passed and the code
//!   says otherwise, something else broke that may concern the test: `Unclear`.
//! - A run that was ended from outside has no verdict, whatever it had printed by then.
//! - A test that is told to have passed and to have failed in one run, or more names than the sum has tests, is somebody
//!   who prints what runners print: `Unclear`.

mod excerpt;
mod verdict;

use super::{Ear, Ears, Runner, go_test, junit, read_part, trouble};
use crate::terminal_text;
use excerpt::excerpt;
use verdict::{Named, Verdict};

use super::told::Told;

/// How a test command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was killed by who started it.
    TimedOut,
    /// It could not be started.
    NotStarted,
}

/// A test command that has ended.
#[derive(Clone, Copy, Debug)]
pub struct TestRun<'a> {
    /// What it printed on both its outputs, colours and all.
    pub output: &'a str,
    /// The JUnit reports it wrote, each as text. One from before the run does not belong here.
    pub junit: &'a [&'a str],
    /// How it ended.
    pub exit: Exit,
    /// The test it is about, by its exact name or the end of the runner's longer one.
    pub test: &'a str,
    /// The files that were changed in this attempt, from the repository's root.
    pub files: &'a [&'a str],
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It was executed and passed.
    Passed,
    /// It was executed and failed.
    Failed,
    /// It was not executed, for this reason.
    Infrastructure(Trouble),
    /// It cannot be told. To be treated as infrastructure, and said so.
    Unclear,
}

/// What kept a test from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A file that was worked on does not compile.
    BuildUnderWork,
    /// Another file does not, or one that is not named.
    BuildElsewhere,
    /// Something that is imported is not there.
    MissingModule,
    /// The test was not among those that ran.
    RanNone,
    /// The process died.
    Crash,
    /// It took too long.
    TimedOut,
    /// Something could not be fetched.
    Network,
    /// Something is not allowed.
    Permission,
    /// Fixtures, hooks, variables, tools: what a test needs around it.
    Environment,
    /// The command could not be started.
    NotStarted,
}

impl Trouble {
    /// Its word, as reports and journals have it.
    pub fn word(self) -> &'static str {
        match self {
            Trouble::BuildUnderWork => "build-under-work",
            Trouble::BuildElsewhere => "build-elsewhere",
            Trouble::MissingModule => "missing-module",
            Trouble::RanNone => "ran-none",
            Trouble::Crash => "crash",
            Trouble::TimedOut => "timed-out",
            Trouble::Network => "network",
            Trouble::Permission => "permission",
            Trouble::Environment => "environment",
            Trouble::NotStarted => "not-started",
        }
    }
}

/// A verdict, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub class: Class,
    /// Who ran the tests, where that is known.
    pub runner: Option<Runner>,
    /// What was said, in one sentence.
    pub why: String,
    /// The lines it rests on, as a terminal shows them. Never more than a screen or two.
    pub excerpt: String,
}

/// A verdict without its lines.
struct Opinion {
    class: Class,
    why: String,
    /// The lines it rests on begin here.
    line: Option<usize>,
    /// They are not in the output.
    text: Option<String>,
}

impl Opinion {
    fn new(class: Class, why: impl Into<String>) -> Self {
        Self { class, why: why.into(), line: None, text: None }
    }

    fn trouble(trouble: Trouble, why: impl Into<String>) -> Self {
        Self::new(Class::Infrastructure(trouble), why)
    }
}

/// Judges a run.
pub fn judge(run: &TestRun<'_>) -> Judged {
    let mut ears = Ears::new();
    let mut lines = Vec::new();
    for line in read_part(run.output).lines() {
        let line = terminal_text::shown(line);
        let line = line.trim_end();
        ears.take(line);
        // The words of go's events stand in them.
        lines.push(go_test::event_output(line).map_or_else(|| line.to_owned(), |text| text.trim_end().to_owned()));
    }
    let heard = Heard { ear: speaker(&ears), lines: &lines };
    let reports = Reports::read(run.junit);
    let opinion = ended_from_outside(run, &heard).unwrap_or_else(|| opinion(run, &heard, &reports));
    let ear = heard.ear;
    let excerpt = match (&opinion.text, opinion.line) {
        (Some(text), _) => excerpt(&text.lines().collect::<Vec<_>>(), 0, &[]),
        (None, Some(line)) => excerpt(&lines, line, ear.map_or(&[], |ear| &ear.told.marks)),
        (None, None) => excerpt(&lines, lines.len().saturating_sub(excerpt::TAIL_LINES), &[]),
    };
    Judged { class: opinion.class, runner: ear.map(|ear| ear.runner), why: opinion.why, excerpt }
}

/// What the output said.
struct Heard<'a> {
    ear: Option<&'a Ear>,
    lines: &'a [String],
}

impl Heard<'_> {
    /// The runner told all that it announced.
    fn whole(&self) -> Option<&Told> {
        let ear = self.ear?;
        (ear.told.counts.is_some() && !ear.told.is_open && ear.reader.is_whole()).then_some(&ear.told)
    }

    fn name(&self) -> &'static str {
        self.ear.map_or("the output", |ear| ear.runner.name())
    }
}

/// Whose words count: who summed up last, unless somebody began after that and did not come to a sum.
fn speaker(ears: &Ears) -> Option<&Ear> {
    let summed_up = ears.last();
    let end = summed_up.map_or(0, |ear| ear.told.last_line);
    let is_unfinished =
        |ear: &&Ear| ear.told.is_open && ear.told.counts.is_none() && (summed_up.is_none() || ear.told.last_line > end);
    ears.ears.iter().rfind(is_unfinished).or(summed_up)
}

/// What the reports said.
struct Reports {
    told: Option<Told>,
    problem: Option<String>,
}

impl Reports {
    fn read(texts: &[&str]) -> Self {
        let mut reports = Self { told: None, problem: None };
        let mut sum = super::TestCounts::default();
        for text in texts {
            let told = reports.told.get_or_insert_default();
            match junit::read(text.as_bytes(), told) {
                Ok(counts) => sum = sum.plus(counts),
                Err(error) => reports.problem = Some(error.to_string()),
            }
        }
        if let Some(told) = &mut reports.told {
            told.settled(sum);
            told.names_all = true;
            // A report that claims tests without listing them.
            told.counts_others = true;
        }
        reports
    }
}

/// `timeout` of the coreutils says this code, and shells say these for a signal.
const TIMEOUT_CODE: i32 = 124;
const SIGNAL_CODES: [i32; 7] = [129, 130, 132, 134, 136, 137, 139];

fn ended_from_outside(run: &TestRun<'_>, heard: &Heard<'_>) -> Option<Opinion> {
    let is_whole = heard.whole().is_some();
    match run.exit {
        Exit::NotStarted => Some(Opinion::trouble(Trouble::NotStarted, "the test command could not be started")),
        Exit::TimedOut => {
            Some(Opinion::trouble(Trouble::TimedOut, "the test command was killed because it took too long"))
        }
        Exit::Signal(signal) => Some(crash(heard, format!("the test command was ended by signal {signal}"))),
        Exit::Code(TIMEOUT_CODE) if !is_whole => {
            Some(Opinion::trouble(Trouble::TimedOut, "the test command ended with code 124, which is a timeout's"))
        }
        Exit::Code(code) if !is_whole && SIGNAL_CODES.contains(&code) => {
            Some(crash(heard, format!("the test command ended with code {code}, which is signal {}", code - 128)))
        }
        Exit::Code(_) => None,
    }
}

fn crash(heard: &Heard<'_>, why: String) -> Opinion {
    let found = trouble::cause(heard.lines, &[]).filter(|found| found.trouble == Trouble::Crash);
    Opinion { line: found.map(|found| found.line), ..Opinion::trouble(Trouble::Crash, why) }
}

fn opinion(run: &TestRun<'_>, heard: &Heard<'_>, reports: &Reports) -> Opinion {
    let printed = heard.whole().map(|told| Verdict::of(told, run.test));
    let reported = reports.told.as_ref().filter(|_| reports.problem.is_none()).map(|told| Verdict::of(told, run.test));
    match (&reported, &printed) {
        (Some(reported), Some(printed)) if reported.named.contradicts(printed.named) => Opinion::new(
            Class::Unclear,
            format!("the JUnit report and {} do not agree about {}", heard.name(), run.test),
        ),
        (Some(reported), _) if reported.named != Named::Unlisted => {
            named(run, reported, "the JUnit report", heard, reports)
        }
        (_, Some(printed)) if printed.named != Named::Unlisted => named(run, printed, heard.name(), heard, reports),
        (Some(reported), None) => unlisted(run, reported, "the JUnit report", heard, reports),
        (_, Some(printed)) => unlisted(run, printed, heard.name(), heard, reports),
        (None, None) => nothing_whole(run, heard, reports),
    }
}

/// The runner named the test.
fn named(run: &TestRun<'_>, verdict: &Verdict<'_>, who: &str, heard: &Heard<'_>, reports: &Reports) -> Opinion {
    let test = run.test;
    let mut opinion = match verdict.named {
        Named::Passed if run.exit != Exit::Code(0) && verdict.counts.failing == 0 => Opinion::new(
            Class::Unclear,
            format!(
                "{who} says that {test} and all others passed, but the command did not end well ({})",
                code(run.exit)
            ),
        ),
        Named::Passed => Opinion::new(Class::Passed, format!("{who} says that {test} passed")),
        Named::Failed => Opinion::new(Class::Failed, format!("{who} says that {test} failed")),
        Named::Skipped if verdict.broken > 0 => {
            let why = format!("{who} skipped {test}, since something around it broke");
            around(run, heard, reports, Trouble::Environment, why)
        }
        Named::Skipped => Opinion::trouble(Trouble::RanNone, format!("{who} skipped {test}")),
        Named::AroundIt => {
            let why = format!("{who} says that what {test} needs around it broke, not the test");
            around(run, heard, reports, Trouble::Environment, why)
        }
        Named::Crashed => Opinion::trouble(Trouble::Crash, format!("{who} says that the process died in {test}")),
        Named::TimedOut => Opinion::trouble(Trouble::TimedOut, format!("{who} says that {test} took too long")),
        Named::Contradicted => Opinion::new(
            Class::Unclear,
            format!("{who} is told to say of {test} both that it passed and that it failed"),
        ),
        Named::Several => Opinion::new(
            Class::Unclear,
            format!("{who} has several tests of which {test} may be the name, and they did not end alike"),
        ),
        Named::Unlisted => Opinion::new(Class::Unclear, format!("{who} does not name {test}")),
    };
    opinion.line = opinion.line.or(verdict.line);
    opinion.text = opinion.text.or_else(|| verdict.text.map(str::to_owned));
    opinion
}

fn code(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimedOut => "killed".to_owned(),
        Exit::NotStarted => "not started".to_owned(),
    }
}

/// The runner came to its sum without naming the test.
fn unlisted(run: &TestRun<'_>, verdict: &Verdict<'_>, who: &str, heard: &Heard<'_>, reports: &Reports) -> Opinion {
    let (test, counts) = (run.test, verdict.counts);
    let executed = counts.passing.saturating_add(verdict.failed);
    let unclear = |why: String| Opinion::new(Class::Unclear, why);
    if verdict.is_contradicted {
        return unclear(format!("{who} names more tests than it counts"));
    }
    if verdict.broken > 0 {
        let why = format!("{who} could not load or prepare everything, and does not name {test}");
        return around(run, heard, reports, Trouble::Environment, why);
    }
    if executed == 0 {
        let why = format!("{who} tells of no test that was executed");
        return around(run, heard, reports, Trouble::RanNone, why);
    }
    if verdict.names_all {
        return Opinion::trouble(
            Trouble::RanNone,
            format!("{who} names all it executed ({executed}), and {test} is not among them"),
        );
    }
    let is_only_one = executed == 1;
    match (counts.passing, verdict.unnamed) {
        (0, 1) if is_only_one && verdict.may_not_name => {
            Opinion::new(Class::Failed, format!("{who} executed one test without naming it, and it failed"))
        }
        (_, 1..) => unclear(format!("{who} does not say which of {executed} tests failed")),
        (0, 0) => unclear(format!("{who} names only tests that failed, and {test} is none of them")),
        _ if verdict.names_some => unclear(format!("{who} names some of its tests only, and not {test}")),
        _ if counts.skipped > 0 && !(is_only_one && verdict.filter_skips) => {
            unclear(format!("{who} skipped {} without naming them, and {test} may be one", counts.skipped))
        }
        _ if counts.failing == 0 && run.exit != Exit::Code(0) => {
            unclear(format!("{who} says that all passed, but the command did not end well ({})", code(run.exit)))
        }
        _ if counts.failing == 0 => Opinion::new(Class::Passed, format!("{who} says that all it executed passed")),
        _ => Opinion::new(Class::Passed, format!("{who} names all that failed, and {test} is none of them")),
    }
}

/// Nobody came to a sum.
fn nothing_whole(run: &TestRun<'_>, heard: &Heard<'_>, reports: &Reports) -> Opinion {
    let found = trouble::cause(heard.lines, run.files);
    match (found, &reports.problem, heard.ear) {
        (Some(found), _, _) => of_cause(&found, "nothing was executed"),
        (None, Some(problem), _) => Opinion::new(Class::Unclear, problem.clone()),
        (None, None, Some(ear)) => {
            Opinion::new(Class::Unclear, format!("the output of {} breaks off before its sum", ear.runner.name()))
        }
        (None, None, None) => Opinion::new(Class::Unclear, "the output is of no test runner that is known here"),
    }
}

/// Something around the test broke: what it was, or else this.
fn around(run: &TestRun<'_>, heard: &Heard<'_>, reports: &Reports, or_else: Trouble, why: String) -> Opinion {
    if let Some(found) = trouble::cause(heard.lines, run.files) {
        return of_cause(&found, &why);
    }
    for text in reports.told.iter().flat_map(|told| &told.texts) {
        let lines: Vec<&str> = text.lines().collect();
        if let Some(found) = trouble::cause(&lines, run.files) {
            return Opinion { line: None, text: Some(text.clone()), ..of_cause(&found, &why) };
        }
    }
    let line = heard.whole().and_then(|told| told.broken.first().copied());
    Opinion { line, ..Opinion::trouble(or_else, why) }
}

fn of_cause(found: &trouble::Found, why: &str) -> Opinion {
    let file = found.file.as_deref();
    let why = match (found.trouble, file) {
        (Trouble::BuildUnderWork | Trouble::BuildElsewhere, Some(file)) => format!("{file} does not compile"),
        (Trouble::BuildUnderWork | Trouble::BuildElsewhere, None) => {
            "a file does not compile, and is not named".to_owned()
        }
        (Trouble::MissingModule, Some(file)) => format!("something that {file} imports is not there"),
        (Trouble::MissingModule, None) => "something that is imported is not there".to_owned(),
        (Trouble::Network, _) => "something could not be fetched from the network".to_owned(),
        (Trouble::Crash, _) => "the process that runs the tests died".to_owned(),
        (Trouble::TimedOut, _) => "the runner ended its tests because they took too long".to_owned(),
        (Trouble::Permission, _) => "something is not allowed".to_owned(),
        (Trouble::RanNone | Trouble::Environment | Trouble::NotStarted, _) => why.to_owned(),
    };
    Opinion { line: Some(found.line), ..Opinion::trouble(found.trouble, why) }
}
