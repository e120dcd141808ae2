//! `haltline attempt report`: the diagnostic report, filled in with what is known, and filed when it is whole (A4).

use std::process::ExitCode;

use haltline_core::Fact;
use haltline_core::attempt::{
    Fact as AttemptFact, Happening, Known, Listed, LogLine, RecoveryOption, Report, ScopeViolation, Slice, TestName,
    TestState,
};
use haltline_engine::redact::mask;
use haltline_engine::report_file::{self, Hints};
use haltline_engine::slice::SlicePlace;
use haltline_engine::store::Store;
use serde::Serialize;

use super::{begun, place, read_input, take, test_name};
use crate::cli::AttemptReport;
use crate::error::Failure;
use crate::exit_code;
use crate::view::SCHEMA;
use crate::view::attempt::slice_id;
use crate::workplace::Workplace;

/// The largest report that is read.
const REPORT_BYTES_MAX: usize = 1 << 20;
/// How many facts are looked at for what a runner printed.
const FACTS_MAX: usize = 4096;

/// One report, and the test it is about.
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

/// Prints reports, or files one.
pub fn run(workplace: &Workplace, command: &AttemptReport) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.slice)?;
    let slice = begun(workplace, &place)?;
    let wanted = command.test.as_deref().map(test_name).transpose()?;
    let about = about(&slice, wanted.as_ref(), slice_id(&place.name))?;
    match &command.file {
        Some(file) => {
            let content = read_input(workplace, "--file", file, REPORT_BYTES_MAX)?;
            file_one(workplace, &place, &slice, &about, &content)
        }
        None => print(workplace, &place, &slice, &about),
    }
}

/// The tests that are meant: the named one, or all that fail.
fn about<'a>(
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
        (true, Some(test)) => Err(Failure::Plain(format!("slice {id} knows no test {test}; nothing was run for it"))),
        (true, None) => Err(Failure::Plain(format!("no test of slice {id} fails: there is nothing to report"))),
    }
}

