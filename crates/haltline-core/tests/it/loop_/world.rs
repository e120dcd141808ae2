//! A world of running sessions: agents, their calls, the rows a store would keep, the journal and the clocks.

use std::collections::BTreeMap;

use haltline_core::attempt::Touched;
use haltline_core::identity::{Action, CallResult};
use haltline_core::ledger::{BudgetScope, BudgetUnit, Calendar, LedgerEvent, Window};
use haltline_core::loop_::{
    AgentRef, AgentState, AgentTree, BatchEnd, CallContext, CallIds, LoopEvent, Protections, Provider, ProviderEvent,
    ProviderRequest, Verb,
};
use haltline_core::{CircuitName, Decision, Event, Fact, Instant, Policy, Recorded, Rejection, State};

use crate::clock::Clock;
use crate::engine::{self, Rows, operator};

/// Everything a decision reads, and the results of all decisions so far.
#[derive(Clone, Debug)]
pub struct Sessions {
    pub clock: Clock,
    pub policy: Policy,
    /// The agent that acts.
    pub agent: AgentRef,
    /// The response that the next calls belong to, if the client says it.
    pub message: Option<String>,
    /// The files that the next calls change, while slices are under way.
    pub touched: Vec<Touched>,
    pub rows: Rows,
    pub journal: Vec<Recorded>,
    /// The calls by id, with their actions and results.
    pub calls: BTreeMap<String, (Action, Option<CallResult>)>,
    /// Number of calls made, for calls without an id in the test.
    pub count: u32,
    /// The newest incident, and the row it is in.
    pub incident: Option<(CircuitName, String)>,
}

impl Sessions {
    /// New Year 2026 on a machine that was just started, with a client that marks its batches; nothing has happened
    /// yet.
    pub fn new() -> Self {
        Self {
            clock: Clock::new_year(),
            policy: Policy::default(),
            agent: AgentRef {
                session: "s1".to_owned(),
                client: "claude-code".to_owned(),
                marks_batches: true,
                ..AgentRef::default()
            },
            message: None,
            touched: Vec::new(),
            rows: Rows::new(),
            journal: Vec::new(),
            calls: BTreeMap::new(),
            count: 0,
            incident: None,
        }
    }

    /// Reports an event that happens now, and commits the decision.
    pub fn report(&mut self, event: LoopEvent) -> Decision {
        let calendar = Some(utc_calendar(self.clock.now().at));
        let event = Event::Loop { agent: self.agent.clone(), event, policy: self.policy.digest(), calendar };
        match self.handle(&event) {
            Ok(decision) => decision,
            Err(rejection) => unreachable!("what agents do is never rejected: {rejection:?}"),
        }
    }

    /// A person raises a budget for a while.
    pub fn raise(&mut self, scope: BudgetScope, unit: BudgetUnit, amount: u64, lifetime_ms: u64) -> Decision {
        let raise = LedgerEvent::Raise { scope, unit, amount, lifetime_ms, operator: operator(None) };
        match self.handle(&Event::Ledger(raise)) {
            Ok(decision) => decision,
            Err(rejection) => unreachable!("a raise is never rejected: {rejection:?}"),
        }
    }

    /// `haltline run --loop` asks whether an iteration may begin, or reports how one ended.
    pub fn loop_request(&mut self, what: ProviderRequest) -> Decision {
        let account = self.agent.account.clone().unwrap_or_default();
        let event = ProviderEvent { account, requester: self.agent.session.clone(), what };
        match self.handle(&Event::Provider(event)) {
            Ok(decision) => decision,
            Err(rejection) => unreachable!("a loop is never rejected: {rejection:?}"),
        }
    }

    /// The circuits of the agent's account.
    pub fn provider(&self) -> Option<&Provider> {
        self.rows.get(&self.agent.account.as_ref()?.row()).and_then(State::as_provider)
    }

    /// A person acts on the newest incident.
    pub fn act(&mut self, verb: impl FnOnce(String) -> Verb) -> Result<Decision, Rejection> {
        let (row, incident) = self.incident.clone().ok_or(Rejection::NoIncident)?;
        self.handle(&Event::Circuits { row, verb: verb(incident), operator: operator(None) })
    }

    /// A person revokes the exemption of the newest incident.
    pub fn revoke(&mut self) -> Result<Decision, Rejection> {
        let (_, incident) = self.incident.clone().ok_or(Rejection::NoIncident)?;
        self.handle(&Event::Revoke { incident, operator: operator(None) })
    }

