//! The diagnostic report as a YAML file (A4): haltline writes it with what is known, and reads it when it is filed.
//!
//! Texts round-trip byte for byte, whatever they contain: a runner's output is evidence. Parsing is bounded and accepts
//! plain YAML only: no aliases, no second document, no unknown field, no field twice.

mod node;
mod render;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use haltline_core::attempt::{FIELDS, Listed, LogLine, RecoveryOption, Report, ScopeViolation};
use haltline_core::shorten;

use node::{Kind, Node};
pub use render::{Hints, render};

/// How large a report file may be. The longest error kept, 256 KB, takes six times as much if every character is a line
/// end that has to be quoted, and must still be readable.
const REPORT_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Why a file is not a valid report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("the report cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("the report is larger than {REPORT_BYTES_MAX} bytes")]
    TooLarge,
    /// The file is not UTF-8.
    #[error("the report is not UTF-8 text (line {line})")]
    NotText {
        /// The first line that is not UTF-8.
        line: usize,
    },
    /// The file is not YAML, or not a report.
    #[error("line {line}: {problem}")]
    Invalid {
        /// Starts at 1.
        line: usize,
        /// What is wrong there, and what was expected.
        problem: String,
    },
}

/// Reads a report. Only what cannot be understood is an error here; the core says which fields are missing.
pub fn read(path: &Path) -> Result<Report, ReportError> {
    // Reading a pipe or a device could block.
    if !fs::metadata(path)?.is_file() {
        return Err(ReportError::Unreadable(io::Error::other("it is not a file")));
    }
    let mut content = Vec::new();
    File::open(path)?.take(REPORT_BYTES_MAX + 1).read_to_end(&mut content)?;
    parse(&content)
}

/// Parses the content of a report file.
pub fn parse(content: &[u8]) -> Result<Report, ReportError> {
    if content.len() as u64 > REPORT_BYTES_MAX {
        return Err(ReportError::TooLarge);
    }
    let text = std::str::from_utf8(content).map_err(|error| {
        let before = &content[..error.valid_up_to()];
        ReportError::NotText { line: 1 + before.iter().filter(|&&byte| byte == b'\n').count() }
    })?;
    let node = node::parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let mut report = Report::default();
    for (field, value) in fields(node, "the report", &FIELDS.map(|(field, _)| field))? {
        match field {
            "test_expectation" => report.test_expectation = text_of(value, field)?,
            "actual_error" => report.actual_error = text_of(value, field)?,
            "attempt_log" => report.attempt_log = list(value, field, log_line)?,
            "cumulative_files_modified" => report.cumulative_files_modified = list(value, field, text_of)?,
            "scope_violations" => report.scope_violations = list(value, field, violation)?,
            "best_hypothesis" => report.best_hypothesis = text_of(value, field)?,
            "specific_question" => report.specific_question = text_of(value, field)?,
            "recovery_options" => report.recovery_options = list(value, field, recovery_option)?,
            _ => return Err(value.error(format!("{field} is not expected here"))),
        }
    }
    Ok(report)
}

/// The fields of a mapping, each of which must be known. An empty node is an empty mapping.
fn fields<'known>(node: Node, name: &str, known: &[&'known str]) -> Result<Vec<(&'known str, Node)>, ReportError> {
    let pairs = match node.kind {
        Kind::Map(pairs) => pairs,
        Kind::Null => return Ok(Vec::new()),
        Kind::Text(_) | Kind::List(_) => return Err(node.expected(name, "fields (`name: value`)")),
    };
    let known_field = |(key, value): (String, Node)| match known.iter().find(|field| **field == key) {
        Some(field) => Ok((*field, value)),
        None => Err(value.error(format!("{name} has no field {}; expected {}", shorten(&key), known.join(", ")))),
    };
    pairs.into_iter().map(known_field).collect()
}

fn text_of(node: Node, name: &str) -> Result<String, ReportError> {
    match node.kind {
        Kind::Text(text) => Ok(text),
        Kind::Null => Ok(String::new()),
        Kind::List(_) | Kind::Map(_) => Err(node.expected(name, "text")),
    }
}

