//! Events on a phase run from a small alphabet, so that random histories meet every rule: few phases, metrics, errors
//! and contents of the work tree.

use haltline_core::identity::Digest;
use haltline_core::phase::{
    Choice, Finish, ForeignRun, ForeignState, Joining, Metrics, PhaseEvent, PhaseName, Precedence, Report,
    ReportedError, Signal, Source, Start,
};
use haltline_core::{Decision, Rejection, Verdict};
use proptest::prelude::*;

use crate::engine::operator;
use crate::phase::world::World;

/// One event, or the passing of time.
#[derive(Clone, Debug)]
pub enum Act {
    Wait(u64),
    StepWall(i64),
    Reboot,
    Begin { phase: &'static str, joining: Joining, by_person: bool },
    Ask,
    Start { tree: Option<u8> },
    Report(IterationInput),
    Reset,
    Skip,
    Abort,
    Modify,
    AutoReset,
    Finish(Finish),
    Found { wins: bool, state: u8, count: u32 },
}

/// One iteration, from which [`report`] makes a report.
#[derive(Clone, Debug, Default)]
pub struct IterationInput {
    pub phase: Option<&'static str>,
    pub iteration: Option<u64>,
    /// Names and values of metrics.
    pub numbers: Vec<(&'static str, u64)>,
    pub signals: Vec<(Source, u64)>,
    pub tree: Option<u8>,
    /// Which error, and a number in its text that changes from run to run.
    pub error: Option<(u8, u16)>,
    pub neutral: bool,
    pub denied: bool,
}

pub fn phase() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["RED", "GREEN", "REFACTOR", "DOCUMENT", "QA", "SPIKE", "LOOP"])
}

const NAMES: [&str; 10] = [
    "tests_generated",
    "criteria_covered",
    "tests_passing",
    "tests_failing",
    "patterns_applied",
    "complexity_score",
    "docs_generated",
    "diagrams_valid",
    "findings",
    "ideas",
];

const SOURCES: [Source; 10] = [
    Source::Commits,
    Source::Staged,
    Source::Unstaged,
    Source::Untracked,
    Source::Repositories,
    Source::Worktrees,
    Source::Files,
    Source::Tests,
    Source::Status,
    Source::Caller,
];

pub fn input() -> impl Strategy<Value = IterationInput> {
    let numbers = prop::collection::vec((prop::sample::select(NAMES.to_vec()), 0..4_u64), 0..4);
    let signals = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec((prop::sample::select(SOURCES.to_vec()), 0..3_u64), 0..3),
    ];
    let error = prop::option::of((0..2_u8, 0..60_u16));
    let rare = |share: f64| prop::bool::weighted(share);
    let phase = prop::option::weighted(0.1, phase());
    let iteration = prop::option::weighted(0.1, 0..50_u64);
    let tree = prop::option::of(0..4_u8);
    (phase, iteration, numbers, signals, tree, error, rare(0.2), rare(0.2)).prop_map(
        |(phase, iteration, numbers, signals, tree, error, neutral, denied)| IterationInput {
            phase,
            iteration,
            numbers,
            signals,
            tree,
            error,
            neutral,
            denied,
        },
    )
}

/// What only the runner of a loop or the owner of Ralph's file does.
pub fn runner_acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        Just(Act::Finish(Finish::Completed)),
        (0..3_u8, 0..4_u32).prop_map(|(state, count)| Act::Found { wins: true, state, count }),
    ]
}

/// What an agent can do at will.
pub fn agent_acts() -> impl Strategy<Value = Act> {
    let joining = prop::sample::select(vec![Joining::Same, Joining::New, Joining::Resumed]);
    prop_oneof![
        2 => (phase(), joining).prop_map(|(phase, joining)| Act::Begin { phase, joining, by_person: false }),
        2 => Just(Act::Ask),
        2 => prop::option::of(0..4_u8).prop_map(|tree| Act::Start { tree }),
        12 => input().prop_map(Act::Report),
        1 => (0..3_u8, 0..4_u32).prop_map(|(state, count)| Act::Found { wins: false, state, count }),
        1 => prop::sample::select(vec![Finish::Budget, Finish::Interrupted, Finish::Unstartable])
            .prop_map(Act::Finish),
    ]
}

/// What a person can do.
pub fn operator_acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Reset),
        3 => Just(Act::Skip),
        1 => Just(Act::Abort),
        3 => Just(Act::Modify),
        1 => Just(Act::AutoReset),
        2 => phase().prop_map(|phase| Act::Begin { phase, joining: Joining::New, by_person: true }),
    ]
}

