//! Events on a slice from a small alphabet, so that random histories meet every rule: few tests, strategies, files and
//! requesters.

use haltline_core::attempt::{
    Attempt, AttemptEvent, Entry, FileLocation, Justification, Output, Report, Rollback, Rule, Scope, Source, TestName,
    TestResult, Touch,
};
use haltline_core::identity::Digest;
use haltline_core::{Decision, Rejection};
use proptest::prelude::*;

use crate::attempt::world::World;
use crate::engine::operator;

/// One event, or the passing of time.
#[derive(Clone, Debug)]
pub enum Act {
    Wait(u64),
    StepWall(i64),
    Reboot,
    Begin { scope: usize, by_person: bool },
    Ask { test: usize, strategy: Option<usize> },
    Run(Run),
    Touch { path: usize, why: Why, requester: Option<u64> },
    Snapshot { path: usize },
    File { test: usize },
    Deviate { rule: u8 },
    RollBack,
    Reset,
    HandOut,
    End { by_person: bool },
}

/// A test that was run.
#[derive(Clone, Debug)]
pub struct Run {
    pub test: usize,
    pub result: TestResult,
    pub strategy: Option<usize>,
    /// A file that was changed for it.
    pub path: Option<usize>,
    /// How many generations ago it began, if known.
    pub age: Option<u64>,
}

/// How a change is justified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    NotGiven,
    Justified,
    Unjustifiable,
}

pub const TESTS: [&str; 4] = ["login", "logout", "signup", "reset"];
pub const PATHS: [&str; 4] = ["src/a.ts", "lib/a.ts", "docs/a.md", "docs/b.md"];
const STRATEGIES: [&str; 3] = ["cache it", "lock it", "retry it"];

/// What each scope allows; `None` = no scope.
pub const SCOPES: [Option<&[&str]>; 4] = [None, Some(&["src/"]), Some(&["src/", "lib/"]), Some(&[])];

pub fn run() -> impl Strategy<Value = Run> {
    let result = prop_oneof![
        6 => Just(TestResult::Fail),
        2 => Just(TestResult::Pass),
        2 => Just(TestResult::Infra),
        1 => Just(TestResult::Unclear),
    ];
    let age = prop::option::of(prop_oneof![4 => Just(0), 1 => 0..4_u64]);
    let (strategy, path) = (prop::option::of(0..STRATEGIES.len()), prop::option::weighted(0.3, 0..PATHS.len()));
    (0..TESTS.len(), result, strategy, path, age).prop_map(|(test, result, strategy, path, age)| Run {
        test,
        result,
        strategy,
        path,
        age,
    })
}

/// What an agent can do at will.
pub fn agent_acts() -> impl Strategy<Value = Act> {
    let why = prop_oneof![6 => Just(Why::NotGiven), 3 => Just(Why::Justified), 1 => Just(Why::Unjustifiable)];
    let rule = prop_oneof![9 => 1..4_u8, 1 => Just(4)];
    prop_oneof![
        2 => (0..SCOPES.len()).prop_map(|scope| Act::Begin { scope, by_person: false }),
        1 => (0..TESTS.len(), prop::option::of(0..STRATEGIES.len())).prop_map(|(test, strategy)| Act::Ask { test, strategy }),
        12 => run().prop_map(Act::Run),
        4 => (0..PATHS.len(), why, prop::option::of(0..3_u64)).prop_map(|(path, why, requester)| Act::Touch { path, why, requester }),
        1 => (0..PATHS.len()).prop_map(|path| Act::Snapshot { path }),
        1 => (0..TESTS.len()).prop_map(|test| Act::File { test }),
        1 => rule.prop_map(|rule| Act::Deviate { rule }),
        1 => Just(Act::HandOut),
        2 => Just(Act::End { by_person: false }),
    ]
}

/// What a person can do.
pub fn operator_acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => Just(Act::Reset),
        1 => Just(Act::RollBack),
        1 => Just(Act::End { by_person: true }),
        2 => (0..SCOPES.len()).prop_map(|scope| Act::Begin { scope, by_person: true }),
    ]
}

pub fn pause() -> impl Strategy<Value = Act> {
    prop_oneof![Just(1), Just(60_000), 0..7_200_000_u64].prop_map(Act::Wait)
}

