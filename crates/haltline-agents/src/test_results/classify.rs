//! Classifies one test as passed, failed or not run, by the output of its runner (A3).
//!
//! A failure costs one of three attempts and a pass gives them back, so haltline reports neither unless the runner did.
//! Only a test that was executed and failed has failed: an exception in the test counts, since the test was running; a
//! broken fixture, hook, import or build does not, even in the file under work. Anything that cannot be determined is
//! `Unclear`, which the caller treats as infrastructure and reports as such.
//!
//! - The runner's output takes precedence over the exit code: `|| true` and pipes hide failures. When every test passed
//!   and the exit code disagrees, something else broke that may concern the test: `Unclear`.
//! - A run that was ended from outside is not classified by its output, no matter what it had printed by then.
//! - A test reported as both passed and failed in one run, or more names than counted tests, means that something other
//!   than the runner prints what runners print: `Unclear`.

mod evidence;
mod excerpt;

use std::collections::BTreeSet;

use super::{OutputListener, OutputListeners, Runner, go_test, junit, readable_end, trouble};
use crate::terminal_text;
use evidence::{NamedOutcome, TestEvidence};
use excerpt::excerpt;

use super::run_record::{RunRecord, TestOutcome};

/// How a test command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It took too long, and the process that started it killed it.
    TimedOut,
    NotStarted,
}

#[derive(Clone, Copy, Debug)]
pub struct TestRun<'a> {
    /// What it printed to stdout and stderr, with escape sequences.
    pub output: &'a str,
    /// The JUnit reports that it wrote, each as text. The caller must leave out reports from before the run.
    pub junit: &'a [&'a str],
    pub exit: Exit,
    /// The wanted test, by its exact name or the end of the runner's longer name.
    pub test: &'a str,
    /// The files changed in this attempt, relative to the root of the repository.
    pub files: &'a [&'a str],
}

/// How haltline classifies the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestClass {
    Passed,
    Failed,
    /// It was not executed, for this reason.
    Infrastructure(Trouble),
    /// The output does not say. The caller treats it as infrastructure, and reports that it does.
    Unclear,
}

/// What kept a test from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A changed file does not compile.
    BuildUnderWork,
    /// Another file does not compile, or the output does not name the file.
    BuildElsewhere,
    /// An import could not be resolved.
    MissingModule,
    /// The test was not among those that ran.
    RanNone,
    /// The process died.
    Crash,
    /// It took too long.
    TimedOut,
    /// Something could not be downloaded.
    Network,
    /// The operating system denied access.
    Permission,
    /// What a test needs around it is broken: fixtures, hooks, variables, tools.
    Environment,
    /// The command could not be started.
    NotStarted,
}

impl Trouble {
    /// The stable name used in reports and journals.
    pub fn as_str(self) -> &'static str {
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

/// The class of a test, with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    pub class: TestClass,
    /// The runner of the tests, if it was recognised.
    pub runner: Option<Runner>,
    /// The reason, in one sentence.
    pub why: String,
    /// The lines that the class rests on, as a terminal shows them. Never more than a screen or two.
    pub excerpt: String,
}

/// A classification before its excerpt is cut.
struct Conclusion {
    class: TestClass,
    why: String,
    /// The first line of the evidence in the output.
    line: Option<usize>,
    /// The evidence itself, when it is not in the output.
    text: Option<String>,
}

impl Conclusion {
    fn new(class: TestClass, why: impl Into<String>) -> Self {
        Self { class, why: why.into(), line: None, text: None }
    }

    fn trouble(trouble: Trouble, why: impl Into<String>) -> Self {
        Self::new(TestClass::Infrastructure(trouble), why)
    }

    fn unclear(why: impl Into<String>) -> Self {
        Self::new(TestClass::Unclear, why)
    }
}

/// Limit on the failed tests that are named.
const FAILED_TESTS_MAX: usize = 32;

/// The tests that a run names as executed and failed, in the order of their names. `run.test` is ignored.
pub fn failed_tests(run: &TestRun<'_>) -> Vec<String> {
    let mut listeners = OutputListeners::new();
    for line in readable_end(run.output).lines() {
        listeners.parse_line(terminal_text::visible_text(line).trim_end());
    }
    let printed = current_listener(&listeners).map(|listener| (&listener.record, listener.runner.name_separator()));
    let reports = JunitReports::read(run.junit);
    let reported = reports.record.as_ref().map(|record| (record, "."));
    let (record, separator) = match (printed, reported) {
        (Some((record, separator)), _) if !record.tests.is_empty() => (record, separator),
        (_, Some(reported)) => reported,
        (Some(printed), None) => printed,
        (None, None) => return Vec::new(),
    };
    let failed = record.tests.iter().filter(|entry| entry.outcome == TestOutcome::Failed);
    let names: BTreeSet<String> = failed.map(|entry| entry.path.join(separator)).collect();
    // What counts as a failure is decided in one place.
    let has_failed = |name: &String| classify(&TestRun { test: name, ..*run }).class == TestClass::Failed;
    names.into_iter().take(FAILED_TESTS_MAX).filter(has_failed).collect()
}

