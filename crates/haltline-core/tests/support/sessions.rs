//! A world of running sessions: agents, their calls, the rows a store would keep, the journal, the clocks.

// Each test file uses its part of this.
#![allow(dead_code, reason = "shared by the loop family and by the slices whose files agents change")]

use std::collections::BTreeMap;

use haltline_core::attempt::Touched;
use haltline_core::identity::{Action, Answer};
use haltline_core::loop_::{BatchEnd, Happening, Lane, Naming, Stream, Tree, Verb};
use haltline_core::{
    Boot, CircuitName, Decision, Event, Fact, Instant, Memory, Operator, Policy, Recorded, Rejection, State, Step,
    Verdict, apply, decide,
};

use crate::clock::Clock;

/// Everything a decision sees, and everything that came of the decisions so far.
#[derive(Clone, Debug)]
pub struct Sessions {
    pub clock: Clock,
    pub policy: Policy,
    /// Who acts.
    pub stream: Stream,
    /// The response that the next calls belong to, where the client says.
    pub message: Option<String>,
    /// The files that the next calls change, where slices are under way.
    pub touched: Vec<Touched>,
    pub rows: BTreeMap<CircuitName, State>,
    pub journal: Vec<Recorded>,
    /// The calls that were named, with what they do and what came back.
    pub calls: BTreeMap<String, (Action, Option<Answer>)>,
    /// How many calls were made, for those that nobody names.
    pub count: u32,
    /// The newest incident and the row it is in.
    pub incident: Option<(CircuitName, String)>,
}

impl Sessions {
    /// New Year 2026, a machine that was just started, a client that marks its batches, and nothing happened.
    pub fn new() -> Self {
        let wall = Instant::parse("2026-01-01T00:00:00Z").expect("a valid instant");
        Self {
            clock: Clock { wall, boot: Some(Boot { id: 1, uptime_ms: 0 }) },
            policy: Policy::default(),
            stream: Stream {
                session: "s1".to_owned(),
                client: "claude-code".to_owned(),
                is_batched: true,
                ..Stream::default()
            },
            message: None,
            touched: Vec::new(),
            rows: BTreeMap::new(),
            journal: Vec::new(),
            calls: BTreeMap::new(),
            count: 0,
            incident: None,
        }
    }

    /// Something happens now. What is decided is committed.
    pub fn tell(&mut self, what: Happening) -> Decision {
        let event = Event::Loop { stream: self.stream.clone(), what, policy: self.policy.digest() };
        match self.handle(&event) {
            Ok(decision) => decision,
            Err(rejection) => unreachable!("what agents do is never rejected: {rejection:?}"),
        }
    }

    /// A person acts on the newest incident, or on all circuits of the agent that is looked at.
    pub fn act(&mut self, verb: impl FnOnce(String) -> Verb) -> Result<Decision, Rejection> {
        let (row, incident) = self.incident.clone().ok_or(Rejection::NoIncident)?;
        self.handle(&Event::Circuits { row, verb: verb(incident), operator: operator() })
    }

    /// A person takes back that the newest incident was a false alarm.
    pub fn revoke(&mut self) -> Result<Decision, Rejection> {
        let (_, incident) = self.incident.clone().ok_or(Rejection::NoIncident)?;
        self.handle(&Event::Revoke { incident, operator: operator() })
    }

    /// A person closes everything of the agent that is looked at.
    pub fn reset_all(&mut self) -> Result<Decision, Rejection> {
        let (row, verb) = (self.lane_name(), Verb::Reset { incident: None });
        self.handle(&Event::Circuits { row, verb, operator: operator() })
    }

    /// Runs a decision as an engine does: with the rows it asks for, and no others.
    pub fn handle(&mut self, event: &Event) -> Result<Decision, Rejection> {
        let now = self.clock.now();
        let mut memory = Memory::default();
        for _round in 0..8 {
            match decide(&memory, &self.policy, event, now) {
                Step::Needs(names) => {
                    for name in names {
                        assert!(memory.row(&name).is_none(), "{name} was given and is asked for again");
                        let state = self.rows.get(&name).cloned();
                        memory.insert(name, state);
                    }
                }
                Step::Decided(decision) => {
                    let again = decide(&memory, &self.policy, event, now);
                    assert_eq!(again, Step::Decided(decision.clone()), "a decision run twice says the same");
                    self.commit(&decision);
                    return Ok(decision);
                }
                Step::Rejected(rejection) => return Err(rejection),
            }
        }
        unreachable!("a decision asks for rows without end: {event:?}")
    }

