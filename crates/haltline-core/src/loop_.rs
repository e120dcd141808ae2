//! The loop family: tool calls, hooks, spawns and API calls of a running session (seed 002; L1–L13).
//!
//! One row per agent ([`Lane`]) and one per tree of agents ([`Tree`]), each with its own [`Board`] of circuits. A
//! circuit is named by what it is about, so that all patterns on one action share one probe (E13).

mod board;
mod code;
mod compaction;
mod decide;
mod exempt;
mod flight;
mod happening;
mod lane;
mod lane_fact;
mod limits;
mod nearest;
mod operator;
mod past;
mod pattern;
mod rut;
mod speech;
mod tree;
mod words;

pub use board::{Board, BoardFact, Held, Level, Opening, Probe, Rung, Stage, Standing, Step, Trip};
pub use code::{code, is_capacity};
pub use compaction::Compaction;
pub use decide::{Question, decide};
pub use exempt::{Exempt, ExemptFact, Exemption};
pub use flight::{Flight, Traits};
pub use happening::{BatchEnd, Guarded, Happening, Nameless, Naming, Passage, Stream, Usage};
pub use lane::{HookRun, Lane, LaneTotals, Pause};
pub use lane_fact::{Ending, LaneFact, Progress};
pub use limits::{Agents, Api, Bound, Budget, Denials, Limits, OnFull, Preset, Rungs, Windowed};
pub use nearest::{Nearness, api_calls_within, nearest};
pub use operator::{Verb, decide as decide_verb, decide_revoke};
pub use past::Past;
pub use pattern::{Nature, Pattern};
pub use rut::{Error, Rut};
pub use speech::{Chant, Growth};
pub use tree::{Agent, ApiCalls, Permit, Reservation, Spent, Tree, TreeFact};
pub use words::dollars;

use crate::Moment;

/// The stream after a fact.
pub fn apply_lane(lane: Option<Lane>, fact: &LaneFact, at: Moment) -> Lane {
    Lane::apply(lane, fact, at)
}

/// The tree after a fact.
pub fn apply_tree(tree: Option<Tree>, fact: &TreeFact, at: Moment) -> Tree {
    Tree::apply(tree, fact, at)
}

/// The list of false alarms after a fact.
pub fn apply_exempt(list: Option<Exempt>, fact: &ExemptFact) -> Exempt {
    Exempt::apply(list, fact)
}
