//! Tests of `spool.rs`.

use haltline_core::{Instant, Moment};
use haltline_engine::project::ProjectKey;
use haltline_engine::spool::{drain, has_events, put};

#[test]
fn waiting_events_are_drained_once_and_in_order_and_the_folder_is_removed() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (here, elsewhere) = (ProjectKey(1), ProjectKey(2));
    assert!(!has_events(folder.path(), here));
    for (at, text) in [(2, "second"), (2, "third"), (1, "first")] {
        put(folder.path(), here, Moment::from_wall_clock(Instant::from_millis(at)), text.as_bytes()).expect("kept");
    }
    let mut events = Vec::new();
    drain(folder.path(), elsewhere, |_| panic!("another project's events"));
    drain(folder.path(), here, |content| {
        events.push(String::from_utf8_lossy(content).into_owned());
        events.len() != 2
    });
    assert_eq!(events, ["first", "second"]);
    assert!(!has_events(folder.path(), elsewhere));
    assert!(has_events(folder.path(), here), "what was not taken stays");
    drain(folder.path(), here, |content| {
        events.push(String::from_utf8_lossy(content).into_owned());
        true
    });
    assert_eq!(events[2..], ["second", "third"]);
    assert!(!folder.path().join("spool").exists());
}
