//! What the journal keeps, as a table: each fact's stable text, whether it must be synced before haltline answers (E1),
//! and its serialized form, which is a promise: haltline reads a journal of today forever.

use haltline_core::constraint::{
    ConstraintEvent, Fact as ConstraintFact, Guard, Limits, Override, Rule, Source, StateName, Trip, Weight,
    fingerprint,
};
use haltline_core::control::{self, ConfigFile, ControlEvent, Pause};
use haltline_core::identity::Digest;
use haltline_core::ledger::{BudgetScope, BudgetUnit, Charge, LedgerFact, Raise, Window};
use haltline_core::loop_::AgentTreeFact;
use haltline_core::loop_::Verb;
use haltline_core::trust;
use haltline_core::{Boot, CircuitName, ConstraintId, Event, Fact, Instant, Moment, Operator};

fn moment() -> Moment {
    Moment { at: Instant::from_millis(1_770_000_000_000), boot: Some(Boot::new(7, 5_000)) }
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

/// Each fact with its stable text and whether it needs a sync, in the order of `testdata/facts.jsonl`.
fn table() -> Vec<(Fact, &'static str, bool)> {
    let who = || "anna".to_owned();
    let source = || Source { path: "docs/constraints/x.md".to_owned(), digest: "abcd".to_owned() };
    let at = moment().at;
    let granted = Override { since: Moment::from_wall_clock(at), lifetime_ms: 60_000, who: who() };
    let accepted = ConstraintFact::RuleSet { rule: Rule::default(), source: Some(source()), trusted_by: Some(who()) };
    let state = StateName::HalfOpen;
    let facts = [
        (ConstraintFact::RuleSet { rule: rule(), source: None, trusted_by: None }, "rule_set", false),
        (accepted, "rule_set", true),
        (ConstraintFact::RuleRequested { rule: Rule::default(), source: source() }, "rule_asked", false),
        (ConstraintFact::Adopted { state, last_trip: Some(at), last_reset: None, trip: None }, "adopted", true),
        (violated(Weight::Counted, false), "violated", false),
        (violated(Weight::Deduplicated, false), "violated_again", false),
        (violated(Weight::WhileOpen, false), "violated_while_open", false),
        (violated(Weight::Expired, true), "violated_before", false),
        (ConstraintFact::Tripped { trip: trip() }, "tripped", true),
        (ConstraintFact::HalfOpened, "half_opened", false),
        (ConstraintFact::Passed, "passed", false),
        (ConstraintFact::Recovered, "recovered", true),
        (ConstraintFact::Reset { who: who() }, "reset", true),
        (ConstraintFact::Denied, "refused", false),
        (ConstraintFact::OverrideGranted { granted }, "override_granted", true),
        (ConstraintFact::OverrideSpent, "override_spent", true),
        (ConstraintFact::OverrideRevoked { who: who() }, "override_revoked", true),
        (ConstraintFact::Retired { who: who(), created: None }, "retired", true),
    ];
    let trusted = Fact::Trust(trust::Fact::ContentTrusted { digest: "abcd".to_owned(), who: who() });
    let facts = facts.map(|(fact, word, needs_sync)| (Fact::Constraint(fact), word, needs_sync));
    let values = trust::Values::from([("loop.tool_failure.threshold".to_owned(), 4)]);
    let limits_seen = Fact::Trust(trust::Fact::LimitsSeen { values: values.clone() });
    let accepted = Fact::Trust(trust::Fact::LimitsTrusted { values, who: who() });
    let trust = [(trusted, "trusted", true), (limits_seen, "seen", false), (accepted, "trusted", true)];
    let pause = Pause { since: moment(), lifetime_ms: 1_800_000, session: None, who: who() };
    let session_pause = Pause { session: Some("s1".to_owned()), ..pause.clone() };
    let changed =
        |file, key: Option<&str>| control::Fact::ConfigChanged { file, key: key.map(str::to_owned), who: who() };
    let control = [
        (control::Fact::Paused { pause }, "paused"),
        (control::Fact::Paused { pause: session_pause }, "paused"),
        (control::Fact::Unpaused { who: who() }, "unpaused"),
        (control::Fact::SessionPauseEnded, "pause_ended"),
        (control::Fact::SwitchedOff, "switched_off"),
        (changed(ConfigFile::User, Some("mode")), "config_changed"),
        (changed(ConfigFile::Project, None), "config_changed"),
    ];
    let control = control.map(|(fact, word)| (Fact::Control(fact), word, true));
    let breakers = [
        crate::loop_::facts::rows(moment()),
        crate::phase::facts::rows(moment()),
        crate::attempt::facts::rows(moment()),
        crate::claim::facts::rows(moment()),
    ];
    let all = facts.into_iter().chain(trust).chain(breakers.into_iter().flatten()).chain(control);
    all.chain(ledger())
        .chain(crate::loop_::facts::providers(moment()))
        .chain(crate::loop_::facts::fan_out(moment()))
        .chain(crate::claim::facts::rounds(moment()))
        .chain(crate::loop_::facts::context(moment()))
        .collect()
}

fn ledger() -> Vec<(Fact, &'static str, bool)> {
    let window = Window { start: moment().at, end: moment().at.plus_millis(86_400_000) };
    let agent = Digest::from_parts(&[b"agent"]);
    let charge = Charge {
        agent,
        client: "claude-code".to_owned(),
        is_sub_agent: false,
        model: Some("claude-opus-5-5".to_owned()),
        tokens: Some(500),
        micros: Some(12_300),
    };
    let unknown = Charge { is_sub_agent: true, model: None, tokens: None, micros: None, ..charge.clone() };
    let raise = Raise {
        scope: BudgetScope::Day,
        unit: BudgetUnit::Usd,
        amount: 5_000_000,
        since: moment(),
        lifetime_ms: 7_200_000,
        who: "ada".to_owned(),
    };
    let facts = [
        (LedgerFact::Began { scope: BudgetScope::Day, window: Some(window) }, "budget_began", false),
        (LedgerFact::Began { scope: BudgetScope::Project, window: None }, "budget_began", false),
        (LedgerFact::Charged { charge }, "budget_charged", false),
        (LedgerFact::Charged { charge: unknown }, "budget_charged", false),
        (LedgerFact::Called { client: "codex".to_owned(), tool: "Bash".to_owned() }, "budget_called", false),
        (LedgerFact::Released { agent }, "budget_released", false),
        (LedgerFact::Raised { raise }, "budget_raised", true),
    ];
    let tree = [
        (
            AgentTreeFact::Spent { tokens: Some(5), micros: Some(7), is_paced: true, is_sub_agent: false },
            "spent",
            false,
        ),
        (AgentTreeFact::Called, "called", false),
        (AgentTreeFact::PromptBudgetBegan, "prompt_budget_began", false),
    ];
    let ledger = facts.into_iter().map(|(fact, word, sync)| (Fact::Ledger(fact), word, sync));
    ledger.chain(tree.into_iter().map(|(fact, word, sync)| (Fact::Tree(fact), word, sync))).collect()
}

#[test]
fn every_fact_has_its_text_its_sync_flag_and_its_serialized_form() {
    let table = table();
    let golden: Vec<&str> = include_str!("../../testdata/facts.jsonl").lines().collect();
    let written = |fact: &Fact| serde_json::to_string(fact).expect("a fact can be written");
    let missing: Vec<String> = table.iter().skip(golden.len()).map(|(fact, ..)| written(fact)).collect();
    assert_eq!(golden.len(), table.len(), "add to testdata/facts.jsonl:\n{}\n", missing.join("\n"));
    for ((fact, word, needs_sync), golden) in table.into_iter().zip(golden) {
        assert_eq!((fact.as_str(), fact.needs_sync()), (word, needs_sync), "{fact:?}");
        assert_eq!(written(&fact), golden);
        assert_eq!(serde_json::from_str::<Fact>(golden).expect("and read"), fact);
    }
}

#[test]
fn every_event_has_the_text_the_journal_keeps_as_its_cause() {
    let causes = [
        (ConstraintEvent::Violation { action: "x".to_owned() }, "violation"),
        (ConstraintEvent::Clean { action: None, generation: None }, "clean"),
        (ConstraintEvent::Enforce { action: "x".to_owned(), violated: true }, "enforce"),
        (ConstraintEvent::Reset(operator()), "reset"),
        (ConstraintEvent::Retire(operator()), "retire"),
        (ConstraintEvent::Override { lifetime_ms: 1, operator: operator() }, "override"),
        (ConstraintEvent::Revoke(operator()), "revoke"),
        (ConstraintEvent::TrustRule(operator()), "trust"),
        (
            ConstraintEvent::StateFileFound(haltline_core::constraint::ForeignCircuit {
                state: StateName::Closed,
                violations: Vec::new(),
                last_trip: None,
                last_reset: None,
                limits: None,
            }),
            "state_file",
        ),
    ];
    for (event, cause) in causes {
        let id = ConstraintId::parse("x").expect("a valid id");
        assert_eq!(Event::Constraint { id, session: None, file: None, event }.cause(), cause);
    }
    let content = trust::TrustEvent::TrustContent { digest: "abcd".to_owned(), operator: operator() };
    let accepted = trust::TrustEvent::TrustLimits { values: trust::Values::new(), operator: operator() };
    let limits_seen = trust::TrustEvent::LimitsSeen { before: None, values: trust::Values::new() };
    for (event, cause) in [(content, "trust"), (accepted, "trust"), (limits_seen, "config_file")] {
        assert_eq!(Event::Trust(event).cause(), cause);
    }
    let session = || "s1".to_owned();
    let config = ControlEvent::ConfigChanged {
        file: ConfigFile::User,
        key: None,
        change: "a → b".to_owned(),
        operator: operator(),
    };
    for (event, cause) in [
        (ControlEvent::Pause { lifetime_ms: 1, session: None, operator: operator() }, "pause"),
        (ControlEvent::Unpause(operator()), "unpause"),
        (ControlEvent::SessionEnded { session: session() }, "session_end"),
        (ControlEvent::SwitchedOff { session: session() }, "switched_off"),
        (config, "config"),
    ] {
        assert_eq!(Event::Control(event).cause(), cause);
    }
    for (verb, cause) in [
        (Verb::Reset { incident: None }, "reset"),
        (Verb::Resume { incident: "0a1b2c3d".to_owned(), hint: None }, "resume"),
        (Verb::FalsePositive { incident: "0a1b2c3d".to_owned(), subject: None }, "false_positive"),
    ] {
        let row = CircuitName::agent("s1", None);
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
    for (text, state, dashed) in [
        ("CLOSED", StateName::Closed, "CLOSED"),
        ("OPEN", StateName::Open, "OPEN"),
        ("HALF_OPEN", StateName::HalfOpen, "HALF-OPEN"),
        ("RETIRED", StateName::Retired, "RETIRED"),
    ] {
        let written = format!("\"{text}\"");
        assert_eq!(serde_json::to_string(&state).expect("a state can be written"), written);
        for spelling in [text, dashed] {
            let read: StateName = serde_json::from_str(&format!("\"{spelling}\"")).expect("and read");
            assert_eq!(read, state);
        }
        assert_eq!(state.dashed(), dashed);
    }
}
