//! What a damaged, lost or newer store comes to: an OPEN circuit stays OPEN, the damaged file is kept, and the next
//! writes work (C6, E1, E2, E7; STYLE 14).

#[path = "support/site.rs"]
mod site;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::constraint::{Condition, Happening, Standing, Totals};
use haltline_core::trust::Trust;
use haltline_core::{Boot, CircuitName, Moment, State, Texts};
use haltline_engine::journal::{Verification, verify};
use haltline_engine::set_aside_files;
use haltline_engine::store::{Entry, Salvage, Sqlite, SqliteOptions, Store, StoreError, Undelivered};
use proptest::prelude::*;
use site::{LIMITS, Site, operator};
use support::{moment, options};

const MORNING: &str = "2026-02-12T10:00:00Z";

/// Minutes after the morning.
fn minute(minutes: u64) -> Moment {
    moment(MORNING).plus_millis(minutes * 60_000)
}

/// The circuit that is OPEN before the damage.
fn held() -> Site {
    Site::new("main", "force-push")
}

/// A state folder that can be broken.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    /// Nothing in it.
    fn empty() -> Self {
        Self { folder: tempfile::tempdir().expect("temp folder") }
    }

    /// A store with an OPEN circuit, a CLOSED one beside it, and one of another project.
    fn sound() -> Self {
        let place = Self::empty();
        let store = place.open();
        for step in 0..3 {
            held().violate(&store, "s1", "git push --force", minute(step));
        }
        Site::new("main", "other").violate(&store, "s1", "rm -rf build", minute(3));
        Site::new("elsewhere", "force-push").violate(&store, "s2", "git push --force", minute(4));
        place
    }

    /// The same with everything in the main file and nothing in the log.
    fn settled() -> Self {
        let place = Self::sound();
        place.edit("PRAGMA wal_checkpoint(TRUNCATE)");
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).expect("the file is there")
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.file(name), content).expect("the file can be written");
    }

    fn open(&self) -> Sqlite {
        Sqlite::new(self.path(), options(minute(30)))
    }

    /// Another program changes the database.
    fn edit(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.file("state.db")).expect("the file opens");
        connection.execute_batch(sql).expect("the edit works");
    }

    /// Puts something else in the database's place, with no log beside it.
    fn replace(&self, content: &[u8]) {
        for name in ["state.db-wal", "state.db-shm"] {
            fs::remove_file(self.file(name)).expect("there was a log");
        }
        self.write("state.db", content);
    }

    fn forget_latches(&self) {
        fs::remove_dir_all(self.file("latches")).expect("there were latches");
    }

    fn set_aside(&self) -> Vec<PathBuf> {
        set_aside_files(self.path(), "state.db.corrupt-")
    }
}

fn condition(store: &Sqlite) -> Condition {
    held().circuit(store).standing_at(minute(30)).condition()
}

/// The circuit is OPEN, takes a write and still is, and the journal fits; says what had to be rescued.
fn assert_still_open(place: &Folder, case: &str) -> Vec<Salvage> {
    let store = place.open();
    assert_eq!(condition(&store), Condition::Open, "read after {case}");
    let before = held().circuit(&store).totals;
    held().violate(&store, "s3", "git push -f", minute(20));
    let after = held().circuit(&store).totals;
    assert_eq!((after.violations, after.while_open), (before.violations + 1, before.while_open + 1), "after {case}");
    assert_eq!(condition(&store), Condition::Open, "written after {case}");
    let problems = verify(&store, held().project.key).expect("readable").problems;
    assert_eq!(problems, Vec::<String>::new(), "after {case}");
    store.undelivered(held().project.key).expect("readable");
    let salvages = store.salvages();
    for kept in salvages.iter().filter_map(|salvage| salvage.kept.as_ref()) {
        assert!(kept.exists(), "{} was to be kept after {case}", kept.display());
    }
    salvages
}

