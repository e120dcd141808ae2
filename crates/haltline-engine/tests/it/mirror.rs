//! Seed 003's state file together with a real store: its format, what haltline imports from it, and what it never
//! believes (C6, E10).

mod state_file;

use std::fs;

use crate::support::constraint;
use haltline_core::constraint::{ConstraintEvent, StateName};
use haltline_core::{CircuitName, Event, Instant, Policy, decide};
use haltline_engine::mirror::{STATE_FILE, VIOLATIONS_MAX};
use haltline_engine::redact::storable;
use haltline_engine::store::{Provenance, Store};
use proptest::prelude::*;

use crate::support::tree::{DAY_MS, Tree, foreign, minute, operator};

#[test]
fn the_state_file_has_the_seeds_shape() {
    let tree = Tree::new();
    tree.constrain("no-secrets", "");
    assert_eq!(tree.violate(minute(0), "sess_abc123", "git push --force origin main"), Vec::<String>::new());
    tree.violate(minute(1), "sess_def456", "force push to \"feature\" branch");
    let engine = tree.engine(minute(2));
    engine
        .constraint(&constraint("no-secrets"), None, ConstraintEvent::Violation { action: "cat .env".into() })
        .expect("taken");
    let expected = r#"{
  "force-push": {
    "state": "CLOSED",
    "violations": [
      {
        "timestamp": "2026-02-12T10:31:00Z",
        "action": "force push to \"feature\" branch",
        "session": "sess_def456"
      },
      {
        "timestamp": "2026-02-12T10:30:00Z",
        "action": "git push --force origin main",
        "session": "sess_abc123"
      }
    ],
    "last_trip": null,
    "last_reset": null,
    "config": {
      "violation_threshold": 3,
      "window_days": 30,
      "cooldown_hours": 24,
      "dedup_seconds": 0
    }
  },
  "no-secrets": {
    "state": "CLOSED",
    "violations": [
      {
        "timestamp": "2026-02-12T10:32:00Z",
        "action": "cat .env",
        "session": "unknown"
      }
    ],
    "last_trip": null,
    "last_reset": null,
    "config": {
      "violation_threshold": 5,
      "window_days": 30,
      "cooldown_hours": 24,
      "dedup_seconds": 300
    }
  }
}
"#;
    assert_eq!(tree.read(STATE_FILE), expected);
    assert!(!tree.file(".circuit-state.json.tmp").exists(), "nothing is left beside it");
}

/// The first circuit's `state`, `last_trip` and `last_reset`.
fn state_and_times(tree: &Tree) -> (String, Option<String>, Option<String>) {
    let file: serde_json::Value = serde_json::from_str(&tree.read(STATE_FILE)).expect("JSON");
    let text = |key: &str| file["force-push"][key].as_str().map(str::to_owned);
    (text("state").expect("a state"), text("last_trip"), text("last_reset"))
}

#[test]
fn the_state_is_spelled_as_in_the_seed() {
    let tree = Tree::new();
    for step in 0..3 {
        tree.violate(minute(step), "s1", "git push --force");
    }
    let tripped = Some("2026-02-12T10:32:00Z".to_owned());
    assert_eq!(state_and_times(&tree), ("OPEN".to_owned(), tripped.clone(), None));
    let engine = tree.engine(minute(2).plus_millis(DAY_MS));
    engine
        .constraint(&constraint("force-push"), None, ConstraintEvent::Violation { action: "x".into() })
        .expect("taken");
    let again = Some("2026-02-13T10:32:00Z".to_owned());
    assert_eq!(state_and_times(&tree), ("OPEN".to_owned(), again.clone(), None));
    let half_open_at = minute(3).plus_millis(2 * DAY_MS);
    tree.engine(half_open_at).rebuild_mirror();
    assert_eq!(state_and_times(&tree), ("HALF-OPEN".to_owned(), again.clone(), None));
    tree.report(half_open_at, "s1", ConstraintEvent::Clean { action: None, generation: None });
    assert_eq!(state_and_times(&tree), ("CLOSED".to_owned(), again, Some("2026-02-14T10:33:00Z".to_owned())));
}

