//! What the journal keeps, as a table: each fact's word, whether it must be synced before it is answered (E1), and its
//! written form, which is a promise: a journal of today is read for ever.

#[path = "support/attempt_facts.rs"]
mod attempt_facts;
#[path = "support/claim_facts.rs"]
mod claim_facts;
#[path = "support/loop_facts.rs"]
mod loop_facts;
#[path = "support/phase_facts.rs"]
mod phase_facts;

use haltline_core::constraint::{
    Condition, Fact as ConstraintFact, Guard, Happening, Limits, Override, Rule, Source, Trip, Weight, fingerprint,
};
use haltline_core::loop_::Verb;
use haltline_core::trust;
use haltline_core::{Boot, CircuitName, ConstraintId, Event, Fact, Instant, Moment, Operator};

fn moment() -> Moment {
    Moment { at: Instant::from_millis(1_770_000_000_000), boot: Some(Boot { id: 7, uptime_ms: 5_000 }) }
}

fn trip() -> Trip {
    Trip { incident: "0a1b2c3d".to_owned(), since: moment(), cooldown_ms: 86_400_000, count: 5 }
}

fn rule() -> Rule {
    let guard = Guard { tool: "Bash".to_owned(), command: Some("git push*".to_owned()), path: None };
    Rule { limits: Limits::default(), guards: vec![guard] }
}

fn violated(weight: Weight, imported: bool) -> ConstraintFact {
    ConstraintFact::Violated { weight, fingerprint: "00ff".to_owned(), imported }
}

fn operator() -> Operator {
    Operator { who: "anna".to_owned(), reason: Some("reviewed".to_owned()) }
}

/// Each fact with its word, and whether it is momentous, in the order of `testdata/facts.jsonl`.
fn table() -> Vec<(Fact, &'static str, bool)> {
    let who = || "anna".to_owned();
    let source = || Source { path: "docs/constraints/x.md".to_owned(), digest: "abcd".to_owned() };
    let at = moment().at;
    let granted = Override { since: Moment::recorded(at), lifetime_ms: 60_000, who: who() };
    let accepted = ConstraintFact::RuleSet { rule: Rule::default(), source: Some(source()), trusted_by: Some(who()) };
    let state = Condition::HalfOpen;
    let facts = [
        (ConstraintFact::RuleSet { rule: rule(), source: None, trusted_by: None }, "rule_set", false),
        (accepted, "rule_set", true),
        (ConstraintFact::RuleAsked { rule: Rule::default(), source: source() }, "rule_asked", false),
        (ConstraintFact::Adopted { state, last_trip: Some(at), last_reset: None, trip: None }, "adopted", true),
        (violated(Weight::Counted, false), "violated", false),
        (violated(Weight::Deduplicated, false), "violated_again", false),
        (violated(Weight::WhileOpen, false), "violated_while_open", false),
        (violated(Weight::Past, true), "violated_before", false),
        (ConstraintFact::Tripped { trip: trip() }, "tripped", true),
        (ConstraintFact::HalfOpened, "half_opened", false),
        (ConstraintFact::Passed, "passed", false),
        (ConstraintFact::Recovered, "recovered", true),
        (ConstraintFact::Reset { who: who() }, "reset", true),
        (ConstraintFact::Refused, "refused", false),
        (ConstraintFact::OverrideGranted { granted }, "override_granted", true),
        (ConstraintFact::OverrideSpent, "override_spent", true),
        (ConstraintFact::OverrideRevoked { who: who() }, "override_revoked", true),
        (ConstraintFact::Retired { who: who(), created: None }, "retired", true),
    ];
    let trusted = Fact::Trust(trust::Fact::Trusted { digest: "abcd".to_owned(), who: who() });
    let facts = facts.map(|(fact, word, is_momentous)| (Fact::Constraint(fact), word, is_momentous));
    let values = trust::Values::from([("loop.tool_failure.threshold".to_owned(), 4)]);
    let seen = Fact::Trust(trust::Fact::Seen { values: values.clone() });
    let accepted = Fact::Trust(trust::Fact::SeenTrusted { values, who: who() });
    let trust = [(trusted, "trusted", true), (seen, "seen", false), (accepted, "trusted", true)];
    let families = [
        loop_facts::rows(moment()),
        phase_facts::rows(moment()),
        attempt_facts::rows(moment()),
        claim_facts::rows(moment()),
    ];
    facts.into_iter().chain(trust).chain(families.into_iter().flatten()).collect()
}