#[test]
fn a_sound_store_is_not_rescued() {
    for place in [Folder::sound(), Folder::settled()] {
        assert_eq!(assert_still_open(&place, "nothing"), vec![]);
        assert_eq!(place.set_aside(), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_garbage_header_is_set_aside_and_the_latch_holds_the_circuit() {
    let place = Folder::settled();
    let mut content = place.read("state.db");
    content[..100].fill(0x5a);
    place.write("state.db", &content);
    let salvages = assert_still_open(&place, "a garbage header");
    let kept = place.file("state.db.corrupt-2026-02-12T103000Z");
    assert_eq!(salvages, [Salvage { kept: Some(kept.clone()), circuits: 1, latched: 1, facts: 0 }]);
    assert_eq!(fs::read(kept).expect("kept"), content, "the damaged file is kept as it was");
}

#[test]
fn a_file_cut_off_anywhere_leaves_the_circuit_open() {
    let whole = Folder::settled();
    let (content, latches) = (whole.read("state.db"), whole.file("latches"));
    let latch = fs::read_dir(latches).expect("listed").flatten().next().expect("one latch");
    for length in (0..content.len()).step_by(512) {
        let place = Folder::empty();
        fs::create_dir(place.file("latches")).expect("created");
        fs::copy(latch.path(), place.file("latches").join(latch.file_name())).expect("copied");
        place.write("state.db", &content[..length]);
        let salvages = assert_still_open(&place, &format!("a cut at {length} of {}", content.len()));
        // The last page holds only what people are still to be told; a cut through it may go unnoticed.
        if length <= content.len() - 4096 {
            assert_eq!(salvages.len(), 1, "a cut at {length} is reported");
        }
        if length > 0 && !salvages.is_empty() {
            assert_eq!(place.set_aside().len(), 1, "a cut at {length} is kept");
        }
    }
}

#[test]
fn an_empty_file_is_a_lost_one() {
    let place = Folder::settled();
    place.write("state.db", b"");
    let salvages = assert_still_open(&place, "an empty file");
    assert_eq!(salvages, [Salvage { kept: None, circuits: 1, latched: 1, facts: 0 }]);
}

#[test]
fn a_deleted_file_is_made_anew_from_the_latches() {
    for logs in [true, false] {
        let place = Folder::sound();
        fs::remove_file(place.file("state.db")).expect("deleted");
        if !logs {
            fs::remove_file(place.file("state.db-wal")).expect("deleted");
        }
        let salvages = assert_still_open(&place, "a deleted file");
        assert_eq!(salvages, [Salvage { kept: None, circuits: 1, latched: 1, facts: 0 }]);
    }
}

#[test]
fn without_file_and_latches_everything_begins_anew() {
    let place = Folder::settled();
    fs::remove_file(place.file("state.db")).expect("deleted");
    place.forget_latches();
    let store = place.open();
    assert_eq!(store.circuits(held().project.key).expect("read"), vec![]);
    assert_eq!(store.salvages(), vec![]);
    held().violate(&store, "s1", "git push --force", minute(5));
    assert_eq!(held().circuit(&store).totals.violations, 1);
    assert_eq!(verify(&store, held().project.key).expect("read").problems, Vec::<String>::new());
}

#[test]
fn a_file_deleted_under_an_open_store_is_noticed() {
    let place = Folder::sound();
    let store = place.open();
    assert_eq!(condition(&store), Condition::Open);
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        fs::remove_file(place.file(name)).expect("deleted");
    }
    assert_eq!(condition(&store), Condition::Open);
    held().violate(&store, "s1", "git push --force", minute(5));
    assert_eq!(store.salvages(), [Salvage { kept: None, circuits: 1, latched: 1, facts: 0 }]);
    assert_still_open(&place, "a file deleted under an open store");
}

#[test]
fn any_row_that_makes_no_sense_is_rescued_from_the_others_without_latches() {
    for sql in [
        "UPDATE circuit SET state = '{\"constraint\":{\"rule' WHERE name = 'constraint/force-push'",
        "UPDATE circuit SET state = 'null'",
        "UPDATE circuit SET state = x'ff00'",
        "UPDATE circuit SET state = CAST(x'fffe' AS TEXT)",
        "UPDATE circuit SET last = 'x'",
        "UPDATE circuit SET last = -1",
        "DROP TABLE circuit",
        "UPDATE project SET hash = x'00'",
        "UPDATE project SET hash = 'text'",
        "UPDATE project SET seq = -5",
        "UPDATE project SET seq = 2",
        "UPDATE project SET anchor_seq = 'x'",
        "UPDATE project SET anchor_hash = x''",
        "DELETE FROM project",
        "DROP TABLE project",
        "UPDATE fact SET hash = x'01'",
        "UPDATE fact SET body = x'ff'",
        "UPDATE fact SET name = CAST(x'ff' AS TEXT) WHERE seq = 2",
        "DELETE FROM fact",
        "DROP TABLE fact",
        "DROP TABLE anchor",
        "INSERT INTO anchor SELECT project, name, '{' FROM circuit",
        "DROP TABLE outbox",
        "UPDATE outbox SET attempts = -1",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = -7",
    ] {
        let place = Folder::sound();
        place.forget_latches();
        place.edit(sql);
        let store = place.open();
        assert_eq!(condition(&store), Condition::Open, "read after {sql}");
        held().violate(&store, "s3", "git push -f", minute(20));
        assert_eq!(held().circuit(&store).totals.violations, 4, "no count is lost by {sql}");
        let waiting = store.undelivered(held().project.key).expect("readable");
        let found = verify(&store, held().project.key).expect("readable").problems;
        let salvages = store.salvages();
        if salvages.is_empty() {
            assert!(!found.is_empty(), "{sql} is told by nobody");
        } else {
            assert_eq!(found, Vec::<String>::new(), "after {sql}");
            assert_eq!(place.set_aside().first(), salvages[0].kept.as_ref(), "kept after {sql}");
            let is_lost = sql.contains("outbox");
            assert_eq!(waiting.len(), usize::from(!is_lost), "the trip is still to be told after {sql}");
        }
        let known: Vec<PathBuf> = store.projects().expect("read").into_iter().map(|known| known.identity).collect();
        assert!(known.contains(&held().project.identity), "the project is known by name after {sql}: {known:?}");
    }
}

#[test]
fn reading_alone_rescues_a_garbled_row() {
    let place = Folder::sound();
    place.edit("UPDATE circuit SET state = 'garbled' WHERE name = 'constraint/force-push'");
    let store = place.open();
    assert_eq!(store.circuits(held().project.key).expect("rescued").len(), 2);
    assert_eq!(condition(&store), Condition::Open);
    assert_eq!(store.salvages().len(), 1);
}

#[test]
fn a_row_lost_after_its_facts_were_folded_comes_from_the_anchor() {
    let place = Folder::empty();
    let mut busy = Site::new("main", "busy");
    busy.limits.violation_threshold = 1_000;
    let store = place.open();
    for step in 0..3 {
        held().violate(&store, "s1", "git push --force", minute(step));
    }
    let later = minute(60 * 24 * 40);
    let store = Sqlite::new(place.path(), SqliteOptions { journal_days: 31, ..options(later) });
    for _ in 0..40 {
        busy.violate(&store, "s1", "sleep", later);
    }
    let totals = held().circuit(&store).totals;
    assert!(store.anchor(held().project.key).expect("read").head.seq >= 5, "the trip was folded");
    drop(store);
    place.forget_latches();
    place.edit("UPDATE circuit SET state = 'garbled'");
    let store = place.open();
    assert_eq!(held().circuit(&store).totals, totals);
    assert_eq!(condition(&store), Condition::Open);
    assert_eq!(busy.circuit(&store).totals.violations, 40);
    assert_eq!(verify(&store, held().project.key).expect("read").problems, Vec::<String>::new());
}

#[test]
fn a_stale_latch_moves_nothing_in_a_sound_store() {
    let place = Folder::sound();
    let latch = fs::read_dir(place.file("latches")).expect("listed").flatten().next().expect("one latch").path();
    let content = fs::read(&latch).expect("read");
    held().commit(&place.open(), "s1", Happening::Reset(operator()), minute(10));
    assert!(!latch.exists(), "a closed circuit has no latch");
    // As if the process had died between the commit and the removal.
    fs::write(&latch, content).expect("written");
    fs::write(place.file("latches").join("half.json"), b"{\"project\":1").expect("written");
    let store = place.open();
    assert_eq!(condition(&store), Condition::Closed);
    held().violate(&store, "s1", "git push --force", minute(11));
    assert_eq!((condition(&store), store.salvages()), (Condition::Closed, vec![]));
}

#[test]
fn a_log_that_lost_the_trip_does_not_close_the_circuit() {
    let place = Folder::empty();
    let store = place.open();
    for step in 0..2 {
        held().violate(&store, "s1", "git push --force", minute(step));
    }
    drop(store);
    let early = (place.read("state.db"), place.read("state.db-wal"));
    held().violate(&place.open(), "s1", "git push --force", minute(2));
    place.write("state.db", &early.0);
    place.write("state.db-wal", &early.1);
    fs::remove_file(place.file("state.db-shm")).expect("deleted");
    let salvages = assert_still_open(&place, "a log that ends before the trip");
    assert_eq!(salvages.iter().map(|salvage| salvage.latched).collect::<Vec<_>>(), [1]);
}

#[test]
fn of_two_damages_in_one_second_the_newer_file_is_kept() {
    let place = Folder::sound();
    for round in 0..3 {
        let garbage = vec![0x40 + round; 9_000];
        place.replace(&garbage);
        let salvages = assert_still_open(&place, "garbage");
        let kept = salvages[0].kept.clone().expect("kept");
        assert_eq!(fs::read(kept).expect("kept"), garbage, "round {round}");
    }
    // A clock that went back does not throw the newest away either.
    place.replace(&[1; 9_000]);
    let store = Sqlite::new(place.path(), options(moment("2020-01-01T00:00:00Z")));
    held().violate(&store, "s1", "git push --force", minute(5));
    let kept = store.salvages()[0].kept.clone().expect("kept");
    assert_eq!(fs::read(kept).expect("kept"), [1; 9_000]);
}

#[test]
fn two_stores_that_meet_the_same_damage_rescue_it_once() {
    let place = Folder::settled();
    place.write("state.db", &[7; 20_000]);
    let (one, two) = (place.open(), place.open());
    assert_eq!((condition(&one), condition(&two)), (Condition::Open, Condition::Open));
    assert_eq!((one.salvages().len(), two.salvages().len()), (1, 0));
    held().violate(&one, "s1", "git push --force", minute(5));
    held().violate(&two, "s1", "git push --force", minute(6));
    assert_eq!(held().circuit(&one).totals, held().circuit(&two).totals);
    assert_eq!(place.set_aside().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_never_panics_and_never_closes_the_circuit(
        is_log in any::<bool>(),
        place_in_file in 0.0..1.0_f64,
        seed in any::<u64>(),
        length in 8..600_usize,
        keeps_latches in prop::bool::weighted(0.7),
    ) {
        let place = if is_log { Folder::sound() } else { Folder::settled() };
        let name = if is_log { "state.db-wal" } else { "state.db" };
        let garbage = noise(seed, length);
        let mut content = place.read(name);
        let offset = ((content.len() - garbage.len()) as f64 * place_in_file) as usize;
        content[offset..offset + garbage.len()].copy_from_slice(&garbage);
        if is_log {
            // The index of the log is made anew by the first to open it, as after a power cut.
            fs::remove_file(place.file("state.db-shm")).expect("deleted");
        }
        place.write(name, &content);
        if !keeps_latches {
            place.forget_latches();
        }
        let store = place.open();
        let key = held().project.key;
        // The header's version was hit: that cannot be told from a newer haltline's file, which is left alone.
        let is_newer = |error: &StoreError| matches!(error, StoreError::Newer { .. });
        match store.circuit(key, &held().circuit_name()) {
            Err(error) if is_newer(&error) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("not read: {error}"))),
            Ok(state) if keeps_latches => {
                let state = state.expect("an OPEN circuit is there");
                let circuit = state.as_constraint().expect("a constraint's");
                prop_assert_eq!(circuit.standing_at(minute(30)).condition(), Condition::Open);
            }
            Ok(_) => {}
        }
        match held().take(&store, "s3", violation(), minute(20)) {
            Err(error) if is_newer(&error) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("not written: {error}"))),
            Ok(_) => {}
        }
        if keeps_latches {
            prop_assert_eq!(condition(&store), Condition::Open);
        }
        // Damage to a text is no damage to the file: that is told, and stops nothing.
        prop_assert!(verify(&store, key).expect("readable").circuits >= 1);
    }
}

