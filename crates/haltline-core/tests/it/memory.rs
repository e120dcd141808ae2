//! The rows a decision reads, for every kind of row, and the operator's trust among them.

use haltline_core::constraint::{Circuit, CircuitState, Fact as ConstraintFact, StateName, Trip};
use haltline_core::trust;
use haltline_core::{
    CircuitName, Decision, Event, Fact, Halt, Instant, Memory, Moment, Operator, Policy, Recorded, Rejection, State,
    Texts, Verdict, apply, decide,
};

fn moment() -> Moment {
    Moment::from_wall_clock(Instant::from_millis(1_770_000_000_000))
}

fn operator() -> Operator {
    Operator { who: "anna".to_owned(), reason: Some("reviewed".to_owned()) }
}

#[test]
fn a_row_that_was_read_and_is_empty_differs_from_one_that_was_not_read() {
    let (read, empty, unread) = ["a", "b", "c"].map(|name| CircuitName::from_stored(name.to_owned())).into();
    let state = State::Trust(Box::default());
    let mut memory = Memory::default();
    memory.insert(read.clone(), Some(state.clone()));
    memory.insert(empty.clone(), None);
    assert_eq!([&read, &empty, &unread].map(|name| memory.row(name)), [Some(Some(&state)), Some(None), None]);
    assert_eq!([&read, &empty, &unread].map(|name| memory.state(name)), [Some(&state), None, None]);
}

#[test]
fn open_and_half_open_circuits_are_tripped() {
    let trip = Trip { incident: "0a1b2c3d".to_owned(), since: moment(), cooldown_ms: 1, count: 5 };
    for (state, is_tripped) in [
        (CircuitState::Closed, false),
        (CircuitState::Open(trip.clone()), true),
        (CircuitState::HalfOpen(trip), true),
        (CircuitState::Retired { at: moment().at, from: StateName::Open }, false),
    ] {
        let state = State::Constraint(Box::new(Circuit { state, generation: 9, ..Circuit::default() }));
        assert_eq!((state.is_tripped(), state.generation()), (is_tripped, 9), "{state:?}");
    }
    let trust = State::Trust(Box::default());
    assert_eq!((trust.is_tripped(), trust.generation()), (false, 0));
}

#[test]
fn a_person_trusts_the_content_of_the_project_file_once() {
    let trust = |digest: &str| {
        Event::Trust(trust::TrustEvent::TrustContent { digest: digest.to_owned(), operator: operator() })
    };
    let (name, policy) = (CircuitName::trust(), Policy::default());
    let mut memory = Memory::default();
    assert_eq!(decide(&memory, &policy, &trust("abcd"), moment()), Err(Halt::Needs(vec![name.clone()])));
    memory.insert(name.clone(), None);
    let fact = |digest: &str| trust::Fact::ContentTrusted { digest: digest.to_owned(), who: "anna".to_owned() };
    let decided = |digest: &str| {
        let texts = Texts { session: None, text: Some("reviewed".to_owned()), ..Texts::default() };
        let recorded = Recorded { circuit: name.clone(), at: moment(), fact: Fact::Trust(fact(digest)), texts };
        Ok(Decision { facts: vec![recorded], verdict: Verdict::Pass, effects: Vec::new(), notices: Vec::new() })
    };
    assert_eq!(decide(&memory, &policy, &trust("abcd"), moment()), decided("abcd"));

    let state = apply(None, &Fact::Trust(fact("abcd")), moment());
    assert_eq!(state, State::Trust(Box::new(trust::Trust { digest: Some("abcd".to_owned()), limits: None })));
    memory.insert(name.clone(), Some(state));
    let again = decide(&memory, &policy, &trust("abcd"), moment());
    assert_eq!(again, Err(Halt::Rejected(Rejection::NothingToTrust)));
    assert_eq!(decide(&memory, &policy, &trust("ef01"), moment()), decided("ef01"));
}

#[test]
fn limits_stay_in_force_as_seen_until_a_person_trusts_others() {
    let (name, policy) = (CircuitName::trust(), Policy::default());
    let values = |threshold| trust::Values::from([("loop.repeat.deny".to_owned(), threshold)]);
    let limits_seen = |before: Option<i64>, threshold| {
        Event::Trust(trust::TrustEvent::LimitsSeen { before: before.map(values), values: values(threshold) })
    };
    let trusted = Event::Trust(trust::TrustEvent::TrustLimits { values: values(9), operator: operator() });
    let mut state = None;
    let steps = [
        (limits_seen(None, 4), Some("seen")),
        (limits_seen(Some(4), 4), None),
        (limits_seen(None, 2), None),
        (limits_seen(Some(4), 3), Some("seen")),
        (trusted.clone(), Some("trusted")),
        (trusted, None),
    ];
    for (event, word) in steps {
        let mut memory = Memory::default();
        memory.insert(name.clone(), state.clone());
        match (decide(&memory, &policy, &event, moment()), word) {
            (Ok(decision), Some(word)) => {
                assert_eq!(decision.facts[0].fact.as_str(), word, "{event:?}");
                state = Some(apply(state, &decision.facts[0].fact, moment()));
            }
            (Err(Halt::Rejected(rejection)), None) => assert_eq!(rejection, Rejection::NothingToTrust),
            (step, word) => panic!("{event:?}: {step:?}, expected {word:?}"),
        }
    }
    let content = Fact::Trust(trust::Fact::ContentTrusted { digest: "abcd".to_owned(), who: "anna".to_owned() });
    let both = trust::Trust { digest: Some("abcd".to_owned()), limits: Some(values(9)) };
    assert_eq!(apply(state, &content, moment()), State::Trust(Box::new(both)));
}

#[test]
fn a_fact_of_another_kind_than_the_row_begins_a_new_state() {
    let passed = Fact::Constraint(ConstraintFact::Passed);
    let fresh = apply(None, &passed, moment());
    let mixed = State::Trust(Box::default());
    assert_eq!(apply(Some(mixed), &passed, moment()), fresh);
}
