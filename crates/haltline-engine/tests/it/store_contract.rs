//! The promises of `Store`, each tested with every store (E1, E2, E16).

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::support::site::{Site, operator};
use crate::support::{moment, options};
use haltline_core::constraint::{CircuitStateAt, ConstraintEvent, Fact as ConstraintFact, StateName};
use haltline_core::ledger::LedgerFact;
use haltline_core::{
    CircuitName, ConstraintId, Decision, Fact, Halt, Memory, Moment, Policy, ROW_REQUESTS_MAX, Recorded, Rejection,
    State, Texts, Verdict, apply, decide,
};
use haltline_engine::journal::{Verification, verify};
use haltline_engine::store::{
    DELIVERY_ATTEMPTS_MAX, Entry, Head, InMemory, Provenance, Sqlite, SqliteOptions, Store, StoreError, StoredProject,
    TransactionOutcome, Undelivered, chain_hash,
};

const MORNING: &str = "2026-02-12T10:00:00Z";

/// A place where a store can be opened, by many at once.
trait StoreLocation: Sync {
    /// Opens the store and calls `work` with it.
    fn with_store(&self, work: &mut dyn FnMut(&dyn Store));
    /// The same, without waiting for other writers.
    fn with_store_without_waiting(&self, work: &mut dyn FnMut(&dyn Store));
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

impl StoreLocation for OnDisk {
    fn with_store(&self, work: &mut dyn FnMut(&dyn Store)) {
        work(&self.open());
    }

    fn with_store_without_waiting(&self, work: &mut dyn FnMut(&dyn Store)) {
        let no_wait = SqliteOptions { timeout: Duration::ZERO, ..options(moment(MORNING)) };
        work(&Sqlite::new(self.folder.path(), no_wait));
    }
}

impl StoreLocation for InMemory {
    fn with_store(&self, work: &mut dyn FnMut(&dyn Store)) {
        work(self);
    }

