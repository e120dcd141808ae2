//! The promises of `Store`, each held against every store there is (E1, E2, E16).

#[path = "support/site.rs"]
mod site;
mod support;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use haltline_core::constraint::{Condition, Fact as ConstraintFact, Happening, StandingAt};
use haltline_core::{
    CircuitName, Decision, Fact, Memory, Moment, Policy, Rejection, State, Step, Texts, Verdict, apply, decide,
};
use haltline_engine::journal::{Verification, verify};
use haltline_engine::store::{
    DELIVERY_ATTEMPTS_MAX, Entry, Head, InMemory, Known, Outcome, Sqlite, SqliteOptions, Store, StoreError,
    Undelivered, Writing, link,
};
use site::{Site, operator};
use support::{moment, options};

const MORNING: &str = "2026-02-12T10:00:00Z";

/// A place that stores can be opened on, by many at once.
trait Place: Sync {
    /// Opens the store there, for one visitor.
    fn visit(&self, work: &mut dyn FnMut(&dyn Store));
    /// The same for a visitor that does not wait for others.
    fn visit_in_a_hurry(&self, work: &mut dyn FnMut(&dyn Store));
}

struct OnDisk {
    folder: tempfile::TempDir,
}

impl OnDisk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("temp folder") }
    }

    fn open(&self) -> Sqlite {
        Sqlite::new(self.folder.path(), options(moment(MORNING)))
    }

    /// Another program changes the file.
    fn edit(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.folder.path().join("state.db")).expect("the file opens");
        connection.execute_batch(sql).expect("the edit works");
    }
}

impl Place for OnDisk {
    fn visit(&self, work: &mut dyn FnMut(&dyn Store)) {
        work(&self.open());
    }

    fn visit_in_a_hurry(&self, work: &mut dyn FnMut(&dyn Store)) {
        let hurried = SqliteOptions { patience: Duration::ZERO, ..options(moment(MORNING)) };
        work(&Sqlite::new(self.folder.path(), hurried));
    }
}

impl Place for InMemory {
    fn visit(&self, work: &mut dyn FnMut(&dyn Store)) {
        work(self);
    }

    fn visit_in_a_hurry(&self, work: &mut dyn FnMut(&dyn Store)) {
        work(self);
    }
}

/// Makes one test per promise and store.
macro_rules! promises {
    ($($promise:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $promise() {
                super::$promise(&super::OnDisk::new());
            })+
        }
        mod in_memory {
            $(#[test]
            fn $promise() {
                super::$promise(&super::InMemory::default());
            })+
        }
    };
}

promises![
    an_empty_store_reads_as_empty,
    facts_and_state_commit_together,
    a_rejected_decision_writes_nothing,
    a_decision_without_facts_writes_nothing,
    needs_is_answered_with_exactly_the_rows_asked_for,
    a_decision_that_runs_again_counts_once,
    every_concurrent_violation_counts_and_the_trip_comes_at_the_threshold,
    history_is_newest_first_and_limited,
    the_journal_is_in_order_and_each_fact_links_to_the_one_before,
    projects_do_not_see_each_other,
    purging_a_session_takes_its_texts_and_leaves_its_counts,
    a_purge_takes_nothing_that_only_looks_like_the_session,
    a_message_waits_until_it_is_delivered_or_tried_too_often,
    a_sound_journal_verifies,
    a_journal_verifies_while_others_write,
];

fn site() -> Site {
    Site::new("main", "force-push")
}

/// Minutes after the morning.
fn minute(minutes: u64) -> Moment {
    moment(MORNING).plus_millis(minutes * 60_000)
}

fn with<T>(place: &dyn Place, work: impl FnOnce(&dyn Store) -> T) -> T {
    let (mut work, mut answer) = (Some(work), None);
    place.visit(&mut |store| answer = work.take().map(|work| work(store)));
    answer.expect("a place is visited once")
}

fn journal(store: &dyn Store, site: &Site) -> Vec<Entry> {
    store.journal(site.project.key, 0, usize::MAX).expect("the journal can be read")
}