/// Bytes that look like nothing, the same for the same seed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let block = |number: u64| haltline_core::sha256(&[&seed.to_be_bytes(), &number.to_be_bytes()]);
    (0..).flat_map(block).take(length).collect()
}

fn violation() -> Happening {
    Happening::Violation { action: "git push -f".to_owned() }
}

#[test]
fn a_newer_store_is_read_and_never_written() {
    let place = Folder::settled();
    place.edit(
        "ALTER TABLE circuit ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
         ALTER TABLE fact ADD COLUMN place TEXT;
         CREATE TABLE fleet (machine TEXT);
         PRAGMA user_version = 99;
         PRAGMA wal_checkpoint(TRUNCATE);",
    );
    let before = place.read("state.db");
    for reads_first in [true, false] {
        let store = place.open();
        if reads_first {
            assert_eq!(condition(&store), Condition::Open);
            assert_eq!(store.circuits(held().project.key).expect("read").len(), 2);
            assert_eq!(verify(&store, held().project.key).expect("read").problems, Vec::<String>::new());
            assert_eq!(store.history(held().project.key, &held().circuit_name(), 10).expect("read").len(), 5);
            assert_eq!(store.projects().expect("read").len(), 2);
            assert_eq!(store.newer_schema().expect("read"), Some(99));
        }
        let refusals = [
            held().take(&store, "s1", violation(), minute(20)).err(),
            store.purge("s1").err(),
            store.delivered(1, true).err(),
        ];
        for refusal in refusals {
            let refusal = refusal.expect("a newer store is not written");
            assert!(matches!(refusal, StoreError::Newer { found: 99, known: 1, .. }), "{refusal}");
        }
        assert_eq!(store.salvages(), vec![]);
    }
    assert_eq!(place.read("state.db"), before);
    assert_eq!(place.read("state.db-wal"), b"", "and nothing waits in the log");
}

