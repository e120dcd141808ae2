//! The attempt family under any history: facts are all there is, counts are what a naive second implementation counts,
//! a slice stops exactly at its limits, and only a person brings it back.

#[path = "support/attempt_acts.rs"]
mod attempt_acts;
#[path = "support/attempt_reference.rs"]
mod attempt_reference;
#[path = "support/clock.rs"]
mod clock;
#[path = "support/sessions.rs"]
mod sessions;
#[path = "support/slices.rs"]
mod slices;

use attempt_acts::{Act, PATHS, Run, TESTS, Why, clock_step, of_agent, of_person, pause, perform, run, test, word};
use attempt_reference::{History, Outlook};
use haltline_core::attempt::{Fact as AttemptFact, Letters, Place, Slice, Stand, TestResult, TripCause};
use haltline_core::{Fact, State, Verdict, apply};
use proptest::prelude::*;
use slices::World;

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![20 => of_agent(), 2 => of_person()]
}

fn anything() -> impl Strategy<Value = Act> {
    prop_oneof![20 => act(), 1 => pause(), 1 => clock_step().prop_map(Act::StepWall), 1 => Just(Act::Reboot)]
}

fn agent_and_time() -> impl Strategy<Value = Act> {
    prop_oneof![20 => of_agent(), 1 => pause(), 1 => clock_step().prop_map(Act::StepWall), 1 => Just(Act::Reboot)]
}

fn after(acts: &[Act]) -> World {
    let mut world = World::new();
    acts.iter().for_each(|act| {
        perform(&mut world, act);
    });
    world
}

fn look(world: &World) -> Option<Outlook> {
    let slice = world.slice()?;
    let trip = slice.trip();
    let mut justified: Vec<&str> = slice.justified.iter().map(|known| known_path(&known.file)).collect();
    let mut strayed: Vec<&str> = slice.strayed.iter().map(|path| known_path(path)).collect();
    justified.sort_unstable();
    strayed.sort_unstable();
    Some(Outlook {
        word: slice.stand.word(),
        by: trip.map(|trip| trip.cause.word()),
        failed: (0..TESTS.len()).map(|number| failed(slice, number)).collect(),
        total: slice.total_failed_attempts,
        refused: trip.map_or(0, |trip| trip.refused),
        generation: slice.generation,
        justified,
        strayed,
    })
}

fn known_path(path: &str) -> &'static str {
    PATHS.into_iter().find(|known| *known == path).expect("one of the paths")
}

fn failed(slice: &Slice, number: usize) -> u32 {
    slice.tests.get(&test(number)).map_or(0, |test| test.attempt_count)
}

/// All that is counted.
fn counts(slice: &Slice) -> (u32, Vec<u32>) {
    (slice.total_failed_attempts, (0..TESTS.len()).map(|number| failed(slice, number)).collect())
}

