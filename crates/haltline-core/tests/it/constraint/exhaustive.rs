//! Compares all histories of five acts over a small alphabet with the naive reference.

use haltline_core::constraint::{Limits, StateName};

use crate::constraint::acts::{Act, check, perform};
use crate::constraint::reference::{self, History};
use crate::constraint::world::World;

const HOUR_MS: u64 = 3_600_000;

/// Two violations trip, so that five acts reach every state twice.
const LIMITS: Limits = Limits { violation_threshold: 2, window_days: 2, cooldown_hours: 24, dedup_seconds: 300 };

/// Each act with the time before it.
const ALPHABET: [(u64, Act); 10] = [
    (60_000, Act::Violate),
    (300_000, Act::Violate),
    (36 * HOUR_MS, Act::Violate),
    (1, Act::Clean),
    (24 * HOUR_MS, Act::Nothing),
    (1, Act::Reset),
    (60_000, Act::Enforce { violated: true }),
    (60_000, Act::Enforce { violated: false }),
    (1, Act::Override { lifetime_ms: 2 * HOUR_MS }),
    (1, Act::StepWall(-(30 * HOUR_MS as i64))),
];

/// Acts on machines that reboot and whose clocks are then behind.
const ALPHABET_WITH_REBOOTS: [(u64, Act); 6] = [
    (60_000, Act::Violate),
    (300_000, Act::Violate),
    (24 * HOUR_MS, Act::Clean),
    (1, Act::Reboot),
    (1, Act::StepWall(-(2 * HOUR_MS as i64))),
    (24 * HOUR_MS, Act::Nothing),
];

/// Tighter and looser than [`LIMITS`], in numbers other than the threshold.
const OTHER: Limits = Limits { violation_threshold: 2, window_days: 1, cooldown_hours: 48, dedup_seconds: 0 };

/// What people do to the circuit and to its file.
const ALPHABET_OF_OPERATOR_ACTIONS: [(u64, Act); 9] = [
    (300_000, Act::Violate),
    (HOUR_MS, Act::Enforce { violated: true }),
    (24 * HOUR_MS, Act::Enforce { violated: false }),
    (1, Act::Write(OTHER)),
    (1, Act::Write(LIMITS)),
    (1, Act::Trust),
    (1, Act::Override { lifetime_ms: 2 * HOUR_MS }),
    (1, Act::Revoke),
    (1, Act::Retire),
];

#[test]
fn every_history_of_five_acts_is_answered_as_the_reference_answers_it() {
    assert_eq!(explore(&World::new(LIMITS), &History::default(), &ALPHABET, 5), 10 + 100 + 1_000 + 10_000 + 100_000);
}

#[test]
fn every_history_of_five_operator_actions_is_answered_as_the_reference_answers_it() {
    let steps: u32 = (1..=5).map(|depth| 9_u32.pow(depth)).sum();
    assert_eq!(
        explore(
            &World::new(Limits { violation_threshold: 3, ..LIMITS }),
            &History::default(),
            &ALPHABET_OF_OPERATOR_ACTIONS,
            5
        ),
        steps
    );
}

#[test]
fn every_history_of_six_acts_with_reboots_is_answered_as_the_reference_answers_it() {
    let steps: u32 = (1..=6).map(|depth| 6_u32.pow(depth)).sum();
    assert_eq!(explore(&World::new(LIMITS), &History::default(), &ALPHABET_WITH_REBOOTS, 6), steps);
}

/// Plays every continuation and returns how many steps were compared.
fn explore(world: &World, reference: &History, alphabet: &[(u64, Act)], depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    let continued = alphabet.iter().map(|&(gap, act)| {
        let (mut world, mut reference) = (world.clone(), reference.clone());
        world.clock.advance(gap);
        let result = perform(&mut world, act);
        let now = world.clock.now();
        let shown = world.file.as_ref().map_or(LIMITS, |file| file.rule.limits);
        let expected = result.as_ref().map(|_| reference.record(act, now, shown));
        assert_eq!(result, expected, "answer to {act:?} after {:#?}", world.journal);
        let outlook = reference.outlook(now).map(|outlook| (outlook.state, outlook.count, outlook.totals));
        let actual = world
            .circuit()
            .map(|circuit| (circuit.state_at(now).name(), reference::capped_count(circuit, now), circuit.totals));
        assert_eq!(actual, outlook, "circuit after {act:?}, {:#?}", world.journal);
        let expected = outlook.map(|(state, ..)| match state {
            StateName::Closed | StateName::Retired => "pass",
            StateName::HalfOpen => "warn",
            StateName::Open => "deny",
        });
        assert_eq!(check(&world).map(|verdict| verdict.as_str()), expected, "check after {:#?}", world.journal);
        1 + explore(&world, &reference, alphabet, depth - 1)
    });
    continued.sum()
}