#[test]
fn a_store_that_becomes_newer_while_it_is_open_is_written_no_more() {
    let place = Folder::sound();
    let store = place.open();
    held().violate(&store, "s1", "git push --force", minute(5));
    place.edit("PRAGMA user_version = 99");
    let refusal = held().take(&store, "s1", violation(), minute(6)).expect_err("not written");
    assert!(matches!(refusal, StoreError::Newer { found: 99, .. }), "{refusal}");
    assert_eq!(condition(&store), Condition::Open);
}

#[test]
fn a_newer_store_with_rows_of_a_kind_unknown_here_is_left_alone() {
    let place = Folder::sound();
    place.edit(
        "INSERT INTO circuit SELECT project, 'weather/rain', last, '{\"weather\":{\"wet\":true}}' FROM circuit
             WHERE name = 'constraint/force-push';
         PRAGMA user_version = 99",
    );
    let store = place.open();
    assert_eq!(condition(&store), Condition::Open, "the rows that are known are read");
    let refusal = store.circuits(held().project.key).expect_err("one row cannot be read");
    assert!(matches!(refusal, StoreError::Newer { .. }), "{refusal}");
    assert_eq!((store.salvages(), place.set_aside()), (vec![], Vec::<PathBuf>::new()));
}

#[test]
fn a_fact_of_an_unknown_kind_is_shown_and_stops_nothing() {
    let place = Folder::sound();
    place.edit(
        "UPDATE fact SET body = replace(body, '\"refused\"', '\"x\"');
                UPDATE fact SET body = replace(body, '{\"violated\":', '{\"foreseen\":') WHERE seq = 2",
    );
    let store = place.open();
    let entry = store.journal(held().project.key, 1, 1).expect("read").pop().expect("there");
    let read = entry.read().expect("its frame is known");
    assert_eq!((read.cause.as_str(), read.fact), ("violation", None));
    let problems = verify(&store, held().project.key).expect("read").problems;
    assert!(problems.contains(&"fact 2 is of a kind this haltline does not know".to_owned()), "{problems:?}");
    held().violate(&store, "s1", "git push --force", minute(5));
    assert_eq!(condition(&store), Condition::Open);
    assert_eq!(store.salvages(), vec![]);
}