#[test]
fn the_newest_thousand_violations_are_listed_newest_first_and_repeats_are_not() {
    let tree = Tree::new();
    tree.constrain("force-push", "circuit_breaker:\n  violation_threshold: 1\n  dedup_seconds: 0\n");
    tree.violate(minute(0), "s1", "first");
    let (store, project) = (tree.store(minute(0)), tree.project());
    let id = constraint("force-push");
    for step in 1..=1_005 {
        let event = ConstraintEvent::Violation { action: format!("step {step}") };
        let event = Event::Constraint { id: id.clone(), session: Some("s1".to_owned()), file: None, event };
        let provenance = Provenance { cause: event.cause(), policy: "policy" };
        let now = minute(step);
        store.transact(&project, provenance, &|memory| decide(memory, &Policy::default(), &event, now)).expect("taken");
    }
    tree.violate(minute(2_000), "s1", "last");
    let file: serde_json::Value = serde_json::from_str(&tree.read(STATE_FILE)).expect("JSON");
    let lines = file["force-push"]["violations"].as_array().expect("a list");
    assert_eq!((lines.len(), lines[0]["action"].as_str()), (VIOLATIONS_MAX, Some("last")));
    let timestamps: Vec<&str> = lines.iter().filter_map(|line| line["timestamp"].as_str()).collect();
    assert!(timestamps.is_sorted_by(|newer, older| newer > older), "newest first");
    assert_eq!(tree.circuit().totals.violations, 1_007);
}

#[test]
fn any_number_of_repeats_does_not_push_a_violation_out_of_the_file() {
    let tree = Tree::new();
    tree.constrain("force-push", "");
    tree.violate(minute(0), "s1", "the one that counts");
    let (store, project) = (tree.store(minute(0)), tree.project());
    let event = Event::Constraint {
        id: constraint("force-push"),
        session: Some("s1".to_owned()),
        file: None,
        event: ConstraintEvent::Violation { action: "again".to_owned() },
    };
    let provenance = Provenance { cause: event.cause(), policy: "policy" };
    for _ in 0..4 * VIOLATIONS_MAX {
        let repeat = |memory: &_| decide(memory, &Policy::default(), &event, minute(1));
        store.transact(&project, provenance, &repeat).expect("taken");
    }
    tree.violate(minute(2), "s1", "again");
    let file: serde_json::Value = serde_json::from_str(&tree.read(STATE_FILE)).expect("JSON");
    let expected = serde_json::json!([
        {"timestamp": "2026-02-12T10:30:00Z", "action": "the one that counts", "session": "s1"}
    ]);
    assert_eq!(file["force-push"]["violations"], expected);
}

#[test]
fn an_existing_file_is_adopted_unchanged() {
    let two = [("2026-02-12T09:00:00Z", "one", "s1"), ("2026-02-11T09:00:00Z", "two", "s2")];
    let now = minute(0);
    for (state, last_trip, expected_state, violations) in [
        ("CLOSED", "null", StateName::Closed, &two[..]),
        ("CLOSED", "\"2026-01-01T00:00:00Z\"", StateName::Closed, &two[..]),
        ("OPEN", "\"2026-02-12T08:00:00Z\"", StateName::Open, &two[..]),
        ("OPEN", "\"2026-02-10T08:00:00Z\"", StateName::HalfOpen, &two[..]),
        ("OPEN", "null", StateName::Open, &[][..]),
        ("OPEN", "\"2027-01-01T00:00:00Z\"", StateName::Open, &two[..]),
        ("HALF-OPEN", "\"2026-02-10T08:00:00Z\"", StateName::HalfOpen, &two[..]),
        ("HALF_OPEN", "null", StateName::HalfOpen, &two[..]),
    ] {
        let tree = Tree::new();
        tree.write(STATE_FILE, &foreign(state, last_trip, violations));
        assert_eq!(tree.engine(now).take_notices(), Vec::<String>::new(), "{state} {last_trip}");
        assert_eq!(tree.state_name(now), expected_state, "{state} {last_trip}");
        assert_eq!(tree.circuit().totals.violations, violations.len() as u64, "{state} {last_trip}");
        assert_eq!(state_and_times(&tree).0, expected_state.dashed(), "{state} {last_trip}");
        let adopted = tree.circuit();
        tree.engine(now);
        assert_eq!(tree.circuit(), adopted, "adopted once: {state} {last_trip}");
        tree.assert_sound();
    }
}