    /// A person closes all circuits of the current agent.
    pub fn reset_all(&mut self) -> Result<Decision, Rejection> {
        let (row, verb) = (self.agent_row(), Verb::Reset { incident: None });
        self.handle(&Event::Circuits { row, verb, operator: operator(None) })
    }

    /// Runs a decision as an engine does: with the rows it needs, and no others.
    pub fn handle(&mut self, event: &Event) -> Result<Decision, Rejection> {
        let now = self.clock.now();
        let decision = engine::handle(&mut self.rows, &mut self.journal, &self.policy, event, now)?;
        for recorded in &decision.facts {
            if let Some(incident) = incident_of(&recorded.fact) {
                self.incident = Some((recorded.circuit.clone(), incident.to_owned()));
            }
        }
        Ok(decision)
    }

    /// Reports the start of a call.
    pub fn start(&mut self, name: &str, action: Action) -> Decision {
        self.calls.insert(name.to_owned(), (action.clone(), None));
        let (message, touched) = (self.message.clone(), self.touched.clone());
        self.report(LoopEvent::ToolStart {
            call: name.to_owned(),
            response: message,
            action: Box::new(action),
            context: CallContext::Gathered(Protections { guarded: Vec::new(), touched, tampering: None }),
        })
    }

    /// Reports the end of a call.
    pub fn end(&mut self, name: &str, result: CallResult) -> Decision {
        let action = self.calls.get_mut(name).map(|(action, stored)| {
            *stored = Some(result.clone());
            Box::new(action.clone())
        });
        self.report(LoopEvent::ToolEnd { call: name.to_owned(), action, result: Box::new(result) })
    }

    /// Reports that all calls of a response have ended, with the results of the given calls.
    pub fn batch(&mut self, names: &[&str]) -> Decision {
        let ends = names.iter().filter_map(|name| {
            let (action, result) = self.calls.get(*name)?.clone();
            Some(BatchEnd { call: (*name).to_owned(), action, result: result? })
        });
        let ends = ends.collect();
        self.report(LoopEvent::Batch { ends })
    }

    /// Plays a whole call that is alone in its response: it starts, runs if haltline lets it, and ends. Returns the
    /// decision on the start.
    pub fn run(&mut self, action: Action, result: CallResult) -> Decision {
        self.count += 1;
        let has_call_ids = matches!(self.agent.call_ids, CallIds::Stable | CallIds::StartOnly);
        let name = if has_call_ids { format!("call {}", self.count) } else { "call".to_owned() };
        let decision = self.start(&name, action);
        if !decision.verdict.denies() {
            self.end(&name, result);
        }
        if !has_call_ids {
            self.report(LoopEvent::ModelStart);
        } else if self.agent.marks_batches {
            self.batch(&[&name]);
        }
        decision
    }

    pub fn agent_row(&self) -> CircuitName {
        CircuitName::agent(&self.agent.session, self.agent.sub_agent.as_deref())
    }

    /// The state of the current agent.
    pub fn agent_state(&self) -> Option<&AgentState> {
        self.rows.get(&self.agent_row()).and_then(State::as_agent)
    }

    /// The tree of the current agent.
    pub fn tree(&self) -> Option<&AgentTree> {
        let root = self
            .agent_state()
            .and_then(|agent_state| agent_state.root_session.as_deref())
            .unwrap_or(&self.agent.session);
        self.rows.get(&CircuitName::tree(root)).and_then(State::as_tree)
    }
}

/// The incident that a fact starts.
fn incident_of(fact: &Fact) -> Option<&str> {
    use haltline_core::loop_::CircuitFact;
    let fact = fact.as_circuit()?;
    match fact {
        CircuitFact::Tripped { .. } | CircuitFact::Limited { .. } => fact.incident(),
        _later => None,
    }
}

/// The calendar of a place where it is always UTC: nights last from 22:00 to 08:00.
fn utc_calendar(at: Instant) -> Calendar {
    const HOUR: i64 = 3_600_000;
    let span = |length: i64, offset: i64| {
        let start = (at.as_millis() - offset).div_euclid(length) * length + offset;
        Window { start: Instant::from_millis(start), end: Instant::from_millis(start + length) }
    };
    // The epoch was a Thursday; the night is the first ten hours of a day that begins at 22:00.
    let evening = span(24 * HOUR, 22 * HOUR);
    let night = Window { start: evening.start, end: evening.start.plus_millis(10 * HOUR) };
    Calendar {
        day: span(24 * HOUR, 0),
        night: (at < night.end).then_some(night),
        week: span(7 * 24 * HOUR, 4 * 24 * HOUR),
    }
}
