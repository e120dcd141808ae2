//! Properties of the attempt breaker under any history: state is the fold of facts, counts match a naive second
//! implementation, a slice stops exactly at its limits, and only a person restarts it.

use haltline_core::attempt::{
    CaseSensitivity, Fact as AttemptFact, FileLocation, Slice, SliceState, TestResult, TripCause,
};
use haltline_core::{Fact, State, Verdict, apply};
use proptest::prelude::*;

use crate::attempt::acts::{
    Act, PATHS, Run, TESTS, Why, agent_acts, clock_step, operator_acts, pause, perform, run, test, verdict_name,
};
use crate::attempt::reference::{History, Observed};
use crate::attempt::world::World;

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![20 => agent_acts(), 2 => operator_acts()]
}

fn anything() -> impl Strategy<Value = Act> {
    prop_oneof![20 => act(), 1 => pause(), 1 => clock_step().prop_map(Act::StepWall), 1 => Just(Act::Reboot)]
}

fn agent_and_time() -> impl Strategy<Value = Act> {
    prop_oneof![20 => agent_acts(), 1 => pause(), 1 => clock_step().prop_map(Act::StepWall), 1 => Just(Act::Reboot)]
}

fn after(acts: &[Act]) -> World {
    let mut world = World::new();
    acts.iter().for_each(|act| {
        perform(&mut world, act);
    });
    world
}

fn observe(world: &World) -> Option<Observed> {
    let slice = world.slice()?;
    let trip = slice.trip();
    let mut justified: Vec<&str> = slice.justified.iter().map(|known| known_path(&known.file)).collect();
    let mut out_of_scope_changes: Vec<&str> = slice.out_of_scope_changes.iter().map(|path| known_path(path)).collect();
    justified.sort_unstable();
    out_of_scope_changes.sort_unstable();
    Some(Observed {
        state: slice.state.as_str(),
        by: trip.map(|trip| trip.cause.as_str()),
        failed: (0..TESTS.len()).map(|number| failed(slice, number)).collect(),
        total: slice.total_failed_attempts,
        denials: trip.map_or(0, |trip| trip.denials),
        generation: slice.generation,
        justified,
        out_of_scope_changes,
    })
}

fn known_path(path: &str) -> &'static str {
    PATHS.into_iter().find(|known| *known == path).expect("one of the paths")
}

fn failed(slice: &Slice, number: usize) -> u32 {
    slice.tests.get(&test(number)).map_or(0, |test| test.attempt_count)
}

/// All counts of a slice.
fn counts(slice: &Slice) -> (u32, Vec<u32>) {
    (slice.total_failed_attempts, (0..TESTS.len()).map(|number| failed(slice, number)).collect())
}

