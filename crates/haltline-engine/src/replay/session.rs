//! One recorded session while it is replayed, and what came of it.

use std::collections::{BTreeMap, VecDeque};

use haltline_core::identity::{Answer, Digest, Outcome};
use haltline_core::loop_::{self, BoardFact, Happening, LaneFact, Stream, TreeFact};
use haltline_core::{CircuitName, Decision, Event, Fact, Instant, Memory, Verdict};

use crate::redact::storable;

/// How many trips of one session are kept under one policy; the rest would say the same.
const TRIPS_MAX: usize = 1_000;
/// How many calls of one session may be without an answer before the oldest is forgotten.
const FLIGHTS_MAX: usize = 256;
/// How many of the last answers are kept, to show them with a trip.
const ANSWERS_MAX: usize = 24;
/// How many answers go with a trip.
const EVIDENCE_MAX: usize = 5;

/// How much a verdict holds the agent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The agent is told, and goes on.
    Warn,
    /// The call is refused.
    Deny,
    /// The turn ends.
    Stop,
}

impl Severity {
    /// The word for it, everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Warn => "warn",
            Severity::Deny => "deny",
            Severity::Stop => "stop",
        }
    }

    /// Whether the call is held back.
    pub fn refuses(self) -> bool {
        match self {
            Severity::Warn => false,
            Severity::Deny | Severity::Stop => true,
        }
    }
}

/// An answer that came before a trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// When, where the transcript says so.
    pub at: Option<Instant>,
    /// Its telling line.
    pub answer: String,
}

/// A verdict that would have been given. Each opening of a circuit is listed once for each verdict it comes to: that
/// the agent goes on against it is counted in `calls_after`, not listed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The number of the call it is about, from 1.
    pub call: u64,
    /// When, where the transcript says so.
    pub at: Option<Instant>,
    /// Which circuit.
    pub circuit: String,
    /// Its code.
    pub code: &'static str,
    /// What was said.
    pub severity: Severity,
    /// In words, as the agent would have read them.
    pub reason: String,
    /// The last answers before it, newest first.
    pub evidence: Vec<Evidence>,
    /// How many calls followed.
    pub calls_after: u64,
    /// What followed cost, in millionths of a dollar, where that is known.
    pub micros_after: Option<u64>,
    /// A later call committed work.
    pub is_committed_after: bool,
}

/// What came of a session under one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// In the order they came.
    pub trips: Vec<Trip>,
    /// Refusals for want of room, which are no detections.
    pub capacity: u64,
}

impl Judged {
    /// The first verdict of this kind.
    pub fn first(&self, severity: Severity) -> Option<&Trip> {
        self.trips.iter().find(|trip| trip.severity == severity)
    }

    /// The first time the agent is held back.
    pub fn first_refusal(&self) -> Option<&Trip> {
        self.trips.iter().find(|trip| trip.severity.refuses())
    }
}

/// A session that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedSession {
    /// Its name.
    pub session: String,
    /// Tool calls, without echoes.
    pub calls: u64,
    /// What a person asked.
    pub prompts: u64,
    /// What it cost, in millionths of a dollar, as far as that is known.
    pub micros: Option<u64>,
    /// The last instant it tells.
    pub ended: Option<Instant>,
    /// For each policy, what came of it.
    pub judged: Vec<Judged>,
}

/// A call that has not ended.
#[derive(Debug)]
struct Flight {
    identity: Digest,
    number: u64,
    commits: bool,
}

/// What was said before, so that it is not listed again.
#[derive(Debug)]
struct Told {
    circuit: CircuitName,
    code: &'static str,
    severity: Severity,
    key: Option<Digest>,
    incident: Option<String>,
    count: u32,
    micros: Option<u64>,
}

/// A session being read.
#[derive(Debug)]
pub struct Watch {
    session: String,
    calls: u64,
    prompts: u64,
    micros: Option<u64>,
    ended: Option<Instant>,
    flights: BTreeMap<String, Flight>,
    /// Of whom, with which action.
    answers: VecDeque<(Option<String>, Digest, Evidence)>,
    committed: Option<u64>,
    judged: Vec<(Judged, Vec<Told>)>,
}

