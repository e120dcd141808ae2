//! Tests of `mirror.rs`.

use haltline_core::constraint::StateName;
use haltline_engine::mirror::read_state_file;

const SEED: &str = r#"{
  "git-safety-force-push": {
    "state": "HALF-OPEN",
    "violations": [
      {"timestamp": "2026-02-12T10:30:00Z", "action": "git push --force origin main", "session": "sess_abc123"},
      {"timestamp": "2026-02-08T15:45:00Z", "action": "force push", "session": "sess_def456"}
    ],
    "last_trip": null,
    "last_reset": "2026-02-01T00:00:00Z",
    "config": {"violation_threshold": 3, "window_days": 30, "cooldown_hours": 24, "dedup_seconds": 300}
  }
}"#;

#[test]
fn the_seeds_file_is_read() {
    let parsed = read_state_file(SEED.as_bytes());
    assert_eq!(parsed.problems, Vec::<String>::new());
    let (id, foreign) = &parsed.circuits[0];
    assert_eq!((id.as_str(), foreign.state), ("git-safety-force-push", StateName::HalfOpen));
    assert_eq!(foreign.violations.len(), 2);
    assert_eq!(foreign.limits.map(|limits| limits.violation_threshold), Some(3));
}

#[test]
fn unreadable_entries_are_reported_and_the_rest_is_imported() {
    for (content, problem) in [
        ("{\"a\": {\"state\"", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("{\"a/b\": {}}", "constraint id"),
        ("{\"a\": {\"state\": \"AJAR\"}}", "expected \"CLOSED\""),
        ("{\"a\": {\"state\": \"OPEN\", \"last_trip\": 3}}", "last_trip \"3\""),
        (
            "{\"a\": {\"state\": \"OPEN\", \"violations\": [{\"timestamp\": \"x\", \"action\": \"\", \"session\": \"\"}]}}",
            "time \"x\"",
        ),
    ] {
        let parsed = read_state_file(content.as_bytes());
        assert!(parsed.problems.len() == 1 && parsed.problems[0].contains(problem), "{content}: {parsed:?}");
    }
    let mixed = read_state_file(b"{\"a\": {\"state\": \"OPEN\"}, \"b\": 3}");
    assert_eq!((mixed.circuits.len(), mixed.problems.len()), (1, 1));
}