#[test]
fn an_adopted_file_brings_its_limits_where_the_constraint_has_no_file() {
    for (config, threshold) in [
        (r#", "config": {"violation_threshold": 7, "window_days": 14}"#, 7),
        (r#", "config": {"violation_threshold": 0}"#, 5),
        (r#", "config": "none""#, 5),
        ("", 5),
    ] {
        let tree = Tree::new();
        fs::remove_file(tree.file("force-push.md")).expect("deleted");
        tree.write(STATE_FILE, &format!(r#"{{"force-push": {{"state": "CLOSED", "violations": []{config}}}}}"#));
        assert_eq!(tree.engine(minute(0)).take_notices(), Vec::<String>::new());
        assert_eq!(tree.circuit().limits().violation_threshold, threshold, "{config}");
    }
    let tree = Tree::new();
    let file = r#"{"force-push": {"state": "CLOSED", "violations": [], "config": {"violation_threshold": 9}}}"#;
    tree.write(STATE_FILE, file);
    tree.engine(minute(0));
    assert_eq!(tree.circuit().limits().violation_threshold, 3, "the constraint's own file wins");
}

#[test]
fn a_corrupt_file_is_kept_aside_rebuilt_and_reported() {
    let tree = Tree::new();
    for step in 0..3 {
        tree.violate(minute(step), "s1", "git push --force");
    }
    let whole = tree.read(STATE_FILE);
    for (round, damage) in [&whole[..whole.len() / 2], "", "[]", "\u{0}\u{0}", &"[".repeat(100_000)].iter().enumerate()
    {
        tree.write(STATE_FILE, damage);
        let notices = tree.engine(minute(10 + round as u64)).take_notices();
        assert_eq!(notices.len(), 1, "one notice: {notices:?}");
        assert!(notices[0].contains("kept it as") && notices[0].contains("rebuilt it from the store"), "{notices:?}");
        assert_eq!(tree.read(STATE_FILE), whole, "rebuilt");
        assert_eq!(tree.state_name(minute(10)), StateName::Open);
        let kept = tree.set_aside(STATE_FILE).pop().expect("kept");
        assert_eq!(fs::read_to_string(kept).expect("kept"), **damage);
        assert_eq!(tree.engine(minute(11)).take_notices(), Vec::<String>::new());
    }
    tree.assert_sound();
}

#[test]
fn the_readable_part_of_a_damaged_file_is_imported() {
    let tree = Tree::new();
    let open = foreign("OPEN", "\"2026-02-12T10:00:00Z\"", &[("2026-02-12T10:00:00Z", "one", "s1")]);
    tree.write(STATE_FILE, &open.replacen('{', r#"{"../evil": 3, "#, 1));
    let notices = tree.engine(minute(0)).take_notices();
    assert_eq!((notices.len(), tree.state_name(minute(0))), (1, StateName::Open));
    assert!(notices[0].contains("../evil"), "{notices:?}");
}

#[test]
fn unknown_violations_of_another_branch_are_imported_once_and_its_state_never() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "mine");
    let theirs = [("2026-02-12T09:00:00Z", "theirs", "s9"), ("2026-02-12T10:30:00Z", "mine", "s1")];
    for round in 0..3 {
        tree.write(STATE_FILE, &foreign("OPEN", "\"2026-02-12T10:00:00Z\"", &theirs));
        assert_eq!(tree.engine(minute(1)).take_notices(), Vec::<String>::new());
        assert_eq!(tree.circuit().totals.violations, 2, "round {round}");
        assert_eq!(tree.state_name(minute(1)), StateName::Closed, "round {round}");
    }
    tree.report(minute(2), "s1", ConstraintEvent::Reset(operator()));
    tree.write(STATE_FILE, &foreign("CLOSED", "null", &theirs));
    tree.engine(minute(3));
    assert_eq!((tree.circuit().totals.violations, tree.circuit().in_window(minute(3))), (2, 0));
    tree.assert_sound();
}

#[test]
fn imported_violations_that_reach_the_threshold_trip_the_circuit() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "mine");
    let theirs = [("2026-02-12T09:00:00Z", "one", "s9"), ("2026-02-12T09:10:00Z", "two", "s9")];
    tree.write(STATE_FILE, &foreign("CLOSED", "null", &theirs));
    tree.engine(minute(1));
    assert_eq!((tree.state_name(minute(1)), tree.circuit().totals.trips), (StateName::Open, 1));
    tree.write(STATE_FILE, &foreign("CLOSED", "null", &theirs));
    tree.engine(minute(2));
    assert_eq!(tree.state_name(minute(2)), StateName::Open, "a file that says CLOSED closes nothing");
    tree.assert_sound();
}

#[test]
fn a_file_that_changes_between_reading_and_writing_is_read_before_it_is_written_over() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "mine");
    let engine = tree.engine(minute(1));
    tree.write(STATE_FILE, &foreign("CLOSED", "null", &[("2026-02-12T09:00:00Z", "theirs", "s9")]));
    let event = ConstraintEvent::Violation { action: "mine too".to_owned() };
    engine.constraint(&constraint("force-push"), Some("s1"), event).expect("taken");
    assert_eq!(tree.circuit().totals.violations, 3);
    assert_eq!(tree.state_name(minute(1)), StateName::Open);
    assert!(tree.read(STATE_FILE).contains("theirs") && tree.read(STATE_FILE).contains("mine too"));
}

#[test]
fn identical_violations_of_one_second_are_neither_merged_nor_doubled() {
    let tree = Tree::new();
    tree.constrain("force-push", "circuit_breaker:\n  violation_threshold: 9\n  dedup_seconds: 0\n");
    for _ in 0..2 {
        tree.violate(minute(0), "s1", "same");
    }
    let same = ("2026-02-12T10:30:00Z", "same", "s1");
    for (lines, expected) in [(&[same, same][..], 2), (&[same][..], 2), (&[same, same, same][..], 3)] {
        tree.write(STATE_FILE, &foreign("CLOSED", "null", lines));
        tree.engine(minute(1));
        assert_eq!(tree.circuit().totals.violations, expected);
    }
    let file: serde_json::Value = serde_json::from_str(&tree.read(STATE_FILE)).expect("JSON");
    assert_eq!(file["force-push"]["violations"].as_array().map(Vec::len), Some(3));
    tree.assert_sound();
}

#[test]
fn violations_whose_facts_were_folded_are_not_imported_again() {
    let tree = Tree { journal_days: 31, ..Tree::new() };
    tree.constrain("force-push", "circuit_breaker:\n  window_days: 365\n  dedup_seconds: 0\n");
    tree.constrain("busy", "circuit_breaker:\n  violation_threshold: 1\n");
    tree.violate(minute(0), "s1", "one");
    tree.violate(minute(10), "s1", "two");
    let old = tree.read(STATE_FILE);
    let later = minute(0).plus_millis(40 * DAY_MS);
    for _ in 0..40 {
        let event = ConstraintEvent::Violation { action: "sleep".to_owned() };
        tree.engine(later).constraint(&constraint("busy"), None, event).expect("taken");
    }
    tree.violate(later, "s1", "three");
    let anchor = tree.store(later).anchor(tree.project().key).expect("read").head.seq;
    assert!(anchor >= 3, "both were folded");
    // Another branch is checked out whose file is older, and then one that also has something new.
    let before = tree.circuit();
    tree.write(STATE_FILE, &old);
    tree.engine(later);
    assert_eq!((tree.circuit(), before.totals.violations), (before, 3));
    let new = r#"{"timestamp": "2026-03-24T12:00:00Z", "action": "theirs", "session": "s9"},"#;
    tree.write(STATE_FILE, &old.replacen("\"violations\": [", &format!("\"violations\": [{new}"), 2));
    tree.engine(later.plus_millis(DAY_MS));
    assert_eq!(tree.circuit().totals.violations, 4);
    tree.assert_sound();
}

#[test]
fn a_folded_violation_that_is_newer_than_a_kept_one_is_not_imported_again() {
    let tree = Tree { journal_days: 31, ..Tree::new() };
    tree.constrain("force-push", "circuit_breaker:\n  window_days: 365\n  dedup_seconds: 0\n");
    tree.constrain("busy", "circuit_breaker:\n  violation_threshold: 1\n");
    tree.violate(minute(10), "s1", "one");
    let old = tree.read(STATE_FILE);
    let later = minute(0).plus_millis(40 * DAY_MS);
    for _ in 0..40 {
        let event = ConstraintEvent::Violation { action: "sleep".to_owned() };
        tree.engine(later).constraint(&constraint("busy"), None, event).expect("taken");
    }
    // The clock went back: a fact that stays in the journal is older than the folded one.
    tree.violate(minute(0), "s1", "two");
    let (store, key, name) =
        (tree.store(later), tree.project().key, CircuitName::constraint(&constraint("force-push")));
    let anchor = store.anchor(key).expect("read");
    assert_eq!(anchor.folded_until.get(&name), Some(&minute(10).at));
    let before = tree.circuit();
    tree.write(STATE_FILE, &old);
    tree.engine(later);
    assert_eq!((tree.circuit(), before.totals.violations), (before, 2));
    tree.assert_sound();
    // Earlier versions wrote rows without the time.
    let connection = rusqlite::Connection::open(tree.state.path().join("state.db")).expect("the file opens");
    for (name, state) in &anchor.states {
        let row = serde_json::to_string(state).expect("a state is JSON");
        let earlier = "UPDATE anchor SET state = ?1 WHERE name = ?2";
        assert_eq!(connection.execute(earlier, [&row, name.as_str()]).expect("written"), 1);
    }
    let stripped = store.anchor(key).expect("read");
    assert_eq!((stripped.states, stripped.folded_until.len()), (anchor.states, 0));
    tree.assert_sound();
}

#[test]
fn a_lost_store_restores_its_circuits_from_the_state_file() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "one");
    tree.violate(minute(1), "s1", "two");
    tree.lose_store(true);
    tree.engine(minute(2));
    assert_eq!((tree.circuit().totals.violations, tree.circuit().in_window(minute(2))), (2, 2));
    tree.violate(minute(3), "s1", "three");
    assert_eq!(tree.state_name(minute(3)), StateName::Open);
    assert!(tree.read(STATE_FILE).contains("three"), "the file follows the new store");
    tree.assert_sound();
}

