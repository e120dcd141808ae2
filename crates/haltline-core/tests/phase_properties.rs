//! The phase family under any history: facts are all there is, counts are what a naive second implementation counts,
//! only a person brings back what is halted, clocks decide nothing but cooldowns, and no number is too large.

#[path = "support/clock.rs"]
mod clock;
#[path = "support/courses.rs"]
mod courses;
#[path = "support/phase_acts.rs"]
mod phase_acts;
#[path = "support/phase_reference.rs"]
mod phase_reference;

use courses::World;
use haltline_core::phase::{Bounds, Course, Happening, Over, Stand, Thresholds};
use haltline_core::{Fact, State, apply};
use phase_acts::{Act, Told, clock_step, fits, of_agent, of_person, of_runner, pause, perform, phase, told, word};
use phase_reference::{History, Outlook, Patience};
use proptest::prelude::*;

/// Ralph's limits.
fn ralph() -> Bounds {
    let thresholds = Thresholds { no_progress: 3, same_error: 5 };
    Bounds { thresholds, denials: Some(2), neutral: None, cooldown_ms: Some(1_800_000) }
}

fn world(is_ralph: bool) -> World {
    World { bounds: is_ralph.then(ralph), ..World::new() }
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![16 => of_agent(), 2 => of_person(), 2 => pause(), 1 => clock_step().prop_map(Act::StepWall)]
}

fn anything() -> impl Strategy<Value = Act> {
    prop_oneof![16 => act(), 1 => of_runner(), 1 => Just(Act::Reboot)]
}

/// What a history leans to, so that the rarer trips are met.
#[derive(Clone, Debug)]
struct Bent {
    /// It stays in one phase.
    phase: Option<&'static str>,
    /// Each iteration has a number that rises.
    is_rising: bool,
    /// Each iteration ends with the same error.
    is_steady: bool,
    /// Denials are counted, or else neutral iterations.
    has_denials: bool,
    /// Each iteration is neutral.
    is_idle: bool,
}

fn bent() -> impl Strategy<Value = Bent> {
    let leaning = (prop::option::of(phase()), any::<bool>(), any::<bool>(), any::<bool>());
    let leaning = leaning.prop_map(|(phase, is_rising, is_steady, has_denials)| Bent {
        phase,
        is_rising,
        is_steady,
        has_denials,
        is_idle: false,
    });
    // Only a loop has a limit for them.
    let idle = Bent { phase: Some("LOOP"), is_rising: false, is_steady: false, has_denials: false, is_idle: true };
    prop_oneof![9 => leaning, 1 => Just(idle)]
}

impl Bent {
    /// The act as this history has it. Files and ends of runs have rules of their own, told as text.
    fn act(&self, act: &Act, place: u64) -> Option<Act> {
        Some(match act {
            Act::Found { .. } | Act::Finish(_) | Act::StepWall(_) | Act::Reboot => return None,
            Act::Begin { phase, joining, by_person } => {
                Act::Begin { phase: self.phase.unwrap_or(phase), joining: *joining, by_person: *by_person }
            }
            Act::Report(told) => {
                let mut told = told.clone();
                told.phase = self.phase.or(told.phase);
                told.neutral = (told.neutral || self.is_idle) && !self.has_denials;
                told.denied = told.denied && self.has_denials;
                if self.is_steady {
                    told.error = told.error.map(|(_, second)| (0, second)).or(Some((0, 0)));
                }
                if self.is_idle {
                    (told.numbers, told.signals) = (Vec::new(), Vec::new());
                } else if self.is_rising {
                    let names = ["tests_generated", "tests_passing", "patterns_applied", "docs_generated"];
                    told.numbers = names.map(|name| (name, place)).to_vec();
                }
                Act::Report(told)
            }
            other => other.clone(),
        })
    }
}

fn look(world: &World) -> Option<Outlook> {
    world.course().map(|course| Outlook {
        word: course.word_at(world.clock.now()),
        no_progress: course.no_progress,
        same_error: course.same_error,
        phase: course.phase.as_ref().map(|phase| *PHASES.iter().find(|name| **name == phase.as_str()).expect("known")),
        iteration: course.iteration,
    })
}

/// What an agent says at the end of its work is passed on by the runner.
const COMPLETED: Act = Act::Finish(haltline_core::phase::Finish::Completed);

const PHASES: [&str; 7] = ["RED", "GREEN", "REFACTOR", "DOCUMENT", "QA", "SPIKE", "LOOP"];

