//! Tests of `replay/trips_file.rs`.

use haltline_core::Instant;
use haltline_engine::replay::{KeptTrip, TRIPS_KEPT_MAX, TripsFile};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn trip(number: u64) -> KeptTrip {
    KeptTrip {
        incident: format!("{number:08x}"),
        source: "a.jsonl".to_owned(),
        format: "plain".to_owned(),
        session: "s".to_owned(),
        call: number,
        calls: 9,
        at: Some(Instant::from_millis(i64::try_from(number).expect("small"))),
        circuit: "loop/s/repeat".to_owned(),
        code: "HL-LOOP-01".to_owned(),
        verdict: "deny".to_owned(),
        reason: "why".to_owned(),
        evidence: vec![(None, "the same".to_owned())],
        calls_after: 3,
        micros_after: None,
        is_committed_after: true,
    }
}

#[test]
fn the_newest_trips_and_the_most_important_ones_are_kept() {
    let folder = tempfile::tempdir().expect("temp folder");
    let state = folder.path().join("state");
    let mut file = TripsFile::default();
    (0..1_000).for_each(|number| file.keep(trip(number)));
    assert!(file.trips.len() < 2 * TRIPS_KEPT_MAX);
    file.write(&state, vec![trip(3), trip(999)]).expect("written");
    let found = |number: u64| TripsFile::find(&state, &format!("{number:08x}")).is_some();
    let mode = fs::metadata(state.join("backtest.json")).expect("written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(found(3) && found(999) && found(998) && found(801));
    assert!(!found(4) && !found(800));
    assert_eq!(TripsFile::find(&state, "000003e7"), Some(trip(999)));
    assert_eq!(TripsFile::find(folder.path(), "000003e7"), None);
}
