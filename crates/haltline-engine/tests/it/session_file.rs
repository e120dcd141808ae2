//! Tests of `session_file.rs`.

use haltline_core::phase::{Fact, apply};
use haltline_core::{Instant, Moment};
use haltline_engine::session_file::{parse, render};
use serde_json::{Map, Value};

const SEED: &str = r#"{
  "state": "HALF_OPEN",
  "no_progress_count": 2,
  "same_error_count": 1,
  "last_progress_metric": {
    "RED": { "tests_generated": 4 },
    "REFACTOR": { "patterns_applied": 1, "complexity_score": 12.5 }
  },
  "last_error_hash": "ab12",
  "opened_at": null,
  "open_reason": null,
  "history": [
    {"timestamp": "2026-02-12T10:30:00Z", "event": "state_change", "from_state": "CLOSED", "to_state": "HALF_OPEN",
     "reason": "No progress for 2 iterations"}
  ]
}"#;

#[test]
fn a_file_that_was_adopted_is_written_with_the_same_eight_keys_and_values() {
    let now = Moment::from_wall_clock(Instant::parse("2026-02-12T11:00:00Z").expect("valid"));
    let foreign = parse(SEED.as_bytes()).expect("the seed's own shape");
    let phase_run = apply(None, &Fact::Adopted(Box::new(foreign)), now);
    let written: Map<String, Value> = serde_json::from_slice(&render(&phase_run, now)).expect("JSON");
    let keys: Vec<&str> = written.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "state",
            "no_progress_count",
            "same_error_count",
            "last_progress_metric",
            "last_error_hash",
            "opened_at",
            "open_reason",
            "history"
        ]
    );
    assert_eq!(written["state"], "HALF_OPEN");
    assert_eq!(written["no_progress_count"], 2);
    assert_eq!(written["last_progress_metric"]["REFACTOR"]["complexity_score"], 12.5);
    assert_eq!(written["last_error_hash"], "ab12");
    assert_eq!(written["history"][0]["reason"], "No progress for 2 iterations");
    let line: Vec<&String> = written["history"][0].as_object().expect("an object").keys().collect();
    assert_eq!(line, ["timestamp", "event", "from_state", "to_state", "reason"]);
}

#[test]
fn an_error_names_the_key() {
    for (content, problem) in [
        ("", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("{}", "state"),
        (r#"{"state": "AJAR"}"#, "expected \"CLOSED\""),
        (r#"{"state": "CLOSED", "no_progress_count": -1}"#, "no_progress_count \"-1\""),
        (r#"{"state": "OPEN", "opened_at": "soon"}"#, "time \"soon\""),
        (r#"{"state": "OPEN", "open_reason": 7}"#, "open_reason \"7\""),
        (r#"{"state": "CLOSED", "last_progress_metric": {"a b": {}}}"#, "phase"),
        (r#"{"state": "CLOSED", "history": [{}]}"#, "history"),
    ] {
        let found = parse(content.as_bytes()).expect_err(content);
        assert!(found.contains(problem), "{content}: {found}");
    }
}