#[test]
fn violations_that_a_latch_already_counts_are_not_imported_again() {
    let tree = Tree::new();
    for step in 0..4 {
        tree.violate(minute(step), "s1", &format!("step {step}"));
    }
    tree.lose_store(false);
    tree.engine(minute(5));
    assert_eq!(tree.state_name(minute(5)), StateName::Open);
    let totals = tree.circuit().totals;
    assert_eq!((totals.violations, totals.while_open), (4, 1), "the one after the trip comes from the file");
    tree.assert_sound();
}

#[test]
fn secrets_are_neither_in_the_file_nor_in_the_store() {
    let tree = Tree::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ";
    tree.violate(minute(0), secret, &format!("git push https://ana:{secret}@host/x.git"));
    let theirs = [("2026-02-12T09:00:00Z", "curl -H 'Authorization: Bearer abcdef0123456789'", secret)];
    let file = tree.read(STATE_FILE);
    assert!(file.contains("git push https://ana:[redacted]@host/x.git"), "{file}");
    tree.write(STATE_FILE, &foreign("CLOSED", "null", &theirs));
    tree.engine(minute(1));
    assert!(tree.read(STATE_FILE).contains("Bearer [redacted]"));
    let mut files = vec![tree.file(STATE_FILE)];
    files.extend(fs::read_dir(tree.state.path()).expect("listed").flatten().map(|file| file.path()));
    for path in files.into_iter().filter(|path| path.is_file()) {
        let content = String::from_utf8_lossy(&fs::read(&path).expect("read")).into_owned();
        for secret in [secret, "abcdef0123456789"] {
            assert!(!content.contains(secret), "{} holds a secret", path.display());
        }
    }
}

