//! The rows a decision reads, and how facts change them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attempt::{self, Slice};
use crate::claim::{self, Claim, Pipeline};
use crate::constraint::{self, Circuit, CircuitState};
use crate::control::{self, Control};
use crate::ledger::{Ledger, LedgerFact};
use crate::loop_::{
    AgentFact, AgentState, AgentTree, AgentTreeFact, Circuits, ExemptionFact, Exemptions, Provider, ProviderFact,
};
use crate::phase::{self, PhaseRun};
use crate::trust::{self, Trust};
use crate::{CircuitName, Elapsed, Fact, Halt, Moment, Recorded};

/// The state of one row, as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Constraint(Box<Circuit>),
    #[serde(rename = "lane")]
    Agent(Box<AgentState>),
    /// A tree of agents: a root session with its sub-agents.
    Tree(Box<AgentTree>),
    /// The project's list of false positives.
    #[serde(rename = "exempt")]
    Exemptions(Box<Exemptions>),
    Slice(Box<Slice>),
    #[serde(rename = "course")]
    PhaseRun(Box<PhaseRun>),
    Claim(Box<Claim>),
    Pipeline(Box<Pipeline>),
    /// The operator's trust in the project's files.
    Trust(Box<Trust>),
    /// What a person switched for the project or for everything.
    Control(Box<Control>),
    /// What all agents of the machine or the project have used of their budgets.
    Ledger(Box<Ledger>),
    /// The circuits of an account at a model service.
    Provider(Box<Provider>),
}

impl State {
    /// True when losing this state would let through something that is denied or being probed now.
    pub fn is_tripped(&self) -> bool {
        match self {
            State::Constraint(circuit) => matches!(circuit.state, CircuitState::Open(_) | CircuitState::HalfOpen(_)),
            State::Agent(agent) => agent.circuits.has_tripped(),
            State::Tree(tree) => tree.circuits.has_tripped(),
            State::Provider(provider) => provider.circuits.has_tripped(),
            State::Slice(slice) => slice.is_tripped(),
            State::PhaseRun(phase_run) => phase_run.is_tripped(),
            State::Claim(claim) => claim.is_tripped(),
            State::Pipeline(pipeline) => pipeline.is_tripped(),
            State::Exemptions(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => false,
        }
    }

    /// True when nothing has happened to this row for `idle_ms`, so the store may forget it: its session is over. Rows
    /// that people refer to by name are never idle.
    pub fn is_idle(&self, now: Moment, idle_ms: u64) -> bool {
        let last_seen = match self {
            State::Agent(agent) => agent.last_seen,
            State::Tree(tree) => tree.last_seen,
            State::Provider(provider) => provider.last_seen,
            State::Slice(slice) if !slice.is_tripped() => slice.last_seen,
            State::PhaseRun(phase_run) if !phase_run.is_tripped() => phase_run.last_seen,
            State::Constraint(_)
            | State::Exemptions(_)
            | State::PhaseRun(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_)
            | State::Control(_)
            | State::Ledger(_) => return false,
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
            State::Provider(provider) => provider.circuits.generation,
            State::Slice(slice) => slice.generation,
            State::PhaseRun(phase_run) => phase_run.generation,
            State::Claim(claim) => claim.generation,
            State::Pipeline(pipeline) => pipeline.generation,
            State::Exemptions(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => 0,
        }
    }

    /// The circuits of a running session, if the row has any.
    pub fn circuits(&self) -> Option<&Circuits> {
        let of_agent = self.as_agent().map(|agent| &agent.circuits);
        let of_tree = || self.as_tree().map(|tree| &tree.circuits);
        of_agent.or_else(of_tree).or_else(|| self.as_provider().map(|provider| &provider.circuits))
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

/// The state of a row that is folded from facts of one kind.
pub(crate) trait RowState: Sized {
    type Fact: Into<Fact>;

    /// The state after a fact; `None` stands for a row that does not exist yet.
    fn apply(state: Option<Self>, fact: &Self::Fact, at: Moment) -> Self;
}

macro_rules! rows {
    ($($kind:ident($state:ty), $accessor:ident; $fact_kind:ident($fact:ty), $apply:path;)*) => {
        impl State {$(
            pub fn $accessor(&self) -> Option<&$state> {
                if let State::$kind(row) = self { Some(row) } else { None }
            }
        )*}

        $(
            impl From<$fact> for Fact {
                fn from(fact: $fact) -> Self {
                    Fact::$fact_kind(fact)
                }
            }

            impl RowState for $state {
                type Fact = $fact;

                fn apply(state: Option<Self>, fact: &$fact, at: Moment) -> Self {
                    $apply(state, fact, at)
                }
            }
        )*

        /// Returns the state after a fact. A fact of a different kind than the state starts a new state: this happens
        /// only when a store's rows were mixed up, and then the journal is trusted.
        pub fn apply(state: Option<State>, fact: &Fact, at: Moment) -> State {
            match fact {$(
                Fact::$fact_kind(fact) => {
                    let row = if let Some(State::$kind(row)) = state { Some(*row) } else { None };
                    State::$kind(Box::new($apply(row, fact, at)))
                }
            )*}
        }
    };
}

// Each kind of row with its accessor; the facts that change it, and how.
rows! {
    Constraint(Circuit), as_constraint; Constraint(constraint::Fact), constraint::apply;
    Agent(AgentState), as_agent; Agent(AgentFact), AgentState::apply;
    Tree(AgentTree), as_tree; Tree(AgentTreeFact), AgentTree::apply;
    Exemptions(Exemptions), as_exemptions; Exemption(ExemptionFact), Exemptions::apply;
    Slice(Slice), as_slice; Attempt(attempt::Fact), attempt::apply;
    PhaseRun(PhaseRun), as_phase_run; Phase(phase::Fact), phase::apply;
    Claim(Claim), as_claim; Claim(claim::Fact), claim::apply;
    Pipeline(Pipeline), as_pipeline; Pipeline(claim::PipelineFact), claim::apply_pipeline;
    Trust(Trust), as_trust; Trust(trust::Fact), trust::apply;
    Control(Control), as_control; Control(control::Fact), control::apply;
    Ledger(Ledger), as_ledger; Ledger(LedgerFact), Ledger::apply;
    Provider(Provider), as_provider; Provider(ProviderFact), Provider::apply;
}