    fn with_store_without_waiting(&self, work: &mut dyn FnMut(&dyn Store)) {
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
    a_decision_gets_exactly_the_rows_it_needs,
    a_decision_that_never_has_enough_rows_ends_and_writes_nothing,
    a_decision_that_runs_again_counts_once,
    every_concurrent_violation_counts_and_the_trip_comes_at_the_threshold,
    history_is_newest_first_and_limited,
    the_journal_is_in_order_and_each_fact_links_to_the_one_before,
    projects_do_not_see_each_other,
    rows_of_the_whole_machine_are_shared_and_commit_with_those_of_a_project,
    purging_a_session_deletes_its_texts_and_keeps_its_counts,
    a_purge_deletes_nothing_that_only_looks_like_the_session,
    a_message_waits_until_it_is_delivered_or_tried_too_often,
    a_sound_journal_verifies,
    a_journal_verifies_while_others_write,
];

fn site() -> Site {
    Site::new("main", "force-push")
}

fn minute(minutes: u64) -> Moment {
    moment(MORNING).plus_millis(minutes * 60_000)
}

fn with<T>(location: &dyn StoreLocation, work: impl FnOnce(&dyn Store) -> T) -> T {
    let (mut work, mut result) = (Some(work), None);
    location.with_store(&mut |store| result = work.take().map(|work| work(store)));
    result.expect("a place is visited once")
}

fn journal(store: &dyn Store, site: &Site) -> Vec<Entry> {
    store.journal(site.project.key, 0, usize::MAX).expect("the journal can be read")
}

fn fact_names(entries: &[Entry]) -> Vec<&'static str> {
    let fact_name = |entry: &Entry| entry.read().expect("readable").fact.expect("of a known kind").as_str();
    entries.iter().map(fact_name).collect()
}

/// The rows as their facts define them.
fn fold(entries: &[Entry]) -> Vec<(CircuitName, State)> {
    let mut states = std::collections::BTreeMap::new();
    for entry in entries {
        let read = entry.read().expect("readable");
        let state = states.remove(&entry.circuit);
        states.insert(entry.circuit.clone(), apply(state, &read.fact.expect("of a known kind"), read.at));
    }
    states.into_iter().collect()
}

fn an_empty_store_reads_as_empty(location: &dyn StoreLocation) {
    with(location, |store| {
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
        store.record_delivery(7, true).expect("nothing to end");
    });
}

fn facts_and_state_commit_together(location: &dyn StoreLocation) {
    let site = site();
    with(location, |store| {
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
        assert_eq!(fact_names(&journal(store, &site)), ["rule_set", "violated", "violated", "violated", "tripped"]);
    });
    // The next process reads the same.
    with(location, |store| {
        assert_eq!(site.circuit(store).state_at(minute(3)).name(), StateName::Open);
        let texts = journal(store, &site)[1].texts();
        let expected =
            Texts { session: Some("s1".to_owned()), text: Some("git push --force".to_owned()), ..Texts::default() };
        assert_eq!(texts, expected);
    });
}

fn a_rejected_decision_writes_nothing(location: &dyn StoreLocation) {
    let site = site();
    with(location, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
        }
        let before = (site.circuit(store), store.head(site.project.key).expect("read"));
        let outcome = site
            .report(store, "s1", ConstraintEvent::Clean { action: None, generation: None }, minute(4))
            .expect("answered");
        let TransactionOutcome::Rejected(rejection) = outcome else {
            panic!("a clean action while OPEN is no transition")
        };
        assert_eq!(rejection, Rejection::InvalidTransition { from: StateName::Open });
        assert_eq!((site.circuit(store), store.head(site.project.key).expect("read")), before);
        assert_eq!(journal(store, &site).len(), 5);
        let elsewhere = Site::new("elsewhere", "force-push");
        let provenance = Provenance { cause: "reset", policy: "policy" };
        let reject = |_memory: &Memory| Err(Halt::Rejected(Rejection::NotFound { retired: None }));
        let outcome = store.transact(&elsewhere.project, provenance, &reject).expect("answered");
        assert!(matches!(outcome, TransactionOutcome::Rejected(Rejection::NotFound { retired: None })));
        let known: Vec<_> = store.projects().expect("read").into_iter().map(|known| known.key).collect();
        assert_eq!(known, [site.project.key]);
    });
}

