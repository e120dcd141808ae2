//! Properties of the phase breaker under any history: state is the fold of facts, counts match a naive second
//! implementation, only a person closes what is halted, clocks affect nothing but cooldowns, and no number is too
//! large.

use haltline_core::phase::{Bounds, OverReason, PhaseEvent, PhaseRun, RunState, Thresholds};
use haltline_core::{Fact, State, apply};
use proptest::prelude::*;

use crate::phase::acts::{
    self, Act, IterationInput, agent_acts, clock_step, input, matches_state, operator_acts, pause, perform, phase,
    runner_acts, verdict_name,
};
use crate::phase::reference::{History, Observed, ReferenceLimits};
use crate::phase::world::World;

/// Ralph's limits.
fn ralph() -> Bounds {
    let thresholds = Thresholds { no_progress: 3, same_error: 5 };
    Bounds { thresholds, permission_denials: Some(2), neutral: None, cooldown_ms: Some(1_800_000) }
}

fn world(is_ralph: bool) -> World {
    World { bounds: is_ralph.then(ralph), ..World::new() }
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![16 => agent_acts(), 2 => operator_acts(), 2 => pause(), 1 => clock_step().prop_map(Act::StepWall)]
}

fn anything() -> impl Strategy<Value = Act> {
    prop_oneof![16 => act(), 1 => runner_acts(), 1 => Just(Act::Reboot)]
}

/// A bias of a history, so that the rarer trips occur.
#[derive(Clone, Debug)]
struct Bias {
    /// The history stays in one phase.
    phase: Option<&'static str>,
    /// Each iteration has a metric that rises.
    is_rising: bool,
    /// Each iteration ends with the same error.
    is_steady: bool,
    /// Permission denials are counted; otherwise neutral iterations are.
    has_denials: bool,
    /// Each iteration is neutral.
    is_idle: bool,
}

fn bias() -> impl Strategy<Value = Bias> {
    let leaning = (prop::option::of(phase()), any::<bool>(), any::<bool>(), any::<bool>());
    let leaning = leaning.prop_map(|(phase, is_rising, is_steady, has_denials)| Bias {
        phase,
        is_rising,
        is_steady,
        has_denials,
        is_idle: false,
    });
    // Only a loop has a limit on neutral iterations.
    let idle = Bias { phase: Some("LOOP"), is_rising: false, is_steady: false, has_denials: false, is_idle: true };
    prop_oneof![9 => leaning, 1 => Just(idle)]
}

impl Bias {
    /// The act with this bias. State files and ends of runs have their own rules in `testdata/`, so they are left out.
    fn act(&self, act: &Act, index: u64) -> Option<Act> {
        Some(match act {
            Act::Found { .. } | Act::Finish(_) | Act::StepWall(_) | Act::Reboot => return None,
            Act::Begin { phase, joining, by_person } => {
                Act::Begin { phase: self.phase.unwrap_or(phase), joining: *joining, by_person: *by_person }
            }
            Act::Report(input) => {
                let mut input = input.clone();
                input.phase = self.phase.or(input.phase);
                input.neutral = (input.neutral || self.is_idle) && !self.has_denials;
                input.denied = input.denied && self.has_denials;
                if self.is_steady {
                    input.error = input.error.map(|(_, second)| (0, second)).or(Some((0, 0)));
                }
                if self.is_idle {
                    (input.numbers, input.signals) = (Vec::new(), Vec::new());
                } else if self.is_rising {
                    let names = ["tests_generated", "tests_passing", "patterns_applied", "docs_generated"];
                    input.numbers = names.map(|name| (name, index)).to_vec();
                }
                Act::Report(input)
            }
            other => other.clone(),
        })
    }
}

