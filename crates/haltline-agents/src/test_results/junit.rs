//! JUnit XML in the forms that many tools write it: `testcase` elements with a `failure`, `error` or `skipped` inside.
//!
//! haltline counts the tests themselves and ignores the totals in the file, because the tools disagree about what the
//! totals include. Only a file with totals and without tests is taken at its word.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::TestCounts;
use super::run_record::{RunRecord, TestOutcome, split_path};
use crate::json;

/// Larger files are rejected.
const FILE_BYTES_MAX: usize = 64 << 20;

/// Why a file cannot be read as JUnit XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JunitError {
    #[error("JUnit XML: {bytes} bytes: expected at most {FILE_BYTES_MAX}")]
    TooLarge { bytes: usize },
    /// The document is incomplete or malformed.
    #[error("JUnit XML: malformed at byte {byte}: expected a whole document")]
    Malformed {
        /// Offset of the error from the start of the file.
        byte: u64,
    },
    /// The root element is not one of JUnit's.
    #[error("JUnit XML: expected a testsuites or testsuite element")]
    NotJunit,
}

/// The part of a failure's text that is kept.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The `testcase` element that is being read.
struct TestCase {
    path: Vec<String>,
    outcome: TestOutcome,
    /// The test case represents a file that could not be loaded.
    is_file: bool,
    text: String,
}

pub fn from_junit(bytes: &[u8]) -> Result<TestCounts, JunitError> {
    read(bytes, &mut RunRecord::default())
}

/// Counts the tests in a file, and adds each of them to `record`.
pub(super) fn read(bytes: &[u8], record: &mut RunRecord) -> Result<TestCounts, JunitError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(JunitError::TooLarge { bytes: bytes.len() });
    }
    // These files contain what tests print, which is not always valid text.
    let text = json::decode_lossy(bytes);
    let mut reader = Reader::from_str(text.trim());
    let mut parser = ReportParser::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => parser.begin(&element)?,
            Ok(Event::Empty(element)) => {
                parser.begin(&element)?;
                parser.end(element.local_name().as_ref(), record);
            }
            Ok(Event::End(element)) => parser.end(element.local_name().as_ref(), record),
            Ok(Event::Text(text)) => parser.text(&text),
            Ok(Event::CData(text)) => parser.text(&text),
            Ok(Event::GeneralRef(name)) => parser.reference(&name),
            Ok(Event::Eof) if parser.depth == 0 => return parser.finish(),
            Ok(Event::Eof) | Err(_) => return Err(JunitError::Malformed { byte: reader.buffer_position() }),
            Ok(_) => {}
        }
    }
}

#[derive(Default)]
struct ReportParser {
    counts: TestCounts,
    depth: u64,
    case: Option<TestCase>,
    /// The current text belongs to the failure of the test case.
    is_text: bool,
    is_junit: bool,
    /// The largest totals that a suite claims in its attributes.
    claimed: TestCounts,
}

impl ReportParser {
    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), JunitError> {
        let is_root = self.depth == 0;
        self.depth += 1;
        match element.local_name().as_ref() {
            "testsuites" | "testsuite" => {
                self.is_junit = true;
                let claimed = claimed(element);
                // If any totals are right, those of the outermost element are.
                if self.claimed.total < claimed.total {
                    self.claimed = claimed;
                }
            }
            "testcase" => {
                let path = case_path(&attribute(element, "classname"), &attribute(element, "name"));
                self.case = Some(TestCase { path, outcome: TestOutcome::Passed, is_file: false, text: String::new() });
            }
            word @ ("failure" | "error") => {
                if let Some(case) = &mut self.case {
                    case.add_failure(word == "error", &attribute(element, "type"), &attribute(element, "message"));
                    self.is_text = true;
                } else if is_root {
                    return Err(JunitError::NotJunit);
                }
            }
            "skipped" => match &mut self.case {
                Some(case) if case.outcome == TestOutcome::Passed => case.outcome = TestOutcome::Skipped,
                None if is_root => return Err(JunitError::NotJunit),
                Some(_) | None => {}
            },
            _ if is_root => return Err(JunitError::NotJunit),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str, record: &mut RunRecord) {
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
        self.counts = self.counts.plus(TestCounts::of_one(case.outcome));
        // A report has no lines to point at, so the entry keeps the text.
        record.add_reported_test(case.path, case.outcome);
        if let Some(entry) = record.tests.last_mut() {
            entry.text = Some(case.text);
        }
        if case.is_file {
            let text = record.tests.last().and_then(|entry| entry.text.clone());
            record.mark_last_as_broken();
            record.broken_texts.extend(text);
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

impl TestCase {
    /// A `failure` is a failed assertion. An `error` is an exception in the test too, unless the file says that it was
    /// around the test: in a fixture, a hook, or while the file was loaded.
    fn add_failure(&mut self, is_error: bool, kind: &str, message: &str) {
        let is_setup = ["failed on setup", "failed on teardown"].iter().any(|start| message.starts_with(start))
            || ["cancelledByParent", "hookFailed"].contains(&kind);
        self.is_file |= is_error && message == "collection failure"
            || message.contains("Test suite failed to run")
            || self.path.iter().any(|part| part == "_FailedTest" || part.ends_with("Test suite failed to run"));
        let outcome = if is_setup {
            TestOutcome::SetupBroke
        } else if kind.contains("timeout") {
            TestOutcome::TimedOut
        } else if kind.contains("abort") || kind.contains("execution failure") {
            TestOutcome::Crashed
        } else {
            TestOutcome::Failed
        };
        // A test that failed and whose clean-up then broke has failed.
        if self.outcome != TestOutcome::Failed {
            self.outcome = outcome;
        }
        self.text.push_str(&message[..message.floor_char_boundary(TEXT_BYTES_MAX / 4)]);
        self.text.push('\n');
    }
}

/// The tools disagree about what is the class and what the name, and about the separators inside both.
fn case_path(class: &str, name: &str) -> Vec<String> {
    let (bare, parameter) = name.split_at(name.find('[').unwrap_or(name.len()));
    let separator = ["::", " > ", " › "].into_iter().find(|separator| bare.contains(separator));
    let separator = separator.or_else(|| (bare.contains('/') && !bare.contains(' ')).then_some("/"));
    let mut parts: Vec<String> = split_path(class, ".").into_iter().filter(|part| !part.is_empty()).collect();
    parts.extend(separator.map_or_else(|| vec![bare.to_owned()], |separator| split_path(bare, separator)));
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
    TestCounts::new(number("tests").saturating_sub(failing).saturating_sub(skipped), failing, skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_document_is_an_error() {
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
        assert_eq!(count(nested), TestCounts::new(1, 1, 1));
        let flaky = "<testsuite><testcase><flakyFailure/></testcase></testsuite>";
        assert_eq!(count(flaky), TestCounts::new(1, 0, 0));
        assert_eq!(count("<testsuite tests='5' failures='1' errors='1' skipped='1'/>"), TestCounts::new(2, 2, 1));
        // A failure outside of any test case belongs to a suite and is not a test.
        assert_eq!(count("<testsuite><failure/><testcase/></testsuite>"), TestCounts::new(1, 0, 0));
        assert_eq!(count("\u{feff}<?xml version='1.0'?>\n<testsuite/>\n"), TestCounts::default());
    }
}
