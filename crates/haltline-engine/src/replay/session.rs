//! One recorded session while it is replayed, and its verdicts.

use std::collections::{BTreeMap, VecDeque};

use haltline_core::identity::{CallResult, Digest, Outcome};
use haltline_core::loop_::{self, AgentRef, CircuitFact, LoopEvent};
use haltline_core::{CircuitName, Decision, Event, Instant, Memory, Verdict};

use super::news::{Brought, News};
use crate::redact::storable;

/// How many trips of one session are kept under one policy; more would repeat them.
const TRIPS_MAX: usize = 1_000;
/// How many calls of one session may be in flight before the oldest is forgotten.
const IN_FLIGHT_MAX: usize = 256;
/// How many of the last results are kept as evidence for trips.
const RESULTS_MAX: usize = 24;
/// How many results are shown with a trip.
const EVIDENCE_MAX: usize = 5;

/// How much a verdict restricts the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The agent reads a warning and continues.
    Warn,
    /// The call is denied.
    Deny,
    /// The turn ends.
    Stop,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warn => "warn",
            Severity::Deny => "deny",
            Severity::Stop => "stop",
        }
    }

    /// True if the call does not run.
    pub fn is_denial(self) -> bool {
        match self {
            Severity::Warn => false,
            Severity::Deny | Severity::Stop => true,
        }
    }
}

/// A result before a trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// When, if the transcript says so.
    pub at: Option<Instant>,
    /// The line of the result that is shown.
    pub result: String,
}

/// A verdict that haltline would have given. Each trip of a circuit is listed once per severity: calls that the agent
/// makes in spite of it are counted in `calls_after`, not listed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Number of the call it is about, starting at 1.
    pub call: u64,
    /// When, if the transcript says so.
    pub at: Option<Instant>,
    pub circuit: String,
    pub code: &'static str,
    pub severity: Severity,
    /// The text that the agent would have read.
    pub reason: String,
    /// The last results before it, newest first.
    pub evidence: Vec<Evidence>,
    /// Number of calls that followed.
    pub calls_after: u64,
    /// What the rest of the session cost, in millionths of a dollar, if known.
    pub micros_after: Option<u64>,
    /// A later call committed work.
    pub is_committed_after: bool,
    /// What a denied call brought when the recorded session made it; `None` if nothing is known of it.
    pub brought: Option<Brought>,
}

/// The verdicts on a session under one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionVerdicts {
    /// In the order they were given.
    pub trips: Vec<Trip>,
    /// Number of denials because of a capacity limit, which are no detections.
    pub capacity_denials: u64,
}

impl SessionVerdicts {
    pub fn first(&self, severity: Severity) -> Option<&Trip> {
        self.trips.iter().find(|trip| trip.severity == severity)
    }

