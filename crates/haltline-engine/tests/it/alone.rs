//! A short process uses the store alone if it can, and shares it with every process that has it open.

use std::path::Path;
use std::time::Duration;

use crate::support::site::Site;
use crate::support::{moment, options};
use haltline_core::Moment;
use haltline_engine::file::with_suffix;
use haltline_engine::store::{Sqlite, SqliteOptions, Store, StoreError};

fn minute(minutes: u64) -> Moment {
    moment("2026-07-01T09:00:00Z").plus_millis(minutes * 60_000)
}

fn site() -> Site {
    Site::new("main", "force-push")
}

fn shared(folder: &Path) -> Sqlite {
    Sqlite::new(folder, options(minute(0)))
}

fn brief(folder: &Path) -> Sqlite {
    let mut store = Sqlite::new(folder, SqliteOptions { timeout: Duration::from_millis(50), ..options(minute(0)) });
    store.set_brief(true);
    store
}

fn violate(store: &Sqlite, minutes: u64) {
    site().violate(store, "s1", "git push --force", minute(minutes));
}

fn violations(store: &Sqlite) -> u64 {
    site().circuit(store).totals.violations
}

#[test]
fn a_store_used_alone_needs_no_shared_memory() {
    let folder = tempfile::tempdir().expect("temp folder");
    violate(&shared(folder.path()), 0);
    let memory = with_suffix(&folder.path().join("state.db"), "-shm");
    std::fs::remove_file(&memory).ok();
    let (first, second) = (brief(folder.path()), brief(folder.path()));
    for minutes in 1..40 {
        violate(if minutes % 2 == 0 { &first } else { &second }, minutes);
    }
    assert!(!memory.exists());
    assert_eq!(violations(&shared(folder.path())), 40);
    assert!(memory.exists(), "others share the store as before");
}

#[test]
fn a_process_that_keeps_the_store_open_and_short_ones_see_each_other() {
    let folder = tempfile::tempdir().expect("temp folder");
    let resident = shared(folder.path());
    for minutes in 0..20 {
        violate(&resident, 2 * minutes);
        assert_eq!(violations(&brief(folder.path())), 2 * minutes + 1);
        violate(&brief(folder.path()), 2 * minutes + 1);
        assert_eq!(violations(&resident), 2 * minutes + 2);
    }
    assert_eq!(resident.take_salvages(), vec![]);
}

#[test]
fn a_hold_keeps_others_out_until_it_ends() {
    let folder = tempfile::tempdir().expect("temp folder");
    violate(&shared(folder.path()), 0);
    let holder = brief(folder.path());
    let hold = holder.hold();
    assert_eq!(violations(&holder), 1);
    violate(&holder, 1);
    let other = brief(folder.path());
    let waited = other.check_writable();
    assert!(matches!(waited, Err(StoreError::Busy { .. })), "{waited:?}");
    assert_eq!(violations(&other), 2, "what is committed can be read at any time");
    violate(&holder, 2);
    drop(hold);
    violate(&brief(folder.path()), 3);
    assert_eq!(violations(&shared(folder.path())), 4);
}

#[test]
fn a_hold_of_a_store_that_is_missing_or_shared_changes_nothing() {
    let folder = tempfile::tempdir().expect("temp folder");
    let first = brief(&folder.path().join("new"));
    let hold = first.hold();
    assert_eq!(first.circuits(site().project.key).expect("read"), vec![]);
    violate(&first, 0);
    violate(&first, 1);
    drop(hold);
    let resident = shared(&folder.path().join("new"));
    assert_eq!(violations(&resident), 2);
    let second = brief(&folder.path().join("new"));
    let hold = second.hold();
    assert_eq!(violations(&second), 2);
    violate(&second, 2);
    assert_eq!(violations(&resident), 3);
    drop(hold);
    violate(&resident, 3);
    assert_eq!(violations(&second), 4);
}
