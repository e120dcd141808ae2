//! Compares random histories with the naive reference, and checks what must hold of every history.

use std::collections::BTreeSet;

use haltline_core::constraint::{
    Circuit, CircuitState, CircuitStateAt, Fact as ConstraintFact, Limits, StateName, Totals,
};
use haltline_core::{Fact, Moment, Recorded, Retry, State, Verdict, apply};
use proptest::prelude::*;

use crate::constraint::acts::{Act, ActResult, check, perform};
use crate::constraint::reference::{self, History, Outlook};
use crate::constraint::world::World;

const SECOND_MS: u64 = 1_000;
const HOUR_MS: u64 = 3_600 * SECOND_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Small enough that random histories reach every limit.
const LIMITS: Limits = Limits { violation_threshold: 3, window_days: 2, cooldown_hours: 5, dedup_seconds: 300 };

/// The time between two acts: often exactly at a limit, or a millisecond off.
fn gaps() -> impl Strategy<Value = u64> {
    let limits = prop::sample::select(vec![300 * SECOND_MS, 5 * HOUR_MS, 2 * DAY_MS, 7 * HOUR_MS, DAY_MS]);
    prop_oneof![
        4 => Just(360 * SECOND_MS),
        3 => 0..600 * SECOND_MS,
        3 => (limits, 0..3_u64).prop_map(|(limit, offset)| limit + offset - 1),
        1 => 0..4 * DAY_MS,
    ]
}

/// The threshold is only ever lowered: the core keeps no times of violations beyond it.
fn files() -> impl Strategy<Value = Act> {
    (1..=2_u32, 4..=7_u32, prop::sample::select(vec![0_u32, 299, 300, 600]), 0..10_u32).prop_map(
        |(window_days, cooldown_hours, dedup_seconds, lower)| {
            let violation_threshold = if lower == 0 { 2 } else { 3 };
            Act::Write(Limits { violation_threshold, window_days, cooldown_hours, dedup_seconds })
        },
    )
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => Just(Act::Violate),
        6 => Just(Act::Clean),
        6 => any::<bool>().prop_map(|violated| Act::Enforce { violated }),
        2 => Just(Act::Reset),
        1 => (0..400_u32).prop_map(|rare| if rare == 0 { Act::Retire } else { Act::Violate }),
        3 => (0..30 * HOUR_MS).prop_map(|lifetime_ms| Act::Override { lifetime_ms }),
        1 => Just(Act::Revoke),
        1 => Just(Act::Trust),
        1 => files(),
        2 => (-(3 * DAY_MS as i64)..3 * DAY_MS as i64).prop_map(Act::StepWall),
        1 => Just(Act::Reboot),
        1 => Just(Act::Nothing),
    ]
}

/// Any clock without a reboot, or any reboot with a wall clock that is only set forward. With both, a violation that
/// was once seen as too old to count may later have an unknown age; the reference would count it again.
fn histories() -> impl Strategy<Value = Vec<(u64, Act)>> {
    (prop::collection::vec((gaps(), acts()), 1..40), any::<bool>()).prop_map(|(mut history, has_reboots)| {
        for (_gap, act) in &mut history {
            *act = match *act {
                Act::StepWall(millis) if has_reboots => Act::StepWall(millis.abs()),
                Act::Reboot if !has_reboots => Act::Nothing,
                other => other,
            };
        }
        history
    })
}

/// The core's view of its circuit, in the form of the reference.
fn outlook(circuit: &Circuit, now: Moment) -> Outlook {
    let state = circuit.state_at(now);
    let remaining_ms = match state {
        CircuitStateAt::Open(_, haltline_core::constraint::Cooldown::Running { remaining_ms }) => Some(remaining_ms),
        CircuitStateAt::Open(..)
        | CircuitStateAt::Closed
        | CircuitStateAt::HalfOpen(_)
        | CircuitStateAt::Retired(_) => None,
    };
    Outlook {
        state: state.name(),
        count: reference::capped_count(circuit, now),
        totals: circuit.totals,
        limits: *circuit.limits(),
        remaining_ms,
        can_override: circuit.ready_override(now).is_some(),
    }
}

/// Returns a write of the file that never raises a threshold that was once lower, and updates the limits it shows.
fn lowered(act: Act, shown: &mut Limits) -> Act {
    let Act::Write(limits) = act else { return act };
    let violation_threshold = shown.violation_threshold.min(limits.violation_threshold);
    *shown = Limits { violation_threshold, ..limits };
    Act::Write(*shown)
}

