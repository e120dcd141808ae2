//! JUnit XML, as many writers understand it: `testcase` elements with a `failure`, `error` or `skipped` inside.
//!
//! The tests themselves are counted, not what the file says of their number: writers disagree about what the totals
//! include. A file without tests but with totals is believed.

use std::fmt;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::TestCounts;
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

/// What became of the test that is being read.
#[derive(Clone, Copy)]
enum Case {
    Passing,
    Failing,
    Skipped,
}

/// Counts the tests in a file.
pub fn from_junit(bytes: &[u8]) -> Result<TestCounts, JunitError> {
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
                report.end(element.local_name().as_ref());
            }
            Ok(Event::End(element)) => report.end(element.local_name().as_ref()),
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
            "testcase" => self.case = Some(Case::Passing),
            "failure" | "error" if self.case.is_some() => self.case = Some(Case::Failing),
            "skipped" if matches!(self.case, Some(Case::Passing)) => self.case = Some(Case::Skipped),
            _ if is_root => return Err(JunitError::NotJunit),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        if name == "testcase" {
            self.counts = self.counts.plus(match self.case.take() {
                Some(Case::Passing) => TestCounts::of(1, 0, 0),
                Some(Case::Failing) => TestCounts::of(0, 1, 0),
                Some(Case::Skipped) => TestCounts::of(0, 0, 1),
                None => TestCounts::default(),
            });
        }
    }

    fn finish(self) -> Result<TestCounts, JunitError> {
        match self.is_junit {
            true if self.counts.total == 0 => Ok(self.claimed),
            true => Ok(self.counts),
            false => Err(JunitError::NotJunit),
        }
    }
}

/// `tests="5" failures="1" errors="1" skipped="2"`
fn claimed(element: &BytesStart<'_>) -> TestCounts {
    let number = |name: &str| -> u64 {
        let attributes = element.attributes().filter_map(Result::ok);
        let mut found = attributes.filter(|attribute| attribute.key.local_name().as_ref() == name);
        found.next().and_then(|attribute| attribute.value.trim().parse().ok()).unwrap_or(0)
    };
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