fn a_decision_without_facts_writes_nothing(location: &dyn StoreLocation) {
    let site = site();
    with(location, |store| {
        let nothing = |_memory: &Memory| {
            Ok(Decision { facts: Vec::new(), verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
        };
        let provenance = Provenance { cause: "check", policy: "policy" };
        let TransactionOutcome::Committed(committed) =
            store.transact(&site.project, provenance, &nothing).expect("answered")
        else {
            panic!("it was decided")
        };
        assert_eq!((committed.head, committed.after), (Head::default(), Memory::default()));
        assert_eq!(store.projects().expect("read"), vec![]);
    });
}

fn a_decision_gets_exactly_the_rows_it_needs(location: &dyn StoreLocation) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(location, |store| {
        site.violate(store, "s1", "one", minute(0));
        other.violate(store, "s1", "two", minute(1));
        let shown = RefCell::new(Vec::new());
        let absent = CircuitName::trust();
        let decide_with_needs = |memory: &Memory| {
            shown.borrow_mut().push(memory.clone());
            if memory.row(&site.circuit_name()).is_none() {
                return Err(Halt::Needs(vec![site.circuit_name()]));
            }
            if memory.row(&absent).is_none() {
                return Err(Halt::Needs(vec![absent.clone()]));
            }
            Ok(Decision { facts: Vec::new(), verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
        };
        store
            .transact(&site.project, Provenance { cause: "check", policy: "policy" }, &decide_with_needs)
            .expect("answered");
        let mut first = Memory::default();
        first.insert(site.circuit_name(), store.circuit(site.project.key, &site.circuit_name()).expect("read"));
        let mut second = first.clone();
        second.insert(absent.clone(), None);
        assert_eq!(shown.into_inner(), [Memory::default(), first, second]);
    });
}

fn a_decision_that_never_has_enough_rows_ends_and_writes_nothing(location: &dyn StoreLocation) {
    let site = site();
    with(location, |store| {
        let requests = Cell::new(0);
        let provenance = Provenance { cause: "check", policy: "policy" };
        let ask_again = |_memory: &Memory| {
            requests.set(requests.get() + 1);
            Err(Halt::Needs(vec![site.circuit_name()]))
        };
        let error = store.transact(&site.project, provenance, &ask_again).expect_err("it comes to no end");
        assert!(matches!(error, StoreError::EndlessDecision), "{error}");
        assert_eq!(requests.get(), ROW_REQUESTS_MAX + 1);
        assert_eq!(store.projects().expect("read"), vec![]);
        // The lock is free again.
        site.violate(store, "s1", "one", minute(0));
        // A decision may well ask for that many rows one by one.
        requests.set(0);
        let enough = |_memory: &Memory| {
            if requests.get() == ROW_REQUESTS_MAX {
                return Err(Halt::Rejected(Rejection::NotFound { retired: None }));
            }
            requests.set(requests.get() + 1);
            let id = ConstraintId::parse(&format!("c{}", requests.get())).expect("an id");
            Err(Halt::Needs(vec![CircuitName::constraint(&id)]))
        };
        let outcome = store.transact(&site.project, provenance, &enough).expect("answered");
        assert!(matches!(outcome, TransactionOutcome::Rejected(_)));
    });
}

fn a_decision_that_runs_again_counts_once(location: &dyn StoreLocation) {
    let site = site();
    with(location, |store| {
        site.violate(store, "s1", "first", minute(0));
        let (runs, others) = (Cell::new(0), Cell::new(0));
        let event = site.event("s1", ConstraintEvent::Violation { action: "mine".to_owned() });
        let interrupted = |memory: &Memory| {
            let step = decide(memory, &Policy::default(), &event, minute(2));
            if step.is_ok() {
                runs.set(runs.get() + 1);
                if runs.get() == 1 {
                    // Another process writes between our read and our write, or gets an error because the store is
                    // busy.
                    let theirs = ConstraintEvent::Violation { action: "theirs".to_owned() };
                    location.with_store_without_waiting(&mut |store| match site.report(
                        store,
                        "s2",
                        theirs.clone(),
                        minute(1),
                    ) {
                        Ok(_) => others.set(others.get() + 1),
                        Err(StoreError::Busy { .. }) => {}
                        Err(error) => panic!("neither written nor busy: {error}"),
                    });
                }
            }
            step
        };
        let writing = Provenance { cause: "violation", policy: "policy" };
        store.transact(&site.project, writing, &interrupted).expect("committed");
        let circuit = site.circuit(store);
        assert_eq!(runs.get(), 1 + others.get(), "it runs again exactly when somebody came between");
        assert_eq!(circuit.totals.violations, 2 + others.get());
        assert_eq!(circuit.totals.trips, others.get(), "the third violation trips, whoever's it is");
        assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
    });
}

fn every_concurrent_violation_counts_and_the_trip_comes_at_the_threshold(location: &dyn StoreLocation) {
    const THREADS: u32 = 8;
    const EACH: u32 = 12;
    let mut site = site();
    site.limits.violation_threshold = THREADS * EACH - 5;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                location.with_store(&mut |store| {
                    for _ in 0..EACH {
                        site.violate(store, "s1", "git push --force", minute(0));
                    }
                });
            });
        }
    });
    with(location, |store| {
        let totals = site.circuit(store).totals;
        let expected = (u64::from(THREADS * EACH), u64::from(THREADS * EACH - 5), 5, 1);
        assert_eq!((totals.violations, totals.counted, totals.while_open, totals.trips), expected);
        let fact_names = fact_names(&journal(store, &site));
        assert_eq!(fact_names.iter().filter(|name| **name == "tripped").count(), 1);
        let trip = fact_names.iter().position(|name| *name == "tripped").expect("it tripped");
        assert_eq!(trip, 1 + (THREADS * EACH - 5) as usize, "after the rule and the threshold's violation");
        assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
    });
}