fn words(entries: &[Entry]) -> Vec<&'static str> {
    let word = |entry: &Entry| entry.read().expect("readable").fact.expect("of a known kind").word();
    entries.iter().map(word).collect()
}

/// The circuits as their facts tell them.
fn fold(entries: &[Entry]) -> Vec<(CircuitName, State)> {
    let mut states = std::collections::BTreeMap::new();
    for entry in entries {
        let read = entry.read().expect("readable");
        let state = states.remove(&entry.circuit);
        states.insert(entry.circuit.clone(), apply(state, &read.fact.expect("of a known kind"), read.at));
    }
    states.into_iter().collect()
}

fn an_empty_store_reads_as_empty(place: &dyn Place) {
    with(place, |store| {
        let (key, name) = (site().project.key, site().circuit_name());
        assert_eq!(store.circuit(key, &name).expect("read"), None);
        assert_eq!(store.circuits(key).expect("read"), vec![]);
        assert!(store.history(key, &name, 10).expect("read").is_empty());
        assert!(store.journal(key, 0, 10).expect("read").is_empty());
        assert_eq!(store.head(key).expect("read"), Head::default());
        assert_eq!(store.anchor(key).expect("read").head, Head::default());
        assert_eq!(store.projects().expect("read"), vec![]);
        assert_eq!(store.undelivered(key).expect("read"), vec![]);
        assert_eq!(store.purge("nobody").expect("nothing to purge"), 0);
        store.delivered(7, true).expect("nothing to end");
    });
}

fn facts_and_state_commit_together(place: &dyn Place) {
    let site = site();
    with(place, |store| {
        for step in 0..3 {
            let committed = site.violate(store, "s1", "git push --force", minute(step));
            let entries = journal(store, &site);
            assert_eq!(store.circuits(site.project.key).expect("read"), fold(&entries));
            let stored = store.circuit(site.project.key, &site.circuit_name()).expect("read");
            assert_eq!(committed.after.state(&site.circuit_name()), stored.as_ref());
            let last = entries.last().expect("facts were written");
            assert_eq!(committed.head, Head { seq: last.seq, hash: last.hash });
            assert_eq!(store.head(site.project.key).expect("read"), committed.head);
        }
        assert_eq!(words(&journal(store, &site)), ["rule_set", "violated", "violated", "violated", "tripped"]);
    });
    // Whoever comes next reads the same.
    with(place, |store| {
        assert_eq!(site.circuit(store).standing_at(minute(3)).condition(), Condition::Open);
        let texts = journal(store, &site)[1].texts();
        let expected = Texts { session: Some("s1".to_owned()), text: Some("git push --force".to_owned()) };
        assert_eq!(texts, expected);
    });
}

fn a_rejected_decision_writes_nothing(place: &dyn Place) {
    let site = site();
    with(place, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
        }
        let before = (site.circuit(store), store.head(site.project.key).expect("read"));
        let outcome =
            site.take(store, "s1", Happening::Clean { action: None, generation: None }, minute(4)).expect("answered");
        let Outcome::Rejected(rejection) = outcome else { panic!("a clean action while OPEN is no transition") };
        assert_eq!(rejection, Rejection::InvalidTransition { from: Condition::Open });
        assert_eq!((site.circuit(store), store.head(site.project.key).expect("read")), before);
        assert_eq!(journal(store, &site).len(), 5);
        let elsewhere = Site::new("elsewhere", "force-push");
        let writing = Writing { cause: "reset", policy: "policy" };
        let reject = |_memory: &Memory| Step::Rejected(Rejection::NotFound { retired: None });
        let outcome = store.transact(&elsewhere.project, writing, &reject).expect("answered");
        assert!(matches!(outcome, Outcome::Rejected(Rejection::NotFound { retired: None })));
        let known: Vec<_> = store.projects().expect("read").into_iter().map(|known| known.key).collect();
        assert_eq!(known, [site.project.key]);
    });
}

