//! Properties of time (E3): while the boot clock tells the time, steps of the wall clock change nothing; and where no
//! clock can tell the time, no violation is lost and no circuit opens or closes.

use haltline_core::constraint::{Limits, StateName, Weight};
use haltline_core::{Retry, Verdict};
use proptest::prelude::*;

use crate::constraint::acts::{Act, ActResult, check, perform};
use crate::constraint::world::World;

const SECOND_MS: u64 = 1_000;
const HOUR_MS: u64 = 3_600 * SECOND_MS;
const DAY_MS: i64 = 86_400_000;

const LIMITS: Limits = Limits { violation_threshold: 3, window_days: 2, cooldown_hours: 5, dedup_seconds: 300 };

/// Stricter in one number, looser in another.
const OTHER: Limits = Limits { violation_threshold: 2, window_days: 1, cooldown_hours: 6, dedup_seconds: 600 };

fn gaps() -> impl Strategy<Value = u64> {
    prop_oneof![0..700 * SECOND_MS, Just(300 * SECOND_MS), Just(5 * HOUR_MS), 0..60 * HOUR_MS]
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => Just(Act::Violate),
        3 => Just(Act::Clean),
        4 => any::<bool>().prop_map(|violated| Act::Enforce { violated }),
        1 => Just(Act::Reset),
        2 => (0..30 * HOUR_MS).prop_map(|lifetime_ms| Act::Override { lifetime_ms }),
        1 => prop::sample::select(vec![Act::Revoke, Act::Trust, Act::Write(OTHER), Act::Nothing]),
        1 => (0..100_u32).prop_map(|rare| if rare == 0 { Act::Retire } else { Act::Violate }),
    ]
}

/// Steps of the wall clock, from a few milliseconds up to months, in both directions.
fn steps() -> impl Strategy<Value = i64> {
    prop_oneof![-1_000..1_000_i64, -2 * DAY_MS..2 * DAY_MS, -100 * DAY_MS..100 * DAY_MS]
}

/// What can be observed after an act, except the wall clock's reading.
#[derive(Debug, PartialEq, Eq)]
struct Observation {
    answer: Option<ActResult>,
    state: Option<StateName>,
    count: Option<u32>,
    check: Option<&'static str>,
    /// Time from now until the retry.
    retry_in_ms: Option<i64>,
    generation: Option<u64>,
}

fn observe(world: &World, answer: Option<ActResult>) -> Observation {
    let now = world.clock.now();
    let verdict = check(world);
    let retry_in_ms = match verdict.as_ref().and_then(Verdict::reason).map(|reason| reason.retry) {
        Some(Retry::At(instant)) => Some(instant.as_millis() - now.at.as_millis()),
        Some(Retry::Now | Retry::Person) | None => None,
    };
    Observation {
        answer,
        state: world.circuit().map(|circuit| circuit.state_at(now).name()),
        count: world.circuit().map(|circuit| circuit.in_window(now)),
        check: verdict.map(|verdict| verdict.as_str()),
        retry_in_ms,
        generation: world.circuit().map(|circuit| circuit.generation),
    }
}

/// Plays a history within one boot. Before each act the wall clock takes its step.
fn play(history: &[(u64, Act)], steps: &[i64]) -> Vec<Observation> {
    let mut world = World::new(LIMITS);
    let observations = history.iter().zip(steps).map(|(&(gap, act), &step)| {
        world.clock.advance(gap);
        perform(&mut world, Act::StepWall(step));
        let answer = perform(&mut world, act);
        observe(&world, answer)
    });
    observations.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stepped_wall_clock_changes_nothing_while_the_boot_clock_runs(
        history in prop::collection::vec((gaps(), acts()), 1..30),
        steps in prop::collection::vec(steps(), 30),
    ) {
        assert_eq!(play(&history, &steps), play(&history, &[0; 30]));
    }

    #[test]
    fn a_clock_set_back_across_a_reboot_changes_no_state_and_lowers_no_count(
        history in prop::collection::vec((gaps(), acts()), 1..30),
        behind in 1..100 * DAY_MS,
        then in prop::collection::vec((0..300 * SECOND_MS, acts()), 1..10),
    ) {
        let mut world = World::new(LIMITS);
        let start = world.clock.wall;
        for (gap, act) in history {
            world.clock.advance(gap);
            perform(&mut world, act);
        }
        // A HALF_OPEN state without an act is not recorded yet; the first act after the cooldown records it.
        perform(&mut world, Act::Violate);
        let before = observe(&world, None);
        perform(&mut world, Act::Reboot);
        let since_start = world.clock.wall.as_millis() - start.as_millis();
        perform(&mut world, Act::StepWall(-since_start - behind));
        let after = observe(&world, None);
        prop_assert_eq!((after.state, after.check), (before.state, before.check));
        prop_assert!(after.count >= before.count, "{:?} then {:?}", before.count, after.count);
        assert_no_violation_is_lost(&mut world, &then, start.as_millis());
    }

    #[test]
    fn an_open_circuit_stays_open_when_the_clock_steps_back(
        gaps in prop::collection::vec((0..2 * HOUR_MS, 1..10 * DAY_MS, any::<bool>()), 1..20),
    ) {
        let mut world = World::new(LIMITS);
        for _ in 0..3 {
            world.clock.advance(300 * SECOND_MS);
            perform(&mut world, Act::Violate);
        }
        for (gap, back, is_rebooted) in gaps {
            prop_assert_eq!(observe(&world, None).state, Some(StateName::Open));
            if is_rebooted {
                perform(&mut world, Act::Reboot);
            }
            perform(&mut world, Act::StepWall(-back));
            prop_assert_eq!(observe(&world, None).check, Some("deny"));
            // Less time passes than the clock was set back, and less than the cooldown: nothing can end the cooldown.
            world.clock.advance(gap.min(back.unsigned_abs()));
            if !is_rebooted {
                perform(&mut world, Act::Reboot);
            }
        }
    }
}

/// While the clock is behind `start`, no earlier violation can be compared with the first one of a CLOSED circuit, so
/// it counts; and an OPEN circuit stays OPEN unless a person acts.
fn assert_no_violation_is_lost(world: &mut World, then: &[(u64, Act)], start: i64) {
    let mut is_first = true;
    for &(gap, act) in then {
        world.clock.advance(gap);
        if world.clock.wall.as_millis() >= start {
            return;
        }
        let before = observe(world, None);
        let answer = perform(world, act);
        let is_by_person = matches!(act, Act::Reset | Act::Retire);
        if before.state == Some(StateName::Open) && !is_by_person {
            assert_eq!(observe(world, None).state, Some(StateName::Open), "after {act:?}");
        }
        if let Some(weight) = answer.and_then(|answer| answer.weight) {
            if is_first && before.state == Some(StateName::Closed) {
                assert_eq!(weight, Weight::Counted);
            }
            is_first = false;
        }
    }
}