fn list<T>(
    node: Node,
    name: &str,
    item: impl Fn(Node, &str) -> Result<T, ReportError>,
) -> Result<Listed<T>, ReportError> {
    match node.kind {
        Kind::Text(text) => Ok(Listed::Text(text)),
        Kind::Null => Ok(Listed::default()),
        Kind::Map(_) => Err(node.expected(name, "a list (`- …`), or `not applicable: …` in quotes")),
        Kind::List(nodes) => {
            let items = nodes.into_iter().enumerate().map(|(at, node)| item(node, &format!("{name}[{}]", at + 1)));
            Ok(Listed::Items(items.collect::<Result<_, _>>()?))
        }
    }
}

fn log_line(node: Node, name: &str) -> Result<LogLine, ReportError> {
    let mut line = LogLine::default();
    for (field, value) in fields(node, name, &["attempt", "strategy", "files", "result"])? {
        let field_path = format!("{name}.{field}");
        match field {
            "attempt" => line.attempt = number(value, &field_path)?,
            "strategy" => line.strategy = text_of(value, &field_path)?,
            "files" => line.files = files(value, &field_path)?,
            _ => line.result = text_of(value, &field_path)?,
        }
    }
    Ok(line)
}

fn number(node: Node, name: &str) -> Result<u32, ReportError> {
    match &node.kind {
        Kind::Text(text) => text.trim().parse().map_err(|_| node.expected(name, "a whole number")),
        Kind::Null => Ok(0),
        Kind::List(_) | Kind::Map(_) => Err(node.expected(name, "a whole number")),
    }
}

/// A list of files, or a single file without a list around it.
fn files(node: Node, name: &str) -> Result<Vec<String>, ReportError> {
    Ok(match list(node, name, text_of)? {
        Listed::Items(files) => files,
        Listed::Text(file) => vec![file],
    })
}

fn violation(node: Node, name: &str) -> Result<ScopeViolation, ReportError> {
    let mut violation = ScopeViolation::default();
    for (field, value) in fields(node, name, &["file", "justification"])? {
        let text = text_of(value, &format!("{name}.{field}"))?;
        match field {
            "file" => violation.file = text,
            _ => violation.justification = text,
        }
    }
    Ok(violation)
}

