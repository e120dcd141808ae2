//! JUnit XML, as many writers understand it: `testcase` elements with a `failure`, `error` or `skipped` inside.
//!
//! The tests themselves are counted, not what the file says of their number: writers disagree about what the totals
//! include. A file without tests but with totals is believed.

use std::fmt;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::TestCounts;
use super::told::{Outcome, Told, path};
use crate::json;

/// The largest file that is read.
const FILE_BYTES_MAX: usize = 64 << 20;

/// The file is no JUnit XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JunitError {
    /// It is too large.
    TooLarge {
        /// How large.
        bytes: usize,
    },
    /// It breaks off or is malformed.
    Malformed {
        /// Where, in bytes from its start.
        byte: u64,
    },
    /// It is XML about something else.
    NotJunit,
}

impl fmt::Display for JunitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JunitError::TooLarge { bytes } => {
                write!(formatter, "JUnit XML: {bytes} bytes: expected at most {FILE_BYTES_MAX}")
            }
            JunitError::Malformed { byte } => {
                write!(formatter, "JUnit XML: malformed at byte {byte}: expected a whole document")
            }
            JunitError::NotJunit => formatter.write_str("JUnit XML: expected a testsuites or testsuite element"),
        }
    }
}

impl std::error::Error for JunitError {}

/// How much of a failure's text is kept.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The test that is being read.
struct Case {
    path: Vec<String>,
    outcome: Outcome,
    /// It stands for a file that could not be loaded.
    is_file: bool,
    text: String,
}

/// Counts the tests in a file.
pub fn from_junit(bytes: &[u8]) -> Result<TestCounts, JunitError> {
    read(bytes, &mut Told::default())
}

/// Counts the tests in a file, and tells of each.
pub(super) fn read(bytes: &[u8], told: &mut Told) -> Result<TestCounts, JunitError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(JunitError::TooLarge { bytes: bytes.len() });
    }
    // What tests print stands in these files, and is not always text.
    let text = json::mended(bytes);
    let mut reader = Reader::from_str(text.trim());
    let mut report = Report::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => report.begin(&element)?,
            Ok(Event::Empty(element)) => {
                report.begin(&element)?;
                report.end(element.local_name().as_ref(), told);
            }
            Ok(Event::End(element)) => report.end(element.local_name().as_ref(), told),
            Ok(Event::Text(text)) => report.text(&text),
            Ok(Event::CData(text)) => report.text(&text),
            Ok(Event::GeneralRef(name)) => report.reference(&name),
            Ok(Event::Eof) if report.depth == 0 => return report.finish(),
            Ok(Event::Eof) | Err(_) => return Err(JunitError::Malformed { byte: reader.buffer_position() }),
            Ok(_) => {}
        }
    }
}

#[derive(Default)]
struct Report {
    counts: TestCounts,
    depth: u64,
    case: Option<Case>,
    /// The text that comes is of its failure.
    is_text: bool,
    is_junit: bool,
    /// What suites say of themselves that have no test.
    claimed: TestCounts,
}