fn a_decision_without_facts_writes_nothing(place: &dyn Place) {
    let site = site();
    with(place, |store| {
        let nothing = |_memory: &Memory| {
            Step::Decided(Decision {
                facts: Vec::new(),
                verdict: Verdict::Pass,
                effects: Vec::new(),
                notices: Vec::new(),
            })
        };
        let writing = Writing { cause: "check", policy: "policy" };
        let Outcome::Committed(committed) = store.transact(&site.project, writing, &nothing).expect("answered") else {
            panic!("it was decided")
        };
        assert_eq!((committed.head, committed.after), (Head::default(), Memory::default()));
        assert_eq!(store.projects().expect("read"), vec![]);
    });
}

fn needs_is_answered_with_exactly_the_rows_asked_for(place: &dyn Place) {
    let (known, other) = (site(), Site::new("main", "other"));
    with(place, |store| {
        known.violate(store, "s1", "one", minute(0));
        other.violate(store, "s1", "two", minute(1));
        let shown = RefCell::new(Vec::new());
        let absent = CircuitName::trust();
        let curious = |memory: &Memory| {
            shown.borrow_mut().push(memory.clone());
            if memory.row(&known.circuit_name()).is_none() {
                return Step::Needs(vec![known.circuit_name()]);
            }
            if memory.row(&absent).is_none() {
                return Step::Needs(vec![absent.clone()]);
            }
            Step::Decided(Decision {
                facts: Vec::new(),
                verdict: Verdict::Pass,
                effects: Vec::new(),
                notices: Vec::new(),
            })
        };
        store.transact(&known.project, Writing { cause: "check", policy: "policy" }, &curious).expect("answered");
        let mut first = Memory::default();
        first.insert(known.circuit_name(), store.circuit(known.project.key, &known.circuit_name()).expect("read"));
        let mut second = first.clone();
        second.insert(absent.clone(), None);
        assert_eq!(shown.into_inner(), [Memory::default(), first, second]);
    });
}

fn a_decision_that_runs_again_counts_once(place: &dyn Place) {
    let site = site();
    with(place, |store| {
        site.violate(store, "s1", "first", minute(0));
        let (runs, others) = (Cell::new(0), Cell::new(0));
        let event = site.event("s1", Happening::Violation { action: "mine".to_owned() });
        let interrupted = |memory: &Memory| {
            let step = decide(memory, &Policy::default(), &event, minute(2));
            if matches!(step, Step::Decided(_)) {
                runs.set(runs.get() + 1);
                if runs.get() == 1 {
                    // Somebody else comes between the reading and the writing, or is told that the store is busy.
                    let theirs = Happening::Violation { action: "theirs".to_owned() };
                    place.visit_in_a_hurry(&mut |store| match site.take(store, "s2", theirs.clone(), minute(1)) {
                        Ok(_) => others.set(others.get() + 1),
                        Err(StoreError::Busy { .. }) => {}
                        Err(error) => panic!("neither written nor busy: {error}"),
                    });
                }
            }
            step
        };
        let writing = Writing { cause: "violation", policy: "policy" };
        store.transact(&site.project, writing, &interrupted).expect("committed");
        let circuit = site.circuit(store);
        assert_eq!(runs.get(), 1 + others.get(), "it runs again exactly when somebody came between");
        assert_eq!(circuit.totals.violations, 2 + others.get());
        assert_eq!(circuit.totals.trips, others.get(), "the third violation trips, whoever's it is");
        assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
    });
}

fn every_concurrent_violation_counts_and_the_trip_comes_at_the_threshold(place: &dyn Place) {
    const THREADS: u32 = 8;
    const EACH: u32 = 12;
    let mut site = site();
    site.limits.violation_threshold = THREADS * EACH - 5;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                place.visit(&mut |store| {
                    for _ in 0..EACH {
                        site.violate(store, "s1", "git push --force", minute(0));
                    }
                });
            });
        }
    });
    with(place, |store| {
        let totals = site.circuit(store).totals;
        let expected = (u64::from(THREADS * EACH), u64::from(THREADS * EACH - 5), 5, 1);
        assert_eq!((totals.violations, totals.counted, totals.while_open, totals.trips), expected);
        let words = words(&journal(store, &site));
        assert_eq!(words.iter().filter(|word| **word == "tripped").count(), 1);
        let trip = words.iter().position(|word| *word == "tripped").expect("it tripped");
        assert_eq!(trip, 1 + (THREADS * EACH - 5) as usize, "after the rule and the threshold's violation");
        assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
    });
}