/// Classifies the test that a run is about.
pub fn classify(run: &TestRun<'_>) -> Classification {
    let mut listeners = OutputListeners::new();
    let mut lines = Vec::new();
    for line in readable_end(run.output).lines() {
        let line = terminal_text::visible_text(line);
        let line = line.trim_end();
        listeners.parse_line(line);
        // The text of `go test -json` is inside its events.
        lines.push(go_test::event_output(line).map_or_else(|| line.to_owned(), |text| text.trim_end().to_owned()));
    }
    let listener = current_listener(&listeners);
    let parsed = ParsedRun { run, listener, lines: &lines, reports: JunitReports::read(run.junit) };
    let conclusion = parsed.ended_from_outside().unwrap_or_else(|| parsed.conclude());
    let excerpt = match (&conclusion.text, conclusion.line) {
        (Some(text), _) => excerpt(&text.lines().collect::<Vec<_>>(), 0, &[]),
        (None, Some(line)) => excerpt(&lines, line, listener.map_or(&[], |listener| &listener.record.boundaries)),
        (None, None) => excerpt(&lines, lines.len().saturating_sub(excerpt::TAIL_LINES), &[]),
    };
    Classification {
        class: conclusion.class,
        runner: listener.map(|listener| listener.runner),
        why: conclusion.why,
        excerpt,
    }
}

/// A run with everything that it printed and reported.
struct ParsedRun<'a> {
    run: &'a TestRun<'a>,
    listener: Option<&'a OutputListener>,
    lines: &'a [String],
    reports: JunitReports,
}