#[test]
fn every_fact_has_its_word_its_weight_and_its_written_form() {
    let table = table();
    let golden: Vec<&str> = include_str!("../testdata/facts.jsonl").lines().collect();
    let written = |fact: &Fact| serde_json::to_string(fact).expect("a fact can be written");
    let missing: Vec<String> = table.iter().skip(golden.len()).map(|(fact, ..)| written(fact)).collect();
    assert_eq!(golden.len(), table.len(), "add to testdata/facts.jsonl:\n{}\n", missing.join("\n"));
    for ((fact, word, is_momentous), golden) in table.into_iter().zip(golden) {
        assert_eq!((fact.word(), fact.is_momentous()), (word, is_momentous), "{fact:?}");
        assert_eq!(written(&fact), golden);
        assert_eq!(serde_json::from_str::<Fact>(golden).expect("and read"), fact);
    }
}

#[test]
fn every_event_has_the_word_the_journal_keeps_as_its_cause() {
    let causes = [
        (Happening::Violation { action: "x".to_owned() }, "violation"),
        (Happening::Clean { action: None, generation: None }, "clean"),
        (Happening::Enforce { action: "x".to_owned(), violated: true }, "enforce"),
        (Happening::Reset(operator()), "reset"),
        (Happening::Retire(operator()), "retire"),
        (Happening::Override { lifetime_ms: 1, operator: operator() }, "override"),
        (Happening::Revoke(operator()), "revoke"),
        (Happening::TrustRule(operator()), "trust"),
        (
            Happening::Found(haltline_core::constraint::Foreign {
                state: Condition::Closed,
                violations: Vec::new(),
                last_trip: None,
                last_reset: None,
                limits: None,
            }),
            "state_file",
        ),
    ];
    for (what, cause) in causes {
        let id = ConstraintId::parse("x").expect("a valid id");
        assert_eq!(Event::Constraint { id, session: None, seen: None, what }.cause(), cause);
    }
    let content = trust::Happening::TrustContent { digest: "abcd".to_owned(), operator: operator() };
    let accepted = trust::Happening::TrustSeen { values: trust::Values::new(), operator: operator() };
    let seen = trust::Happening::See { before: None, values: trust::Values::new() };
    for (what, cause) in [(content, "trust"), (accepted, "trust"), (seen, "config_file")] {
        assert_eq!(Event::Trust(what).cause(), cause);
    }
    for (verb, cause) in [
        (Verb::Reset { incident: None }, "reset"),
        (Verb::Resume { incident: "0a1b2c3d".to_owned(), hint: None }, "resume"),
        (Verb::FalseAlarm { incident: "0a1b2c3d".to_owned() }, "false_positive"),
    ] {
        let row = CircuitName::lane("s1", None);
        assert_eq!(Event::Circuits { row, verb, operator: operator() }.cause(), cause);
    }
    assert_eq!(Event::Revoke { incident: "0a1b2c3d".to_owned(), operator: operator() }.cause(), "revoke");
}

#[test]
fn another_second_another_action_or_another_session_is_another_violation() {
    let second = moment().at.whole_second();
    let first = fingerprint(second, "git push --force", "sess_1");
    assert_eq!(first.len(), 16);
    assert_eq!(fingerprint(second.plus_millis(999), "git push --force", "sess_1"), first);
    for (at, action, session) in [
        (second.plus_millis(1_000), "git push --force", "sess_1"),
        (second, "git push -f", "sess_1"),
        (second, "git push --force", "sess_2"),
    ] {
        assert_ne!(fingerprint(at, action, session), first, "{at} {action} {session}");
    }
}

#[test]
fn half_open_is_written_with_an_underscore_and_read_with_a_dash_as_well() {
    for (text, condition, dashed) in [
        ("CLOSED", Condition::Closed, "CLOSED"),
        ("OPEN", Condition::Open, "OPEN"),
        ("HALF_OPEN", Condition::HalfOpen, "HALF-OPEN"),
        ("RETIRED", Condition::Retired, "RETIRED"),
    ] {
        let written = format!("\"{text}\"");
        assert_eq!(serde_json::to_string(&condition).expect("a state can be written"), written);
        for spelling in [text, dashed] {
            let read: Condition = serde_json::from_str(&format!("\"{spelling}\"")).expect("and read");
            assert_eq!(read, condition);
        }
        assert_eq!(condition.dashed(), dashed);
    }
}
