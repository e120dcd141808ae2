//! Tests of `report_file.rs`.

use haltline_core::attempt::{Listed, LogLine, RecoveryOption, Report, ScopeViolation};
use haltline_engine::report_file::{Hints, ReportError, parse, parse_documents, render};
use proptest::prelude::*;

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
        ("actual_error: a\nactual_error: b\n", r#"line 2: "actual_error" appears twice"#),
        ("actual_error: &a x\nbest_hypothesis: *a\n", "line 2: aliases (`*name`) are not supported; write the text"),
        ("actual_error: a\n---\nactual_error: b\n", "line 2: expected one document per file"),
        ("- a\n", "line 1: the report is a list: expected fields"),
        ("actual_error: \"a\n", "line "),
        ("? [a]\n: b\n", "line 1: a field's name must be text"),
    ] {
        let message = error_of(text);
        assert!(message.starts_with(expected) && !message.contains('\n'), "{text:?} gave {message}");
    }
    assert_eq!(parse(b"a: b\nc: \xff\n").expect_err("no text").to_string(), "the report is not UTF-8 text (line 2)");
}

#[test]
fn several_reports_of_one_file_keep_their_comments_and_their_line_numbers() {
    let file = "# test one\nbest_hypothesis: a\n---\n# test two\nbest_hypothesis: |\n  b\n  ---\n  c\n";
    let documents = parse_documents(file.as_bytes()).expect("two reports");
    let found: Vec<(&str, &str)> =
        documents.iter().map(|one| (one.comments[0].as_str(), one.report.best_hypothesis.as_str())).collect();
    assert_eq!(found, [("test one", "a"), ("test two", "b\n---\nc\n")]);
    let leading = parse_documents(b"# about t\n---\nbest_hypothesis: a\n").expect("one report");
    assert_eq!((leading.len(), leading[0].comments.as_slice()), (1, ["about t".to_owned()].as_slice()));
    assert_eq!(parse_documents(b"# nothing\n").expect("one empty report")[0].report, Report::default());
    let error = parse_documents(b"best_hypothesis: a\n---\nbest_hypotesis: b\n").expect_err("a wrong field");
    assert!(error.to_string().starts_with("line 3: the report has no field"), "{error}");
}

#[test]
fn aliases_deep_nesting_and_large_files_are_rejected() {
    let bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n";
    assert!(error_of(bomb).contains("aliases (`*name`) are not supported"), "{}", error_of(bomb));
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
    let expected = r#"# test_expectation: what the test expects: the behaviour, not the assertion
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
    assert!(rendered.contains("\nscope_violations: \"\"\n"), "{rendered}");
    assert!(rendered.ends_with("\nrecovery_options: \"\"\n"), "{rendered}");
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
    let piece = prop_oneof![8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
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
    let violation = (any_text(), any_text()).prop_map(|(file, justification)| ScopeViolation { file, justification });
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
    for text in ["x".repeat(200_000), "line\n".repeat(50_000), "\u{1b}[1m \n".repeat(20_000), "\n".repeat(256 * 1024)] {
        let report = Report { actual_error: text, ..Report::default() };
        assert_eq!(parse(render(&report, Hints::Shown).as_bytes()).expect("a report"), report);
    }
}