impl Watch {
    pub fn new(session: &str, policies: usize) -> Self {
        Self {
            session: session.to_owned(),
            calls: 0,
            prompts: 0,
            micros: None,
            ended: None,
            flights: BTreeMap::new(),
            answers: VecDeque::new(),
            committed: None,
            judged: (0..policies).map(|_| (Judged::default(), Vec::new())).collect(),
        }
    }

    pub fn name(&self) -> &str {
        &self.session
    }

    pub fn is_of(&self, session: &str) -> bool {
        self.session == session
    }

    /// Counts what happened, whatever is thought of it.
    pub fn count(&mut self, stream: &Stream, what: &Happening, at: Option<Instant>, is_echo: bool) {
        self.ended = self.ended.max(at);
        match what {
            Happening::ToolStart { call, action, .. } => {
                self.calls += u64::from(!is_echo);
                let commits = action.command.as_deref().is_some_and(|command| command.contains("git commit"));
                if self.flights.len() >= FLIGHTS_MAX
                    && let Some(oldest) = self.flights.iter().min_by_key(|(_, flight)| flight.number)
                {
                    let oldest = oldest.0.clone();
                    self.flights.remove(&oldest);
                }
                let flight = Flight { identity: action.identity, number: self.calls, commits };
                self.flights.insert(call.clone(), flight);
            }
            Happening::ToolEnd { call, answer, .. } => self.answered(stream, call, answer, at, is_echo),
            Happening::Batch { ends } => {
                for end in ends {
                    self.answered(stream, &end.call, &end.answer, at, is_echo);
                }
            }
            Happening::Prompt { by_user, .. } => self.prompts += u64::from(*by_user && !is_echo),
            Happening::Message { cost, .. } => self.spend(*cost, is_echo),
            Happening::SessionStart { .. }
            | Happening::ModelStart
            | Happening::SpawnStart { .. }
            | Happening::SpawnEnd { .. }
            | Happening::Hook { .. }
            | Happening::Stop { .. }
            | Happening::Compaction { .. }
            | Happening::Cleanup { .. }
            | Happening::SessionEnd { .. } => {}
        }
    }

    fn answered(&mut self, stream: &Stream, call: &str, answer: &Answer, at: Option<Instant>, is_echo: bool) {
        self.spend(answer.cost, is_echo);
        let Some(flight) = self.flights.remove(call) else { return };
        if flight.commits && answer.outcome == Outcome::Ok {
            self.committed = self.committed.max(Some(flight.number));
        }
        if self.answers.len() == ANSWERS_MAX {
            self.answers.pop_front();
        }
        let evidence = Evidence { at, answer: answer.shown.clone() };
        self.answers.push_back((stream.agent.clone(), flight.identity, evidence));
    }

    fn spend(&mut self, cost: Option<u64>, is_echo: bool) {
        if let Some(cost) = cost.filter(|_| !is_echo) {
            self.micros = Some(self.micros.unwrap_or_default().saturating_add(cost));
        }
    }

    /// Takes down what was thought of an event, unless it was said before.
    pub fn judge(&mut self, which: usize, event: &Event, decision: &Decision, memory: &Memory, at: Instant) {
        let (severity, reason) = match &decision.verdict {
            Verdict::Pass => return,
            Verdict::Warn(reason) => (Severity::Warn, reason),
            Verdict::Deny(reason) => (Severity::Deny, reason),
            Verdict::Stop(reason) => (Severity::Stop, reason),
        };
        let (stream, identity) = match event {
            Event::Loop { stream, what: Happening::ToolStart { action, .. }, .. } => (stream, Some(action.identity)),
            Event::Loop { stream, .. } => (stream, None),
            Event::Constraint { .. }
            | Event::Attempt { .. }
            | Event::Phase { .. }
            | Event::Claim { .. }
            | Event::Circuits { .. }
            | Event::Revoke { .. }
            | Event::Trust(_) => return,
        };
        let evidence = self.evidence(stream, identity);
        let Some((judged, told)) = self.judged.get_mut(which) else { return };
        if loop_::is_capacity(reason.code) {
            judged.capacity += 1;
            return;
        }
        let (key, count) = about(decision);
        let incident = key.and_then(|key| incident(memory, stream, key));
        let now = Told {
            circuit: reason.circuit.clone(),
            code: reason.code,
            severity,
            key,
            incident,
            count,
            micros: self.micros,
        };
        let before = told.iter_mut().rev().find(|before| before.is_about_the_same(&now));
        if judged.trips.len() >= TRIPS_MAX || before.is_some_and(|before| before.goes_on(&now)) {
            return;
        }
        told.push(now);
        judged.trips.push(Trip {
            // What is said of no call is said after the last one.
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
        });
    }

