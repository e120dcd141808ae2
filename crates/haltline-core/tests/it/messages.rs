//! Messages of the core: one-line errors that name the value and what was expected (E8), and the names of verdicts.

use haltline_core::{CircuitName, ConstraintId, Instant, Mode, Moment, Reason, Retry, Verdict};

#[test]
fn a_bad_instant_is_named_with_what_was_expected() {
    let error = Instant::parse("yesterday").expect_err("no instant").to_string();
    assert_eq!(error, r#"time "yesterday": expected RFC 3339, such as 2026-02-12T10:30:00Z"#);
}

#[test]
fn a_bad_id_is_named_with_what_was_expected() {
    let error = ConstraintId::parse("a/b").expect_err("no id").to_string();
    let expected = "letters, digits, '.', '_' or '-', without '..', at most 128 bytes";
    assert_eq!(error, format!(r#"constraint id "a/b": expected {expected}"#));
}

#[test]
fn a_moment_that_cannot_be_read_says_what_one_looks_like() {
    for (text, problem) in [
        ("\"noon\"", "expected [at], [at, boot, uptime] or [at, boot, uptime, namespace]"),
        ("[]", "a moment starts with its time"),
        ("[1,2,3,4,5]", "trailing characters"),
    ] {
        let error = serde_json::from_str::<Moment>(text).expect_err("no moment").to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn only_deny_and_stop_deny_and_in_observe_mode_nothing_does() {
    let circuit = CircuitName::from_stored("constraint/x".to_owned());
    let reason = Reason { circuit, code: "HL-CON-02", text: "OPEN".to_owned(), retry: Retry::Person };
    for (verdict, word, denies, in_observe_mode) in [
        (Verdict::Pass, "pass", false, "pass"),
        (Verdict::Warn(reason.clone()), "warn", false, "warn"),
        (Verdict::Deny(reason.clone()), "deny", true, "warn"),
        (Verdict::Stop(reason.clone()), "stop", true, "warn"),
    ] {
        assert_eq!((verdict.as_str(), verdict.denies()), (word, denies));
        assert_eq!(verdict.reason(), (word != "pass").then_some(&reason));
        assert_eq!(Mode::Enforce.apply_to(verdict.clone()), verdict);
        let observed = Mode::Observe.apply_to(verdict);
        assert_eq!((observed.as_str(), observed.denies()), (in_observe_mode, false));
    }
}
