//! E3 as properties: what a wall clock does moves nothing while the boot clock tells the time, and where nothing can
//! tell the time nothing is swallowed, closed or opened.

#[path = "support/acts.rs"]
mod acts;
mod support;

use acts::{Act, Answer, check, perform};
use haltline_core::constraint::{Condition, Limits, Weight};
use haltline_core::{Retry, Verdict};
use proptest::prelude::*;
use support::World;

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

/// Wall steps of a few milliseconds up to months, either way.
fn steps() -> impl Strategy<Value = i64> {
    prop_oneof![-1_000..1_000_i64, -2 * DAY_MS..2 * DAY_MS, -100 * DAY_MS..100 * DAY_MS]
}

/// What there is to see after an act, but for the wall's own reading.
#[derive(Debug, PartialEq, Eq)]
struct Sight {
    answer: Option<Answer>,
    state: Option<Condition>,
    count: Option<u32>,
    check: Option<&'static str>,
    /// From now until the retry.
    retry_in_ms: Option<i64>,
    generation: Option<u64>,
}

fn sight(world: &World, answer: Option<Answer>) -> Sight {
    let now = world.clock.now();
    let verdict = check(world);
    let retry_in_ms = match verdict.as_ref().and_then(Verdict::reason).map(|reason| reason.retry) {
        Some(Retry::At(instant)) => Some(instant.as_millis() - now.at.as_millis()),
        Some(Retry::Now | Retry::Person) | None => None,
    };
    Sight {
        answer,
        state: world.circuit().map(|circuit| circuit.standing_at(now).condition()),
        count: world.circuit().map(|circuit| circuit.in_window(now)),
        check: verdict.map(|verdict| verdict.word()),
        retry_in_ms,
        generation: world.circuit().map(|circuit| circuit.generation),
    }
}

/// Plays a history on one boot. Before each act the wall clock takes its step.
fn play(history: &[(u64, Act)], steps: &[i64]) -> Vec<Sight> {
    let mut world = World::new(LIMITS);
    let sights = history.iter().zip(steps).map(|(&(gap, act), &step)| {
        world.clock.advance(gap);
        perform(&mut world, Act::StepWall(step));
        let answer = perform(&mut world, act);
        sight(&world, answer)
    });
    sights.collect()
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
    fn a_clock_behind_everything_after_a_reboot_moves_no_state_and_uncounts_nothing(
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
        // A trial that nobody acted on is not yet written down; the first act after its start does that.
        perform(&mut world, Act::Violate);
        let before = sight(&world, None);
        perform(&mut world, Act::Reboot);
        let since_start = world.clock.wall.as_millis() - start.as_millis();
        perform(&mut world, Act::StepWall(-since_start - behind));
        let after = sight(&world, None);
        prop_assert_eq!((after.state, after.check), (before.state, before.check));
        prop_assert!(after.count >= before.count, "{:?} then {:?}", before.count, after.count);
        nothing_is_swallowed(&mut world, &then, start.as_millis());
    }

    #[test]
    fn an_open_circuit_stays_open_whatever_steps_back(
        gaps in prop::collection::vec((0..2 * HOUR_MS, 1..10 * DAY_MS, any::<bool>()), 1..20),
    ) {
        let mut world = World::new(LIMITS);
        for _ in 0..3 {
            world.clock.advance(300 * SECOND_MS);
            perform(&mut world, Act::Violate);
        }
        for (gap, back, is_rebooted) in gaps {
            prop_assert_eq!(sight(&world, None).state, Some(Condition::Open));
            if is_rebooted {
                perform(&mut world, Act::Reboot);
            }
            perform(&mut world, Act::StepWall(-back));
            prop_assert_eq!(sight(&world, None).check, Some("deny"));
            // Less time passes than the clock was set back, and less than the cooldown: nothing can end it.
            world.clock.advance(gap.min(back.unsigned_abs()));
            if !is_rebooted {
                perform(&mut world, Act::Reboot);
            }
        }
    }
}

/// While the clock is behind `start`, the first violation of a CLOSED circuit is comparable to none before, so it
/// counts; and an OPEN circuit stays OPEN unless a person acts.
fn nothing_is_swallowed(world: &mut World, then: &[(u64, Act)], start: i64) {
    let mut is_first = true;
    for &(gap, act) in then {
        world.clock.advance(gap);
        if world.clock.wall.as_millis() >= start {
            return;
        }
        let before = sight(world, None);
        let answer = perform(world, act);
        let is_by_person = matches!(act, Act::Reset | Act::Retire);
        if before.state == Some(Condition::Open) && !is_by_person {
            assert_eq!(sight(world, None).state, Some(Condition::Open), "after {act:?}");
        }
        if let Some(weight) = answer.and_then(|answer| answer.weight) {
            if is_first && before.state == Some(Condition::Closed) {
                assert_eq!(weight, Weight::Counted);
            }
            is_first = false;
        }
    }
}