fn history_is_newest_first_and_limited(place: &dyn Place) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(place, |store| {
        for step in 0..4 {
            site.violate(store, "s1", &format!("mine {step}"), minute(2 * step));
            other.violate(store, "s1", &format!("other {step}"), minute(2 * step + 1));
        }
        let history = |limit| store.history(site.project.key, &site.circuit_name(), limit).expect("read");
        let own: Vec<Entry> =
            journal(store, &site).into_iter().rev().filter(|entry| entry.circuit == site.circuit_name()).collect();
        let numbers = |entries: &[Entry]| entries.iter().map(|entry| entry.seq).collect::<Vec<_>>();
        assert_eq!(numbers(&history(usize::MAX)), numbers(&own));
        assert_eq!(numbers(&history(2)), numbers(&own)[..2]);
        assert_eq!(numbers(&history(0)), Vec::<u64>::new());
        assert_eq!(words(&history(3)), ["violated_while_open", "tripped", "violated"]);
        let previous: Vec<u64> = history(usize::MAX).iter().map(|entry| entry.previous).collect();
        let mut expected = numbers(&own)[1..].to_vec();
        expected.push(0);
        assert_eq!(previous, expected, "each fact names the one before it of the same circuit");
    });
}

fn the_journal_is_in_order_and_each_fact_links_to_the_one_before(place: &dyn Place) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(place, |store| {
        for step in 0..4 {
            site.violate(store, "s1", "mine", minute(2 * step));
            other.violate(store, "s2", "other", minute(2 * step + 1));
        }
        let entries = journal(store, &site);
        let mut head = Head::default();
        for entry in &entries {
            assert_eq!(entry.seq, head.seq + 1);
            let name = entry.circuit.as_str();
            let expected = link(&head.hash, entry.seq, entry.previous, name, &entry.body, &entry.texts_digest);
            assert_eq!(entry.hash, expected, "fact {}", entry.seq);
            assert!(entry.texts_fit());
            head = Head { seq: entry.seq, hash: entry.hash };
        }
        assert_eq!(store.head(site.project.key).expect("read"), head);
        let some = |after, limit| -> Vec<u64> {
            let entries = store.journal(site.project.key, after, limit).expect("read");
            entries.iter().map(|entry| entry.seq).collect()
        };
        assert_eq!((some(0, 3), some(4, 2), some(head.seq, 5)), (vec![1, 2, 3], vec![5, 6], vec![]));
        assert_eq!(some(u64::MAX, usize::MAX), Vec::<u64>::new());
    });
}

fn projects_do_not_see_each_other(place: &dyn Place) {
    let (here, there) = (Site::new("here", "force-push"), Site::new("there", "force-push"));
    with(place, |store| {
        for step in 0..3 {
            here.violate(store, "s1", "git push --force", minute(step));
        }
        there.violate(store, "s1", "git push --force", minute(3));
        assert_eq!(here.circuit(store).standing_at(minute(4)).condition(), Condition::Open);
        assert_eq!(there.circuit(store).standing_at(minute(4)), StandingAt::Closed);
        assert_eq!((journal(store, &here).len(), journal(store, &there).len()), (5, 2));
        let known = |site: &Site| Known {
            key: site.project.key,
            identity: site.project.identity.clone(),
            head: store.head(site.project.key).expect("read"),
        };
        assert_eq!(store.projects().expect("read"), [known(&here), known(&there)]);
    });
}

