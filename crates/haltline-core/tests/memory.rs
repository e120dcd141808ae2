//! The rows a decision is shown, whatever their family: what is read of them, and the operator's trust among them.

use haltline_core::constraint::{Circuit, Condition, Fact as ConstraintFact, Phase, Trip};
use haltline_core::trust;
use haltline_core::{
    CircuitName, Decision, Event, Fact, Instant, Memory, Moment, Operator, Policy, Recorded, Rejection, State, Step,
    Texts, Verdict, apply, decide,
};

fn moment() -> Moment {
    Moment::recorded(Instant::from_millis(1_770_000_000_000))
}

fn operator() -> Operator {
    Operator { who: "anna".to_owned(), reason: Some("reviewed".to_owned()) }
}

#[test]
fn a_row_that_was_read_and_is_empty_differs_from_one_nobody_read() {
    let (read, empty, unread) = ["a", "b", "c"].map(|name| CircuitName::stored(name.to_owned())).into();
    let state = State::Trust(trust::Trust { digest: None });
    let mut memory = Memory::default();
    memory.insert(read.clone(), Some(state.clone()));
    memory.insert(empty.clone(), None);
    assert_eq!([&read, &empty, &unread].map(|name| memory.row(name)), [Some(Some(&state)), Some(None), None]);
    assert_eq!([&read, &empty, &unread].map(|name| memory.state(name)), [Some(&state), None, None]);
}

#[test]
fn what_is_open_or_on_trial_is_held() {
    let trip = Trip { incident: "0a1b2c3d".to_owned(), since: moment(), cooldown_ms: 1, count: 5 };
    for (phase, is_held) in [
        (Phase::Closed, false),
        (Phase::Open(trip.clone()), true),
        (Phase::HalfOpen(trip), true),
        (Phase::Retired { at: moment().at, from: Condition::Open }, false),
    ] {
        let state = State::Constraint(Box::new(Circuit { phase, generation: 9, ..Circuit::default() }));
        assert_eq!((state.is_held(), state.generation()), (is_held, 9), "{state:?}");
    }
    let trust = State::Trust(trust::Trust { digest: None });
    assert_eq!((trust.is_held(), trust.generation()), (false, 0));
}

#[test]
fn a_person_trusts_the_content_of_the_project_file_once() {
    let trust = |digest: &str| Event::Trust { digest: digest.to_owned(), operator: operator() };
    let (name, policy) = (CircuitName::trust(), Policy::default());
    let mut memory = Memory::default();
    assert_eq!(decide(&memory, &policy, &trust("abcd"), moment()), Step::Needs(vec![name.clone()]));
    memory.insert(name.clone(), None);
    let fact = |digest: &str| trust::Fact::Trusted { digest: digest.to_owned(), who: "anna".to_owned() };
    let decided = |digest: &str| {
        let texts = Texts { session: None, text: Some("reviewed".to_owned()) };
        let recorded = Recorded { circuit: name.clone(), at: moment(), fact: Fact::Trust(fact(digest)), texts };
        Step::Decided(Decision {
            facts: vec![recorded],
            verdict: Verdict::Pass,
            effects: Vec::new(),
            notices: Vec::new(),
        })
    };
    assert_eq!(decide(&memory, &policy, &trust("abcd"), moment()), decided("abcd"));

    let state = apply(None, &Fact::Trust(fact("abcd")), moment());
    assert_eq!(state, State::Trust(trust::Trust { digest: Some("abcd".to_owned()) }));
    memory.insert(name.clone(), Some(state));
    let again = decide(&memory, &policy, &trust("abcd"), moment());
    assert_eq!(again, Step::Rejected(Rejection::NothingToTrust));
    assert_eq!(decide(&memory, &policy, &trust("ef01"), moment()), decided("ef01"));
}

#[test]
fn a_fact_of_another_family_than_the_row_begins_a_new_state() {
    let passed = Fact::Constraint(ConstraintFact::Passed);
    let fresh = apply(None, &passed, moment());
    let mixed = State::Trust(trust::Trust { digest: None });
    assert_eq!(apply(Some(mixed), &passed, moment()), fresh);
}