    /// The first trip that denies a call or ends the turn.
    pub fn first_denial(&self) -> Option<&Trip> {
        self.trips.iter().find(|trip| trip.severity.is_denial())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedSession {
    pub session: String,
    /// Tool calls, without repeated ones.
    pub calls: u64,
    /// Prompts that a person typed.
    pub prompts: u64,
    /// What it cost, in millionths of a dollar, as far as known.
    pub micros: Option<u64>,
    /// The latest time in the transcript.
    pub ended: Option<Instant>,
    /// One for each policy.
    pub verdicts: Vec<SessionVerdicts>,
}

/// A call that has not ended.
#[derive(Debug)]
struct StartedCall {
    identity: Digest,
    number: u64,
    is_commit: bool,
    is_search: bool,
    /// The trips that would have denied it: the index of the policy, and that of the trip.
    denied_by: Vec<(usize, usize)>,
}

/// A verdict that is listed already, so that it is not listed again.
#[derive(Debug)]
struct ListedVerdict {
    circuit: CircuitName,
    code: &'static str,
    severity: Severity,
    key: Option<Digest>,
    incident: Option<String>,
    count: u32,
    micros: Option<u64>,
}

#[derive(Debug)]
pub struct SessionReplay {
    session: String,
    calls: u64,
    prompts: u64,
    micros: Option<u64>,
    ended: Option<Instant>,
    in_flight: BTreeMap<String, StartedCall>,
    /// The agent, the identity of its call, and the result.
    results: VecDeque<(Option<String>, Digest, Evidence)>,
    last_commit: Option<u64>,
    news: News,
    verdicts: Vec<(SessionVerdicts, Vec<ListedVerdict>)>,
}

impl SessionReplay {
    pub fn new(session: &str, policies: usize) -> Self {
        Self {
            session: session.to_owned(),
            calls: 0,
            prompts: 0,
            micros: None,
            ended: None,
            in_flight: BTreeMap::new(),
            results: VecDeque::new(),
            last_commit: None,
            news: News::default(),
            verdicts: (0..policies).map(|_| (SessionVerdicts::default(), Vec::new())).collect(),
        }
    }

    pub fn name(&self) -> &str {
        &self.session
    }

    pub fn is_for(&self, session: &str) -> bool {
        self.session == session
    }

    /// Counts an event, whatever the verdicts on it are.
    pub fn count_event(&mut self, agent_ref: &AgentRef, event: &LoopEvent, at: Option<Instant>, is_echo: bool) {
        self.ended = self.ended.max(at);
        match event {
            LoopEvent::ToolStart { call, action, .. } => {
                self.calls += u64::from(!is_echo);
                let is_commit = action.command.as_deref().is_some_and(|command| command.contains("git commit"));
                if self.in_flight.len() >= IN_FLIGHT_MAX
                    && let Some(oldest) = self.in_flight.iter().min_by_key(|(_, started)| started.number)
                {
                    let oldest = oldest.0.clone();
                    self.in_flight.remove(&oldest);
                }
                let (number, is_search) = (self.calls, action.is_search);
                let denied_by = Vec::new();
                let started = StartedCall { identity: action.identity, number, is_commit, is_search, denied_by };
                self.in_flight.insert(call.clone(), started);
            }
            LoopEvent::ToolEnd { call, result, .. } => self.record_result(agent_ref, call, result, at, is_echo),
            LoopEvent::Batch { ends } => {
                for end in ends {
                    self.record_result(agent_ref, &end.call, &end.result, at, is_echo);
                }
            }
            LoopEvent::Prompt { by_user, .. } => self.prompts += u64::from(*by_user && !is_echo),
            LoopEvent::Message { cost, .. } => self.spend(*cost, is_echo),
            _other => {}
        }
    }

    fn record_result(
        &mut self,
        agent_ref: &AgentRef,
        call: &str,
        result: &CallResult,
        at: Option<Instant>,
        is_echo: bool,
    ) {
        self.spend(result.cost, is_echo);
        let Some(started) = self.in_flight.remove(call) else { return };
        if started.is_commit && result.outcome == Outcome::Ok {
            self.last_commit = self.last_commit.max(Some(started.number));
        }
        let brought = self.news.of(agent_ref.sub_agent.as_deref(), started.is_search, result);
        for (policy_index, trip_index) in started.denied_by {
            let verdicts = self.verdicts.get_mut(policy_index);
            if let Some(trip) = verdicts.and_then(|(verdicts, _)| verdicts.trips.get_mut(trip_index)) {
                trip.brought = brought;
            }
        }
        if self.results.len() == RESULTS_MAX {
            self.results.pop_front();
        }
        let evidence = Evidence { at, result: result.shown.clone() };
        self.results.push_back((agent_ref.sub_agent.clone(), started.identity, evidence));
    }

    fn spend(&mut self, cost: Option<u64>, is_echo: bool) {
        if let Some(cost) = cost.filter(|_| !is_echo) {
            self.micros = Some(self.micros.unwrap_or_default().saturating_add(cost));
        }
    }

    /// Lists the verdict on an event, unless it repeats an earlier one.
    pub fn record_verdict(
        &mut self,
        policy_index: usize,
        event: &Event,
        decision: &Decision,
        memory: &Memory,
        at: Instant,
    ) {
        let (severity, reason) = match &decision.verdict {
            Verdict::Pass => return,
            Verdict::Warn(reason) => (Severity::Warn, reason),
            Verdict::Deny(reason) => (Severity::Deny, reason),
            Verdict::Stop(reason) => (Severity::Stop, reason),
        };
        let Event::Loop { agent: agent_ref, event, .. } = event else { return };
        let identity = if let LoopEvent::ToolStart { action, .. } = event { Some(action.identity) } else { None };
        let evidence = self.evidence(agent_ref, identity);
        let Some((verdicts, listed)) = self.verdicts.get_mut(policy_index) else { return };
        if loop_::is_capacity(reason.code) {
            verdicts.capacity_denials += 1;
            return;
        }
        let (key, count) = warned_or_denied(decision);
        let incident = key.and_then(|key| incident_about(memory, agent_ref, key));
        let verdict = ListedVerdict {
            circuit: reason.circuit.clone(),
            code: reason.code,
            severity,
            key,
            incident,
            count,
            micros: self.micros,
        };
        let before = listed.iter_mut().rev().find(|before| before.is_same_as(&verdict));
        if verdicts.trips.len() >= TRIPS_MAX || before.is_some_and(|before| before.is_repeated_by(&verdict)) {
            return;
        }
        listed.push(verdict);
        if let LoopEvent::ToolStart { call, .. } = event
            && severity.is_denial()
            && let Some(started) = self.in_flight.get_mut(call)
        {
            started.denied_by.push((policy_index, verdicts.trips.len()));
        }
        verdicts.trips.push(Trip {
            // A verdict that is not about a call counts for the last one.
            call: self.calls.max(1),
            at: self.ended.map(|_known| at),
            circuit: reason.circuit.to_string(),
            code: reason.code,
            severity,
            reason: storable(&reason.text),
            evidence,
            calls_after: 0,
            micros_after: None,
            is_committed_after: false,
            brought: None,
        });
    }

    /// The last results of the same action, or of any action if the trip is about several.
    fn evidence(&self, agent_ref: &AgentRef, identity: Option<Digest>) -> Vec<Evidence> {
        let own = || self.results.iter().rev().filter(|(agent, _, _)| *agent == agent_ref.sub_agent);
        let same = |own: &&(Option<String>, Digest, Evidence)| Some(own.1) == identity;
        let is_about_one = own().filter(same).count() > 1;
        let picked = own().filter(|completed| !is_about_one || same(completed)).take(EVIDENCE_MAX);
        picked.map(|(_, _, evidence)| Evidence { at: evidence.at, result: storable(&evidence.result) }).collect()
    }

    /// Ends the session: now it is known what followed each trip.
    pub fn finish(self) -> ReplayedSession {
        let Self { session, calls, prompts, micros, ended, last_commit, verdicts, .. } = self;
        let verdicts = verdicts.into_iter().map(|(mut verdicts, listed)| {
            for (trip, listed) in verdicts.trips.iter_mut().zip(listed) {
                trip.calls_after = calls.saturating_sub(trip.call);
                trip.micros_after = micros.map(|all| all.saturating_sub(listed.micros.unwrap_or_default()));
                trip.is_committed_after = last_commit.is_some_and(|commit| commit > trip.call);
            }
            verdicts
        });
        ReplayedSession { session, calls, prompts, micros, ended, verdicts: verdicts.collect() }
    }
}

impl ListedVerdict {
    /// True if `later` says the same about the same trip.
    fn is_same_as(&self, later: &ListedVerdict) -> bool {
        self.circuit == later.circuit
            && self.code == later.code
            && self.severity == later.severity
            && self.key == later.key
            && self.incident == later.incident
    }

    /// True if `later` only continues this verdict. A warning whose count started again is a new one.
    fn is_repeated_by(&mut self, later: &ListedVerdict) -> bool {
        let is_repeat = self.severity.is_denial() || later.count > self.count;
        self.count = later.count;
        is_repeat
    }
}

/// What a decision denied or warned about, and its count.
fn warned_or_denied(decision: &Decision) -> (Option<Digest>, u32) {
    let mut about = (None, 0);
    for recorded in &decision.facts {
        let Some(fact) = recorded.fact.as_circuit() else { continue };
        match fact {
            CircuitFact::Warned { key, count, .. } => about = (Some(*key), *count),
            CircuitFact::Denied { key, .. } => about = (Some(*key), 0),
            CircuitFact::Tripped { .. }
            | CircuitFact::Limited { .. }
            | CircuitFact::HalfOpened { .. }
            | CircuitFact::Allowed { .. }
            | CircuitFact::AllowanceUsed { .. }
            | CircuitFact::ProbeTaken { .. }
            | CircuitFact::ProbeAbandoned { .. }
            | CircuitFact::Recovered { .. }
            | CircuitFact::Lapsed { .. }
            | CircuitFact::Reset { .. }
            | CircuitFact::FalsePositive { .. } => {}
        }
    }
    about
}

/// The incident about this key, among the circuits of the agent or of its tree.
fn incident_about(memory: &Memory, agent_ref: &AgentRef, key: Digest) -> Option<String> {
    let row = CircuitName::agent(&agent_ref.session, agent_ref.sub_agent.as_deref());
    let root = memory.state(&row).and_then(|state| state.as_agent()).and_then(|row| row.root_session.clone());
    let tree = CircuitName::tree(root.as_deref().unwrap_or(&agent_ref.session));
    [row, tree].iter().filter_map(|row| memory.state(row)?.circuits()).find_map(|circuits| {
        let tripped = circuits
            .tripped
            .iter()
            .find(|tripped| tripped.trip.key == key)
            .map(|tripped| tripped.trip.incident.clone());
        tripped.or_else(|| circuits.escalations.get(key).and_then(|escalation| escalation.incident.clone()))
    })
}