fn purging_a_session_takes_its_texts_and_leaves_its_counts(place: &dyn Place) {
    let site = site();
    with(place, |store| {
        for (step, session) in ["keep", "go", "go"].into_iter().enumerate() {
            site.violate(store, session, "curl internal.example", minute(step as u64));
        }
        site.commit(store, "go", Happening::Reset(operator()), minute(5));
        let before = (site.circuit(store), store.head(site.project.key).expect("read"));
        assert_eq!(store.purge("go").expect("purged"), 3);
        assert_eq!((site.circuit(store), store.head(site.project.key).expect("read")), before);
        let texts: Vec<Texts> = journal(store, &site).iter().map(Entry::texts).collect();
        let kept = Texts { session: Some("keep".to_owned()), text: Some("curl internal.example".to_owned()) };
        let gone = Texts::default();
        let expected = [gone.clone(), kept, gone.clone(), gone.clone(), gone.clone(), gone];
        assert_eq!(texts, expected);
        assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
        assert_eq!(store.purge("go").expect("purged"), 0, "there is nothing left to purge");
    });
}

fn a_purge_takes_nothing_that_only_looks_like_the_session(place: &dyn Place) {
    let mut site = site();
    site.limits.violation_threshold = 100;
    with(place, |store| {
        for (step, (session, action)) in [
            ("go-on", "a longer name"),
            ("ongo", "\"session\":\"go\","),
            ("x", "{\"session\":\"go\"}"),
            ("GO", "other case"),
            ("g%", "a wildcard"),
            ("\"session\":\"go\",", "a name made to look like it"),
        ]
        .into_iter()
        .enumerate()
        {
            site.violate(store, session, action, minute(step as u64));
        }
        assert_eq!(store.purge("go").expect("purged"), 0);
        assert_eq!(store.purge("").expect("purged"), 0);
        assert_eq!(store.purge("g%").expect("purged"), 1);
        site.violate(store, "quote\" and \\ and \u{e9}\n", "odd name", minute(10));
        assert_eq!(store.purge("quote\" and \\ and \u{e9}\n").expect("purged"), 1);
    });
}

fn a_message_waits_until_it_is_delivered_or_tried_too_often(place: &dyn Place) {
    let (site, other) = (site(), Site::new("elsewhere", "force-push"));
    with(place, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
            other.violate(store, "s1", "git push --force", minute(step));
        }
        let waiting = |site: &Site| store.undelivered(site.project.key).expect("read");
        let message = waiting(&site).pop().expect("a trip is to be told");
        let Some(Fact::Constraint(ConstraintFact::Tripped { trip })) =
            journal(store, &site)[4].read().expect("readable").fact
        else {
            panic!("the last fact is the trip")
        };
        let expected =
            Undelivered { id: message.id, circuit: site.circuit_name(), incident: trip.incident, attempts: 0 };
        assert_eq!(message, expected);
        for attempt in 1..DELIVERY_ATTEMPTS_MAX {
            store.delivered(message.id, false).expect("noted");
            assert_eq!(waiting(&site), [Undelivered { attempts: attempt, ..message.clone() }]);
        }
        store.delivered(message.id, false).expect("noted");
        assert_eq!(waiting(&site), vec![], "the last attempt is the last");
        let theirs = waiting(&other);
        assert_eq!(theirs.len(), 1, "another project's message waits on");
        store.delivered(theirs[0].id, true).expect("noted");
        assert_eq!(waiting(&other), vec![]);
    });
}

fn a_sound_journal_verifies(place: &dyn Place) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(place, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
        }
        other.violate(store, "s1", "rm -rf /", minute(3));
        site.commit(store, "s1", Happening::Reset(operator()), minute(4));
        let head = store.head(site.project.key).expect("read");
        let expected = Verification { anchor: 0, facts: 8, circuits: 2, head, problems: Vec::new() };
        assert_eq!(verify(store, site.project.key).expect("read"), expected);
    });
}

