//! Tests of `attempt/report.rs`.

use haltline_core::attempt::{FIELDS, JournalEvidence, Listed, LogLine, RecoveryOption, Report};

fn full() -> Report {
    Report {
        test_expectation: "a parcel above 30 kg is refused".to_owned(),
        actual_error: "assertion failed: 422 != 200\n  at parcel.py:17\n".to_owned(),
        attempt_log: Listed::Items(vec![LogLine {
            attempt: 1,
            strategy: "checked the weight in the form".to_owned(),
            files: Vec::new(),
            result: "the form is not asked".to_owned(),
        }]),
        cumulative_files_modified: Listed::Items(vec!["parcel/form.py".to_owned()]),
        scope_violations: Listed::Text("not applicable: only files of the slice were changed".to_owned()),
        best_hypothesis: "None of the requests reach the form".to_owned(),
        specific_question: "Who checks the weight?".to_owned(),
        recovery_options: Listed::Items(vec![RecoveryOption {
            option: "ask the owner of the gateway".to_owned(),
            risk: "a day lost".to_owned(),
        }]),
    }
}

fn problems(change: fn(&mut Report)) -> Vec<String> {
    let mut report = full();
    change(&mut report);
    report.problems(JournalEvidence::default())
}

#[test]
fn a_full_report_lacks_nothing_and_an_empty_one_lacks_all_eight_fields() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
    let empty = Report::default();
    let expected: Vec<String> = FIELDS.iter().map(|(field, _)| format!("{field} is missing or empty.")).collect();
    assert_eq!(empty.problems(JournalEvidence::default()), expected);
    let files = ["a".to_owned()];
    let all =
        empty.problems(JournalEvidence { attempts: &[1], files: &files, violations: &files, actual_error: Some("x") });
    assert_eq!(all, expected);
}

#[test]
fn not_applicable_needs_a_reason() {
    let reason = Some("best_hypothesis does not say why it does not apply; write `not applicable: …`.");
    let empty = Some("best_hypothesis is missing or empty.");
    let unfilled = Some("best_hypothesis is not filled in yet.");
    for (text, expected) in [
        ("not applicable: the runner never started the test", None),
        ("N/A - the runner never started", None),
        ("n/a (no test was run)", None),
        ("none, because nothing ran", None),
        ("None of the requests arrive", None),
        ("nothing arrives at the handler", None),
        ("nasty race in the cache", None),
        ("non-deterministic order", None),
        ("not applicable", reason),
        ("Not Applicable.", reason),
        ("n/a", reason),
        ("N/A: n/a", reason),
        ("none: not applicable.", reason),
        ("none -", reason),
        ("n/a: unclear", reason),
        ("", empty),
        (" \n\t", empty),
        ("---", empty),
        ("TODO", unfilled),
        ("<the best theory>", unfilled),
        ("<div> is closed by </div>", None),
        ("für 30 kg fehlt der Preis", None),
    ] {
        let report = Report { best_hypothesis: text.to_owned(), ..full() };
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(report.problems(JournalEvidence::default()), expected, "{text:?}");
    }
}

#[test]
fn an_empty_list_is_accepted_where_the_journal_agrees_and_a_short_one_is_named() {
    let mut report = full();
    report.cumulative_files_modified = Listed::Items(Vec::new());
    report.scope_violations = Listed::Items(Vec::new());
    assert_eq!(report.problems(JournalEvidence::default()), Vec::<String>::new());
    let files = ["parcel/form.py".to_owned(), "parcel/gate.py".to_owned()];
    let known = JournalEvidence { files: &files, ..JournalEvidence::default() };
    assert_eq!(report.problems(known), ["cumulative_files_modified is missing or empty."]);
    let left_out = r#"cumulative_files_modified omits "parcel/gate.py", which the journal has."#;
    assert_eq!(full().problems(known), [left_out]);
    let known = JournalEvidence { attempts: &[1, 2], ..JournalEvidence::default() };
    assert_eq!(full().problems(known), ["attempt_log omits attempt 2, which the journal has."]);
    let known = JournalEvidence { violations: &files[1..], ..JournalEvidence::default() };
    let left_out = r#"scope_violations omits "parcel/gate.py", which the journal has."#;
    assert_eq!(full().problems(known), [left_out]);
}

#[test]
fn an_empty_field_within_a_list_is_named_with_its_position() {
    assert_eq!(
        problems(|report| report.recovery_options = Listed::Items(vec![RecoveryOption::default()])),
        ["recovery_options[1].option is missing or empty.", "recovery_options[1].risk is missing or empty."]
    );
    assert_eq!(
        problems(|report| report.attempt_log = Listed::Text("tried a lot".to_owned())),
        [r#"attempt_log is "tried a lot": expected a list, or `not applicable: …`."#]
    );
    assert_eq!(problems(|report| report.attempt_log = Listed::Items(vec![LogLine::default(); 50])).len(), 21);
}

#[test]
fn the_runners_output_must_be_included_whatever_surrounds_it() {
    let known = |printed| JournalEvidence { actual_error: Some(printed), ..JournalEvidence::default() };
    assert_eq!(full().problems(known("assertion failed: 422 != 200  \n  at parcel.py:17")), Vec::<String>::new());
    assert_eq!(
        full().problems(known("assertion failed: 422 != 201")),
        ["actual_error differs from what the test runner printed; copy the output unchanged."]
    );
}
