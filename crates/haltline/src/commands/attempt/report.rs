//! `haltline attempt report`: prints the diagnostic report, filled in as far as haltline can, and files a complete
//! one (A4).

use std::process::ExitCode;

use haltline_core::Fact;
use haltline_core::attempt::{
    AttemptEvent, Fact as AttemptFact, JournalEvidence, Listed, LogLine, RecoveryOption, Report, ScopeViolation, Slice,
    TestName, TestState,
};
use haltline_engine::redact::mask;
use haltline_engine::report_file::{self, Hints, ReportDocument};
use haltline_engine::slice::SliceLocation;
use haltline_engine::store::Store;
use serde::Serialize;

use super::{commit_event, find_slice, load_begun_slice, read_input, test_name};
use crate::cli::AttemptReport;
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::view::SCHEMA;
use crate::view::attempt::{shown_strategy, slice_id};

/// Largest report that is read.
const REPORT_BYTES_MAX: usize = 1 << 20;
/// How many facts are searched for the output of the test runner.
const FACTS_SEARCHED_MAX: usize = 4096;

/// The report on one test.
#[derive(Serialize)]
struct ReportView {
    slice: String,
    test: String,
    is_filed: bool,
    report: Report,
}

#[derive(Serialize)]
struct ReportsView {
    schema: u32,
    reports: Vec<ReportView>,
}

pub fn run(context: &Context, command: &AttemptReport) -> Result<ExitCode, Failure> {
    let location = find_slice(context, &command.slice)?;
    let slice = load_begun_slice(context, &location)?;
    let wanted = command.test.as_deref().map(test_name).transpose()?;
    let tests = tests_to_report(&slice, wanted.as_ref(), slice_id(&location.name))?;
    match &command.file {
        Some(file) => {
            let content = read_input(context, "--file", file, REPORT_BYTES_MAX)?;
            file_reports(context, &location, &slice, &tests, &content)
        }
        None => print(context, &location, &slice, &tests),
    }
}

/// Returns the named test, or all failing tests.
fn tests_to_report<'a>(
    slice: &'a Slice,
    wanted: Option<&TestName>,
    id: &str,
) -> Result<Vec<(&'a TestName, &'a TestState)>, Failure> {
    let tests: Vec<(&TestName, &TestState)> = match wanted {
        Some(test) => slice.tests.get_key_value(test).into_iter().collect(),
        None => slice.failing().collect(),
    };
    match (tests.is_empty(), wanted) {
        (false, _) => Ok(tests),
        (true, Some(test)) => Err(Failure::Plain(format!("slice {id} has no runs of a test {test}"))),
        (true, None) => Err(Failure::Plain(format!("no test of slice {id} fails: there is nothing to report"))),
    }
}