fn history_is_newest_first_and_limited(location: &dyn StoreLocation) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(location, |store| {
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
        assert_eq!(fact_names(&history(3)), ["violated_while_open", "tripped", "violated"]);
        let previous: Vec<u64> = history(usize::MAX).iter().map(|entry| entry.previous).collect();
        let mut expected = numbers(&own)[1..].to_vec();
        expected.push(0);
        assert_eq!(previous, expected, "each fact names the one before it of the same circuit");
    });
}

fn the_journal_is_in_order_and_each_fact_links_to_the_one_before(location: &dyn StoreLocation) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(location, |store| {
        for step in 0..4 {
            site.violate(store, "s1", "mine", minute(2 * step));
            other.violate(store, "s2", "other", minute(2 * step + 1));
        }
        let entries = journal(store, &site);
        let mut head = Head::default();
        for entry in &entries {
            assert_eq!(entry.seq, head.seq + 1);
            let name = entry.circuit.as_str();
            let expected = chain_hash(&head.hash, entry.seq, entry.previous, name, &entry.body, &entry.texts_digest);
            assert_eq!(entry.hash, expected, "fact {}", entry.seq);
            assert!(entry.has_intact_texts());
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

fn projects_do_not_see_each_other(location: &dyn StoreLocation) {
    let (here, there) = (Site::new("here", "force-push"), Site::new("there", "force-push"));
    with(location, |store| {
        for step in 0..3 {
            here.violate(store, "s1", "git push --force", minute(step));
        }
        there.violate(store, "s1", "git push --force", minute(3));
        assert_eq!(here.circuit(store).state_at(minute(4)).name(), StateName::Open);
        assert_eq!(there.circuit(store).state_at(minute(4)), CircuitStateAt::Closed);
        assert_eq!((journal(store, &here).len(), journal(store, &there).len()), (5, 2));
        let known = |site: &Site| StoredProject {
            key: site.project.key,
            identity: site.project.identity.clone(),
            head: store.head(site.project.key).expect("read"),
        };
        assert_eq!(store.projects().expect("read"), [known(&here), known(&there)]);
    });
}

/// A decision that counts one call in the ledger of the machine and in that of the project.
fn count_call(memory: &Memory, at: Moment) -> Result<Decision, Halt> {
    let names = [CircuitName::machine_ledger(), CircuitName::project_ledger()];
    memory.require_all(&names)?;
    let fact = |circuit: &CircuitName| Recorded {
        circuit: circuit.clone(),
        at,
        fact: Fact::Ledger(LedgerFact::Called { client: "test".to_owned(), tool: "Read".to_owned() }),
        texts: Texts::default(),
    };
    let facts = names.iter().map(fact).collect();
    Ok(Decision { facts, verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
}

fn rows_of_the_whole_machine_are_shared_and_commit_with_those_of_a_project(location: &dyn StoreLocation) {
    let (here, there) = (Site::new("here", "force-push"), Site::new("there", "force-push"));
    with(location, |store| {
        for site in [&here, &there, &there] {
            let provenance = Provenance { cause: "test", policy: "p" };
            let outcome = store.transact(&site.project, provenance, &|memory| count_call(memory, minute(0)));
            let Ok(TransactionOutcome::Committed(committed)) = outcome else { panic!("not committed") };
            assert_eq!(committed.head, store.head(site.project.key).expect("read"));
        }
        let calls = |site: &Site, name: &CircuitName| {
            let state = store.circuit(site.project.key, name).expect("read").expect("a row");
            state.as_ledger().expect("a ledger").shares["tool Read"].calls
        };
        let (machine, project) = (CircuitName::machine_ledger(), CircuitName::project_ledger());
        assert_eq!((calls(&here, &machine), calls(&there, &machine)), (3, 3));
        assert_eq!((calls(&here, &project), calls(&there, &project)), (1, 2));
        assert_eq!((journal(store, &here).len(), journal(store, &there).len()), (1, 2));
        assert_eq!(store.history(here.project.key, &machine, 9).expect("read").len(), 3);
        for project in store.projects().expect("read") {
            assert_eq!(verify(store, project.key).expect("read").problems, Vec::<String>::new());
        }
        assert_eq!(store.projects().expect("read").len(), 3);
    });
}

fn purging_a_session_deletes_its_texts_and_keeps_its_counts(location: &dyn StoreLocation) {
    let site = site();
    with(location, |store| {
        for (step, session) in ["keep", "go", "go"].into_iter().enumerate() {
            site.violate(store, session, "curl internal.example", minute(step as u64));
        }
        site.commit(store, "go", ConstraintEvent::Reset(operator()), minute(5));
        let before = (site.circuit(store), store.head(site.project.key).expect("read"));
        assert_eq!(store.purge("go").expect("purged"), 3);
        assert_eq!((site.circuit(store), store.head(site.project.key).expect("read")), before);
        let texts: Vec<Texts> = journal(store, &site).iter().map(Entry::texts).collect();
        let kept = Texts {
            session: Some("keep".to_owned()),
            text: Some("curl internal.example".to_owned()),
            ..Texts::default()
        };
        let gone = Texts::default();
        let expected = [gone.clone(), kept, gone.clone(), gone.clone(), gone.clone(), gone];
        assert_eq!(texts, expected);
        assert_eq!(verify(store, site.project.key).expect("read").problems, Vec::<String>::new());
        assert_eq!(store.purge("go").expect("purged"), 0, "there is nothing left to purge");
    });
}

fn a_purge_deletes_nothing_that_only_looks_like_the_session(location: &dyn StoreLocation) {
    let mut site = site();
    site.limits.violation_threshold = 100;
    with(location, |store| {
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

fn a_message_waits_until_it_is_delivered_or_tried_too_often(location: &dyn StoreLocation) {
    let (site, other) = (site(), Site::new("elsewhere", "force-push"));
    with(location, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
            other.violate(store, "s1", "git push --force", minute(step));
        }
        let waiting = |site: &Site| store.undelivered(site.project.key).expect("read");
        let message = waiting(&site).pop().expect("a pending notification");
        let Some(Fact::Constraint(ConstraintFact::Tripped { trip })) =
            journal(store, &site)[4].read().expect("readable").fact
        else {
            panic!("the last fact is the trip")
        };
        let expected =
            Undelivered { id: message.id, circuit: site.circuit_name(), incident: trip.incident, attempts: 0 };
        assert_eq!(message, expected);
        for attempt in 1..DELIVERY_ATTEMPTS_MAX {
            store.record_delivery(message.id, false).expect("noted");
            assert_eq!(waiting(&site), [Undelivered { attempts: attempt, ..message.clone() }]);
        }
        store.record_delivery(message.id, false).expect("noted");
        assert_eq!(waiting(&site), vec![], "the last attempt is the last");
        let theirs = waiting(&other);
        assert_eq!(theirs.len(), 1, "another project's message waits on");
        store.record_delivery(theirs[0].id, true).expect("noted");
        assert_eq!(waiting(&other), vec![]);
    });
}

fn a_sound_journal_verifies(location: &dyn StoreLocation) {
    let (site, other) = (site(), Site::new("main", "other"));
    with(location, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
        }
        other.violate(store, "s1", "rm -rf /", minute(3));
        site.commit(store, "s1", ConstraintEvent::Reset(operator()), minute(4));
        let head = store.head(site.project.key).expect("read");
        let expected = Verification { anchor: 0, facts: 8, circuits: 2, head, problems: Vec::new() };
        assert_eq!(verify(store, site.project.key).expect("read"), expected);
    });
}

fn a_journal_verifies_while_others_write(location: &dyn StoreLocation) {
    let mut site = site();
    site.limits.violation_threshold = 1_000;
    with(location, |store| site.violate(store, "s1", "first", minute(0)));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            location.with_store(&mut |store| {
                for _ in 0..150 {
                    site.violate(store, "s1", "git push --force", minute(0));
                }
            });
        });
        with(location, |store| {
            while !writer.is_finished() {
                let found = verify(store, site.project.key).expect("read");
                assert_eq!(found.problems, Vec::<String>::new(), "a busy journal is not a broken one");
            }
        });
    });
}

