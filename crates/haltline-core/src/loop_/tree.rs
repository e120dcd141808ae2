//! What a root session and all its sub-agents share: spawns, calls of external services, the budget (L7).

use serde::{Deserialize, Serialize};

use super::Usage;
use super::board::{Board, BoardFact};
use crate::Moment;
use crate::identity::Digest;
use crate::memory::rise;

/// A sub-agent that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub id: String,
    /// How deep below the main agent.
    pub depth: u32,
    /// Since when.
    pub since: Moment,
    /// It is told to end at its next action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ending: bool,
}

/// A spawn that was let through and has not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// The call that starts it.
    pub call: Digest,
    /// How deep it will be.
    pub depth: u32,
    /// Since when.
    pub since: Moment,
}

/// What was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Millionths of a dollar, as far as they are known.
    pub micros: u64,
    /// Some responses had no known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// Some responses had a known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_priced: bool,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Turns with calls.
    pub turns: u64,
}

/// A call of an external service whose price was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// The call.
    pub call: Digest,
    /// What was set aside.
    pub micros: u64,
}

/// Calls of external services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiCalls {
    /// The newest ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<Moment>,
    /// In all.
    pub count: u64,
    /// What they cost, as far as it is known.
    pub micros: u64,
    /// Set aside for calls in flight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserved: Vec<Reservation>,
    /// Some had no known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl ApiCalls {
    /// What they cost, with what is set aside.
    pub fn committed(&self) -> u64 {
        self.reserved.iter().fold(self.micros, |sum, one| sum.saturating_add(one.micros))
    }
}

/// A tree of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The first event.
    pub began: Moment,
    /// The last one that concerned the tree.
    pub seen: Moment,
    /// The user lifted the spawn limits until the next prompt (L8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bypassed: bool,
    /// Sub-agents that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// Spawns that were let through and have not begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<Permit>,
    /// Spawns in all.
    #[serde(default)]
    pub spawns: u64,
    /// The last spawn: whose, in which of its turns, when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_spawn: Option<(Digest, u64, Moment)>,
    /// External services.
    #[serde(default)]
    pub api: ApiCalls,
    /// The budget.
    #[serde(default)]
    pub spent: Spent,
    /// Calls that saved work after a hard limit.
    #[serde(default)]
    pub saving: u32,
    /// Limits that were warned of already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Digest>,
    /// Its circuits.
    #[serde(default)]
    pub board: Board,
}

/// What became true of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeFact {
    /// The user lifted the spawn limits, or a prompt put them back.
    Bypass {
        /// Lifted.
        on: bool,
    },
    /// A spawn was let through.
    Permitted {
        /// It.
        permit: Permit,
        /// Whose spawn it is.
        lane: Digest,
        /// In which of its turns.
        turn: u64,
    },
    /// A spawn that was let through did not happen.
    Refunded {
        /// The call.
        call: Digest,
    },
    /// A spawn that was let through took place, whatever became of the agent.
    PermitUsed {
        /// The call.
        call: Digest,
    },
    /// A sub-agent began.
    AgentBegan {
        /// Its name.
        id: String,
        /// How deep.
        depth: u32,
        /// The permit it used, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Digest>,
    },
    /// A sub-agent ended.
    AgentEnded {
        /// Its name.
        id: String,
    },
    /// A sub-agent is told to end.
    AgentEnding {
        /// Its name.
        id: String,
    },
    /// An external service is called.
    ApiCalled {
        /// The call.
        call: Digest,
        /// What is set aside for it; `None` is unknown.
        micros: Option<u64>,
        /// How many instants are kept.
        keep: u32,
    },
    /// The call's price is known, or what was set aside is final.
    ApiSettled {
        /// The call.
        call: Digest,
        /// The price; `None` leaves what was set aside.
        micros: Option<u64>,
    },
    /// Model responses were paid for.
    Spent {
        /// Tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// Millionths of a dollar; `None` is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micros: Option<u64>,
    },
    /// A turn of any of its agents.
    Turn,
    /// Work was saved after a hard limit.
    Saved,
    /// A soft limit was told.
    Told {
        /// Which.
        key: Digest,
    },
    /// Of one of its circuits.
    Board(BoardFact),
}

impl TreeFact {
    /// Whether it must be on disk before it is answered.
    pub fn is_momentous(&self) -> bool {
        match self {
            TreeFact::Board(fact) => fact.is_momentous(),
            TreeFact::Bypass { on } => *on,
            TreeFact::Permitted { .. }
            | TreeFact::Refunded { .. }
            | TreeFact::PermitUsed { .. }
            | TreeFact::AgentBegan { .. }
            | TreeFact::AgentEnded { .. }
            | TreeFact::AgentEnding { .. }
            | TreeFact::ApiCalled { .. }
            | TreeFact::ApiSettled { .. }
            | TreeFact::Spent { .. }
            | TreeFact::Turn
            | TreeFact::Saved
            | TreeFact::Told { .. } => false,
        }
    }

    /// The word for it in listings.
    pub fn word(&self) -> &'static str {
        match self {
            TreeFact::Bypass { on: true } => "bypassed",
            TreeFact::Bypass { on: false } => "bypass_over",
            TreeFact::Permitted { .. } => "spawn_permitted",
            TreeFact::Refunded { .. } => "spawn_refunded",
            TreeFact::PermitUsed { .. } => "spawn_used",
            TreeFact::AgentBegan { .. } => "agent_began",
            TreeFact::AgentEnded { .. } => "agent_ended",
            TreeFact::AgentEnding { .. } => "agent_ending",
            TreeFact::ApiCalled { .. } => "api_called",
            TreeFact::ApiSettled { .. } => "api_settled",
            TreeFact::Spent { .. } => "spent",
            TreeFact::Turn => "turn",
            TreeFact::Saved => "saved",
            TreeFact::Told { .. } => "told",
            TreeFact::Board(fact) => fact.word(),
        }
    }
}

