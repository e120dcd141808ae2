//! The rows a decision reads, and how facts change them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attempt::{self, Slice};
use crate::claim::{self, Claim, Pipeline};
use crate::constraint::{self, Circuit, CircuitState};
use crate::loop_::{self, AgentState, AgentTree, Circuits, Exemptions};
use crate::phase::{self, PhaseRun};
use crate::trust::{self, Trust};
use crate::{CircuitName, Elapsed, Fact, Halt, Moment, Recorded};

/// The state of one row, as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Constraint(Box<Circuit>),
    /// One agent.
    #[serde(rename = "lane")]
    Agent(Box<AgentState>),
    /// A tree of agents: a root session with its sub-agents.
    Tree(Box<AgentTree>),
    /// The project's list of false positives.
    #[serde(rename = "exempt")]
    Exemptions(Exemptions),
    Slice(Box<Slice>),
    #[serde(rename = "course")]
    PhaseRun(Box<PhaseRun>),
    Claim(Box<Claim>),
    /// A pipeline of claims.
    Pipeline(Box<Pipeline>),
    /// The operator's trust in the project's files.
    Trust(Trust),
}

impl State {
    pub fn as_constraint(&self) -> Option<&Circuit> {
        if let State::Constraint(circuit) = self { Some(circuit) } else { None }
    }

    pub fn as_agent(&self) -> Option<&AgentState> {
        if let State::Agent(agent) = self { Some(agent) } else { None }
    }

    pub fn as_tree(&self) -> Option<&AgentTree> {
        if let State::Tree(tree) = self { Some(tree) } else { None }
    }

    pub fn as_exemptions(&self) -> Option<&Exemptions> {
        if let State::Exemptions(exemptions) = self { Some(exemptions) } else { None }
    }

    /// True when losing this state would let through something that is denied or being probed now.
    pub fn is_tripped(&self) -> bool {
        match self {
            State::Constraint(circuit) => match circuit.state {
                CircuitState::Open(_) | CircuitState::HalfOpen(_) => true,
                CircuitState::Closed | CircuitState::Retired { .. } => false,
            },
            State::Agent(agent) => agent.circuits.has_tripped(),
            State::Tree(tree) => tree.circuits.has_tripped(),
            State::Slice(slice) => slice.is_tripped(),
            State::PhaseRun(phase_run) => phase_run.is_tripped(),
            State::Claim(claim) => claim.is_tripped(),
            State::Pipeline(pipeline) => pipeline.is_tripped(),
            State::Exemptions(_) | State::Trust(_) => false,
        }
    }

    /// True when nothing has happened to this row for `idle_ms`, so the store may forget it: its session is over. Rows
    /// that people refer to by name are never idle.
    pub fn is_idle(&self, now: Moment, idle_ms: u64) -> bool {
        let last_seen = match self {
            State::Agent(agent) => agent.last_seen,
            State::Tree(tree) => tree.last_seen,
            State::Slice(slice) if !slice.is_tripped() => slice.last_seen,
            State::PhaseRun(phase_run) if !phase_run.is_tripped() => phase_run.last_seen,
            State::Constraint(_)
            | State::Exemptions(_)
            | State::PhaseRun(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_) => return false,
        };
        match now.since(last_seen) {
            Elapsed::Known(elapsed) => elapsed >= idle_ms,
            Elapsed::Unknown => false,
        }
    }

    /// A number that rises with every change of state (E12).
    pub fn generation(&self) -> u64 {
        match self {
            State::Constraint(circuit) => circuit.generation,
            State::Agent(agent) => agent.circuits.generation,
            State::Tree(tree) => tree.circuits.generation,
            State::Slice(slice) => slice.generation,
            State::PhaseRun(phase_run) => phase_run.generation,
            State::Claim(claim) => claim.generation,
            State::Pipeline(pipeline) => pipeline.generation,
            State::Exemptions(_) | State::Trust(_) => 0,
        }
    }

    /// The circuits of a running session, if the row has any.
    pub fn circuits(&self) -> Option<&Circuits> {
        match self {
            State::Agent(agent) => Some(&agent.circuits),
            State::Tree(tree) => Some(&tree.circuits),
            State::Constraint(_)
            | State::Exemptions(_)
            | State::PhaseRun(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_) => None,
        }
    }

    pub fn as_trust(&self) -> Option<&Trust> {
        if let State::Trust(trust) = self { Some(trust) } else { None }
    }

    pub fn as_slice(&self) -> Option<&Slice> {
        if let State::Slice(slice) = self { Some(slice) } else { None }
    }

