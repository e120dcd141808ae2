//! Tests of `turn_end/iteration_error.rs`.

use haltline_agents::headless::{Ending, HeadlessReport};
use haltline_agents::turn_end::iteration_error;

fn report(ending: Ending, text: &str) -> HeadlessReport {
    HeadlessReport { ending, text: text.to_owned(), ..HeadlessReport::default() }
}

fn kind_and_message(report: &HeadlessReport, stderr: &str, exit: Option<i32>) -> Option<(String, String)> {
    iteration_error(report, stderr, exit).map(|complaint| (complaint.kind, complaint.message))
}

fn error(kind: &str, message: &str) -> Option<(String, String)> {
    Some((kind.to_owned(), message.to_owned()))
}

#[test]
fn a_program_that_exits_with_0_has_not_failed_whatever_it_prints() {
    for words in ["\"is_error\": false", "error: handled\n", "Traceback (most recent call last):", "0 errors"] {
        assert_eq!(
            iteration_error(&report(Ending::Silent, words), "warning: error in a name", Some(0)),
            None,
            "{words}"
        );
        assert_eq!(iteration_error(&report(Ending::Finished, words), "", Some(0)), None, "{words}");
        assert_eq!(iteration_error(&report(Ending::Silent, words), "", None), None, "{words}");
    }
}

#[test]
fn the_clients_account_comes_before_the_exit_code() {
    let hook = Ending::Hook { reason: Some("open".to_owned()) };
    assert_eq!(kind_and_message(&report(hook, "x"), "y", Some(0)), error("hook", "open"));
    let api = Ending::Infrastructure { message: "529".to_owned() };
    assert_eq!(kind_and_message(&report(api, "x"), "y", Some(1)), error("api", "529"));
    let failed = Ending::Failed { kind: "prompt_too_long".to_owned(), message: "long".to_owned() };
    assert_eq!(kind_and_message(&report(failed, ""), "", Some(1)), error("prompt_too_long", "long"));
}

#[test]
fn a_failed_program_is_quoted_by_its_last_lines() {
    let stderr = "npm warn old\n\u{1b}[31merror\u{1b}[0m: no such file\n\n   \n-----\nnpm notice new version\n";
    assert_eq!(
        kind_and_message(&report(Ending::Silent, "out"), stderr, Some(2)),
        error("exit_2", "error: no such file")
    );
    assert_eq!(kind_and_message(&report(Ending::Silent, "out\n"), "\n", Some(-9)), error("signal_9", "out"));
    assert_eq!(kind_and_message(&report(Ending::Finished, ""), "", Some(137)), error("signal_9", ""));
    let many: String = (0..100).map(|number| format!("line {number}\n")).collect();
    let (_, message) = kind_and_message(&report(Ending::Silent, ""), &many, Some(1)).expect("an error");
    assert_eq!((message.lines().count(), message.lines().last()), (10, Some("line 99")));
    let long = "ü".repeat(5000);
    let (_, message) = kind_and_message(&report(Ending::Silent, &long), "", Some(1)).expect("an error");
    assert!(message.len() <= 2048 && !message.is_empty());
}