/// What must not change while the slice is OPEN.
fn open_state(slice: &Slice) -> Option<(String, TripCause, u32, Vec<u32>)> {
    let (total, failed) = counts(slice);
    slice.trip().map(|trip| (trip.incident.clone(), trip.cause.clone(), total, failed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_row_is_the_fold_of_the_serialized_facts(acts in prop::collection::vec(anything(), 0..80)) {
        let world = after(&acts);
        let mut row = None;
        for recorded in &world.sessions.journal {
            let written = serde_json::to_string(&recorded.fact).expect("a fact can be written");
            let fact: Fact = serde_json::from_str(&written).expect("and read");
            prop_assert_eq!(&fact, &recorded.fact);
            row = Some(apply(row, &fact, recorded.at));
        }
        prop_assert_eq!(row.as_ref(), world.sessions.rows.get(&world.name));
        if let Some(row) = &row {
            let written = serde_json::to_string(row).expect("a row can be written");
            prop_assert!(written.len() < 65_536, "a row of {} bytes", written.len());
            prop_assert_eq!(&serde_json::from_str::<State>(&written).expect("and read"), row);
        }
    }

    #[test]
    fn counts_states_and_verdicts_match_the_naive_reference(
        acts in prop::collection::vec(act(), 0..80),
    ) {
        let (mut world, mut history) = (World::new(), History::default());
        for act in &acts {
            let Some(result) = perform(&mut world, act) else { continue };
            let expected = history.handle(act);
            prop_assert_eq!((verdict_name(&result), observe(&world)), (expected, history.observed()), "{:?}", act);
        }
    }

    #[test]
    fn a_slice_stops_at_exactly_its_limits(acts in prop::collection::vec(anything(), 0..80)) {
        let mut world = World::new();
        for act in &acts {
            let before = world.slice().cloned();
            perform(&mut world, act);
            let Some(slice) = world.slice() else { continue };
            let (total, failed) = counts(slice);
            let is_new = before.as_ref().and_then(Slice::trip).is_none();
            match &slice.state {
                SliceState::UnderWay => {
                    prop_assert!(total < 7 && failed.iter().all(|count| *count < 3), "{act:?}: {failed:?} of {total}");
                }
                SliceState::Open(trip) if is_new => match (&trip.cause, act) {
                    (TripCause::Test { test: named, failed: times }, Act::Run(run)) => {
                        prop_assert_eq!((named, *times, failed[run.test]), (&test(run.test), 3, 3));
                    }
                    (TripCause::Slice, Act::Run(run)) => prop_assert!(total == 7 && failed[run.test] < 3),
                    (TripCause::Architecture { .. }, Act::Touch { .. } | Act::Deviate { rule: 4 }) => {}
                    (cause, act) => prop_assert!(false, "{act:?} opened it by {cause:?}"),
                },
                SliceState::Open(_) | SliceState::Ended => {}
            }
        }
    }

    #[test]
    fn a_count_rises_by_a_failure_and_falls_by_a_pass_a_person_or_a_new_execution(
        acts in prop::collection::vec(anything(), 0..80),
    ) {
        let mut world = World::new();
        for act in &acts {
            let before = world.slice().cloned();
            perform(&mut world, act);
            let (Some(before), Some(slice)) = (before, world.slice()) else { continue };
            let ((total, failed), (total_now, failed_now)) = (counts(&before), counts(slice));
            let is_new = before.state == SliceState::Ended && slice.state != SliceState::Ended;
            if matches!(act, Act::Reset) && before.is_begun() {
                prop_assert_eq!((total_now, failed_now.iter().sum::<u32>()), (0, 0));
            } else if !is_new {
                let increase = total_now.checked_sub(total);
                prop_assert!(matches!(increase, Some(0 | 1)), "{act:?}: {total} to {total_now}");
                let counted = |wanted: TestResult| matches!(act, Act::Run(run) if run.result == wanted);
                prop_assert!(increase == Some(0) || counted(TestResult::Fail), "{act:?}");
                let is_same = failed == failed_now;
                prop_assert!(is_same || counted(TestResult::Fail) || counted(TestResult::Pass), "{act:?}");
            }
        }
    }

    #[test]
    fn only_a_person_changes_an_open_slice(
        before in prop::collection::vec(anything(), 0..60),
        acts in prop::collection::vec(agent_and_time(), 1..40),
    ) {
        let mut world = after(&before);
        let mut messages: Vec<String> = Vec::new();
        for act in &acts {
            let was = world.slice().and_then(open_state);
            let result = perform(&mut world, act);
            let now = world.slice().and_then(open_state);
            if was.is_some() {
                prop_assert_eq!(&was, &now, "{:?}", act);
            }
            // No two denials of one trip have the same text (E5).
            if let (Some(_), Some(Ok(decision))) = (&now, &result)
                && let Verdict::Deny(reason) | Verdict::Stop(reason) = &decision.verdict
            {
                prop_assert!(!messages.contains(&reason.text), "{act:?}: {}", reason.text);
                prop_assert!(reason.text.len() <= 24 * 80);
                messages.push(reason.text.clone());
            }
        }
    }

    #[test]
    fn while_a_test_fails_an_agent_cannot_restart_the_counts(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(agent_and_time(), 1..40),
    ) {
        let mut world = after(&before);
        for act in &acts {
            let was = world.slice().filter(|slice| slice.failing().next().is_some() || slice.trip().is_some()).cloned();
            perform(&mut world, act);
            if let (Some(was), Some(now)) = (was.filter(Slice::is_begun), world.slice()) {
                prop_assert!(now.is_begun(), "{act:?} ended it");
                prop_assert!(now.total_failed_attempts >= was.total_failed_attempts, "{act:?}");
                prop_assert_eq!(was.begun, now.begun, "{:?} began it again", act);
            }
        }
    }

    #[test]
    fn a_path_in_scope_stays_in_scope_whatever_an_agent_does(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(agent_and_time(), 1..40),
        path in 0..PATHS.len(),
    ) {
        let mut world = after(&before);
        let allows = |slice: &Slice| {
            let is_covered = matches!(
                slice.scope.covers(PATHS[path], CaseSensitivity::Sensitive),
                haltline_core::attempt::Covered::By(_) | haltline_core::attempt::Covered::LockOff
            );
            is_covered || slice.justification(PATHS[path], CaseSensitivity::Sensitive).is_some()
        };
        for act in &acts {
            let was = world.slice().filter(|slice| slice.is_begun() && allows(slice)).cloned();
            perform(&mut world, act);
            let Some(now) = world.slice().filter(|slice| was.is_some() && slice.is_begun()) else { continue };
            prop_assert!(allows(now), "{act:?}");
            let mut copy = world.clone();
            let touch = Act::Touch { path, why: Why::NotGiven, requester: None };
            let decision = perform(&mut copy, &touch).expect("it is answered").expect("and not rejected");
            let is_still_free = now.scope.is_lock_off() && !now.has_attempted(PATHS[path], CaseSensitivity::Sensitive);
            let is_free = now.trip().is_none() || is_still_free;
            prop_assert_eq!(decision.verdict.denies(), !is_free, "{:?}", act);
        }
    }

    #[test]
    fn the_hook_and_the_slice_give_the_same_verdict(
        acts in prop::collection::vec(anything(), 0..60),
        path in 0..PATHS.len(),
    ) {
        let world = after(&acts);
        let (mut by_hook, mut by_hand) = (world.clone(), world.clone());
        let edit = by_hook.edit(PATHS[path], FileLocation::Inside, None);
        let touch = Act::Touch { path, why: Why::NotGiven, requester: Some(77) };
        let hand = perform(&mut by_hand, &touch).expect("it is answered").expect("and not rejected");
        prop_assert_eq!(edit.verdict.as_str(), hand.verdict.as_str());
        let fact_names = |world: &World| {
            let facts = world.sessions.journal.iter().map(|recorded| &recorded.fact);
            facts.filter(|fact| matches!(fact, Fact::Attempt(_))).map(Fact::as_str).collect::<Vec<_>>()
        };
        prop_assert_eq!(fact_names(&by_hook), fact_names(&by_hand));
    }

    #[test]
    fn a_wall_clock_that_jumps_changes_nothing_but_instants(
        acts in prop::collection::vec((act(), clock_step()), 0..60),
    ) {
        let (mut calm, mut jumpy) = (World::new(), World::new());
        for (act, step) in &acts {
            jumpy.sessions.clock.step_wall(*step);
            let (calmly, jumping) = (perform(&mut calm, act), perform(&mut jumpy, act));
            prop_assert_eq!(calmly.as_ref().map(verdict_name), jumping.as_ref().map(verdict_name));
            prop_assert_eq!(observe(&calm), observe(&jumpy), "{:?}", act);
        }
    }

    #[test]
    fn no_number_is_too_large(
        runs in prop::collection::vec(run(), 1..12),
        at in prop_oneof![Just(i64::MIN), Just(0), Just(i64::MAX)],
    ) {
        let mut world = World::new();
        world.sessions.clock.wall = haltline_core::Instant::from_millis(at);
        perform(&mut world, &Act::Run(Run { test: 0, result: TestResult::Infra, strategy: None, path: None, age: None }));
        let Some(State::Slice(slice)) = world.sessions.rows.get_mut(&world.name) else { unreachable!("it has begun") };
        slice.generation = u64::MAX;
        slice.total_failed_attempts = u32::MAX;
        (slice.totals.failed, slice.totals.denied, slice.totals.infrastructure) = (u64::MAX, u64::MAX, u64::MAX);
        (slice.totals.trips, slice.totals.passed, slice.totals.stale) = (u64::MAX, u64::MAX, u64::MAX);
        for known in slice.tests.values_mut() {
            (known.attempt_count, known.attempts_total, known.infrastructure_in_a_row) = (u32::MAX, u64::MAX, u32::MAX);
        }
        for run in runs {
            perform(&mut world, &Act::Run(run));
            perform(&mut world, &Act::Deviate { rule: 4 });
        }
        perform(&mut world, &Act::Reset);
    }
}

/// Everything that an agent can try by itself.
fn tricks() -> Vec<Act> {
    let run = |result, age| Act::Run(Run { test: 0, result, strategy: Some(0), path: Some(1), age });
    let touch = |path, why| Act::Touch { path, why, requester: Some(1) };
    vec![
        Act::Begin { scope: 1, by_person: false },
        Act::Begin { scope: 0, by_person: false },
        Act::Ask { test: 0, strategy: Some(0) },
        run(TestResult::Pass, None),
        run(TestResult::Pass, Some(0)),
        run(TestResult::Fail, Some(1)),
        touch(0, Why::NotGiven),
        touch(1, Why::Justified),
        touch(2, Why::Unjustifiable),
        Act::Snapshot { path: 3 },
        Act::File { test: 0 },
        Act::Deviate { rule: 4 },
        Act::HandOut,
        Act::End { by_person: false },
        Act::Wait(86_400_000),
    ]
}

#[test]
fn an_open_slice_stays_open_after_every_sequence_of_four_tricks() {
    let fails = Act::Run(Run { test: 0, result: TestResult::Fail, strategy: None, path: None, age: None });
    let by_test = vec![Act::Begin { scope: 1, by_person: false }, fails.clone(), fails.clone(), fails];
    let by_rule = vec![Act::Begin { scope: 1, by_person: false }, Act::Deviate { rule: 4 }];
    let tricks = tricks();
    for opened in [by_test, by_rule] {
        let world = after(&opened);
        let was = world.slice().and_then(open_state);
        assert!(was.is_some());
        let steps = (1..=4).map(|depth| tricks.len().pow(depth)).sum::<usize>();
        assert_eq!(try_all(&world, &tricks, 4, &|world| world.slice().and_then(open_state) == was), steps);
    }
}

#[test]
fn a_failing_test_still_counts_after_every_sequence_of_four_tricks_without_a_pass() {
    let fails = Act::Run(Run { test: 0, result: TestResult::Fail, strategy: None, path: None, age: None });
    let world = after(&[Act::Begin { scope: 1, by_person: false }, fails.clone(), fails]);
    let tricks: Vec<Act> = tricks()
        .into_iter()
        .filter(|trick| !matches!(trick, Act::Run(run) if run.result == TestResult::Pass))
        .collect();
    let steps = (1..=4).map(|depth| tricks.len().pow(depth)).sum::<usize>();
    let is_counted = |world: &World| world.slice().is_some_and(|slice| slice.is_begun() && counts(slice).0 >= 2);
    assert_eq!(try_all(&world, &tricks, 4, &is_counted), steps);
}

/// Plays every continuation; returns the number of steps that were checked.
fn try_all(world: &World, tricks: &[Act], depth: u32, invariant: &impl Fn(&World) -> bool) -> usize {
    if depth == 0 {
        return 0;
    }
    let continued = tricks.iter().map(|trick| {
        let mut world = world.clone();
        perform(&mut world, trick);
        assert!(invariant(&world), "{trick:?}: {:?}", world.slice());
        1 + try_all(&world, tricks, depth - 1, invariant)
    });
    continued.sum()
}

#[test]
fn an_agent_that_requests_a_denied_file_again_is_stopped_whatever_else_it_requests() {
    for others in [0, 1, 5, 254, 255, 256, 300] {
        let mut world = after(&[Act::Begin { scope: 1, by_person: false }]);
        assert!(matches!(world.edit("lib/wanted.ts", FileLocation::Inside, None).verdict, Verdict::Deny(_)));
        for other in 0..others {
            world.edit(&format!("lib/other{other}.ts"), FileLocation::Inside, None);
        }
        assert!(world.edit("lib/wanted.ts", FileLocation::Inside, None).verdict.denies(), "after {others} others");
        let trip = world.slice().and_then(Slice::trip).cloned().expect("it is open");
        assert!(matches!(trip.cause, TripCause::Architecture { .. }), "after {others} others");
        let facts = world.sessions.journal.iter().map(|recorded| &recorded.fact);
        let trips = facts.filter(|fact| matches!(fact, Fact::Attempt(AttemptFact::Tripped { .. })));
        assert_eq!(trips.count(), 1);
    }
}