impl ParsedRun<'_> {
    /// The record of the runner, if everything that it announced has arrived.
    fn complete_record(&self) -> Option<&RunRecord> {
        let listener = self.listener?;
        (listener.record.counts.is_some() && !listener.record.is_open && listener.parser.is_complete())
            .then_some(&listener.record)
    }

    fn runner_name(&self) -> &'static str {
        self.listener.map_or("the output", |listener| listener.runner.name())
    }

    fn ended_from_outside(&self) -> Option<Conclusion> {
        let is_whole = self.complete_record().is_some();
        match self.run.exit {
            Exit::NotStarted => Some(Conclusion::trouble(Trouble::NotStarted, "the test command could not be started")),
            Exit::TimedOut => {
                Some(Conclusion::trouble(Trouble::TimedOut, "the test command took too long, so haltline killed it"))
            }
            Exit::Signal(signal) => Some(self.crash(format!("signal {signal} ended the test command"))),
            Exit::Code(TIMEOUT_CODE) if !is_whole => {
                Some(Conclusion::trouble(Trouble::TimedOut, "the test command exited with 124, the code of a timeout"))
            }
            Exit::Code(code) if !is_whole && SIGNAL_CODES.contains(&code) => {
                Some(self.crash(format!("the test command exited with {code}, which means signal {}", code - 128)))
            }
            Exit::Code(_) => None,
        }
    }

    fn crash(&self, why: String) -> Conclusion {
        let found = trouble::find_cause(self.lines, &[]).filter(|found| found.trouble == Trouble::Crash);
        Conclusion { line: found.map(|found| found.line), ..Conclusion::trouble(Trouble::Crash, why) }
    }

    fn conclude(&self) -> Conclusion {
        let test = self.run.test;
        let printed = self.complete_record().map(|record| TestEvidence::from_record(record, test));
        let record = self.reports.record.as_ref().filter(|_| self.reports.problem.is_none());
        let reported = record.map(|record| TestEvidence::from_record(record, test));
        match (&reported, &printed) {
            (Some(reported), Some(printed)) if reported.named.contradicts(printed.named) => {
                Conclusion::unclear(format!("the JUnit report and {} do not agree about {test}", self.runner_name()))
            }
            (Some(reported), _) if reported.named != NamedOutcome::Unlisted => {
                self.conclude_named(reported, "the JUnit report")
            }
            (_, Some(printed)) if printed.named != NamedOutcome::Unlisted => {
                self.conclude_named(printed, self.runner_name())
            }
            (Some(reported), None) => self.conclude_unlisted(reported, "the JUnit report"),
            (_, Some(printed)) => self.conclude_unlisted(printed, self.runner_name()),
            (None, None) => self.conclude_without_counts(),
        }
    }

    /// Draws the conclusion when the runner named the test.
    fn conclude_named(&self, evidence: &TestEvidence<'_>, who: &str) -> Conclusion {
        let test = self.run.test;
        let mut conclusion = match evidence.named {
            NamedOutcome::Passed if self.run.exit != Exit::Code(0) && evidence.counts.failing == 0 => {
                Conclusion::unclear(format!(
                    "{who} says that {test} and all other tests passed, but the command failed ({})",
                    exit_text(self.run.exit)
                ))
            }
            NamedOutcome::Passed => Conclusion::new(TestClass::Passed, format!("{who} says that {test} passed")),
            NamedOutcome::Failed => Conclusion::new(TestClass::Failed, format!("{who} says that {test} failed")),
            NamedOutcome::Skipped if evidence.broken > 0 => {
                let why = format!("{who} skipped {test}, because something else failed");
                self.conclude_broken_setup(Trouble::Environment, why)
            }
            NamedOutcome::Skipped => Conclusion::trouble(Trouble::RanNone, format!("{who} skipped {test}")),
            NamedOutcome::SetupBroke => {
                let why = format!("{who} says that the setup of {test} failed, not the test");
                self.conclude_broken_setup(Trouble::Environment, why)
            }
            NamedOutcome::Crashed => {
                Conclusion::trouble(Trouble::Crash, format!("{who} says that the process died in {test}"))
            }
            NamedOutcome::TimedOut => {
                Conclusion::trouble(Trouble::TimedOut, format!("{who} says that {test} took too long"))
            }
            NamedOutcome::Contradicted => {
                Conclusion::unclear(format!("{who} says both that {test} passed and that it failed"))
            }
            NamedOutcome::Several => Conclusion::unclear(format!(
                "{who} has several tests with the name {test}, and they had different results"
            )),
            NamedOutcome::Unlisted => Conclusion::unclear(format!("{who} does not name {test}")),
        };
        conclusion.line = conclusion.line.or(evidence.line);
        conclusion.text = conclusion.text.or_else(|| evidence.text.map(str::to_owned));
        conclusion
    }

    /// Draws the conclusion when the runner printed its counts without naming the test.
    fn conclude_unlisted(&self, evidence: &TestEvidence<'_>, who: &str) -> Conclusion {
        let (test, counts) = (self.run.test, evidence.counts);
        let executed = counts.passing.saturating_add(evidence.failed);
        if evidence.is_contradicted {
            return Conclusion::unclear(format!("{who} lists more tests than it counts"));
        }
        if evidence.broken > 0 {
            let why = format!("{who} could not load all tests, and does not name {test}");
            return self.conclude_broken_setup(Trouble::Environment, why);
        }
        if executed == 0 {
            let why = format!("{who} reports no executed test");
            return self.conclude_broken_setup(Trouble::RanNone, why);
        }
        if evidence.names_all_tests {
            return Conclusion::trouble(
                Trouble::RanNone,
                format!("{who} lists all executed tests ({executed}), and {test} is not one of them"),
            );
        }
        let is_only_one = executed == 1;
        match (counts.passing, evidence.unnamed) {
            (0, 1) if is_only_one && evidence.may_omit_failed_names => {
                Conclusion::new(TestClass::Failed, format!("{who} executed one test without naming it, and it failed"))
            }
            (_, 1..) => Conclusion::unclear(format!("{who} does not say which of {executed} tests failed")),
            (0, 0) => Conclusion::unclear(format!("{who} lists only failed tests, and {test} is not one of them")),
            _ if evidence.names_some_passed => {
                Conclusion::unclear(format!("{who} lists only some of its tests, and not {test}"))
            }
            _ if counts.skipped > 0 && !(is_only_one && evidence.filter_skips) => Conclusion::unclear(format!(
                "{who} skipped {} without naming them, and {test} may be one of them",
                counts.skipped
            )),
            _ if counts.failing == 0 && self.run.exit != Exit::Code(0) => Conclusion::unclear(format!(
                "{who} says that all tests passed, but the command failed ({})",
                exit_text(self.run.exit)
            )),
            _ if counts.failing == 0 => {
                Conclusion::new(TestClass::Passed, format!("{who} says that all executed tests passed"))
            }
            _ => Conclusion::new(
                TestClass::Passed,
                format!("{who} lists all failed tests, and {test} is not one of them"),
            ),
        }
    }

    /// Draws the conclusion when no runner got to its counts.
    fn conclude_without_counts(&self) -> Conclusion {
        let found = trouble::find_cause(self.lines, self.run.files);
        match (found, &self.reports.problem, self.listener) {
            (Some(found), _, _) => conclude_from_trouble(&found, "nothing was executed"),
            (None, Some(problem), _) => Conclusion::unclear(problem.clone()),
            (None, None, Some(listener)) => {
                Conclusion::unclear(format!("the output of {} ends before its summary", listener.runner.name()))
            }
            (None, None, None) => {
                Conclusion::unclear("haltline does not know the test runner that printed this output")
            }
        }
    }

    /// Something around the test broke: finds out what, and falls back to `or_else`.
    fn conclude_broken_setup(&self, or_else: Trouble, why: String) -> Conclusion {
        if let Some(found) = trouble::find_cause(self.lines, self.run.files) {
            return conclude_from_trouble(&found, &why);
        }
        for text in self.reports.record.iter().flat_map(|record| &record.broken_texts) {
            let lines: Vec<&str> = text.lines().collect();
            if let Some(found) = trouble::find_cause(&lines, self.run.files) {
                return Conclusion { line: None, text: Some(text.clone()), ..conclude_from_trouble(&found, &why) };
            }
        }
        let line = self.complete_record().and_then(|record| record.broken.first().copied());
        Conclusion { line, ..Conclusion::trouble(or_else, why) }
    }
}