fn recovery_option(node: Node, name: &str) -> Result<RecoveryOption, ReportError> {
    let mut recovery = RecoveryOption::default();
    for (field, value) in fields(node, name, &["option", "risk"])? {
        let text = text_of(value, &format!("{name}.{field}"))?;
        match field {
            "option" => recovery.option = text,
            _ => recovery.risk = text,
        }
    }
    Ok(recovery)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WRITTEN_BY_HAND: &str = r#"---
# A report as somebody would write it.
test_expectation: |
  a parcel above 30 kg is refused
  (with 422)
actual_error: |
  assert 200 == 422
    + where 200 = <Response>.status
attempt_log:
  - attempt: 1
    strategy: "checked the weight in the form"
    files: ["parcel/form.py"]
    result: still 200, the form is not asked
  - attempt: 2
    strategy: >
      moved the check
      to the gateway
    files: []
    result: 'it''s refused twice'
cumulative_files_modified:
  - parcel/form.py
  - parcel/gate.py
scope_violations: "not applicable: only files of the slice were changed"
best_hypothesis: null is passed where the weight is expected
specific_question: yes
recovery_options:
- option: ask
  risk: 1.50
...
"#;

    fn error_of(text: &str) -> String {
        parse(text.as_bytes()).expect_err("no report").to_string()
    }

    #[test]
    fn a_report_is_read_as_people_write_it() {
        let line = |attempt, strategy: &str, files: &[&str], result: &str| LogLine {
            attempt,
            strategy: strategy.to_owned(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            result: result.to_owned(),
        };
        let expected = Report {
            test_expectation: "a parcel above 30 kg is refused\n(with 422)\n".to_owned(),
            actual_error: "assert 200 == 422\n  + where 200 = <Response>.status\n".to_owned(),
            attempt_log: Listed::Items(vec![
                line(1, "checked the weight in the form", &["parcel/form.py"], "still 200, the form is not asked"),
                line(2, "moved the check to the gateway\n", &[], "it's refused twice"),
            ]),
            cumulative_files_modified: Listed::Items(vec!["parcel/form.py".to_owned(), "parcel/gate.py".to_owned()]),
            scope_violations: Listed::Text("not applicable: only files of the slice were changed".to_owned()),
            best_hypothesis: "null is passed where the weight is expected".to_owned(),
            specific_question: "yes".to_owned(),
            recovery_options: Listed::Items(vec![RecoveryOption { option: "ask".to_owned(), risk: "1.50".to_owned() }]),
        };
        assert_eq!(parse(WRITTEN_BY_HAND.as_bytes()).expect("a report"), expected);
        let with_mark = format!("\u{feff}{}", WRITTEN_BY_HAND.replace('\n', "\r\n"));
        assert_eq!(parse(with_mark.as_bytes()).expect("a report"), expected);
        for empty in ["", "---\n", "# nothing\n", "test_expectation:\nattempt_log: ~\n"] {
            assert_eq!(parse(empty.as_bytes()).expect("a report that lacks all"), Report::default(), "{empty:?}");
        }
    }

    #[test]
    fn an_error_names_the_field_and_the_line() {
        for (text, expected) in [
            ("\n\nbest_hypothesis: [a]\n", "line 3: best_hypothesis is a list: expected text"),
            ("recovery_options:\n  option: a\n", "line 2: recovery_options is a mapping: expected a list (`- …`), or"),
            ("attempt_log:\n  - attempt: one\n", r#"line 2: attempt_log[1].attempt is "one": expected a whole number"#),
            ("attempt_log:\n  - 1\n", r#"line 2: attempt_log[1] is "1": expected fields (`name: value`)"#),
            ("best_hypotesis: a\n", r#"line 1: the report has no field "best_hypotesis"; expected test_expectation, "#),
            ("actual_error: a\nactual_error: b\n", r#"line 2: "actual_error" stands here a second time"#),
            ("actual_error: &a x\nbest_hypothesis: *a\n", "line 2: an alias (`*name`) is not taken; write the text"),
            ("actual_error: a\n---\nactual_error: b\n", "line 2: a second document is not taken"),
            ("- a\n", "line 1: the report is a list: expected fields"),
            ("actual_error: \"a\n", "line "),
            ("? [a]\n: b\n", "line 1: a field's name must be text"),
        ] {
            let message = error_of(text);
            assert!(message.starts_with(expected) && !message.contains('\n'), "{text:?} gave {message}");
        }
        assert_eq!(
            parse(b"a: b\nc: \xff\n").expect_err("no text").to_string(),
            "the report is not UTF-8 text (line 2)"
        );
    }

    #[test]
    fn aliases_deep_nesting_and_large_files_are_rejected() {
        let bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n";
        assert!(error_of(bomb).contains("an alias"), "{}", error_of(bomb));
        for deep in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000), "? ".repeat(100_000)] {
            let error = parse(format!("actual_error: a\nattempt_log:\n  {deep}").as_bytes()).expect_err("too deep");
            assert!(matches!(error, ReportError::Invalid { .. }), "{error}");
        }
        let large = "x".repeat(2 * 1024 * 1024 + 1);
        assert!(matches!(parse(large.as_bytes()), Err(ReportError::TooLarge)));
    }

    #[test]
    fn the_rendered_report_is_readable_and_asks_for_missing_fields() {
        let report = Report {
            actual_error: "  indented\nline two  \n\n---\nend".to_owned(),
            test_expectation: "\u{1b}[31mred\u{1b}[0m\n  two\n".to_owned(),
            cumulative_files_modified: Listed::Items(vec!["a \"b\".rs".to_owned()]),
            ..Report::default()
        };
        let expected = r#"# test_expectation: what the test expects, as behaviour and not as assertion syntax
test_expectation: "\
  \e[31mred\e[0m\n\
  \  two\n"
# actual_error: what the test runner printed, unchanged
actual_error: |2-
    indented
  line two  

  ---
  end
"#;
        let rendered = render(&report, Hints::Shown);
        assert!(rendered.starts_with(expected), "{rendered}");
        assert!(rendered.contains("\ncumulative_files_modified:\n  - \"a \\\"b\\\".rs\"\n"), "{rendered}");
        assert!(rendered.contains("\nscope_violations: []\n"), "{rendered}");
        assert!(rendered.ends_with("\nrecovery_options: []\n"), "{rendered}");
        assert_eq!(parse(rendered.as_bytes()).expect("a report"), report);
    }

    fn any_text() -> impl Strategy<Value = String> {
        let pieces = [
            "\n",
            "\n",
            "\n\n",
            " ",
            "  ",
            "\t",
            "\r",
            "\r\n",
            "a",
            "word",
            "é",
            "---",
            "...",
            "# x",
            ": ",
            "- ",
            "\0",
            "\u{85}",
            "\u{a0}",
            "\u{2028}",
            "\u{2029}",
            "\u{feff}",
            "\u{fffe}",
            "\u{1b}[31m",
            "\u{7f}",
            "'",
            "\"",
            "\\",
            "|",
            ">",
            "%YAML 1.2",
            "&a",
            "*a",
            "!!str",
            "[",
            "}",
            ",",
            "?",
            "@",
            "`",
            "null",
            "~",
            "1.50",
            "🙂",
            "\u{10ffff}",
            "\u{1}",
        ];
        let piece =
            prop_oneof![8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn any_listed<T: Clone + std::fmt::Debug + 'static>(
        item: impl Strategy<Value = T> + 'static,
    ) -> impl Strategy<Value = Listed<T>> {
        let items = prop::collection::vec(item, 0..3).prop_map(Listed::Items);
        prop_oneof![3 => items.boxed(), 1 => any_text().prop_map(Listed::Text).boxed()]
    }

    fn any_report() -> impl Strategy<Value = Report> {
        let line = (any::<u32>(), any_text(), prop::collection::vec(any_text(), 0..3), any_text())
            .prop_map(|(attempt, strategy, files, result)| LogLine { attempt, strategy, files, result });
        let violation =
            (any_text(), any_text()).prop_map(|(file, justification)| ScopeViolation { file, justification });
        let recovery = (any_text(), any_text()).prop_map(|(option, risk)| RecoveryOption { option, risk });
        let texts = (any_text(), any_text(), any_text(), any_text());
        let lists = (any_listed(line), any_listed(any_text()), any_listed(violation), any_listed(recovery));
        (texts, lists).prop_map(|(texts, lists)| Report {
            test_expectation: texts.0,
            actual_error: texts.1,
            attempt_log: lists.0,
            cumulative_files_modified: lists.1,
            scope_violations: lists.2,
            best_hypothesis: texts.2,
            specific_question: texts.3,
            recovery_options: lists.3,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_rendered_is_read_back_byte_for_byte(report in any_report(), is_shown in any::<bool>()) {
            let hints = if is_shown { Hints::Shown } else { Hints::Hidden };
            let rendered = render(&report, hints);
            prop_assert_eq!(parse(rendered.as_bytes()).map_err(|error| format!("{error}\n{rendered}")), Ok(report));
        }

        #[test]
        fn no_bytes_make_parsing_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in any_text()) {
            drop(parse(&bytes));
            drop(parse(text.as_bytes()));
        }
    }

    #[test]
    fn a_very_long_output_round_trips() {
        for text in
            ["x".repeat(200_000), "line\n".repeat(50_000), "\u{1b}[1m \n".repeat(20_000), "\n".repeat(256 * 1024)]
        {
            let report = Report { actual_error: text, ..Report::default() };
            assert_eq!(parse(render(&report, Hints::Shown).as_bytes()).expect("a report"), report);
        }
    }
}