fn observe(world: &World) -> Option<Observed> {
    world.phase_run().map(|phase_run| Observed {
        state: phase_run.state_name_at(world.clock.now()),
        no_progress: phase_run.no_progress,
        same_error: phase_run.same_error,
        phase: phase_run
            .phase
            .as_ref()
            .map(|phase| *PHASES.iter().find(|name| **name == phase.as_str()).expect("known")),
        iteration: phase_run.iteration,
    })
}

/// The runner passes on an agent's statement that its work is complete.
const COMPLETED: Act = Act::Finish(haltline_core::phase::Finish::Completed);

const PHASES: [&str; 7] = ["RED", "GREEN", "REFACTOR", "DOCUMENT", "QA", "SPIKE", "LOOP"];

/// True if the run is halted and no clock will end that.
fn is_halted(phase_run: &PhaseRun) -> bool {
    match &phase_run.state {
        RunState::Open(trip) => trip.cooldown_ms.is_none(),
        RunState::Over(OverReason::Aborted) => true,
        RunState::Closed | RunState::Warned | RunState::Over(OverReason::Completed | OverReason::Skipped) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_row_is_the_fold_of_the_serialized_facts(
        is_ralph in any::<bool>(),
        acts in prop::collection::vec(anything(), 0..60),
    ) {
        let mut world = world(is_ralph);
        for act in &acts {
            let result = perform(&mut world, act);
            if let (Some(Ok(decision)), Some(phase_run)) = (&result, world.phase_run()) {
                let is_end = matches!(act, Act::Finish(_));
                prop_assert!(is_end || matches_state(&decision.verdict, &phase_run.state), "{act:?}: {:?}", decision.verdict);
                // The verdict's text is what the folded facts give.
                if let Some(reason) = decision.verdict.reason() {
                    let is_over = matches!(phase_run.state, RunState::Over(_));
                    prop_assert!(is_over || reason.text.contains(&phase_run.recommendation()), "{act:?}: {}", reason.text);
                }
            }
            if let Some(Err(_)) = result {
                let is_answered = matches!(act, Act::Begin { .. } | Act::Ask)
                    || (matches!(act, Act::Start { .. }) && world.phase_run().is_some());
                prop_assert!(!is_answered, "{act:?} is answered");
            }
        }
        let mut row = None;
        for recorded in &world.journal {
            let written = serde_json::to_string(&recorded.fact).expect("a fact can be written");
            let fact: Fact = serde_json::from_str(&written).expect("and read");
            prop_assert_eq!(&fact, &recorded.fact);
            row = Some(apply(row, &fact, recorded.at));
        }
        prop_assert_eq!(row.as_ref(), world.rows.get(&world.name));
        if let Some(row) = &row {
            let written = serde_json::to_string(row).expect("a row can be written");
            prop_assert!(written.len() < 32_768, "a row of {} bytes", written.len());
            prop_assert_eq!(&serde_json::from_str::<State>(&written).expect("and read"), row);
        }
    }

    #[test]
    fn counts_and_states_match_the_naive_reference(
        is_ralph in any::<bool>(),
        bias in bias(),
        acts in prop::collection::vec(act(), 0..50),
    ) {
        let mut world = world(is_ralph);
        let mut history = History::new(ReferenceLimits { is_ralph });
        for (index, act) in (0..).zip(&acts) {
            let Some(act) = bias.act(act, index) else { continue };
            let Some(result) = perform(&mut world, &act) else { continue };
            let expected = history.handle(&act, world.clock.now());
            prop_assert_eq!((verdict_name(&result), observe(&world)), (expected, history.observed(world.clock.now())), "{:?}", act);
        }
    }

    #[test]
    fn no_act_of_an_agent_restarts_a_halted_run(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(prop_oneof![8 => agent_acts(), 2 => pause(), 1 => Just(Act::Reboot), 1 => Just(COMPLETED)], 1..40),
        steps in prop::collection::vec(clock_step(), 1..40),
    ) {
        let mut world = world(false);
        before.iter().for_each(|act| { perform(&mut world, act); });
        let mut was_halted = world.phase_run().is_some_and(is_halted);
        for (act, step) in acts.iter().zip(steps.iter().cycle()) {
            world.clock.step_wall(*step);
            let trip = world.phase_run().and_then(PhaseRun::trip).cloned();
            perform(&mut world, act);
            let is_now = world.phase_run().is_some_and(is_halted);
            prop_assert!(is_now || !was_halted, "{act:?} brought it back");
            if was_halted {
                prop_assert_eq!(&trip, &world.phase_run().and_then(PhaseRun::trip).cloned(), "the same opening, untouched");
            }
            was_halted = is_now;
        }
    }

    #[test]
    fn events_while_halted_change_no_count(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(agent_acts(), 1..10),
    ) {
        let mut world = world(false);
        before.iter().for_each(|act| { perform(&mut world, act); });
        for act in &acts {
            let was = world.phase_run().cloned();
            perform(&mut world, act);
            if let (Some(was), Some(now)) = (was.filter(is_halted), world.phase_run()) {
                let same = |phase_run: &PhaseRun| PhaseRun {
                    iteration: 0,
                    underway: None,
                    finish: None,
                    // Work that is ignored still has a cost.
                    spent: Default::default(),
                    totals: Default::default(),
                    last_seen: was.last_seen,
                    ..phase_run.clone()
                };
                prop_assert_eq!(same(&was), same(now), "{:?}", act);
            }
        }
    }

    #[test]
    fn a_wall_clock_that_jumps_changes_nothing_but_instants(
        is_ralph in any::<bool>(),
        acts in prop::collection::vec((act(), clock_step()), 0..50),
    ) {
        let (mut calm, mut jumpy) = (world(is_ralph), world(is_ralph));
        for (act, step) in &acts {
            // State files have only the wall clock.
            if matches!(act, Act::StepWall(_) | Act::Found { .. }) {
                continue;
            }
            jumpy.clock.step_wall(*step);
            let (calmly, jumping) = (perform(&mut calm, act), perform(&mut jumpy, act));
            prop_assert_eq!(calmly.as_ref().map(verdict_name), jumping.as_ref().map(verdict_name));
            prop_assert_eq!(observe(&calm), observe(&jumpy), "{:?}", act);
        }
        let fact_names = |world: &World| world.journal.iter().map(|recorded| recorded.fact.as_str()).collect::<Vec<_>>();
        prop_assert_eq!(fact_names(&calm), fact_names(&jumpy));
    }

    #[test]
    fn a_clock_that_only_goes_back_ends_no_cooldown(
        steps in prop::collection::vec(-86_400_000..0_i64, 1..20),
        acts in prop::collection::vec(agent_acts(), 1..20),
    ) {
        let mut world = world(true);
        world.clock.boot = None;
        perform(&mut world, &Act::Report(IterationInput { phase: Some("RED"), ..IterationInput::default() }));
        for _ in 0..3 {
            perform(&mut world, &Act::Report(IterationInput::default()));
        }
        let trip = world.phase_run().and_then(PhaseRun::trip).cloned();
        prop_assert!(trip.is_some());
        for (step, act) in steps.iter().zip(acts.iter().cycle()) {
            world.clock.step_wall(*step);
            perform(&mut world, act);
            prop_assert_eq!(&world.phase_run().and_then(PhaseRun::trip).cloned(), &trip);
        }
    }

    #[test]
    fn no_number_is_too_large(
        limits in prop::collection::vec(extreme(), 8),
        input in prop::collection::vec((input(), extreme_long(), extreme_long()), 1..12),
        found in (0..3_u8, extreme(), extreme_long(), any::<bool>()),
        at in prop_oneof![Just(i64::MIN), Just(0), Just(i64::MAX), any::<i64>()],
    ) {
        let mut world = world(false);
        world.clock.wall = haltline_core::Instant::from_millis(at);
        world.clock.boot = Some(haltline_core::Boot::new(1, u64::MAX));
        let thresholds = Thresholds { no_progress: limits[0], same_error: limits[1] };
        let bounds = Bounds { thresholds, permission_denials: Some(limits[2]), neutral: Some(limits[3]), cooldown_ms: Some(found.2) };
        world.bounds = Some(bounds);
        world.policy.phase.weights.commits = limits[4];
        world.policy.phase.weights.files = limits[5];
        world.policy.phase.weights.tests = limits[6];
        world.policy.phase.weights.enough = limits[7];
        perform(&mut world, &Act::Begin { phase: "LOOP", joining: haltline_core::phase::Joining::New, by_person: false });
        world.handle(PhaseEvent::StateFileFound(extreme_file(&world, found))).expect("a file is always taken");
        for (input, long, other) in input {
            let mut report = acts::report(&input);
            report.iteration = Some(long);
            report.spent = haltline_core::phase::Spent { wall_ms: long, tokens: Some(other), micros: Some(long) };
            for signal in &mut report.signals {
                signal.count = other;
            }
            report.metrics.set("tests_passing", "1000000000000.999").expect("the largest number");
            report.metrics.set("tests_failing", "1000000000000.999").expect("the largest number");
            world.handle(PhaseEvent::Report(Box::new(report))).expect("a report of a run that goes on");
            perform(&mut world, &Act::Start { tree: None });
        }
    }
}

fn extreme() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX - 1), Just(u32::MAX), any::<u32>()]
}