pub fn clock_step() -> impl Strategy<Value = i64> {
    prop_oneof![-1_000..1_000_i64, -40_000_000_000..40_000_000_000_i64]
}

pub fn test(number: usize) -> TestName {
    TestName::parse(TESTS[number]).expect("a name")
}

pub fn scope(number: usize) -> Scope {
    match SCOPES[number] {
        None => Scope::inferred(Vec::new(), None),
        Some(paths) => {
            let entry = |path: &&str| Entry::parse(path, Source::Given).expect("a path");
            Scope::explicit(paths.iter().map(entry).collect(), None)
        }
    }
}

/// Performs the act; returns `None` if only time passed.
pub fn perform(world: &mut World, act: &Act) -> Option<Result<Decision, Rejection>> {
    let clock = &mut world.sessions.clock;
    match act {
        Act::Wait(millis) => clock.advance(*millis),
        Act::StepWall(millis) => clock.step_wall(*millis),
        Act::Reboot => clock.reboot(),
        _event => return Some(world.handle(event_for(world, act))),
    }
    None
}

fn event_for(world: &World, act: &Act) -> AttemptEvent {
    let strategy = |strategy: Option<usize>| strategy.map(|number| STRATEGIES[number].to_owned());
    let person = |by_person: bool| by_person.then(|| operator(None));
    let rollback = || Rollback { to: "c1".to_owned(), kept: "k1".to_owned() };
    match act {
        Act::Wait(_) | Act::StepWall(_) | Act::Reboot => unreachable!("only time passes"),
        Act::Begin { scope: number, by_person } => {
            AttemptEvent::Begin { scope: scope(*number), checkpoint: None, operator: person(*by_person) }
        }
        Act::Ask { test: number, strategy: tried } => {
            AttemptEvent::Ask { test: Some(test(*number)), strategy: strategy(*tried) }
        }
        Act::Run(run) => {
            let generation = world.slice().map_or(0, |slice| slice.generation);
            AttemptEvent::Attempt(Box::new(Attempt {
                test: test(run.test),
                strategy: strategy(run.strategy).unwrap_or_default(),
                files: run.path.map(|path| PATHS[path].to_owned()).into_iter().collect(),
                files_more: 0,
                result: run.result,
                is_declared: false,
                summary: "1 failed".to_owned(),
                error: Some(Output {
                    text: "x".to_owned(),
                    excerpt: "x".to_owned(),
                    bytes: 1,
                    has_secrets: false,
                    exit: None,
                }),
                checkpoint: None,
                generation: run.age.map(|age| generation.saturating_sub(age)),
            }))
        }
        Act::Touch { path, why, requester } => {
            let path = PATHS[*path].to_owned();
            let [failing_test, reason, relationship] = ["login", "made here", "the only caller"].map(str::to_owned);
            let form = Justification { file: path.clone(), failing_test, reason, relationship };
            AttemptEvent::Touch(Touch {
                path,
                location: FileLocation::Inside,
                justification: (*why == Why::Justified).then_some(form),
                is_unjustifiable: *why == Why::Unjustifiable,
                requester: requester.map(Digest),
            })
        }
        Act::Snapshot { path } => AttemptEvent::OutOfScopeChange { paths: vec![PATHS[*path].to_owned()] },
        Act::File { test: number } => AttemptEvent::File { test: test(*number), report: Box::new(Report::default()) },
        Act::Deviate { rule } => AttemptEvent::Deviate {
            rule: Rule::from_number(*rule).expect("a rule"),
            description: "off by one".to_owned(),
            file: None,
        },
        Act::RollBack => AttemptEvent::RollBack { rollback: rollback(), operator: operator(None) },
        Act::Reset => {
            AttemptEvent::Reset { guidance: "another way".to_owned(), rollback: None, operator: operator(None) }
        }
        Act::HandOut => AttemptEvent::HandOut,
        Act::End { by_person } => AttemptEvent::End { operator: person(*by_person) },
    }
}

/// The verdict's name, or `rejected`.
pub fn verdict_name(result: &Result<Decision, Rejection>) -> &'static str {
    match result {
        Ok(decision) => decision.verdict.as_str(),
        Err(_) => "rejected",
    }
}