/// The listener that reported counts last, unless another runner began after that and did not get to its counts.
fn current_listener(listeners: &OutputListeners) -> Option<&OutputListener> {
    let summed_up = listeners.last_counted();
    let end = summed_up.map_or(0, |listener| listener.record.last_line);
    let is_unfinished = |listener: &&OutputListener| {
        listener.record.is_open
            && listener.record.counts.is_none()
            && (summed_up.is_none() || listener.record.last_line > end)
    };
    listeners.listeners.iter().rfind(is_unfinished).or(summed_up)
}

/// What the JUnit reports say, together.
struct JunitReports {
    record: Option<RunRecord>,
    problem: Option<String>,
}

impl JunitReports {
    fn read(texts: &[&str]) -> Self {
        let mut reports = Self { record: None, problem: None };
        let mut sum = super::TestCounts::default();
        for text in texts {
            let record = reports.record.get_or_insert_default();
            match junit::read(text.as_bytes(), record) {
                Ok(counts) => sum = sum.plus(counts),
                Err(error) => reports.problem = Some(error.to_string()),
            }
        }
        if let Some(record) = &mut reports.record {
            record.set_counts(sum);
            record.names_all_tests = true;
            // A report may claim tests without listing them.
            record.counts_other_units = true;
        }
        reports
    }
}

/// coreutils `timeout` exits with this code, and shells use the codes below for signals.
const TIMEOUT_CODE: i32 = 124;
const SIGNAL_CODES: [i32; 7] = [129, 130, 132, 134, 136, 137, 139];

fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimedOut => "killed".to_owned(),
        Exit::NotStarted => "not started".to_owned(),
    }
}

fn conclude_from_trouble(found: &trouble::FoundTrouble, why: &str) -> Conclusion {
    let file = found.file.as_deref();
    let why = match (found.trouble, file) {
        (Trouble::BuildUnderWork | Trouble::BuildElsewhere, Some(file)) => format!("{file} does not compile"),
        (Trouble::BuildUnderWork | Trouble::BuildElsewhere, None) => {
            "a file does not compile, and the output does not name it".to_owned()
        }
        (Trouble::MissingModule, Some(file)) => format!("{file} imports something that does not exist"),
        (Trouble::MissingModule, None) => "an import does not exist".to_owned(),
        (Trouble::Network, _) => "a download failed".to_owned(),
        (Trouble::Crash, _) => "the process that runs the tests died".to_owned(),
        (Trouble::TimedOut, _) => "the runner ended its tests because they took too long".to_owned(),
        (Trouble::Permission, _) => "a permission is missing".to_owned(),
        (Trouble::RanNone | Trouble::Environment | Trouble::NotStarted, _) => why.to_owned(),
    };
    Conclusion { line: Some(found.line), ..Conclusion::trouble(found.trouble, why) }
}