fn extreme_long() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX - 1), Just(u64::MAX), any::<u64>()]
}

fn extreme_file(world: &World, (state, count, long, wins): (u8, u32, u64, bool)) -> haltline_core::phase::ForeignRun {
    let mut foreign = acts::foreign(world, wins, state, count);
    foreign.permission_denials = count;
    foreign.iteration = long;
    foreign.last_progress = long;
    foreign.open_count = long;
    foreign
}

/// Everything that an agent can try by itself.
fn tricks() -> Vec<Act> {
    use haltline_core::phase::Joining::{New, Resumed, Same};
    let begin = |phase, joining| Act::Begin { phase, joining, by_person: false };
    let helped = IterationInput { numbers: vec![("tests_passing", 9)], ..IterationInput::default() };
    vec![
        begin("GREEN", Same),
        begin("RED", Same),
        begin("GREEN", New),
        begin("GREEN", Resumed),
        Act::Ask,
        Act::Start { tree: None },
        Act::Report(helped.clone()),
        Act::Report(IterationInput { phase: Some("RED"), ..helped }),
        Act::Report(IterationInput { neutral: true, ..IterationInput::default() }),
        Act::Found { wins: false, state: 0, count: 0 },
        Act::Found { wins: false, state: 2, count: 1 },
        COMPLETED,
        Act::Wait(86_400_000),
    ]
}

#[test]
fn a_halted_run_stays_halted_after_every_sequence_of_four_tricks() {
    let tricks = tricks();
    for is_aborted in [false, true] {
        let mut world = world(false);
        perform(&mut world, &Act::Report(IterationInput { phase: Some("GREEN"), ..IterationInput::default() }));
        perform(&mut world, &Act::Report(IterationInput::default()));
        if is_aborted {
            perform(&mut world, &Act::Abort);
        }
        assert!(world.phase_run().is_some_and(is_halted));
        assert_eq!(try_all(&world, &tricks, 4), (1..=4).map(|depth| tricks.len().pow(depth)).sum::<usize>());
    }
}

/// Plays every continuation; returns the number of steps that were checked.
fn try_all(world: &World, tricks: &[Act], depth: u32) -> usize {
    if depth == 0 {
        return 0;
    }
    let continued = tricks.iter().map(|trick| {
        let mut world = world.clone();
        perform(&mut world, trick);
        assert!(world.phase_run().is_some_and(is_halted), "{trick:?} brought it back");
        1 + try_all(&world, tricks, depth - 1)
    });
    continued.sum()
}
