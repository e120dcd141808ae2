//! Tests of `spool.rs`.

use std::time::Duration;

use haltline_core::{Instant, Moment};
use haltline_engine::clock::Deadline;
use haltline_engine::project::ProjectKey;
use haltline_engine::spool::{Drained, drain, has_events, put};

fn soon() -> Deadline {
    Deadline::new(Duration::from_secs(60))
}

#[test]
fn waiting_events_are_drained_once_and_in_order_and_the_folder_is_removed() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (here, elsewhere) = (ProjectKey(1), ProjectKey(2));
    assert!(!has_events(folder.path(), here));
    for (at, text) in [(2, "second"), (2, "third"), (1, "first")] {
        put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(at)), text.as_bytes()).expect("kept");
    }
    let mut events = Vec::new();
    drain(folder.path(), elsewhere, &soon(), |_| panic!("another project's events"));
    drain(folder.path(), here, &soon(), |content| {
        events.push(String::from_utf8_lossy(content).into_owned());
        events.len() != 2
    });
    assert_eq!(events, ["first", "second"]);
    assert!(!has_events(folder.path(), elsewhere));
    assert!(has_events(folder.path(), here), "what was not taken stays");
    drain(folder.path(), here, &soon(), |content| {
        events.push(String::from_utf8_lossy(content).into_owned());
        true
    });
    assert_eq!(events[2..], ["second", "third"]);
    assert!(!folder.path().join("spool").exists());
}

#[test]
fn without_time_one_event_is_taken_in_and_the_rest_waits() {
    let (folder, here) = (tempfile::tempdir().expect("temp folder"), ProjectKey(1));
    for at in 1..=3 {
        put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(at)), b"event").expect("kept");
    }
    let over = Deadline::new(Duration::ZERO);
    for is_partial in [true, true, false] {
        let mut count = 0;
        let drained = drain(folder.path(), here, &over, |_| {
            count += 1;
            true
        });
        assert_eq!((drained, count), (Drained { is_partial, lost: 0 }, 1));
    }
}

#[test]
fn what_does_not_fit_is_counted_and_the_number_is_reported_once() {
    let (folder, here) = (tempfile::tempdir().expect("temp folder"), ProjectKey(1));
    let large = vec![b' '; 1 << 20];
    let kept = (1..=40)
        .filter(|at| put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(*at)), &large).is_ok());
    assert_eq!(kept.count(), 16, "the spool has a limit in bytes");
    let mut count = 0;
    let drained = drain(folder.path(), here, &soon(), |_| {
        count += 1;
        true
    });
    assert_eq!((drained, count), (Drained { is_partial: false, lost: 24 }, 16));
    assert!(!folder.path().join("spool").exists());
    assert_eq!(drain(folder.path(), here, &soon(), |_| true), Drained::default());
}