fn print(
    workplace: &Workplace,
    place: &SlicePlace,
    slice: &Slice,
    about: &[(&TestName, &TestState)],
) -> Result<ExitCode, Failure> {
    let reports = about
        .iter()
        .map(|(test, state)| {
            let report = Draft { workplace, place, slice, test, state }.report()?;
            Ok(ReportView {
                slice: slice_id(&place.name).to_owned(),
                test: test.as_str().to_owned(),
                is_filed: state.report.is_some(),
                report,
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let view = ReportsView { schema: SCHEMA, reports };
    workplace.answer(&view, |view| {
        let mut out = String::new();
        for (place, one) in view.reports.iter().enumerate() {
            if place > 0 {
                out.push_str("---\n");
            }
            let filed = if one.is_filed { ", filed" } else { "" };
            out.push_str(&format!("# Diagnostic report: slice {}, test {}{filed}\n", one.slice, one.test));
            out.push_str(&report_file::render(&one.report, if one.is_filed { Hints::Hidden } else { Hints::Shown }));
        }
        out
    })?;
    Ok(exit_code::FINE)
}

fn file_one(
    workplace: &Workplace,
    place: &SlicePlace,
    slice: &Slice,
    about: &[(&TestName, &TestState)],
    content: &[u8],
) -> Result<ExitCode, Failure> {
    let [(test, state)] = about else {
        let names: Vec<String> = about.iter().map(|(test, _)| format!("--test {:?}", test.as_str())).collect();
        return Err(Failure::Plain(format!(
            "several tests fail; say which this report is about: {}",
            names.join(" | ")
        )));
    };
    let draft = Draft { workplace, place, slice, test, state };
    let mut report = report_file::parse(content).map_err(|error| Failure::Plain(format!("--file: {error}")))?;
    let printed = draft.printed()?;
    let violations: Vec<String> = draft.violations().into_iter().map(|violation| violation.file).collect();
    let attempts: Vec<u32> = draft.log().iter().map(|line| line.attempt).collect();
    let known = Known {
        attempts: &attempts,
        files: &state.files_touched,
        violations: &violations,
        actual_error: printed.as_deref(),
    };
    let problems = report.missing(known);
    if !problems.is_empty() {
        return Err(Failure::Refused(format!("the report is not filed:\n  {}", problems.join("\n  "))));
    }
    if printed.is_some() {
        // It stands with the attempt, unmasked.
        report.actual_error = String::new();
    }
    take(workplace, place, Happening::File { test: (*test).clone(), report: Box::new(report) })?;
    let slice = workplace.engine.slice(&place.name)?;
    let owed: Vec<String> = slice
        .iter()
        .flat_map(|slice| slice.failing())
        .filter(|(_, state)| state.report.is_none())
        .map(|(test, _)| test.to_string())
        .collect();
    let view = serde_json::json!({ "schema": SCHEMA, "filed": test.as_str(), "reports_owed": owed });
    workplace.answer(&view, |_| match owed.as_slice() {
        [] => format!("Filed the report on {test}.\n"),
        more => format!("Filed the report on {test}. Still owed: {}.\n", more.join(", ")),
    })?;
    Ok(exit_code::FINE)
}

/// A report that is being filled in.
struct Draft<'a> {
    workplace: &'a Workplace,
    place: &'a SlicePlace,
    slice: &'a Slice,
    test: &'a TestName,
    state: &'a TestState,
}

impl Draft<'_> {
    /// What is known, with what was filed where something was.
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
                [] => Listed::Words("not applicable: no file was seen to change during these attempts".to_owned()),
                files => Listed::Items(files.to_vec()),
            };
            report.scope_violations = match self.violations().as_slice() {
                [] if self.slice.scope.is_off() => {
                    Listed::Words("not applicable: no scope data, so the scope lock was off".to_owned())
                }
                [] => Listed::Words("not applicable: nothing was changed outside the scope".to_owned()),
                violations => Listed::Items(violations.to_vec()),
            };
        }
        Ok(report)
    }

    fn log(&self) -> Vec<LogLine> {
        let lines = self.state.log().into_iter().zip(1_u32..).map(|(attempt, number)| LogLine {
            attempt: number,
            strategy: attempt.strategy.clone(),
            files: attempt.files.clone(),
            result: if attempt.said.is_empty() { "failed (declared by hand)".to_owned() } else { attempt.said.clone() },
        });
        lines.collect()
    }

    fn violations(&self) -> Vec<ScopeViolation> {
        let justified = self.slice.justified.iter().map(|form| ScopeViolation {
            file: form.file.clone(),
            justification: format!("{} ({}; needed by {})", form.reason, form.relationship, form.failing_test),
        });
        let strayed = self.slice.strayed.iter().map(|path| ScopeViolation {
            file: path.clone(),
            justification: "not applicable: changed without asking, no justification was given".to_owned(),
        });
        justified.chain(strayed).collect()
    }

    fn options(&self) -> Vec<RecoveryOption> {
        let id = slice_id(&self.place.name);
        vec![
            RecoveryOption {
                option: format!("Give guidance and start afresh: haltline attempt reset --slice {id} --guidance TEXT"),
                risk: "Low: the tree goes back to the checkpoint, and what is there now is kept".to_owned(),
            },
            RecoveryOption {
                option: "Have somebody else look at it: a debugging agent, or a person".to_owned(),
                risk: "Low: costs time; the slice stays halted meanwhile".to_owned(),
            },
            RecoveryOption {
                option: format!("Give the slice up: haltline attempt end --slice {id} --give-up"),
                risk: "Medium: the planned work is not done".to_owned(),
            },
        ]
    }

    /// What the runner printed at the last failure, word for word, with secrets masked (E10).
    fn printed(&self) -> Result<Option<String>, Failure> {
        let engine = &self.workplace.engine;
        let Some(last) = self.state.attempts.iter().rev().find(|attempt| attempt.is_failure()) else { return Ok(None) };
        let Some(error) = &last.error else { return Ok(None) };
        let history = engine.store().history(engine.project().key, &self.place.name, FACTS_MAX)?;
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
        Ok(Some(mask(&text).into_owned()))
    }
}