/// Halted, and no clock will end it.
fn is_halted(course: &Course) -> bool {
    match &course.stand {
        Stand::Open(trip) => trip.cooldown_ms.is_none(),
        Stand::Over(Over::Aborted) => true,
        Stand::Closed | Stand::Warned | Stand::Over(Over::Completed | Over::Skipped) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_row_is_the_fold_of_facts_that_were_written_and_read_again(
        is_ralph in any::<bool>(),
        acts in prop::collection::vec(anything(), 0..60),
    ) {
        let mut world = world(is_ralph);
        for act in &acts {
            let result = perform(&mut world, act);
            if let (Some(Ok(decision)), Some(course)) = (&result, world.course()) {
                let is_end = matches!(act, Act::Finish(_));
                prop_assert!(is_end || fits(&decision.verdict, &course.stand), "{act:?}: {:?}", decision.verdict);
                // What is said is what the folded facts say.
                if let Some(reason) = decision.verdict.reason() {
                    let is_over = matches!(course.stand, Stand::Over(_));
                    prop_assert!(is_over || reason.text.contains(&course.recommendation()), "{act:?}: {}", reason.text);
                }
            }
            if let Some(Err(_)) = result {
                let is_answered = matches!(act, Act::Begin { .. } | Act::Ask)
                    || (matches!(act, Act::Start { .. }) && world.course().is_some());
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
        prop_assert_eq!(&row, &world.row);
        if let Some(row) = &row {
            let written = serde_json::to_string(row).expect("a row can be written");
            prop_assert!(written.len() < 32_768, "a row of {} bytes", written.len());
            prop_assert_eq!(&serde_json::from_str::<State>(&written).expect("and read"), row);
        }
    }

    #[test]
    fn counts_and_states_are_what_a_naive_reading_of_the_rules_finds(
        is_ralph in any::<bool>(),
        bent in bent(),
        acts in prop::collection::vec(act(), 0..50),
    ) {
        let mut world = world(is_ralph);
        let mut history = History::new(Patience { is_ralph });
        for (place, act) in (0..).zip(&acts) {
            let Some(act) = bent.act(act, place) else { continue };
            let Some(result) = perform(&mut world, &act) else { continue };
            let expected = history.happen(&act, world.clock.now());
            prop_assert_eq!((word(&result), look(&world)), (expected, history.outlook(world.clock.now())), "{:?}", act);
        }
    }

    #[test]
    fn nothing_an_agent_does_brings_back_what_is_halted(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(prop_oneof![8 => of_agent(), 2 => pause(), 1 => Just(Act::Reboot), 1 => Just(COMPLETED)], 1..40),
        steps in prop::collection::vec(clock_step(), 1..40),
    ) {
        let mut world = world(false);
        before.iter().for_each(|act| { perform(&mut world, act); });
        let mut was_halted = world.course().is_some_and(is_halted);
        for (act, step) in acts.iter().zip(steps.iter().cycle()) {
            world.clock.step_wall(*step);
            let trip = world.course().and_then(Course::trip).cloned();
            perform(&mut world, act);
            let is_now = world.course().is_some_and(is_halted);
            prop_assert!(is_now || !was_halted, "{act:?} brought it back");
            if was_halted {
                prop_assert_eq!(&trip, &world.course().and_then(Course::trip).cloned(), "the same opening, untouched");
            }
            was_halted = is_now;
        }
    }

    #[test]
    fn what_happens_while_halted_moves_no_count(
        before in prop::collection::vec(anything(), 0..40),
        acts in prop::collection::vec(of_agent(), 1..10),
    ) {
        let mut world = world(false);
        before.iter().for_each(|act| { perform(&mut world, act); });
        for act in &acts {
            let was = world.course().cloned();
            perform(&mut world, act);
            if let (Some(was), Some(now)) = (was.filter(is_halted), world.course()) {
                let same = |course: &Course| Course {
                    iteration: 0,
                    underway: None,
                    finish: None,
                    // What was done in vain was paid for all the same.
                    spent: Default::default(),
                    totals: Default::default(),
                    seen: was.seen,
                    ..course.clone()
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
            // Of files only the wall clock is known.
            if matches!(act, Act::StepWall(_) | Act::Found { .. }) {
                continue;
            }
            jumpy.clock.step_wall(*step);
            let (calmly, jumping) = (perform(&mut calm, act), perform(&mut jumpy, act));
            prop_assert_eq!(calmly.as_ref().map(word), jumping.as_ref().map(word));
            prop_assert_eq!(look(&calm), look(&jumpy), "{:?}", act);
        }
        let words = |world: &World| world.journal.iter().map(|recorded| recorded.fact.word()).collect::<Vec<_>>();
        prop_assert_eq!(words(&calm), words(&jumpy));
    }

    #[test]
    fn a_clock_that_only_goes_back_ends_no_cooldown(
        steps in prop::collection::vec(-86_400_000..0_i64, 1..20),
        acts in prop::collection::vec(of_agent(), 1..20),
    ) {
        let mut world = world(true);
        world.clock.boot = None;
        perform(&mut world, &Act::Report(Told { phase: Some("RED"), ..Told::default() }));
        for _ in 0..3 {
            perform(&mut world, &Act::Report(Told::default()));
        }
        let trip = world.course().and_then(Course::trip).cloned();
        prop_assert!(trip.is_some());
        for (step, act) in steps.iter().zip(acts.iter().cycle()) {
            world.clock.step_wall(*step);
            perform(&mut world, act);
            prop_assert_eq!(&world.course().and_then(Course::trip).cloned(), &trip);
        }
    }

    #[test]
    fn no_number_is_too_large(
        limits in prop::collection::vec(extreme(), 8),
        told in prop::collection::vec((told(), extreme_long(), extreme_long()), 1..12),
        found in (0..3_u8, extreme(), extreme_long(), any::<bool>()),
        at in prop_oneof![Just(i64::MIN), Just(0), Just(i64::MAX), any::<i64>()],
    ) {
        let mut world = world(false);
        world.clock.wall = haltline_core::Instant::from_millis(at);
        world.clock.boot = Some(haltline_core::Boot { id: 1, uptime_ms: u64::MAX });
        let thresholds = Thresholds { no_progress: limits[0], same_error: limits[1] };
        let bounds = Bounds { thresholds, denials: Some(limits[2]), neutral: Some(limits[3]), cooldown_ms: Some(found.2) };
        world.bounds = Some(bounds);
        world.policy.phase.weights.commits = limits[4];
        world.policy.phase.weights.files = limits[5];
        world.policy.phase.weights.tests = limits[6];
        world.policy.phase.weights.enough = limits[7];
        perform(&mut world, &Act::Begin { phase: "LOOP", joining: haltline_core::phase::Joining::New, by_person: false });
        world.tell(Happening::Found(extreme_file(&world, found))).expect("a file is always taken");
        for (told, long, other) in told {
            let mut report = phase_acts::report(&told);
            report.iteration = Some(long);
            report.spent = haltline_core::phase::Spent { wall_ms: long, tokens: Some(other), micros: Some(long) };
            for signal in &mut report.signals {
                signal.count = other;
            }
            report.metrics.set("tests_passing", "1000000000000.999").expect("the largest number");
            report.metrics.set("tests_failing", "1000000000000.999").expect("the largest number");
            world.tell(Happening::Report(Box::new(report))).expect("a report of a run that goes on");
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

fn extreme_file(world: &World, (stand, count, long, wins): (u8, u32, u64, bool)) -> haltline_core::phase::Foreign {
    let mut foreign = phase_acts::foreign(world, wins, stand, count);
    foreign.denials = count;
    foreign.iteration = long;
    foreign.last_progress = long;
    foreign.opens = long;
    foreign
}

/// All that an agent can try, by itself.
fn tricks() -> Vec<Act> {
    use haltline_core::phase::Joining::{New, Resumed, Same};
    let begin = |phase, joining| Act::Begin { phase, joining, by_person: false };
    let helped = Told { numbers: vec![("tests_passing", 9)], ..Told::default() };
    vec![
        begin("GREEN", Same),
        begin("RED", Same),
        begin("GREEN", New),
        begin("GREEN", Resumed),
        Act::Ask,
        Act::Start { tree: None },
        Act::Report(helped.clone()),
        Act::Report(Told { phase: Some("RED"), ..helped }),
        Act::Report(Told { neutral: true, ..Told::default() }),
        Act::Found { wins: false, stand: 0, count: 0 },
        Act::Found { wins: false, stand: 2, count: 1 },
        COMPLETED,
        Act::Wait(86_400_000),
    ]
}

#[test]
fn in_every_history_of_four_tricks_what_is_halted_stays_halted() {
    let tricks = tricks();
    for is_aborted in [false, true] {
        let mut world = world(false);
        perform(&mut world, &Act::Report(Told { phase: Some("GREEN"), ..Told::default() }));
        perform(&mut world, &Act::Report(Told::default()));
        if is_aborted {
            perform(&mut world, &Act::Abort);
        }
        assert!(world.course().is_some_and(is_halted));
        assert_eq!(try_all(&world, &tricks, 4), (1..=4).map(|depth| tricks.len().pow(depth)).sum::<usize>());
    }
}

/// Plays every continuation; answers how many steps were checked.
fn try_all(world: &World, tricks: &[Act], depth: u32) -> usize {
    if depth == 0 {
        return 0;
    }
    let continued = tricks.iter().map(|trick| {
        let mut world = world.clone();
        perform(&mut world, trick);
        assert!(world.course().is_some_and(is_halted), "{trick:?} brought it back");
        1 + try_all(&world, tricks, depth - 1)
    });
    continued.sum()
}