pub fn pause() -> impl Strategy<Value = Act> {
    prop_oneof![Just(1), Just(60_000), Just(1_799_999), Just(1_800_000), 0..7_200_000_u64].prop_map(Act::Wait)
}

pub fn clock_step() -> impl Strategy<Value = i64> {
    prop_oneof![-1_000..1_000_i64, -86_400_000..86_400_000_i64, -40_000_000_000..40_000_000_000_i64]
}

/// Performs the act; returns `None` if only time passed.
pub fn perform(world: &mut World, act: &Act) -> Option<Result<Decision, Rejection>> {
    let event = match act {
        Act::Wait(millis) => {
            world.clock.advance(*millis);
            return None;
        }
        Act::StepWall(millis) => {
            world.clock.step_wall(*millis);
            return None;
        }
        Act::Reboot => {
            world.clock.reboot();
            return None;
        }
        Act::Begin { phase, joining, by_person } => PhaseEvent::Begin {
            phase: PhaseName::from_static(phase),
            joining: *joining,
            operator: by_person.then(|| operator(None)),
        },
        Act::Ask => PhaseEvent::Ask { start: None },
        Act::Start { tree } => PhaseEvent::Ask { start: Some(Start { tree: tree.map(digest) }) },
        Act::Report(input) => PhaseEvent::Report(Box::new(report(input))),
        Act::Reset => decide(Choice::Reset),
        Act::Skip => decide(Choice::Skip),
        Act::Abort => decide(Choice::Abort),
        Act::Modify => decide(Choice::Modify { guidance: "another way".to_owned() }),
        Act::AutoReset => PhaseEvent::AutoReset,
        Act::Finish(how) => PhaseEvent::Finish(*how),
        Act::Found { wins, state, count } => PhaseEvent::StateFileFound(foreign(world, *wins, *state, *count)),
    };
    Some(world.handle(event))
}

fn decide(choice: Choice) -> PhaseEvent {
    PhaseEvent::Decide { choice, operator: operator(None) }
}

fn digest(tree: u8) -> Digest {
    Digest(u64::from(tree))
}

pub fn report(input: &IterationInput) -> Report {
    let mut metrics = Metrics::default();
    for (name, number) in &input.numbers {
        metrics.set(name, &number.to_string()).expect("a name and a number");
    }
    let error = input.error.map(|(which, second)| {
        let words = ["cannot find the module", "assertion failed in the lexer"][usize::from(which)];
        ReportedError::new("exit", &format!("2026-01-01T00:00:{:02}Z {words}", second % 60))
    });
    Report {
        phase: input.phase.map(PhaseName::from_static),
        iteration: input.iteration,
        metrics,
        signals: input.signals.iter().map(|(source, count)| Signal { source: *source, count: *count }).collect(),
        tree: input.tree.map(digest),
        error,
        neutral: input.neutral.then(|| "asked a question".to_owned()),
        permission_denied: input.denied,
        spent: haltline_core::phase::Spent { wall_ms: 1, tokens: None, micros: Some(2) },
    }
}

pub fn foreign(world: &World, wins: bool, state: u8, count: u32) -> ForeignRun {
    let state = match state {
        0 => ForeignState::Closed,
        1 => ForeignState::Warned,
        _open => ForeignState::Open {
            since: (count > 0).then_some(world.clock.wall),
            reason: "elsewhere".to_owned(),
            cooldown_ms: world.bounds.and_then(|bounds| bounds.cooldown_ms),
        },
    };
    ForeignRun {
        precedence: if wins { Precedence::File } else { Precedence::Store },
        state,
        no_progress: count,
        same_error: count,
        error: None,
        permission_denials: 0,
        baselines: std::collections::BTreeMap::new(),
        phase: None,
        iteration: u64::from(count),
        last_progress: 0,
        open_count: 0,
        history: Vec::new(),
    }
}

/// The verdict's name, or `rejected`.
pub fn verdict_name(result: &Result<Decision, Rejection>) -> &'static str {
    match result {
        Ok(decision) => decision.verdict.as_str(),
        Err(_) => "rejected",
    }
}

/// True if a verdict matches the state.
pub fn matches_state(verdict: &Verdict, state: &haltline_core::phase::RunState) -> bool {
    use haltline_core::phase::RunState;
    match state {
        RunState::Closed => matches!(verdict, Verdict::Pass),
        RunState::Warned => matches!(verdict, Verdict::Warn(_)),
        RunState::Open(_) | RunState::Over(_) => matches!(verdict, Verdict::Stop(_)),
    }
}