fn play(history: &[(u64, Act)], limits: Limits, mut each: impl FnMut(&World, &World)) {
    let (mut world, mut reference) = (World::new(limits), History::default());
    let mut shown = limits;
    for &(gap, act) in history {
        world.clock.advance(gap);
        let act = lowered(act, &mut shown);
        let before = world.clone();
        let result = perform(&mut world, act);
        let expected: Option<ActResult> = result.as_ref().map(|_| reference.record(act, world.clock.now(), shown));
        assert_eq!(result, expected, "answer to {act:?}");
        let now = world.clock.now();
        let mut expected = reference.outlook(now);
        if let Some(expected) = expected.as_mut().filter(|expected| expected.state != StateName::Open) {
            expected.remaining_ms = None;
        }
        assert_eq!(world.circuit().map(|circuit| outlook(circuit, now)), expected, "circuit after {act:?}");
        assert_eq!(check(&world).map(|verdict| verdict.as_str()), expected.as_ref().map(expected_verdict));
        if let (Some(Verdict::Deny(reason)), Some(Outlook { remaining_ms: Some(remaining_ms), .. })) =
            (check(&world), &expected)
        {
            assert_eq!(reason.retry, Retry::At(now.plus_millis(*remaining_ms).at));
        }
        each(&before, &world);
    }
}

fn expected_verdict(outlook: &Outlook) -> &'static str {
    match outlook.state {
        StateName::Closed | StateName::Retired => "pass",
        StateName::HalfOpen => "warn",
        StateName::Open => "deny",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_history_is_answered_as_the_naive_reference_answers_it(history in histories()) {
        play(&history, LIMITS, |_before, _after| {});
    }

    #[test]
    fn a_random_history_under_the_default_limits_is_answered_alike(history in histories()) {
        play(&history, Limits::default(), |_before, _after| {});
    }

    #[test]
    fn the_state_is_the_fold_of_the_facts_also_after_serialization(history in histories()) {
        play(&history, LIMITS, |_before, after| {
            let state = after.rows.get(&after.name()).cloned();
            assert_eq!(fold(&after.journal), state);
            let text = serde_json::to_string(&state).expect("a state can be written");
            assert_eq!(serde_json::from_str::<Option<State>>(&text).expect("and read"), state);
        });
    }

    #[test]
    fn generations_rise_with_every_change_of_state_and_totals_never_fall(history in histories()) {
        play(&history, LIMITS, |before, after| {
            let Some(after) = after.circuit() else { return };
            assert!(after.trips.len() <= Circuit::TRIPS_MAX);
            let nothing = Circuit::default();
            let before = before.circuit().unwrap_or(&nothing);
            let kept_max = (after.limits().violation_threshold as usize).max(before.counted.len());
            assert!(after.counted.len() <= kept_max);
            assert!(after.generation >= before.generation);
            assert!(after.state == before.state || after.generation > before.generation);
            assert!(numbers(&after.totals).iter().zip(numbers(&before.totals)).all(|(after, before)| *after >= before));
        });
    }

    #[test]
    fn every_trip_has_a_unique_incident_id(history in histories()) {
        let mut last = None;
        play(&history, LIMITS, |_before, after| last = Some(after.journal.clone()));
        let incidents: Vec<String> = last.iter().flatten().filter_map(incident).collect();
        assert_eq!(incidents.iter().collect::<BTreeSet<_>>().len(), incidents.len());
    }
}

#[test]
fn only_the_newest_hundred_trips_are_kept() {
    let mut world = World::new(Limits { violation_threshold: 1, ..LIMITS });
    for _ in 0..Circuit::TRIPS_MAX + 5 {
        world.clock.advance(5 * HOUR_MS);
        perform(&mut world, Act::Violate);
    }
    let circuit = world.circuit().expect("it was violated");
    assert_eq!((circuit.trips.len(), circuit.totals.trips), (100, 105));
    assert_eq!(circuit.trips.last().map(|trip| trip.tripped), Some(world.clock.wall));
    assert!(matches!(circuit.state, CircuitState::Open(_)));
}

fn fold(journal: &[Recorded]) -> Option<State> {
    journal.iter().fold(None, |state, Recorded { at, fact, .. }| {
        let text = serde_json::to_string(&(at, fact)).expect("a fact can be written");
        let (at, fact): (Moment, Fact) = serde_json::from_str(&text).expect("and read");
        Some(apply(state, &fact, at))
    })
}

fn incident(recorded: &Recorded) -> Option<String> {
    match &recorded.fact {
        Fact::Constraint(ConstraintFact::Tripped { trip }) => Some(trip.incident.clone()),
        Fact::Constraint(_)
        | Fact::Agent(_)
        | Fact::Tree(_)
        | Fact::Exemption(_)
        | Fact::Phase(_)
        | Fact::Attempt(_)
        | Fact::Claim(_)
        | Fact::Pipeline(_)
        | Fact::Trust(_)
        | Fact::Control(_)
        | Fact::Ledger(_)
        | Fact::Provider(_) => None,
    }
}

fn numbers(totals: &Totals) -> [u64; 8] {
    let Totals { violations, counted, deduplicated, while_open, passes, denied, trips, overrides } = *totals;
    [violations, counted, deduplicated, while_open, passes, denied, trips, overrides]
}
