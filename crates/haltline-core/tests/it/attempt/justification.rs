//! Tests of `attempt/justification.rs`.

use haltline_core::attempt::{Justification, form};

fn honest() -> Justification {
    Justification {
        file: "lib/money/round.py".to_owned(),
        failing_test: "test_invoice_total_is_rounded_once".to_owned(),
        reason: "The rounding happens in here,\nbefore the invoice sees the amount.".to_owned(),
        relationship: "The contract's amounts are made by this function only".to_owned(),
    }
}

fn problems(justification: &Justification) -> Vec<String> {
    justification.problems("lib/money/round.py", |file| file == "lib/money/round.py")
}

#[test]
fn a_rendered_form_is_parsed_back() {
    assert_eq!(Justification::parse_all(&honest().render()), vec![honest()]);
    assert_eq!(problems(&honest()), Vec::<String>::new());
}

#[test]
fn labels_are_parsed_in_any_case_and_markup() {
    for text in [
        "file: a\nfailing test: t\nreason: r\nrelationship: s\n",
        "FILE: a\nFAILING TEST: t\nREASON: r\nRELATIONSHIP: s",
        "- **File**: `a`\n- **Failing test**: t\n- **Reason**: r\n- **Relationship**: s\n",
        "**File:** a\n**Failing test:** t\n**Reason:** r\n**Relationship:** s\n",
        "```\r\nFile: a\r\nFailing test: t\r\nReason: r\r\nRelationship: s\r\n```\r\n",
        "failing_test: t\nfile : a\nRelationship:\n  s\nReason:\n\n  r\n",
        "I have to.\n\n> File: a\n> Failing test: t\n> Reason: r\n> Relationship: s\n",
    ] {
        let [file, failing_test, reason, relationship] = ["a", "t", "r", "s"].map(str::to_owned);
        let expected = Justification { file, failing_test, reason, relationship };
        assert_eq!(Justification::parse_all(text), vec![expected], "{text:?}");
    }
}

#[test]
fn one_text_may_hold_several_forms_or_none() {
    let mut other = honest();
    other.file = "b".to_owned();
    let text = format!("{}\n\n{}", honest().render(), other.render());
    assert_eq!(Justification::parse_all(&text), vec![honest(), other]);
    for text in ["", "no form", "Filed: a", "The file: a", "\u{feff}", "é: x"] {
        assert_eq!(Justification::parse_all(text), Vec::new(), "{text:?}");
    }
}

#[test]
fn the_empty_form_has_a_problem_in_each_field() {
    let form = form("lib/money/round.py");
    let [empty] = Justification::parse_all(&form).try_into().expect("one form");
    assert_eq!(
        problems(&empty),
        [
            "Failing test still contains the form's text.",
            "Reason still contains the form's text.",
            "Relationship still contains the form's text.",
        ]
    );
}

#[test]
fn obvious_defects_are_named() {
    let with = |change: fn(&mut Justification)| {
        let mut justification = honest();
        change(&mut justification);
        problems(&justification)
    };
    assert_eq!(with(|form| form.reason = " \n".to_owned()), ["Reason is empty."]);
    assert_eq!(with(|form| form.reason = "--- ".to_owned()), ["Reason is empty."]);
    assert_eq!(with(|form| form.failing_test = "N/A".to_owned()), [r#"Failing test says only "N/A"."#]);
    assert_eq!(with(|form| form.relationship = form.reason.clone()), ["Relationship repeats Reason."]);
    assert_eq!(
        with(|form| form.file = "lib/other.py".to_owned()),
        [r#"The form names "lib/other.py", but the change is to "lib/money/round.py"."#]
    );
    assert_eq!(problems(&Justification::default()).len(), 4);
}