impl Report {
    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), JunitError> {
        let is_root = self.depth == 0;
        self.depth += 1;
        match element.local_name().as_ref() {
            "testsuites" | "testsuite" => {
                self.is_junit = true;
                let claimed = claimed(element);
                // The outermost element knows all of it, where it knows anything.
                if self.claimed.total < claimed.total {
                    self.claimed = claimed;
                }
            }
            "testcase" => {
                let path = case_path(&attribute(element, "classname"), &attribute(element, "name"));
                self.case = Some(Case { path, outcome: Outcome::Passed, is_file: false, text: String::new() });
            }
            word @ ("failure" | "error") => {
                if let Some(case) = &mut self.case {
                    case.broke(word == "error", &attribute(element, "type"), &attribute(element, "message"));
                    self.is_text = true;
                } else if is_root {
                    return Err(JunitError::NotJunit);
                }
            }
            "skipped" => match &mut self.case {
                Some(case) if case.outcome == Outcome::Passed => case.outcome = Outcome::Skipped,
                None if is_root => return Err(JunitError::NotJunit),
                Some(_) | None => {}
            },
            _ if is_root => return Err(JunitError::NotJunit),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str, told: &mut Told) {
        self.depth = self.depth.saturating_sub(1);
        if name == "failure" || name == "error" {
            self.is_text = false;
        }
        if name != "testcase" {
            return;
        }
        let Some(case) = self.case.take() else {
            return;
        };
        self.counts = self.counts.plus(match case.outcome {
            Outcome::Passed => TestCounts::of(1, 0, 0),
            Outcome::Skipped => TestCounts::of(0, 0, 1),
            _ => TestCounts::of(0, 1, 0),
        });
        // A report has no lines to point at: its own text goes along.
        told.known(case.path, case.outcome);
        if let Some(telling) = told.tests.last_mut() {
            telling.text = Some(case.text);
        }
        if case.is_file {
            let text = told.tests.last().and_then(|telling| telling.text.clone());
            told.last_was_broken();
            told.texts.extend(text);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(case) = self.case.as_mut().filter(|_| self.is_text) {
            let room = TEXT_BYTES_MAX.saturating_sub(case.text.len());
            case.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// `&lt;`
    fn reference(&mut self, name: &str) {
        let letter = match name {
            "lt" => "<",
            "gt" => ">",
            "amp" => "&",
            "quot" => "\"",
            "apos" => "'",
            "#10" | "#xA" => "\n",
            _ => "",
        };
        self.text(letter);
    }

    fn finish(self) -> Result<TestCounts, JunitError> {
        match self.is_junit {
            true if self.counts.total == 0 => Ok(self.claimed),
            true => Ok(self.counts),
            false => Err(JunitError::NotJunit),
        }
    }
}

impl Case {
    /// A failure is an assertion's. An error is an exception in the test too, unless the writer says that it was around
    /// the test: in a fixture, a hook, or while the file was loaded.
    fn broke(&mut self, is_error: bool, kind: &str, message: &str) {
        let is_around = ["failed on setup", "failed on teardown"].iter().any(|start| message.starts_with(start))
            || ["cancelledByParent", "hookFailed"].contains(&kind);
        self.is_file |= is_error && message == "collection failure"
            || message.contains("Test suite failed to run")
            || self.path.iter().any(|part| part == "_FailedTest" || part.ends_with("Test suite failed to run"));
        let outcome = if is_around {
            Outcome::NotRun
        } else if kind.contains("timeout") {
            Outcome::TimedOut
        } else if kind.contains("abort") || kind.contains("execution failure") {
            Outcome::Crashed
        } else {
            Outcome::Failed
        };
        // One that failed and was not cleaned up behind has failed.
        if self.outcome != Outcome::Failed {
            self.outcome = outcome;
        }
        self.text.push_str(&message[..message.floor_char_boundary(TEXT_BYTES_MAX / 4)]);
        self.text.push('\n');
    }
}

/// Writers disagree about what is the class and what the name, and about what stands between the parts of either.
fn case_path(class: &str, name: &str) -> Vec<String> {
    let (bare, parameter) = name.split_at(name.find('[').unwrap_or(name.len()));
    let separator = ["::", " > ", " › "].into_iter().find(|separator| bare.contains(separator));
    let separator = separator.or_else(|| (bare.contains('/') && !bare.contains(' ')).then_some("/"));
    let mut parts: Vec<String> = path(class, ".").into_iter().filter(|part| !part.is_empty()).collect();
    parts.extend(separator.map_or_else(|| vec![bare.to_owned()], |separator| path(bare, separator)));
    if let Some(last) = parts.last_mut() {
        last.push_str(parameter);
    }
    parts
}

fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let attributes = element.attributes().filter_map(Result::ok);
    let mut found = attributes.filter(|attribute| attribute.key.local_name().as_ref() == name);
    let value = found.next().map(|attribute| attribute.value.into_owned()).unwrap_or_default();
    match quick_xml::escape::unescape(&value) {
        Ok(text) => text.into_owned(),
        Err(_) => value,
    }
}

/// `tests="5" failures="1" errors="1" skipped="2"`
fn claimed(element: &BytesStart<'_>) -> TestCounts {
    let number = |name: &str| -> u64 { attribute(element, name).trim().parse().unwrap_or(0) };
    let failing = number("failures").saturating_add(number("errors"));
    let skipped = number("skipped").saturating_add(number("disabled"));
    TestCounts::of(number("tests").saturating_sub(failing).saturating_sub(skipped), failing, skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_whole_document_is_an_error() {
        for (text, error) in [
            ("", JunitError::NotJunit),
            ("<html></html>", JunitError::NotJunit),
            ("hello", JunitError::NotJunit),
            ("<testsuite><testcase>", JunitError::Malformed { byte: 21 }),
            ("<testsuite></testcase>", JunitError::Malformed { byte: 22 }),
            ("<testsuite><testcase", JunitError::Malformed { byte: 20 }),
        ] {
            assert_eq!(from_junit(text.as_bytes()), Err(error), "{text}");
        }
    }

    #[test]
    fn tests_are_counted_and_totals_believed_where_there_are_none() {
        let count = |text: &str| from_junit(text.as_bytes()).expect("a report");
        let nested = "<testsuites tests='9'><testsuite><testcase/><testsuite><testcase><error/><failure/></testcase>\
            <testcase><skipped/></testcase></testsuite></testsuite></testsuites>";
        assert_eq!(count(nested), TestCounts::of(1, 1, 1));
        let flaky = "<testsuite><testcase><flakyFailure/></testcase></testsuite>";
        assert_eq!(count(flaky), TestCounts::of(1, 0, 0));
        assert_eq!(count("<testsuite tests='5' failures='1' errors='1' skipped='1'/>"), TestCounts::of(2, 2, 1));
        // A failure outside of any test is the report of a suite, and no test.
        assert_eq!(count("<testsuite><failure/><testcase/></testsuite>"), TestCounts::of(1, 0, 0));
        assert_eq!(count("\u{feff}<?xml version='1.0'?>\n<testsuite/>\n"), TestCounts::default());
    }
}