    pub fn as_claim(&self) -> Option<&Claim> {
        if let State::Claim(claim) = self { Some(claim) } else { None }
    }

    pub fn as_pipeline(&self) -> Option<&Pipeline> {
        if let State::Pipeline(pipeline) = self { Some(pipeline) } else { None }
    }

    pub fn as_phase_run(&self) -> Option<&PhaseRun> {
        if let State::PhaseRun(phase_run) = self { Some(phase_run) } else { None }
    }
}

/// The rows read so far for one decision. A row with `None` was read and is empty; a row that is missing was never
/// read, and the decision asks for it ([`Halt::Needs`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    rows: BTreeMap<CircuitName, Option<State>>,
}

impl Memory {
    /// Adds what the store holds under a name.
    pub fn insert(&mut self, name: CircuitName, state: Option<State>) {
        self.rows.insert(name, state);
    }

    /// Returns `None` if that row has not been read yet.
    pub fn row(&self, name: &CircuitName) -> Option<Option<&State>> {
        self.rows.get(name).map(Option::as_ref)
    }

    /// Returns the row, which may be empty; if it has not been read yet, the decision halts and asks for it.
    pub fn require(&self, name: &CircuitName) -> Result<Option<&State>, Halt> {
        self.row(name).ok_or_else(|| Halt::Needs(vec![name.clone()]))
    }

    /// Halts the decision and asks for those of these rows that have not been read yet, all at once.
    pub fn require_all(&self, names: &[CircuitName]) -> Result<(), Halt> {
        let missing: Vec<CircuitName> = names.iter().filter(|name| self.row(name).is_none()).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(Halt::Needs(missing)) }
    }

    /// Returns the state under a name if the row was read and is not empty.
    pub fn state(&self, name: &CircuitName) -> Option<&State> {
        self.row(name).flatten()
    }

    /// Applies facts to the rows as a store would. A replay keeps its sessions this way (X3).
    pub fn fold(&mut self, facts: &[Recorded]) {
        for Recorded { circuit, at, fact, .. } in facts {
            let row = self.rows.entry(circuit.clone()).or_default();
            *row = Some(apply(row.take(), fact, *at));
        }
    }
}

/// Returns the state after a fact. A fact of a different kind than the state starts a new state: this happens only
/// when a store's rows were mixed up, and then the journal is trusted.
pub fn apply(state: Option<State>, fact: &Fact, at: Moment) -> State {
    match fact {
        Fact::Constraint(fact) => {
            let circuit = if let Some(State::Constraint(circuit)) = state { Some(*circuit) } else { None };
            State::Constraint(Box::new(constraint::apply(circuit, fact, at)))
        }
        Fact::Agent(fact) => {
            let agent = if let Some(State::Agent(agent)) = state { Some(*agent) } else { None };
            State::Agent(Box::new(loop_::apply_agent(agent, fact, at)))
        }
        Fact::Tree(fact) => {
            let tree = if let Some(State::Tree(tree)) = state { Some(*tree) } else { None };
            State::Tree(Box::new(loop_::apply_tree(tree, fact, at)))
        }
        Fact::Exemption(fact) => {
            let exemptions = if let Some(State::Exemptions(exemptions)) = state { Some(exemptions) } else { None };
            State::Exemptions(loop_::apply_exemptions(exemptions, fact))
        }
        Fact::Attempt(fact) => {
            let slice = if let Some(State::Slice(slice)) = state { Some(*slice) } else { None };
            State::Slice(Box::new(attempt::apply(slice, fact, at)))
        }
        Fact::Phase(fact) => {
            let phase_run = if let Some(State::PhaseRun(phase_run)) = state { Some(*phase_run) } else { None };
            State::PhaseRun(Box::new(phase::apply(phase_run, fact, at)))
        }
        Fact::Claim(fact) => {
            let claim = if let Some(State::Claim(claim)) = state { Some(*claim) } else { None };
            State::Claim(Box::new(claim::apply(claim, fact, at)))
        }
        Fact::Pipeline(fact) => {
            let pipeline = if let Some(State::Pipeline(pipeline)) = state { Some(*pipeline) } else { None };
            State::Pipeline(Box::new(claim::apply_pipeline(pipeline, fact, at)))
        }
        Fact::Trust(fact) => {
            let trust = if let Some(State::Trust(trust)) = state { Some(trust) } else { None };
            State::Trust(trust::apply(trust, fact))
        }
    }
}