fn print(
    context: &Context,
    location: &SliceLocation,
    slice: &Slice,
    tests: &[(&TestName, &TestState)],
) -> Result<ExitCode, Failure> {
    let reports = tests
        .iter()
        .map(|(test, state)| {
            let report = ReportDraft { context, location, slice, test, state }.report()?;
            Ok(ReportView {
                slice: slice_id(&location.name).to_owned(),
                test: test.as_str().to_owned(),
                is_filed: state.report.is_some(),
                report,
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let view = ReportsView { schema: SCHEMA, reports };
    context.print_document(&view, |view| {
        let mut out = String::new();
        for (index, one) in view.reports.iter().enumerate() {
            if index > 0 {
                out.push_str("---\n");
            }
            out.push_str(&format!("# {}\n", heading(&one.slice, &one.test, one.is_filed)));
            out.push_str(&report_file::render(&one.report, if one.is_filed { Hints::Hidden } else { Hints::Shown }));
        }
        out
    })?;
    Ok(exit_code::SUCCESS)
}

/// The comment above a report, which says what the report is about.
fn heading(slice: &str, test: &str, is_filed: bool) -> String {
    let filed = if is_filed { ", filed" } else { "" };
    format!("Diagnostic report: slice {slice}, test {test}{filed}")
}

/// Files the reports of a document, all or none: as `attempt report` printed them, or one report on one test.
fn file_reports(
    context: &Context,
    location: &SliceLocation,
    slice: &Slice,
    tests: &[(&TestName, &TestState)],
    content: &[u8],
) -> Result<ExitCode, Failure> {
    let documents =
        report_file::parse_documents(content).map_err(|error| Failure::Plain(format!("--file: {error}")))?;
    let mut reports: Vec<(TestName, Report)> = Vec::new();
    let mut problems = Vec::new();
    let is_single = documents.len() == 1;
    for (test, state, report) in documents_by_test(slice_id(&location.name), slice, tests, documents)? {
        let (report, lacking) = ReportDraft { context, location, slice, test, state }.check(report)?;
        let name = if is_single { String::new() } else { format!("{test}: ") };
        problems.extend(lacking.into_iter().map(|problem| format!("{name}{problem}")));
        reports.push((test.clone(), report));
    }
    if !problems.is_empty() {
        let what =
            if reports.len() == 1 { "haltline did not file the report" } else { "haltline filed none of the reports" };
        return Err(Failure::Plain(format!("{what}:\n  {}", problems.join("\n  "))));
    }
    let filed: Vec<String> = reports.iter().map(|(test, _)| test.to_string()).collect();
    for (test, report) in reports {
        commit_event(context, location, AttemptEvent::File { test, report: Box::new(report) })?;
    }
    let slice = context.engine.slice(&location.name)?;
    let owed: Vec<String> = slice
        .iter()
        .flat_map(|slice| slice.failing())
        .filter(|(_, state)| state.report.is_none())
        .map(|(test, _)| test.to_string())
        .collect();
    let view = serde_json::json!({ "schema": SCHEMA, "filed": filed, "reports_owed": owed });
    let filed = match filed.as_slice() {
        [only] => format!("Filed the report on {only}."),
        several => format!("Filed {} reports: {}.", several.len(), several.join(", ")),
    };
    context.print(&view, |_| match owed.as_slice() {
        [] => format!("{filed}\n"),
        more => format!("{filed} Still owed: {}.\n", more.join(", ")),
    })
}

/// Finds out which test each document is about. The comment that `attempt report` printed above it says so; a document
/// without one is about the only wanted test.
fn documents_by_test<'a>(
    id: &str,
    slice: &'a Slice,
    tests: &[(&'a TestName, &'a TestState)],
    documents: Vec<ReportDocument>,
) -> Result<Vec<(&'a TestName, &'a TestState, Report)>, Failure> {
    let is_about = |document: &ReportDocument, test: &TestName| {
        [false, true].iter().any(|is_filed| document.comments.contains(&heading(id, test.as_str(), *is_filed)))
    };
    let is_single = documents.len() == 1;
    let mut found = Vec::new();
    for document in documents {
        let named = slice.tests.iter().find(|(test, _)| is_about(&document, test));
        match (named, tests) {
            (Some((test, state)), _) if tests.iter().any(|(wanted, _)| *wanted == test) => {
                found.push((test, state, document.report));
            }
            // A file that was printed for all tests, and --test asks for one of them.
            (Some(_), _) if !is_single => {}
            (_, [(test, state)]) if is_single => found.push((*test, *state, document.report)),
            (_, _) => {
                let names: Vec<String> = tests.iter().map(|(test, _)| format!("--test {:?}", test.as_str())).collect();
                return Err(Failure::Plain(format!(
                    "--file: the report does not name its test; keep the line `# Diagnostic report: …` above it, or file one report with {}",
                    names.join(" | ")
                )));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure::Plain("--file: it has no report on the test that --test names".to_owned()));
    }
    Ok(found)
}

/// A report that haltline is filling in.
struct ReportDraft<'a> {
    context: &'a Context,
    location: &'a SliceLocation,
    slice: &'a Slice,
    test: &'a TestName,
    state: &'a TestState,
}

impl ReportDraft<'_> {
    /// Returns the filed report or, before one is filed, what haltline knows.
    fn report(&self) -> Result<Report, Failure> {
        let filed = self.state.report.as_deref().cloned();
        let mut report =
            filed.unwrap_or_else(|| Report { recovery_options: Listed::Items(self.options()), ..Report::default() });
        if let Some(printed) = self.printed()? {
            report.actual_error = printed;
        }
        if self.state.report.is_none() {
            report.attempt_log = Listed::Items(self.log());
            report.cumulative_files_modified = match self.state.files_touched.as_slice() {
                [] => Listed::Text("not applicable: haltline saw no file change during these attempts".to_owned()),
                files => Listed::Items(files.to_vec()),
            };
            report.scope_violations = match self.violations().as_slice() {
                [] if self.slice.scope.is_lock_off() => {
                    Listed::Text("not applicable: no scope data, so the scope lock was off".to_owned())
                }
                [] => Listed::Text("not applicable: haltline changed nothing outside the scope".to_owned()),
                violations => Listed::Items(violations.to_vec()),
            };
        }
        Ok(report)
    }

    fn log(&self) -> Vec<LogLine> {
        let lines = self.state.log().into_iter().zip(1_u32..).map(|(attempt, number)| LogLine {
            attempt: number,
            strategy: shown_strategy(attempt),
            files: attempt.files.clone(),
            result: if attempt.summary.is_empty() {
                "failed (declared by hand)".to_owned()
            } else {
                attempt.summary.clone()
            },
        });
        lines.collect()
    }

    /// Returns the report as it is stored, and what keeps it from being filed.
    fn check(&self, mut report: Report) -> Result<(Report, Vec<String>), Failure> {
        let printed = self.printed()?;
        let violations: Vec<String> = self.violations().into_iter().map(|violation| violation.file).collect();
        let attempts: Vec<u32> = self.log().iter().map(|line| line.attempt).collect();
        let problems = report.problems(JournalEvidence {
            attempts: &attempts,
            files: &self.state.files_touched,
            violations: &violations,
            actual_error: printed.as_deref(),
        });
        if printed.is_some() {
            // The output is stored with the attempt, unmasked.
            report.actual_error = String::new();
        }
        Ok((report, problems))
    }

    /// The files outside the scope that were changed. Without git nobody knows what changed, and every justified file
    /// counts.
    fn violations(&self) -> Vec<ScopeViolation> {
        let is_changed = |file: &String| {
            self.slice.checkpoint.is_none() || self.slice.tests.values().any(|test| test.files_touched.contains(file))
        };
        let justified = self.slice.justified.iter().filter(|form| is_changed(&form.file)).map(|form| ScopeViolation {
            file: form.file.clone(),
            justification: format!("{} ({}; needed by {})", form.reason, form.relationship, form.failing_test),
        });
        let unjustified = self.slice.out_of_scope_changes.iter().map(|path| ScopeViolation {
            file: path.clone(),
            justification: "not applicable: the agent gave no justification for the change".to_owned(),
        });
        justified.chain(unjustified).collect()
    }

    fn options(&self) -> Vec<RecoveryOption> {
        let id = slice_id(&self.location.name);
        vec![
            RecoveryOption {
                option: format!("Give a hint and start again: haltline attempt reset --slice {id} --hint TEXT"),
                risk: "Low: haltline restores the work tree from the checkpoint and keeps the current files".to_owned(),
            },
            RecoveryOption {
                option: "Let somebody else look at it: a debugging agent, or a person".to_owned(),
                risk: "Low: costs time; the slice stays halted meanwhile".to_owned(),
            },
            RecoveryOption {
                option: format!("Give the slice up: haltline attempt end --slice {id} --give-up"),
                risk: "Medium: the planned work is not done".to_owned(),
            },
        ]
    }

    /// Returns what the runner printed at the last failure, verbatim but with secrets masked (E10), and its exit code.
    fn printed(&self) -> Result<Option<String>, Failure> {
        let engine = &self.context.engine;
        let Some(last) = self.state.attempts.iter().rev().find(|attempt| attempt.is_failure()) else { return Ok(None) };
        let Some(error) = &last.error else { return Ok(None) };
        let history = engine.store().history(engine.project().key, &self.location.name, FACTS_SEARCHED_MAX)?;
        let whole = history.iter().find_map(|entry| match entry.read().ok()?.fact? {
            Fact::Attempt(AttemptFact::Attempted { test, attempt, .. })
                if test == *self.test && attempt.number == last.number && attempt.at == last.at =>
            {
                entry.texts().text
            }
            _other => None,
        });
        let text = whole.unwrap_or_else(|| {
            format!("{}\n[the rest, {} bytes in all, is no longer in the journal]\n", error.excerpt, error.bytes)
        });
        let mut text = mask(&text).into_owned();
        if let Some(exit) = error.exit {
            let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text.push_str(&format!("{line_end}exit code: {exit}\n"));
        }
        Ok(Some(text))
    }
}
