//! The journal stays bounded and the totals stay exact (E11).

use std::path::Path;

use crate::support::site::{Site, operator};
use crate::support::{moment, options};
use haltline_core::Moment;
use haltline_core::constraint::{ConstraintEvent, ForeignCircuit, ForeignViolation, StateName};
use haltline_engine::journal::verify;
use haltline_engine::store::{INCIDENTS_MAX, Sqlite, SqliteOptions, Store};

/// A small limit; the tenth of it that is kept free still has room for sixteen facts of the largest size.
const BYTES_MAX: u64 = 1536 * 1024;
/// SQLite's log is checkpointed after 64 pages; it may contain one more transaction.
const LOG_BYTES_MAX: u64 = 512 * 1024;
const DAY_MS: u64 = 86_400_000;

fn start() -> Moment {
    moment("2026-01-01T00:00:00Z")
}

fn day(days: u64) -> Moment {
    start().plus_millis(days * DAY_MS)
}

fn small(folder: &Path) -> Sqlite {
    Sqlite::new(folder, SqliteOptions { bytes_max: BYTES_MAX, ..options(start()) })
}

/// A store at a moment, whose facts live 31 days.
fn at(folder: &Path, now: Moment) -> Sqlite {
    Sqlite::new(folder, SqliteOptions { journal_days: 31, ..options(now) })
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// A constraint that is violated all the time: the first violation trips it, the others are ignored stops.
fn busy(project: &str) -> Site {
    let mut site = Site::new(project, "busy");
    site.limits.violation_threshold = 1;
    site
}

/// Violates it this often in one event: haltline found a state file.
fn violate_at_once(store: &Sqlite, site: &Site, times: usize, action: &str) {
    let line = ForeignViolation { at: start().at, action: action.to_owned(), session: "s1".to_owned() };
    let violations = vec![line; times];
    let foreign = ForeignCircuit {
        state: StateName::Closed,
        violations,
        last_trip: None,
        last_reset: None,
        limits: Some(site.limits),
    };
    site.commit(store, "s1", ConstraintEvent::StateFileFound(foreign), start());
}

fn assert_sound(store: &Sqlite, site: &Site) {
    assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
    assert_eq!(store.take_salvages(), vec![]);
}

fn anchor(store: &Sqlite, site: &Site) -> u64 {
    store.anchor(site.project.key).expect("read").head.seq
}

#[test]
fn the_file_stays_under_its_limit_and_the_totals_stay_exact() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (store, site) = (small(folder.path()), busy("main"));
    for step in 0..800 {
        site.violate(&store, "s1", &format!("step {step} {}", "x".repeat(3_000)), start());
        assert!(bytes(&store.path()) <= BYTES_MAX, "at step {step} the file has {} bytes", bytes(&store.path()));
    }
    assert!(bytes(&folder.path().join("state.db-wal")) <= LOG_BYTES_MAX);
    let totals = site.circuit(&store).totals;
    assert_eq!((totals.violations, totals.counted, totals.while_open), (800, 1, 799));
    assert!(anchor(&store, &site) > 0, "facts were folded");
    assert_sound(&store, &site);
}

#[test]
fn long_texts_after_many_short_ones_do_not_exceed_the_limit() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (store, site) = (small(folder.path()), busy("main"));
    violate_at_once(&store, &site, 3_000, "x");
    assert_eq!(anchor(&store, &site), 0, "they fit");
    let long = "y".repeat(4_000);
    for step in 0..200 {
        site.violate(&store, &long, &long, start());
        assert!(bytes(&store.path()) <= BYTES_MAX, "at step {step} the file has {} bytes", bytes(&store.path()));
    }
    assert_eq!(site.circuit(&store).totals.violations, 3_200);
    assert_sound(&store, &site);
}

#[test]
fn an_open_circuit_survives_the_folding_of_its_facts() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (store, tripped_site, busy) = (small(folder.path()), Site::new("main", "force-push"), busy("main"));
    for _ in 0..3 {
        tripped_site.violate(&store, "s1", "git push --force", start());
    }
    let before = tripped_site.circuit(&store);
    for _ in 0..600 {
        busy.violate(&store, "s1", &"x".repeat(3_000), start());
    }
    assert!(anchor(&store, &tripped_site) >= 5, "all its facts were folded");
    assert!(store.history(tripped_site.project.key, &tripped_site.circuit_name(), 9).expect("read").is_empty());
    assert_eq!(tripped_site.circuit(&store), before);
    assert_eq!(tripped_site.circuit(&store).state_at(start()).name(), StateName::Open);
    assert_sound(&store, &tripped_site);
    tripped_site.commit(&store, "s1", ConstraintEvent::Reset(operator()), start());
    assert_eq!(tripped_site.circuit(&store).state_at(start()).name(), StateName::Closed);
    assert_sound(&store, &tripped_site);
}