impl Usage {
    /// All tokens, read and written.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write]
            .iter()
            .fold(0, |sum, &part| sum.saturating_add(part))
    }
}

/// No tree remembers more agents at once: each would have cost a model call.
const AGENTS_MAX: usize = 256;

impl Tree {
    /// A tree nobody has seen yet.
    pub fn new(at: Moment) -> Self {
        Self {
            began: at,
            seen: at,
            is_bypassed: false,
            agents: Vec::new(),
            permits: Vec::new(),
            spawns: 0,
            last_spawn: None,
            api: ApiCalls::default(),
            spent: Spent::default(),
            saving: 0,
            told: Vec::new(),
            board: Board::default(),
        }
    }

    /// Sub-agents that run or are about to.
    pub fn live(&self) -> usize {
        self.agents.iter().filter(|agent| !agent.is_ending).count() + self.permits.len()
    }

    /// How deep an agent is; the main one is 0.
    pub fn depth(&self, agent: Option<&str>) -> u32 {
        let known = agent.and_then(|id| self.agents.iter().find(|agent| agent.id == id));
        match (agent, known) {
            (None, _) => 0,
            (Some(_), Some(known)) => known.depth,
            // Nobody saw it begin; it is below the main agent at least.
            (Some(_), None) => 1,
        }
    }

    /// The tree after a fact.
    pub(super) fn apply(tree: Option<Tree>, fact: &TreeFact, at: Moment) -> Tree {
        let mut tree = tree.unwrap_or_else(|| Tree::new(at));
        tree.seen = at;
        match fact {
            TreeFact::Bypass { on } => tree.is_bypassed = *on,
            TreeFact::Permitted { permit, lane, turn } => {
                rise(&mut tree.spawns);
                tree.permits.push(*permit);
                tree.permits.drain(..tree.permits.len().saturating_sub(AGENTS_MAX));
                tree.last_spawn = Some((*lane, *turn, permit.since));
            }
            TreeFact::Refunded { call } => {
                let before = tree.permits.len();
                tree.permits.retain(|permit| permit.call != *call);
                if tree.permits.len() < before {
                    tree.spawns = tree.spawns.saturating_sub(1);
                }
            }
            TreeFact::PermitUsed { call } => tree.permits.retain(|permit| permit.call != *call),
            TreeFact::AgentBegan { id, depth, call } => tree.begin(id, *depth, *call, at),
            TreeFact::AgentEnded { id } => tree.agents.retain(|agent| agent.id != *id),
            TreeFact::AgentEnding { id } => {
                for agent in tree.agents.iter_mut().filter(|agent| agent.id == *id) {
                    agent.is_ending = true;
                }
            }
            TreeFact::ApiCalled { call, micros, keep } => {
                rise(&mut tree.api.count);
                tree.api.recent.push(at);
                let excess = tree.api.recent.len().saturating_sub(*keep as usize);
                tree.api.recent.drain(..excess);
                match micros {
                    Some(micros) => tree.api.reserved.push(Reservation { call: *call, micros: *micros }),
                    None => tree.api.is_partial = true,
                }
            }
            TreeFact::ApiSettled { call, micros } => {
                let place = tree.api.reserved.iter().position(|one| one.call == *call);
                let reserved = place.map(|place| tree.api.reserved.remove(place).micros);
                let price = micros.or(reserved).unwrap_or_default();
                tree.api.micros = tree.api.micros.saturating_add(price);
                tree.spent.micros = tree.spent.micros.saturating_add(price);
                tree.spent.is_priced |= micros.or(reserved).is_some();
            }
            TreeFact::Spent { tokens, micros } => {
                tree.spent.tokens = tree.spent.tokens.saturating_add(tokens.unwrap_or_default());
                match micros {
                    Some(micros) => {
                        tree.spent.micros = tree.spent.micros.saturating_add(*micros);
                        tree.spent.is_priced = true;
                    }
                    None => tree.spent.is_partial = true,
                }
            }
            TreeFact::Turn => rise(&mut tree.spent.turns),
            TreeFact::Saved => tree.saving = tree.saving.saturating_add(1),
            TreeFact::Told { key } => tree.told.push(*key),
            TreeFact::Board(fact) => {
                match fact {
                    // A circuit that closes empties its window (L5).
                    BoardFact::Recovered { .. } | BoardFact::Reset { .. } | BoardFact::FalseAlarm { .. } => {
                        tree.api.recent.clear();
                    }
                    BoardFact::Warned { .. }
                    | BoardFact::Tripped { .. }
                    | BoardFact::Limited { .. }
                    | BoardFact::HalfOpened { .. }
                    | BoardFact::ProbeTaken { .. }
                    | BoardFact::ProbeAbandoned { .. }
                    | BoardFact::Lapsed { .. }
                    | BoardFact::Refused { .. } => {}
                }
                tree.board.apply(fact, at);
            }
        }
        tree
    }

    fn begin(&mut self, id: &str, depth: u32, call: Option<Digest>, at: Moment) {
        if let Some(call) = call {
            self.permits.retain(|permit| permit.call != call);
        }
        if let Some(known) = self.agents.iter_mut().find(|agent| agent.id == id) {
            known.depth = depth;
            return;
        }
        self.agents.push(Agent { id: id.to_owned(), depth, since: at, is_ending: false });
        self.agents.drain(..self.agents.len().saturating_sub(AGENTS_MAX));
    }
}
