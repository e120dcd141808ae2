//! Seed 003's archive of retired circuits: its format, and what it does not bring back (C8).

use std::fs;

use crate::support::constraint;
use haltline_core::constraint::{ConstraintEvent, StateName};
use haltline_engine::ARCHIVE_FILE;
use haltline_engine::mirror::STATE_FILE;

use crate::support::tree::{DAY_MS, Tree, minute, operator};

#[test]
fn a_retired_circuit_is_archived_in_the_seeds_shape() {
    let tree = Tree::new();
    tree.constrain(
        "force-push",
        "created: 2026-01-01\ncircuit_breaker:\n  violation_threshold: 1\n  dedup_seconds: 0\n",
    );
    tree.violate(minute(0), "s1", "one");
    tree.report(minute(10), "s1", ConstraintEvent::Reset(operator()));
    let next = minute(60).plus_millis(DAY_MS);
    tree.violate(minute(60), "s1", "two");
    tree.report(next, "s1", ConstraintEvent::Clean { action: None, generation: None });
    tree.report(next.plus_millis(60_000), "s1", ConstraintEvent::Retire(operator()));
    let expected = r#"{
  "force-push": {
    "archived": "2026-02-13T11:31:00Z",
    "final_state": "CLOSED",
    "total_violations": 2,
    "total_trips": 2,
    "lifetime_days": 43,
    "violations": [
      {
        "timestamp": "2026-02-12T11:30:00Z",
        "action": "two",
        "session": "s1"
      },
      {
        "timestamp": "2026-02-12T10:30:00Z",
        "action": "one",
        "session": "s1"
      }
    ],
    "trip_history": [
      {
        "tripped": "2026-02-12T11:30:00Z",
        "reset": "2026-02-13T11:30:00Z",
        "method": "cooldown"
      },
      {
        "tripped": "2026-02-12T10:30:00Z",
        "reset": "2026-02-12T10:40:00Z",
        "method": "manual"
      }
    ]
  }
}
"#;
    assert_eq!(tree.read(ARCHIVE_FILE), expected);
    assert_eq!(tree.read(STATE_FILE), "{}\n");
    // A second entry is added; the first one, and what other programs keep there, stay unchanged.
    tree.write(ARCHIVE_FILE, &expected.replacen('{', "{\n  \"elder\": {\"archived\": \"2020\", \"why\": \"old\"},", 1));
    tree.constrain("other", "");
    let engine = tree.engine(next);
    engine.constraint(&constraint("other"), None, ConstraintEvent::Violation { action: "x".into() }).expect("taken");
    engine.constraint(&constraint("other"), None, ConstraintEvent::Retire(operator())).expect("taken");
    let archive = tree.read(ARCHIVE_FILE);
    assert!(archive.contains(&expected[2..expected.len() - 4]), "{archive}");
    let names: serde_json::Value = serde_json::from_str(&archive).expect("JSON");
    assert_eq!(names["elder"], serde_json::json!({"archived": "2020", "why": "old"}));
    assert_eq!(names["other"]["trip_history"], serde_json::json!([]));
}

#[test]
fn a_retired_circuit_does_not_come_back_from_an_old_state_file() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "one");
    let old = tree.read(STATE_FILE);
    tree.report(minute(1), "s1", ConstraintEvent::Retire(operator()));
    let archive = tree.read(ARCHIVE_FILE);
    tree.write(STATE_FILE, &old);
    assert_eq!(tree.engine(minute(2)).take_notices(), Vec::<String>::new());
    assert_eq!(tree.state_name(minute(2)), StateName::Retired);
    assert_eq!((tree.read(STATE_FILE).as_str(), tree.read(ARCHIVE_FILE)), ("{}\n", archive));
}

#[test]
fn a_circuit_that_is_open_when_it_is_retired_is_archived_as_open() {
    let tree = Tree::new();
    for step in 0..3 {
        tree.violate(minute(step), "s1", "one");
    }
    tree.report(minute(5), "s1", ConstraintEvent::Retire(operator()));
    let archive: serde_json::Value = serde_json::from_str(&tree.read(ARCHIVE_FILE)).expect("JSON");
    let trips = serde_json::json!([{"tripped": "2026-02-12T10:32:00Z", "reset": null, "method": null}]);
    assert_eq!(
        (&archive["force-push"]["final_state"], &archive["force-push"]["trip_history"]),
        (&"OPEN".into(), &trips)
    );
}

#[test]
fn a_damaged_archive_is_kept_aside_and_reported() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "one");
    tree.write(ARCHIVE_FILE, "{\"elder\": {");
    let notices = tree.report(minute(1), "s1", ConstraintEvent::Retire(operator()));
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains(ARCHIVE_FILE) && notices[0].contains("kept it as"), "{notices:?}");
    let kept = tree.set_aside(ARCHIVE_FILE).pop().expect("kept");
    assert_eq!(fs::read_to_string(kept).expect("kept"), "{\"elder\": {");
    let archive: serde_json::Value = serde_json::from_str(&tree.read(ARCHIVE_FILE)).expect("JSON");
    assert_eq!(archive["force-push"]["total_violations"], 1);
}
