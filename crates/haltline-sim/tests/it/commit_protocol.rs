//! Which commit protocol keeps which promise, over every interleaving and crash of three processes (E1, E2).
//!
//! The two protocols that ship keep all promises. The two that do not ship break some, which shows that the model can
//! detect a broken promise.

use haltline_sim::model::{CommitProtocol, Process, ProcessStep, Protocol, World, promise};
use stateright::{Checker, HasDiscoveries, Model, Path};

const PROMISES: [&str; 5] = [
    promise::COUNTED_ONCE,
    promise::TRIPS_ONCE,
    promise::TRIPS_AT_THRESHOLD,
    promise::NO_HALF_COMMIT,
    promise::NOBODY_BLOCKED,
];

fn model(protocol: Protocol, threshold: u32) -> CommitProtocol {
    CommitProtocol { protocol, processes: 3, threshold }
}

/// Checks the whole state space, for a trip at the first, second and last of the three violations.
fn assert_keeps_every_promise(protocol: Protocol) {
    for threshold in 1..=3 {
        let checker = model(protocol, threshold).checker().spawn_bfs().join();
        for promise in PROMISES {
            checker.assert_no_discovery(promise);
        }
        checker.assert_any_discovery(promise::ALL_ANSWERED);
        checker.assert_any_discovery(promise::DIED_UNANSWERED);
        assert!(checker.is_done(), "the whole space was looked at");
        println!("{protocol:?}, threshold {threshold}: {} states", checker.unique_state_count());
    }
}

/// A short history that breaks a promise. The search is breadth-first.
fn counterexample(protocol: Protocol, threshold: u32, promise: &'static str) -> Path<World, ProcessStep> {
    let first = HasDiscoveries::AnyOf([promise].into());
    let checker = model(protocol, threshold).checker().finish_when(first).spawn_bfs().join();
    let path = checker.assert_any_discovery(promise);
    println!("{promise}: {:?}", path.clone().into_actions());
    path
}

#[test]
fn a_lock_from_read_to_commit_keeps_every_promise() {
    assert_keeps_every_promise(Protocol::Locked);
}

#[test]
fn compare_and_swap_with_retry_keeps_every_promise() {
    assert_keeps_every_promise(Protocol::CompareAndSwap);
}

#[test]
fn a_blind_write_loses_counts_although_both_were_acknowledged() {
    let path = counterexample(Protocol::Blind, 3, promise::COUNTED_ONCE);
    let World { processes, disk, .. } = path.last_state();
    let answered = processes.iter().filter(|process| **process == Process::Answered).count() as u64;
    assert!(disk.circuit().totals.violations < answered, "{disk:?}");
}

#[test]
fn a_blind_write_trips_twice() {
    let path = counterexample(Protocol::Blind, 2, promise::TRIPS_ONCE);
    assert_eq!(path.last_state().disk.trips(), [2, 3], "two incidents for one trip");
}

#[test]
fn a_blind_write_misses_the_threshold() {
    let path = counterexample(Protocol::Blind, 2, promise::TRIPS_AT_THRESHOLD);
    let disk = &path.last_state().disk;
    assert!(disk.violations(None) >= 2 && disk.trips().first() != Some(&2), "{disk:?}");
}

#[test]
fn a_blind_write_leaves_facts_that_the_state_lacks() {
    let path = counterexample(Protocol::Blind, 3, promise::NO_HALF_COMMIT);
    let disk = &path.last_state().disk;
    assert!(disk.circuit().totals.violations < disk.violations(None) as u64, "{disk:?}");
}

#[test]
fn a_crash_between_two_writes_leaves_half_a_commit_even_under_a_lock() {
    let path = counterexample(Protocol::LockedInTwoWrites, 3, promise::NO_HALF_COMMIT);
    let disk = &path.last_state().disk;
    assert!(disk.circuit().totals.violations < disk.violations(None) as u64, "{disk:?}");
    assert!(path.into_actions().iter().any(|act| matches!(act, ProcessStep::Die(_))), "it takes a crash");
}