    fn commit(&mut self, decision: &Decision) {
        for recorded in &decision.facts {
            let state = apply(self.rows.remove(&recorded.circuit), &recorded.fact, recorded.at);
            self.rows.insert(recorded.circuit.clone(), state);
            if let Some(incident) = opened(&recorded.fact) {
                self.incident = Some((recorded.circuit.clone(), incident.to_owned()));
            }
        }
        self.journal.extend(decision.facts.iter().cloned());
    }

    /// A call asks to run.
    pub fn start(&mut self, name: &str, action: Action) -> Decision {
        self.calls.insert(name.to_owned(), (action.clone(), None));
        let (message, touched) = (self.message.clone(), self.touched.clone());
        self.tell(Happening::ToolStart {
            call: name.to_owned(),
            message,
            action: Box::new(action),
            guarded: Vec::new(),
            touched,
            tampering: None,
        })
    }

    /// A call ends.
    pub fn end(&mut self, name: &str, answer: Answer) -> Decision {
        let action = self.calls.get_mut(name).map(|(action, known)| {
            *known = Some(answer.clone());
            Box::new(action.clone())
        });
        self.tell(Happening::ToolEnd { call: name.to_owned(), action, answer: Box::new(answer) })
    }

    /// All calls of a response have ended; those named are listed with what came back.
    pub fn batch(&mut self, names: &[&str]) -> Decision {
        let ends = names.iter().filter_map(|name| {
            let (action, answer) = self.calls.get(*name)?.clone();
            Some(BatchEnd { call: (*name).to_owned(), action, answer: answer? })
        });
        let ends = ends.collect();
        self.tell(Happening::Batch { ends })
    }

    /// A whole call that is alone in its response: it asks, runs if it may, and ends. What counts is the first answer.
    pub fn run(&mut self, action: Action, answer: Answer) -> Decision {
        self.count += 1;
        let is_named = matches!(self.stream.naming, Naming::Own | Naming::Begun);
        let name = if is_named { format!("call {}", self.count) } else { "call".to_owned() };
        let decision = self.start(&name, action);
        if !decision.verdict.refuses() {
            self.end(&name, answer);
        }
        if !is_named {
            self.tell(Happening::ModelStart);
        } else if self.stream.is_batched {
            self.batch(&[&name]);
        }
        decision
    }

    pub fn lane_name(&self) -> CircuitName {
        CircuitName::lane(&self.stream.session, self.stream.agent.as_deref())
    }

    /// The agent that is looked at.
    pub fn lane(&self) -> Option<&Lane> {
        self.rows.get(&self.lane_name()).and_then(State::as_lane)
    }

    /// The tree of the agent that is looked at.
    pub fn tree(&self) -> Option<&Tree> {
        let root = self.lane().and_then(|lane| lane.root.as_deref()).unwrap_or(&self.stream.session);
        self.rows.get(&CircuitName::tree(root)).and_then(State::as_tree)
    }
}

/// The incident that a fact begins.
fn opened(fact: &Fact) -> Option<&str> {
    use haltline_core::loop_::{BoardFact, LaneFact, TreeFact};
    match fact {
        Fact::Lane(LaneFact::Board(fact)) | Fact::Tree(TreeFact::Board(fact)) => match fact {
            BoardFact::Tripped { .. } | BoardFact::Limited { .. } => fact.incident(),
            _later => None,
        },
        _other => None,
    }
}

/// The person of these tests.
pub fn operator() -> Operator {
    Operator { who: "anna".to_owned(), reason: None }
}

/// What a verdict is, with its code.
pub fn show(verdict: &Verdict) -> String {
    match verdict.reason() {
        Some(reason) => format!("{} {}", verdict.word(), reason.code),
        None => verdict.word().to_owned(),
    }
}