#[test]
fn a_text_cut_within_a_secret_is_recognised_when_it_is_read_back() {
    let tree = Tree::new();
    for length in 3_980..4_100 {
        let action = format!("{} password={} {}", "x".repeat(length), "y".repeat(200), "z".repeat(500));
        let action = storable(&action);
        assert_eq!(storable(&action), action, "at {length}");
    }
    tree.violate(minute(0), "s1", &format!("{} password=hunter2hunter2 {}", "x".repeat(4_030), "y".repeat(500)));
    for _ in 0..3 {
        let same = tree.read(STATE_FILE);
        tree.write(STATE_FILE, &same);
        tree.engine(minute(1));
        assert_eq!(tree.circuit().totals.violations, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stored_text_reads_back_as_itself(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "password=", "token: ", "--token ", "Bearer ", "basic ", "sk-abcdefghijklmnopqrst", "ghp_0123456789abcdefghij",
            "https://ana:", "@host", "[redacted]", "hunter2", "\"", "'", " ", "\n", "=", ":", "eyJhbGciOiJI.eyJz.", "é",
            "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "secret", "api_key=", ";", "&", "/",
            "AKIAIOSFODNN7EXAMPLE", "… [9 bytes, sha256 ab]",
        ]), 0..12),
        filler in prop_oneof![3 => Just(0), 1 => 3_900..4_200_usize],
    ) {
        let text = "z".repeat(filler) + &pieces.concat();
        let once = storable(&text);
        prop_assert_eq!(storable(&once), once);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_reported_and_repaired_by_the_next_write() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "one");
    let before = tree.read(STATE_FILE);
    // Nothing is written through a link: this fails for root too, as a read-only folder does for everybody else.
    let folder = fs::canonicalize(tree.file(".")).expect("there");
    let moved = folder.with_file_name("moved");
    fs::rename(&folder, &moved).expect("moved");
    std::os::unix::fs::symlink(&moved, &folder).expect("linked");
    let notices = tree.violate(minute(1), "s1", "two");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].contains("could not update the state file") && notices[0].contains("the store is up to date"),
        "{notices:?}"
    );
    assert_eq!((tree.read(STATE_FILE), tree.circuit().totals.violations), (before, 2));
    fs::remove_file(&folder).and_then(|()| fs::rename(&moved, &folder)).expect("moved back");
    assert_eq!(tree.violate(minute(2), "s1", "three"), Vec::<String>::new());
    let file = tree.read(STATE_FILE);
    assert!(["one", "two", "three", "OPEN"].iter().all(|text| file.contains(text)), "{file}");
    assert_eq!(tree.circuit().totals.violations, 3, "and nothing was counted twice");
}