#[test]
fn a_store_of_version_1_is_read_and_written_for_ever() {
    let place = Folder::empty();
    place.edit("PRAGMA journal_mode = WAL");
    place.edit(include_str!("../testdata/store/v1.sql"));
    let (open, calm, gone) = (held(), Site::new("main", "no-secrets"), Site::new("main", "gone"));
    let reopened = Site::new("elsewhere", "force-push");
    let store = place.open();
    let head = store.head(open.project.key).expect("read");
    let expected = Verification { anchor: 3, facts: 13, circuits: 4, head, problems: Vec::new() };
    assert_eq!((verify(&store, open.project.key).expect("read"), head.short().as_str()), (expected, "d2be8c229d4d"));
    let expected = Totals { violations: 4, counted: 3, while_open: 1, refused: 1, trips: 1, ..Totals::default() };
    assert_eq!(open.circuit(&store).totals, expected);
    assert_eq!(open.circuit(&store).rule.limits, LIMITS);
    assert_eq!(condition(&store), Condition::Open);
    let now = Moment { boot: Some(Boot { id: 7, uptime_ms: 1_600_000 }), ..minute(10) };
    assert_eq!(open.circuit(&store).ready_override(now).map(|granted| granted.who.as_str()), Some("ana"));
    assert_eq!((calm.circuit(&store).totals.violations, calm.circuit(&store).standing), (3, Standing::Closed));
    let retired = Standing::Retired { at: minute(8).at, from: Condition::Closed };
    assert_eq!(gone.circuit(&store).standing, retired);
    let trust = store.circuit(open.project.key, &CircuitName::trust()).expect("read");
    assert_eq!(trust, Some(State::Trust(Trust { digest: Some("abc".to_owned()), seen: None })));
    assert_eq!(reopened.circuit(&store).totals.trips, 2);
    let purged = store.history(calm.project.key, &calm.circuit_name(), 9).expect("read");
    assert_eq!(purged.iter().map(Entry::texts).collect::<Vec<_>>(), [Texts::default()]);
    let waiting = store.undelivered(open.project.key).expect("read");
    let circuit = open.circuit_name();
    assert_eq!(waiting, [Undelivered { id: 1, circuit, incident: "737dcd85".to_owned(), attempts: 0 }]);
    assert_eq!((store.salvages(), store.newer_schema().expect("read")), (vec![], None));
    assert_still_open(&place, "version 1");
}