/// A store on disk with an OPEN circuit, whose file another program then changes.
fn edited(sql: &str) -> Vec<String> {
    let (location, site) = (OnDisk::new(), site());
    with(&location, |store| {
        for step in 0..3 {
            site.violate(store, "s1", "git push --force", minute(step));
        }
    });
    // Without latches nothing is salvaged: verification must find the change by folding alone.
    std::fs::remove_dir_all(location.folder.path().join("latches")).expect("there was a latch");
    location.edit(sql);
    with(&location, |store| verify(store, site.project.key).expect("read").problems)
}

#[test]
fn verification_finds_changes_in_the_file() {
    for (sql, problems) in [
        ("UPDATE fact SET seq = seq", vec![]),
        (
            "UPDATE fact SET body = replace(body, '\"violation\"', '\"forgery\"') WHERE seq = 2",
            vec!["fact 2 (constraint/force-push) does not match the hash chain: somebody changed it"],
        ),
        (
            "DELETE FROM fact WHERE seq = 3",
            vec![
                "facts 3 to 3 are missing",
                "fact 4 (constraint/force-push) does not match the hash chain: somebody changed it",
                "circuit constraint/force-push differs from its facts",
            ],
        ),
        (
            "DELETE FROM fact WHERE seq = 5",
            vec![
                "the journal ends at fact 4, the store says 5",
                "circuit constraint/force-push differs from its facts",
            ],
        ),
        (
            "UPDATE fact SET texts = '{\"session\":\"s1\",\"text\":\"git pull\"}' WHERE seq = 4",
            vec!["fact 4 (constraint/force-push): somebody changed its texts"],
        ),
        (
            "UPDATE fact SET previous = 1 WHERE seq = 4",
            vec!["fact 4 (constraint/force-push) does not match the hash chain: somebody changed it"],
        ),
        (
            "UPDATE circuit SET state = replace(state, '\"trips\":1', '\"trips\":0')",
            vec!["circuit constraint/force-push differs from its facts"],
        ),
        (
            "INSERT INTO circuit SELECT project, 'constraint/planted', last, state FROM circuit",
            vec!["circuit constraint/planted has no facts"],
        ),
        ("DELETE FROM circuit", vec!["circuit constraint/force-push is missing, though it has facts"]),
        (
            "UPDATE fact SET name = 'constraint/b' WHERE seq = 5; UPDATE circuit SET name = name",
            vec![
                "fact 5 (constraint/b) does not match the hash chain: somebody changed it",
                "circuit constraint/force-push differs from its facts",
                "circuit constraint/b is missing, though it has facts",
            ],
        ),
    ] {
        assert_eq!(edited(sql), problems, "after {sql}");
    }
}

#[test]
fn purged_texts_are_in_no_file_of_the_store() {
    let (location, site) = (OnDisk::new(), site());
    with(&location, |store| {
        for step in 0..40 {
            let (session, action) =
                (format!("s{}", step % 2), format!("unmistakable-{} {}", step % 2, "x".repeat(300)));
            site.violate(store, &session, &action, minute(step));
        }
        assert_eq!(store.purge("s1").expect("purged"), 20);
    });
    let files_containing = |needle: &str| -> Vec<String> {
        let files = std::fs::read_dir(location.folder.path()).expect("listed").flatten();
        let contains = |path: &std::path::Path| {
            let content = std::fs::read(path).unwrap_or_default();
            content.windows(needle.len()).any(|window| window == needle.as_bytes())
        };
        let found = files.filter(|file| contains(&file.path()));
        found.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(files_containing("unmistakable-1"), Vec::<String>::new());
    assert!(!files_containing("unmistakable-0").is_empty(), "the other session's texts stay");
}