#[test]
fn a_deleted_file_is_rewritten_by_the_next_write() {
    let tree = Tree::new();
    tree.violate(minute(0), "s1", "one");
    fs::remove_file(tree.file(STATE_FILE)).expect("deleted");
    tree.violate(minute(1), "s1", "two");
    assert!(tree.read(STATE_FILE).contains("one") && tree.read(STATE_FILE).contains("two"));
}

#[test]
fn the_file_is_at_the_newest_state_when_all_writers_are_done() {
    const THREADS: u64 = 6;
    const EACH: u64 = 8;
    let tree = Tree::new();
    tree.constrain("force-push", "circuit_breaker:\n  violation_threshold: 40\n  dedup_seconds: 0\n");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let tree = &tree;
            scope.spawn(move || {
                for step in 0..EACH {
                    let notices = tree.violate(minute(0), &format!("s{thread}"), &format!("step {step}"));
                    assert_eq!(notices, Vec::<String>::new());
                }
            });
        }
    });
    let totals = tree.circuit().totals;
    assert_eq!((totals.violations, totals.trips), (THREADS * EACH, 1));
    let file: serde_json::Value = serde_json::from_str(&tree.read(STATE_FILE)).expect("JSON");
    assert_eq!(file["force-push"]["violations"].as_array().map(Vec::len), Some((THREADS * EACH) as usize));
    let newest = tree.read(STATE_FILE);
    tree.engine(minute(0)).rebuild_mirror();
    assert_eq!(tree.read(STATE_FILE), newest);
    tree.assert_sound();
}

#[test]
fn a_purged_session_disappears_from_the_file_too_and_does_not_come_back() {
    let tree = Tree::new();
    tree.violate(minute(0), "go", "curl internal.example");
    tree.violate(minute(1), "keep", "git push --force");
    let old = tree.read(STATE_FILE);
    let engine = tree.engine(minute(2));
    assert_eq!(engine.store().purge("go").expect("purged"), 1);
    engine.rebuild_mirror();
    let purged = old.replace("curl internal.example", "[purged]").replace("\"go\"", "\"[purged]\"");
    assert_eq!(tree.read(STATE_FILE), purged);
    for file in [&old, &purged] {
        tree.write(STATE_FILE, file);
        assert_eq!(tree.engine(minute(3)).take_notices(), Vec::<String>::new());
        assert_eq!((tree.circuit().totals.violations, tree.read(STATE_FILE)), (2, purged.clone()));
    }
    tree.assert_sound();
}

#[test]
fn odd_instants_in_a_file_break_nothing() {
    let tree = Tree::new();
    let odd = [
        ("0000-01-01T00:00:00Z", "year zero", "s1"),
        ("9999-12-30T00:00:00Z", "far future", "s1"),
        ("2026-02-12T10:29:59.999+02:00", "another zone", "s1"),
        ("1969-12-31T23:59:59Z", "before the epoch", "s1"),
    ];
    tree.write(STATE_FILE, &foreign("CLOSED", "null", &odd));
    assert_eq!(tree.engine(minute(0)).take_notices(), Vec::<String>::new());
    for _ in 0..2 {
        let same = tree.read(STATE_FILE);
        tree.write(STATE_FILE, &same);
        tree.engine(minute(1));
        assert_eq!(tree.circuit().totals.violations, 4);
    }
    assert_eq!(tree.circuit().first, Some(Instant::parse("0000-01-01T00:00:00Z").expect("valid")));
    tree.assert_sound();
}