    /// The last answers to the same action, or to any where it is about several.
    fn evidence(&self, stream: &Stream, identity: Option<Digest>) -> Vec<Evidence> {
        let own = || self.answers.iter().rev().filter(|(agent, _, _)| *agent == stream.agent);
        let same = |own: &&(Option<String>, Digest, Evidence)| Some(own.1) == identity;
        let is_about_one = own().filter(same).count() > 1;
        let picked = own().filter(|answer| !is_about_one || same(answer)).take(EVIDENCE_MAX);
        picked.map(|(_, _, said)| Evidence { at: said.at, answer: storable(&said.answer) }).collect()
    }

    /// The session is over: what followed each trip is known now.
    pub fn over(self) -> ReplayedSession {
        let Self { session, calls, prompts, micros, ended, committed, judged, .. } = self;
        let judged = judged.into_iter().map(|(mut judged, told)| {
            for (trip, told) in judged.trips.iter_mut().zip(told) {
                trip.calls_after = calls.saturating_sub(trip.call);
                trip.micros_after = micros.map(|all| all.saturating_sub(told.micros.unwrap_or_default()));
                trip.is_committed_after = committed.is_some_and(|commit| commit > trip.call);
            }
            judged
        });
        ReplayedSession { session, calls, prompts, micros, ended, judged: judged.collect() }
    }
}

impl Told {
    /// Whether `later` says the same of the same opening.
    fn is_about_the_same(&self, later: &Told) -> bool {
        self.circuit == later.circuit
            && self.code == later.code
            && self.severity == later.severity
            && self.key == later.key
            && self.incident == later.incident
    }

    /// Whether `later` only carries this on. A warning whose count began anew is another one.
    fn goes_on(&mut self, later: &Told) -> bool {
        let goes_on = self.severity.refuses() || later.count > self.count;
        self.count = later.count;
        goes_on
    }
}

/// What a decision refused or warned of, and at which count.
fn about(decision: &Decision) -> (Option<Digest>, u32) {
    let mut about = (None, 0);
    for recorded in &decision.facts {
        let fact = match &recorded.fact {
            Fact::Lane(LaneFact::Board(fact)) | Fact::Tree(TreeFact::Board(fact)) => fact,
            Fact::Lane(_)
            | Fact::Tree(_)
            | Fact::Exempt(_)
            | Fact::Constraint(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_) => {
                continue;
            }
        };
        match fact {
            BoardFact::Warned { key, count, .. } => about = (Some(*key), *count),
            BoardFact::Refused { key, .. } => about = (Some(*key), 0),
            BoardFact::Tripped { .. }
            | BoardFact::Limited { .. }
            | BoardFact::HalfOpened { .. }
            | BoardFact::ProbeTaken { .. }
            | BoardFact::ProbeAbandoned { .. }
            | BoardFact::Recovered { .. }
            | BoardFact::Lapsed { .. }
            | BoardFact::Reset { .. }
            | BoardFact::FalseAlarm { .. } => {}
        }
    }
    about
}

/// The opening that speaks of this, on the board of the agent or of its tree.
fn incident(memory: &Memory, stream: &Stream, key: Digest) -> Option<String> {
    let lane = CircuitName::lane(&stream.session, stream.agent.as_deref());
    let root = memory.state(&lane).and_then(|state| state.as_lane()).and_then(|lane| lane.root.clone());
    let tree = CircuitName::tree(root.as_deref().unwrap_or(&stream.session));
    [lane, tree].iter().filter_map(|row| memory.state(row)?.board()).find_map(|board| {
        let held = board.held.iter().find(|held| held.trip.key == key).map(|held| held.trip.incident.clone());
        held.or_else(|| board.rung(key).and_then(|rung| rung.incident.clone()))
    })
}