/// What must not change while nothing may go on.
fn opening(slice: &Slice) -> Option<(String, TripCause, u32, Vec<u32>)> {
    let (total, failed) = counts(slice);
    slice.trip().map(|trip| (trip.incident.clone(), trip.cause.clone(), total, failed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_row_is_the_fold_of_facts_that_were_written_and_read_again(acts in prop::collection::vec(anything(), 0..80)) {
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
    fn counts_states_and_verdicts_are_what_a_naive_reading_of_the_rules_finds(
        acts in prop::collection::vec(act(), 0..80),
    ) {
        let (mut world, mut history) = (World::new(), History::default());
        for act in &acts {
            let Some(result) = perform(&mut world, act) else { continue };
            let expected = history.happen(act);
            prop_assert_eq!((word(&result), look(&world)), (expected, history.outlook()), "{:?}", act);
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
            match &slice.stand {
                Stand::UnderWay => {
                    prop_assert!(total < 7 && failed.iter().all(|count| *count < 3), "{act:?}: {failed:?} of {total}");
                }
                Stand::Open(trip) if is_new => match (&trip.cause, act) {
                    (TripCause::Test { test: named, failed: times }, Act::Run(run)) => {
                        prop_assert_eq!((named, *times, failed[run.test]), (&test(run.test), 3, 3));
                    }
                    (TripCause::Slice, Act::Run(run)) => prop_assert!(total == 7 && failed[run.test] < 3),
                    (TripCause::Architecture { .. }, Act::Touch { .. } | Act::Deviate { rule: 4 }) => {}
                    (cause, act) => prop_assert!(false, "{act:?} opened it by {cause:?}"),
                },
                Stand::Open(_) | Stand::Ended => {}
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
            let is_new = before.stand == Stand::Ended && slice.stand != Stand::Ended;
            if matches!(act, Act::Reset) && before.is_begun() {
                prop_assert_eq!((total_now, failed_now.iter().sum::<u32>()), (0, 0));
            } else if !is_new {
                let rise = total_now.checked_sub(total);
                prop_assert!(matches!(rise, Some(0 | 1)), "{act:?}: {total} to {total_now}");
                let counted = |wanted: TestResult| matches!(act, Act::Run(run) if run.result == wanted);
                prop_assert!(rise == Some(0) || counted(TestResult::Fail), "{act:?}");
                let is_same = failed == failed_now;
                prop_assert!(is_same || counted(TestResult::Fail) || counted(TestResult::Pass), "{act:?}");
            }
        }
    }

    #[test]
    fn nothing_but_a_person_changes_what_is_open(
        before in prop::collection::vec(anything(), 0..60),
        acts in prop::collection::vec(agent_and_time(), 1..40),
    ) {
        let mut world = after(&before);
        let mut said: Vec<String> = Vec::new();
        for act in &acts {
            let was = world.slice().and_then(opening);
            let result = perform(&mut world, act);
            let now = world.slice().and_then(opening);
            if was.is_some() {
                prop_assert_eq!(&was, &now, "{:?}", act);
            }
            // No refusal of one opening is like another, word for word (E5).
            if let (Some(_), Some(Ok(decision))) = (&now, &result)
                && let Verdict::Deny(reason) | Verdict::Stop(reason) = &decision.verdict
            {
                prop_assert!(!said.contains(&reason.text), "{act:?}: {}", reason.text);
                prop_assert!(reason.text.len() <= 24 * 80);
                said.push(reason.text.clone());
            }
        }
    }

    #[test]
    fn while_a_test_fails_an_agent_cannot_count_anew(
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
                prop_assert_eq!(was.begun, now.begun, "{:?} began it anew", act);
            }
        }
    }

    #[test]
    fn what_is_in_scope_stays_in_scope_whatever_an_agent_does_elsewhere(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(agent_and_time(), 1..40),
        path in 0..PATHS.len(),
    ) {
        let mut world = after(&before);
        let allows = |slice: &Slice| {
            let is_covered = matches!(
                slice.scope.covers(PATHS[path], Letters::Distinct),
                haltline_core::attempt::Covered::By(_) | haltline_core::attempt::Covered::LockOff
            );
            is_covered || slice.justification(PATHS[path], Letters::Distinct).is_some()
        };
        for act in &acts {
            let was = world.slice().filter(|slice| slice.is_begun() && allows(slice)).cloned();
            perform(&mut world, act);
            let Some(now) = world.slice().filter(|slice| was.is_some() && slice.is_begun()) else { continue };
            prop_assert!(allows(now), "{act:?}");
            let mut asked = world.clone();
            let touch = Act::Touch { path, why: Why::Unsaid, asker: None };
            let answer = perform(&mut asked, &touch).expect("it is answered").expect("and not rejected");
            let is_free = now.trip().is_none() || now.scope.is_off();
            prop_assert_eq!(answer.verdict.refuses(), !is_free, "{:?}", act);
        }
    }

    #[test]
    fn the_hook_answers_as_the_slice_does(
        acts in prop::collection::vec(anything(), 0..60),
        path in 0..PATHS.len(),
    ) {
        let world = after(&acts);
        let (mut by_hook, mut by_hand) = (world.clone(), world.clone());
        let edit = by_hook.edit(PATHS[path], Place::Inside, None);
        let touch = Act::Touch { path, why: Why::Unsaid, asker: Some(77) };
        let hand = perform(&mut by_hand, &touch).expect("it is answered").expect("and not rejected");
        prop_assert_eq!(edit.verdict.word(), hand.verdict.word());
        let words = |world: &World| {
            let facts = world.sessions.journal.iter().map(|recorded| &recorded.fact);
            facts.filter(|fact| matches!(fact, Fact::Attempt(_))).map(Fact::word).collect::<Vec<_>>()
        };
        prop_assert_eq!(words(&by_hook), words(&by_hand));
    }

    #[test]
    fn a_wall_clock_that_jumps_changes_nothing_but_instants(
        acts in prop::collection::vec((act(), clock_step()), 0..60),
    ) {
        let (mut calm, mut jumpy) = (World::new(), World::new());
        for (act, step) in &acts {
            jumpy.sessions.clock.step_wall(*step);
            let (calmly, jumping) = (perform(&mut calm, act), perform(&mut jumpy, act));
            prop_assert_eq!(calmly.as_ref().map(word), jumping.as_ref().map(word));
            prop_assert_eq!(look(&calm), look(&jumpy), "{:?}", act);
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
        (slice.totals.failed, slice.totals.refused, slice.totals.infrastructure) = (u64::MAX, u64::MAX, u64::MAX);
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

/// All that an agent can try, by itself.
fn tricks() -> Vec<Act> {
    let run = |result, age| Act::Run(Run { test: 0, result, strategy: Some(0), path: Some(1), age });
    let touch = |path, why| Act::Touch { path, why, asker: Some(1) };
    vec![
        Act::Begin { scope: 1, by_person: false },
        Act::Begin { scope: 0, by_person: false },
        Act::Ask { test: 0, strategy: Some(0) },
        run(TestResult::Pass, None),
        run(TestResult::Pass, Some(0)),
        run(TestResult::Fail, Some(1)),
        touch(0, Why::Unsaid),
        touch(1, Why::Justified),
        touch(2, Why::Unjustifiable),
        Act::Look { path: 3 },
        Act::File { test: 0 },
        Act::Deviate { rule: 4 },
        Act::HandOut,
        Act::End { by_person: false },
        Act::Wait(86_400_000),
    ]
}

#[test]
fn in_every_history_of_four_tricks_what_is_open_stays_open() {
    let fails = Act::Run(Run { test: 0, result: TestResult::Fail, strategy: None, path: None, age: None });
    let by_test = vec![Act::Begin { scope: 1, by_person: false }, fails.clone(), fails.clone(), fails];
    let by_rule = vec![Act::Begin { scope: 1, by_person: false }, Act::Deviate { rule: 4 }];
    let tricks = tricks();
    for opened in [by_test, by_rule] {
        let world = after(&opened);
        let was = world.slice().and_then(opening);
        assert!(was.is_some());
        let steps = (1..=4).map(|depth| tricks.len().pow(depth)).sum::<usize>();
        assert_eq!(try_all(&world, &tricks, 4, &|world| world.slice().and_then(opening) == was), steps);
    }
}

#[test]
fn in_every_history_of_four_tricks_without_a_pass_a_failing_test_still_counts() {
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

/// Plays every continuation; answers how many steps were checked.
fn try_all(world: &World, tricks: &[Act], depth: u32, holds: &impl Fn(&World) -> bool) -> usize {
    if depth == 0 {
        return 0;
    }
    let continued = tricks.iter().map(|trick| {
        let mut world = world.clone();
        perform(&mut world, trick);
        assert!(holds(&world), "{trick:?}: {:?}", world.slice());
        1 + try_all(&world, tricks, depth - 1, holds)
    });
    continued.sum()
}

#[test]
fn an_agent_that_asks_for_a_file_again_and_again_is_stopped_whatever_else_it_asks_for() {
    for others in [0, 1, 5, 254, 255, 256, 300] {
        let mut world = after(&[Act::Begin { scope: 1, by_person: false }]);
        assert!(matches!(world.edit("lib/wanted.ts", Place::Inside, None).verdict, Verdict::Deny(_)));
        for other in 0..others {
            world.edit(&format!("lib/other{other}.ts"), Place::Inside, None);
        }
        assert!(world.edit("lib/wanted.ts", Place::Inside, None).verdict.refuses(), "after {others} others");
        let trip = world.slice().and_then(Slice::trip).cloned().expect("it is open");
        assert!(matches!(trip.cause, TripCause::Architecture { .. }), "after {others} others");
        let facts = world.sessions.journal.iter().map(|recorded| &recorded.fact);
        let trips = facts.filter(|fact| matches!(fact, Fact::Attempt(AttemptFact::Tripped { .. })));
        assert_eq!(trips.count(), 1);
    }
}