#[test]
fn the_largest_project_is_trimmed_whichever_project_writes() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (store, large, new) = (small(folder.path()), busy("large"), busy("new"));
    violate_at_once(&store, &large, 4_000, &"x".repeat(200));
    let before = (anchor(&store, &large), large.circuit(&store));
    for _ in 0..100 {
        new.violate(&store, "s1", &"x".repeat(3_000), start());
    }
    assert!(anchor(&store, &large) > before.0, "the largest was folded further");
    assert_eq!((anchor(&store, &new), new.circuit(&store).totals.violations), (0, 100));
    assert_eq!(large.circuit(&store), before.1);
    assert_sound(&store, &large);
    assert_sound(&store, &new);
}

#[test]
fn facts_older_than_the_limit_are_folded_and_younger_ones_stay() {
    let folder = tempfile::tempdir().expect("temp folder");
    let site = busy("main");
    for days in 0..40 {
        site.violate(&at(folder.path(), day(days)), "s1", "sleep", day(days));
    }
    // The age of the facts is checked with every sixteenth fact.
    for _ in 0..7 {
        site.violate(&at(folder.path(), day(40)), "s1", "sleep", day(40));
    }
    let store = at(folder.path(), day(40));
    let kept = store.journal(site.project.key, 0, 1).expect("read").pop().expect("some are kept");
    assert_eq!(kept.read().expect("readable").at, day(9), "exactly 31 days old is not older");
    assert_eq!(anchor(&store, &site), kept.seq - 1);
    assert_eq!(site.circuit(&store).totals.violations, 47);
    assert_sound(&store, &site);
}

#[test]
fn a_clock_far_ahead_folds_but_loses_no_count() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (site, tripped_site) = (busy("main"), Site::new("main", "force-push"));
    for _ in 0..3 {
        tripped_site.violate(&at(folder.path(), start()), "s1", "git push --force", start());
    }
    let ahead = day(365 * 100);
    for _ in 0..20 {
        site.violate(&at(folder.path(), ahead), "s1", "sleep", ahead);
    }
    let store = at(folder.path(), start());
    assert!(anchor(&store, &site) >= 5);
    assert_eq!(tripped_site.circuit(&store).state_at(start()).name(), StateName::Open);
    for _ in 0..20 {
        site.violate(&store, "s1", "sleep", start());
    }
    assert_eq!(site.circuit(&store).totals.violations, 40);
    assert_sound(&store, &site);
}

#[test]
fn many_threads_over_a_tiny_limit_count_exactly() {
    let folder = tempfile::tempdir().expect("temp folder");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                let (store, site) = (small(folder), busy(if number % 2 == 0 { "even" } else { "odd" }));
                for _ in 0..200 {
                    site.violate(&store, "s1", &"x".repeat(3_000), start());
                }
            });
        }
    });
    let store = small(folder.path());
    for name in ["even", "odd"] {
        assert_eq!(busy(name).circuit(&store).totals.violations, 400, "{name}");
        assert_sound(&store, &busy(name));
    }
    assert!(bytes(&store.path()) <= BYTES_MAX);
}

#[test]
fn an_incident_outlives_the_facts_of_its_trip() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (store, tripped_site, busy) = (small(folder.path()), Site::new("main", "force-push"), busy("main"));
    for _ in 0..3 {
        tripped_site.violate(&store, "s1", "git push --force", start());
    }
    tripped_site.commit(&store, "s1", ConstraintEvent::Reset(operator()), start());
    for _ in 0..600 {
        busy.violate(&store, "s1", &"x".repeat(3_000), start());
    }
    assert!(store.history(tripped_site.project.key, &tripped_site.circuit_name(), 9).expect("read").is_empty());
    let incidents = store.incidents(Some(tripped_site.project.key)).expect("read");
    let kept = incidents.iter().find(|kept| kept.row == tripped_site.circuit_name()).expect("it is kept");
    let end = kept.end.as_ref().expect("a person ended it");
    assert_eq!((kept.start.code.as_str(), kept.start.count), ("HL-CON-02", 3));
    assert_eq!((end.how.as_str(), end.who.as_deref()), ("reset", Some("ana")));
    assert_eq!(kept.texts.end_reason.as_deref(), Some("looked into it"));
}

#[test]
fn the_table_of_incidents_is_bounded_and_open_ones_stay() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (store, open, mut site) = (at(folder.path(), start()), busy("main"), Site::new("main", "reset-often"));
    site.limits.violation_threshold = 1;
    open.violate(&store, "s1", "sleep", start());
    for step in 0..INCIDENTS_MAX as u64 + 20 {
        site.violate(&store, "s1", "git push --force", start().plus_millis(step * 1_000_000));
        site.commit(&store, "s1", ConstraintEvent::Reset(operator()), start().plus_millis(step * 1_000_000 + 1));
    }
    let incidents = store.incidents(Some(site.project.key)).expect("read");
    assert_eq!(incidents.len(), INCIDENTS_MAX);
    assert!(incidents.iter().any(|kept| kept.row == open.circuit_name() && kept.end.is_none()));
}
