//! Tests of `status_block.rs`.

use haltline_agents::status_block::{last_block, parse_phase_status};

const FORM: &str = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS | COMPLETE | BLOCKED\nTASKS_COMPLETED_THIS_LOOP: <number>\n\
    EXIT_SIGNAL: false | true\nRECOMMENDATION: <one line>\n---END_RALPH_STATUS---\n";

fn exit_signal(text: &str) -> Option<Option<bool>> {
    last_block(text).map(|block| block.exit_signal())
}

#[test]
fn a_form_that_was_not_filled_in_signals_nothing() {
    let block = last_block(FORM).expect("a block");
    assert_eq!((block.status(), block.exit_signal()), (None, None));
}

#[test]
fn the_last_whole_block_counts_whichever_form_it_has() {
    let early = "---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n";
    let late = "---PRP_PHASE_STATUS---\nEXIT_SIGNAL: false\n---END_PRP_PHASE_STATUS---\n";
    assert_eq!(exit_signal(&format!("{early}{late}")), Some(Some(false)));
    assert_eq!(exit_signal(&format!("{late}{early}")), Some(Some(true)));
    let cut = "---RALPH_STATUS---\nEXIT_SIGNAL: true\n";
    assert_eq!(exit_signal(&format!("{late}{cut}")), Some(Some(false)));
    assert_eq!(exit_signal(cut), None);
    assert_eq!(exit_signal(&format!("{cut}{early}")), Some(Some(true)));
    // The end line of another form ends nothing.
    assert_eq!(exit_signal("---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_PRP_PHASE_STATUS---\n"), None);
}

#[test]
fn a_block_inside_the_json_of_an_unknown_client_is_found() {
    let line =
        r#"{"answer":"Done.\n---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n"}"#;
    assert_eq!(exit_signal(line), Some(Some(true)));
    assert_eq!(exit_signal(&line.replace("\\n", "\\r\\n")), Some(Some(true)));
}

#[test]
fn text_about_a_block_is_not_a_block() {
    for text in [
        "",
        "I will end with a ---RALPH_STATUS--- block.",
        "RALPH_STATUS: fine",
        "  RALPH_STATUS:\n    EXIT_SIGNAL: true",
        "EXIT_SIGNAL: true",
        "---END_RALPH_STATUS---",
    ] {
        assert_eq!(last_block(text), None, "{text}");
    }
}

#[test]
fn a_report_without_a_block_is_rejected_with_the_missing_line() {
    let error = |text: &str| parse_phase_status(text).expect_err("no block").to_string();
    assert_eq!(error("hello\n"), r#"status block "hello": expected the line ---PRP_PHASE_STATUS---"#);
    assert_eq!(
        error("---PRP_PHASE_STATUS---\nPHASE: RED\n"),
        r#"status block "---PRP_PHASE_STATUS---\nPHASE: RED": expected the line ---END_PRP_PHASE_STATUS---"#
    );
    assert_eq!(error(""), r#"status block "": expected the line ---PRP_PHASE_STATUS---"#);
}
