//! What a decision is shown, and how facts change it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attempt::{self, Slice};
use crate::claim::{self, Claim, Pipeline};
use crate::constraint::{self, Circuit, Standing};
use crate::loop_::{self, Board, Exempt, Lane, Tree};
use crate::phase::{self, Course};
use crate::trust::{self, Trust};
use crate::{CircuitName, Elapsed, Fact, Moment, Recorded};

/// The state of one circuit, as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A constraint's.
    Constraint(Box<Circuit>),
    /// One agent's stream.
    Lane(Box<Lane>),
    /// A tree of agents.
    Tree(Box<Tree>),
    /// The list of false alarms.
    Exempt(Exempt),
    /// A slice.
    Slice(Box<Slice>),
    /// A course of work.
    Course(Box<Course>),
    /// A claim.
    Claim(Box<Claim>),
    /// A pipeline of claims.
    Pipeline(Box<Pipeline>),
    /// The operator's trust.
    Trust(Trust),
}

impl State {
    /// The constraint's circuit, if it is one.
    pub fn as_constraint(&self) -> Option<&Circuit> {
        if let State::Constraint(circuit) = self { Some(circuit) } else { None }
    }

    /// The agent's stream, if it is one.
    pub fn as_lane(&self) -> Option<&Lane> {
        if let State::Lane(lane) = self { Some(lane) } else { None }
    }

    /// The tree of agents, if it is one.
    pub fn as_tree(&self) -> Option<&Tree> {
        if let State::Tree(tree) = self { Some(tree) } else { None }
    }

    /// The list of false alarms, if it is that.
    pub fn as_exempt(&self) -> Option<&Exempt> {
        if let State::Exempt(list) = self { Some(list) } else { None }
    }

    /// Whether losing this state would let something through that is refused or on trial now.
    pub fn is_held(&self) -> bool {
        match self {
            State::Constraint(circuit) => match circuit.standing {
                Standing::Open(_) | Standing::HalfOpen(_) => true,
                Standing::Closed | Standing::Retired { .. } => false,
            },
            State::Lane(lane) => lane.board.is_held(),
            State::Tree(tree) => tree.board.is_held(),
            State::Slice(slice) => slice.is_held(),
            State::Course(course) => course.is_held(),
            State::Claim(claim) => claim.is_held(),
            State::Pipeline(pipeline) => pipeline.is_held(),
            State::Exempt(_) | State::Trust(_) => false,
        }
    }

    /// Whether nothing was heard of it for so long that it can be forgotten: a session that is over. What people
    /// keep by name is never forgotten.
    pub fn is_idle(&self, now: Moment, idle_ms: u64) -> bool {
        let seen = match self {
            State::Lane(lane) => lane.seen,
            State::Tree(tree) => tree.seen,
            State::Slice(slice) if !slice.is_held() => slice.seen,
            State::Course(course) if !course.is_held() => course.seen,
            State::Constraint(_)
            | State::Exempt(_)
            | State::Course(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_) => return false,
        };
        match now.since(seen) {
            Elapsed::Known(elapsed) => elapsed >= idle_ms,
            Elapsed::Unknown => false,
        }
    }

    /// Rises with every change of state (E12).
    pub fn generation(&self) -> u64 {
        match self {
            State::Constraint(circuit) => circuit.generation,
            State::Lane(lane) => lane.board.generation,
            State::Tree(tree) => tree.board.generation,
            State::Slice(slice) => slice.generation,
            State::Course(course) => course.generation,
            State::Claim(claim) => claim.generation,
            State::Pipeline(pipeline) => pipeline.generation,
            State::Exempt(_) | State::Trust(_) => 0,
        }
    }

    /// The circuits of a running session, where the row has any.
    pub fn board(&self) -> Option<&Board> {
        match self {
            State::Lane(lane) => Some(&lane.board),
            State::Tree(tree) => Some(&tree.board),
            State::Constraint(_)
            | State::Exempt(_)
            | State::Course(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_) => None,
        }
    }

    /// The operator's trust, if it is that.
    pub fn as_trust(&self) -> Option<&Trust> {
        if let State::Trust(trust) = self { Some(trust) } else { None }
    }

    /// The slice, if it is one.
    pub fn as_slice(&self) -> Option<&Slice> {
        if let State::Slice(slice) = self { Some(slice) } else { None }
    }

    /// The claim, if it is one.
    pub fn as_claim(&self) -> Option<&Claim> {
        if let State::Claim(claim) = self { Some(claim) } else { None }
    }

    /// The pipeline of claims, if it is one.
    pub fn as_pipeline(&self) -> Option<&Pipeline> {
        if let State::Pipeline(pipeline) = self { Some(pipeline) } else { None }
    }

    /// The course of work, if it is one.
    pub fn as_course(&self) -> Option<&Course> {
        if let State::Course(course) = self { Some(course) } else { None }
    }
}

/// The rows read so far for one decision. A row that is not there was read and is empty; a row nobody asked for
/// is missing, and the decision asks for it ([`crate::Step::Needs`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    rows: BTreeMap<CircuitName, Option<State>>,
}

impl Memory {
    /// Adds what the store holds under a name.
    pub fn insert(&mut self, name: CircuitName, state: Option<State>) {
        self.rows.insert(name, state);
    }

    /// `None` where nobody has read that row yet.
    pub fn row(&self, name: &CircuitName) -> Option<Option<&State>> {
        self.rows.get(name).map(Option::as_ref)
    }

    /// The state under a name, where the row was read and is not empty.
    pub fn state(&self, name: &CircuitName) -> Option<&State> {
        self.row(name).flatten()
    }

    /// The rows after these facts, as a store would hold them: a replay keeps its sessions here (X3).
    pub fn fold(&mut self, facts: &[Recorded]) {
        for Recorded { circuit, at, fact, .. } in facts {
            let row = self.rows.entry(circuit.clone()).or_default();
            *row = Some(apply(row.take(), fact, *at));
        }
    }
}

/// The state after a fact. Facts of another family than the state's begin a new state: that can only be a
/// store whose rows were mixed up, and the journal is what is believed.
pub fn apply(state: Option<State>, fact: &Fact, at: Moment) -> State {
    match fact {
        Fact::Constraint(fact) => {
            let circuit = if let Some(State::Constraint(circuit)) = state { Some(*circuit) } else { None };
            State::Constraint(Box::new(constraint::apply(circuit, fact, at)))
        }
        Fact::Lane(fact) => {
            let lane = if let Some(State::Lane(lane)) = state { Some(*lane) } else { None };
            State::Lane(Box::new(loop_::apply_lane(lane, fact, at)))
        }
        Fact::Tree(fact) => {
            let tree = if let Some(State::Tree(tree)) = state { Some(*tree) } else { None };
            State::Tree(Box::new(loop_::apply_tree(tree, fact, at)))
        }
        Fact::Exempt(fact) => {
            let list = if let Some(State::Exempt(list)) = state { Some(list) } else { None };
            State::Exempt(loop_::apply_exempt(list, fact))
        }
        Fact::Attempt(fact) => {
            let slice = if let Some(State::Slice(slice)) = state { Some(*slice) } else { None };
            State::Slice(Box::new(attempt::apply(slice, fact, at)))
        }
        Fact::Phase(fact) => {
            let course = if let Some(State::Course(course)) = state { Some(*course) } else { None };
            State::Course(Box::new(phase::apply(course, fact, at)))
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

/// One more, in a row. Only a row that somebody made up is at the end of numbers, and it must not bring the breaker down.
pub(crate) fn rise(number: &mut u64) {
    *number = number.saturating_add(1);
}
