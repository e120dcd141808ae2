//! What may happen in a running session, as small values that chance or a list can pick, and what must hold after each.

use std::collections::BTreeMap;

use haltline_core::identity::{Action, CallResult, DeniedBy, Outcome};
use haltline_core::loop_::{CircuitFact, CircuitState, Circuits, LoopEvent, TrippedState, TurnEnd, Usage, Verb};
use haltline_core::{CircuitName, Decision, Moment, State, Verdict, apply};

use crate::loop_::world::Sessions;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Act {
    /// Milliseconds pass.
    Wait(u64),
    /// The wall clock is set.
    StepWall(i64),
    Reboot,
    /// Another agent of the session acts from now on; 0 is the main agent.
    Agent(u8),
    /// A whole call, alone in its response.
    Run(Call, Returned),
    /// The start of a call, with one of a few ids.
    Start(u8, Call),
    /// The end of such a call.
    End(u8, Returned),
    /// The batch of some of these calls.
    Batch(Vec<u8>),
    Prompt {
        by_user: bool,
        bypass: bool,
    },
    Hook,
    Stop {
        blocked: bool,
    },
    SubAgentBegins(u8),
    SubAgentEnds(u8),
    Spent {
        tokens: u64,
        cost: Option<u64>,
    },
    SessionEnds,
    Reset,
    ResetAll,
    Resume,
    FalsePositive,
    Revoke,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Shell(&'static str),
    Read(&'static str),
    Write(u8),
    Spawn(u8),
    /// Any tool name with any input.
    Odd(String, String),
}

/// What a call returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    Ok(&'static str),
    Failed(&'static str),
    Denied,
    Rejected,
    Cancelled,
    RateLimited,
    Unknown,
    SubAgent(u8),
}

impl Call {
    pub fn action(&self) -> Action {
        let folder = Some("/project");
        match self {
            Call::Shell(command) => Action::new("Bash", &format!(r#"{{"command": "{command}"}}"#), folder),
            Call::Read(path) => Action::new("Read", &format!(r#"{{"file_path": "{path}"}}"#), folder),
            Call::Write(text) => {
                let input = format!(r#"{{"file_path": "a", "old_string": "x", "new_string": "{text}"}}"#);
                Action::new("Edit", &input, folder)
            }
            Call::Spawn(task) => Action::new("Task", &format!(r#"{{"prompt": "{task}"}}"#), folder),
            Call::Odd(tool, input) => Action::new(tool, input, folder),
        }
    }
}

impl Returned {
    pub fn result(&self) -> CallResult {
        match self {
            Returned::Ok(text) => CallResult::new(Outcome::Ok, None, text),
            Returned::Failed(text) => CallResult::new(Outcome::Failed, Some(2), text),
            Returned::Denied => {
                CallResult { denied_by: Some(DeniedBy::Permission), ..CallResult::new(Outcome::Denied, None, "") }
            }
            Returned::Rejected => CallResult::new(Outcome::Rejected, None, ""),
            Returned::Cancelled => CallResult::new(Outcome::Cancelled, None, ""),
            Returned::RateLimited => CallResult::new(Outcome::RateLimited, None, ""),
            Returned::Unknown => CallResult::new(Outcome::Unknown, None, ""),
            Returned::SubAgent(sub_agent) => CallResult {
                sub_agent: Some(format!("a{sub_agent}")),
                is_sub_agent_running: sub_agent % 2 == 0,
                ..CallResult::new(Outcome::Ok, None, "done")
            },
        }
    }
}

/// Performs the act, checks the decisions, and returns the last of them.
pub fn perform(world: &mut Sessions, act: &Act) -> Option<Decision> {
    let before = world.rows.clone();
    let journal = world.journal.len();
    let decision = match act {
        Act::Wait(millis) => {
            world.clock.advance(*millis);
            None
        }
        Act::StepWall(millis) => {
            world.clock.step_wall(*millis);
            None
        }
        Act::Reboot => {
            world.clock.reboot();
            None
        }
        Act::Agent(agent) => {
            world.agent.sub_agent = (*agent > 0).then(|| format!("a{agent}"));
            None
        }
        Act::Run(call, returned) => Some(world.run(call.action(), returned.result())),
        Act::Start(name, call) => Some(world.start(&format!("n{name}"), call.action())),
        Act::End(name, returned) => Some(world.end(&format!("n{name}"), returned.result())),
        Act::Batch(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("n{name}")).collect();
            Some(world.batch(&names.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        Act::Prompt { by_user, bypass } => Some(world.report(LoopEvent::Prompt { by_user: *by_user, bypass: *bypass })),
        Act::Hook => Some(world.report(LoopEvent::Hook { name: "lint".to_owned() })),
        Act::Stop { blocked } => {
            Some(world.report(LoopEvent::Stop { blocked: *blocked, running: None, end: TurnEnd::Idle }))
        }
        Act::SubAgentBegins(sub_agent) => {
            Some(world.report(LoopEvent::SpawnStart { sub_agent: format!("a{sub_agent}"), depth: None }))
        }
        Act::SubAgentEnds(sub_agent) => {
            Some(world.report(LoopEvent::SpawnEnd { sub_agent: Some(format!("a{sub_agent}")) }))
        }
        Act::Spent { tokens, cost } => {
            let usage = Some(Usage { input: *tokens, ..Usage::default() });
            Some(world.report(LoopEvent::Message {
                usage,
                cost: *cost,
                model: None,
                range: None,
                last_response: None,
                text: None,
            }))
        }
        Act::SessionEnds => Some(world.report(LoopEvent::SessionEnd { reason: "exit".to_owned() })),
        Act::Reset => world.act(|incident| Verb::Reset { incident: Some(incident) }).ok(),
        Act::ResetAll => world.reset_all().ok(),
        Act::Resume => world.act(|incident| Verb::Resume { incident, hint: None }).ok(),
        Act::FalsePositive => world.act(|incident| Verb::FalsePositive { incident, subject: None }).ok(),
        Act::Revoke => world.revoke().ok(),
    };
    check_facts(before, world, journal);
    if let Some(decision) = &decision {
        check_verdict(&decision.verdict);
    }
    decision
}

/// Checks that a reason has a code and a text, and that the text is not too long.
pub fn check_verdict(verdict: &Verdict) {
    if let Some(reason) = verdict.reason() {
        assert!(reason.code.starts_with("HL-"), "{reason:?}");
        assert!(!reason.text.is_empty() && reason.text.len() < 1_200, "{} bytes: {reason:?}", reason.text.len());
    }
}

/// Applies the new facts one by one, and checks for each that the circuit it changes was in a state that allows it.
fn check_facts(mut before: BTreeMap<CircuitName, State>, after: &Sessions, journal: usize) {
    let now = after.clock.now();
    for recorded in &after.journal[journal..] {
        let row = before.remove(&recorded.circuit);
        let circuits = row.as_ref().and_then(State::circuits);
        if let (Some(circuits), Some(fact)) = (circuits, recorded.fact.as_circuit()) {
            check_circuit_fact(circuits, fact, now);
        }
        let row = apply(row, &recorded.fact, recorded.at);
        before.insert(recorded.circuit.clone(), row);
    }
    assert_eq!(before, after.rows, "rows are what the facts made them");
}

fn check_circuit_fact(circuits: &Circuits, fact: &CircuitFact, now: Moment) {
    let state = |incident: &str| {
        let tripped = circuits.tripped_by(incident).unwrap_or_else(|| panic!("{fact:?} of a circuit that is closed"));
        (circuits.state_at(tripped.trip.key, now), &tripped.state)
    };
    match fact {
        CircuitFact::ProbeTaken { incident, .. } => {
            let (state, _) = state(incident);
            assert!(matches!(state, CircuitState::HalfOpen(..)), "{fact:?} while {state:?}");
        }
        CircuitFact::Recovered { incident } | CircuitFact::ProbeAbandoned { incident } => {
            let (_, stored) = state(incident);
            assert!(matches!(stored, TrippedState::Probing(_)), "{fact:?} while {stored:?}");
        }
        CircuitFact::Lapsed { incident } if circuits.escalations.has_incident(incident) => {}
        CircuitFact::Lapsed { incident } => {
            let (state, _) = state(incident);
            assert!(matches!(state, CircuitState::HalfOpen(..)), "{fact:?} while {state:?}");
        }
        CircuitFact::Allowed { incident, .. } => {
            assert!(circuits.escalations.has_incident(incident), "{fact:?} of a limit that was not reached");
        }
        CircuitFact::AllowanceUsed { incident } => {
            let escalation = circuits.escalations.with_incident(incident);
            assert!(escalation.is_some_and(|escalation| escalation.allowance.is_some()), "{fact:?} of nothing allowed");
        }
        CircuitFact::Tripped { trip } => {
            let state = circuits.state_at(trip.key, now);
            assert!(!matches!(state, CircuitState::Open(_)), "tripped while open: {trip:?}");
        }
        CircuitFact::HalfOpened { incident, .. } => {
            state(incident);
        }
        CircuitFact::Warned { .. }
        | CircuitFact::Limited { .. }
        | CircuitFact::Denied { .. }
        | CircuitFact::Reset { .. }
        | CircuitFact::FalsePositive { .. } => {}
    }
}