fn a_journal_verifies_while_others_write(place: &dyn Place) {
    let mut site = site();
    site.limits.violation_threshold = 1_000;
    with(place, |store| site.violate(store, "s1", "first", minute(0)));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            place.visit(&mut |store| {
                for _ in 0..150 {
                    site.violate(store, "s1", "git push --force", minute(0));
                }
            });
        });
        with(place, |store| {
            while !writer.is_finished() {
                let found = verify(store, site.project.key).expect("read");
                assert_eq!(found.problems, Vec::<String>::new(), "a busy journal is not a broken one");
            }
        });
    });
}

/// A store on disk with an OPEN circuit, whose file somebody then changes.
fn edited(sql: &str) -> Vec<String> {
    let (place, site) = (OnDisk::new(), site());
    with(&place, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
        }
    });
    // Nothing is rescued here: what was changed is to be found by folding alone.
    std::fs::remove_dir_all(place.folder.path().join("latches")).expect("there was a latch");
    place.edit(sql);
    with(&place, |store| verify(store, site.project.key).expect("read").problems)
}

#[test]
fn verification_finds_what_was_changed_in_the_file() {
    for (sql, problems) in [
        ("UPDATE fact SET seq = seq", vec![]),
        (
            "UPDATE fact SET body = replace(body, '\"violation\"', '\"forgery\"') WHERE seq = 2",
            vec!["fact 2 (constraint/force-push) does not fit the chain: it was changed"],
        ),
        (
            "DELETE FROM fact WHERE seq = 3",
            vec![
                "facts 3 to 3 are missing",
                "fact 4 (constraint/force-push) does not fit the chain: it was changed",
                "circuit constraint/force-push is not what its facts say",
            ],
        ),
        (
            "DELETE FROM fact WHERE seq = 5",
            vec![
                "the journal ends at fact 4, the store says 5",
                "circuit constraint/force-push is not what its facts say",
            ],
        ),
        (
            "UPDATE fact SET texts = '{\"session\":\"s1\",\"text\":\"git pull\"}' WHERE seq = 4",
            vec!["fact 4 (constraint/force-push): its texts were changed"],
        ),
        (
            "UPDATE fact SET previous = 1 WHERE seq = 4",
            vec!["fact 4 (constraint/force-push) does not fit the chain: it was changed"],
        ),
        (
            "UPDATE circuit SET state = replace(state, '\"trips\":1', '\"trips\":0')",
            vec!["circuit constraint/force-push is not what its facts say"],
        ),
        (
            "INSERT INTO circuit SELECT project, 'constraint/planted', last, state FROM circuit",
            vec!["circuit constraint/planted has no facts"],
        ),
        ("DELETE FROM circuit", vec!["circuit constraint/force-push is missing, though it has facts"]),
        (
            "UPDATE fact SET name = 'constraint/b' WHERE seq = 5; UPDATE circuit SET name = name",
            vec![
                "fact 5 (constraint/b) does not fit the chain: it was changed",
                "circuit constraint/force-push is not what its facts say",
                "circuit constraint/b is missing, though it has facts",
            ],
        ),
    ] {
        assert_eq!(edited(sql), problems, "after {sql}");
    }
}

#[test]
fn purged_texts_are_in_no_file_of_the_store() {
    let (place, site) = (OnDisk::new(), site());
    with(&place, |store| {
        for step in 0..40 {
            let (session, action) =
                (format!("s{}", step % 2), format!("unmistakable-{} {}", step % 2, "x".repeat(300)));
            site.violate(store, &session, &action, minute(step));
        }
        assert_eq!(store.purge("s1").expect("purged"), 20);
    });
    let holding = |needle: &str| -> Vec<String> {
        let files = std::fs::read_dir(place.folder.path()).expect("listed").flatten();
        let holds = |path: &std::path::Path| {
            let content = std::fs::read(path).unwrap_or_default();
            content.windows(needle.len()).any(|window| window == needle.as_bytes())
        };
        let found = files.filter(|file| holds(&file.path()));
        found.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(holding("unmistakable-1"), Vec::<String>::new());
    assert!(!holding("unmistakable-0").is_empty(), "the other session's texts stay");
}
