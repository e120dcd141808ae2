//! What a root session and all its sub-agents share: spawns, calls to external services, and the budget (L7).

use serde::{Deserialize, Serialize};

use super::Usage;
use super::budget::{PromptStart, SpendRate};
use super::circuits::{CircuitFact, Circuits};
use crate::Moment;
use crate::circuit::{increment, keep_newest};
use crate::fact::{FactKind, synced, unsynced};
use crate::identity::Digest;

/// A running sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgent {
    pub id: String,
    /// The depth below the main agent, which is 0.
    pub depth: u32,
    /// When it started.
    pub since: Moment,
    /// True if haltline will stop it at its next action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ending: bool,
    /// The identity of the call that started it: its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Digest>,
}

/// A task that failed, or that haltline warned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The identity of the call that gives it to a sub-agent.
    pub identity: Digest,
    /// How often it failed in the same way, in a row.
    #[serde(default)]
    pub failures: u32,
    /// The result of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Digest>,
    /// True if haltline warned that it is given to another sub-agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_warned: bool,
}

/// A spawn that haltline let through and that has not started yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// The call that starts the sub-agent.
    pub call: Digest,
    /// The depth that the sub-agent will have.
    pub depth: u32,
    /// When haltline let it through.
    pub since: Moment,
    /// The identity of the call: the sub-agent's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Digest>,
}

/// What the tree has used of its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Cost in millionths of a dollar, as far as prices are known.
    pub micros: u64,
    /// True if some responses had no known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// True if some responses had a known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_priced: bool,
    /// Tokens, read and written; one that is read from the cache counts as a tenth.
    pub tokens: u64,
    /// Turns with at least one call.
    pub turns: u64,
    /// Calls, while a budget counts them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u64,
}

/// The price reserved for a call to an external service that is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub call: Digest,
    pub micros: u64,
}

/// Calls to external services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiCalls {
    /// When the newest calls started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<Moment>,
    /// Number of calls in total.
    pub count: u64,
    /// Cost in millionths of a dollar, as far as prices are known.
    pub micros: u64,
    /// Prices reserved for calls in flight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserved: Vec<Reservation>,
    /// True if some calls had no known price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl ApiCalls {
    /// The cost so far plus all reserved prices.
    pub fn committed(&self) -> u64 {
        self.reserved.iter().fold(self.micros, |sum, one| sum.saturating_add(one.micros))
    }
}

/// What all agents of one root session share, folded from facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTree {
    /// When the first event came.
    #[serde(rename = "began")]
    pub first_seen: Moment,
    /// When the last event came that concerned the tree.
    #[serde(rename = "seen")]
    pub last_seen: Moment,
    /// True if the person lifted the spawn limits until the next prompt (L8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bypassed: bool,
    #[serde(rename = "agents", default, skip_serializing_if = "Vec::is_empty")]
    pub sub_agents: Vec<SubAgent>,
    /// Spawns that haltline let through and that have not started yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<Permit>,
    /// Tasks that failed, or that haltline warned of, since the person's last prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// What sub-agents have cost since the last time none was running, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fan_out_micros: u64,
    /// Spawns in total.
    #[serde(default)]
    pub spawns: u64,
    /// Spawns since the person's last prompt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spawns_since_prompt: u64,
    /// The last spawn: the digest of the agent's row, the agent's turn, and when it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_spawn: Option<(Digest, u64, Moment)>,
    #[serde(default)]
    pub api: ApiCalls,
    #[serde(default)]
    pub spent: Spent,
    /// What was used at the last prompt, while a budget counts from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_start: Option<PromptStart>,
    /// How fast the session spends, where prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend_rate: Option<SpendRate>,
    /// Calls that haltline let through after a hard limit so that the agent can save its work.
    #[serde(rename = "saving", default)]
    pub saving_calls_used: u32,
    /// Keys of the limits that haltline has already warned of.
    #[serde(rename = "told", default, skip_serializing_if = "Vec::is_empty")]
    pub warned_limits: Vec<Digest>,
    #[serde(rename = "board", default)]
    pub circuits: Circuits,
}

/// A fact about a tree of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentTreeFact {
    /// The person lifted the spawn limits, or a prompt restored them.
    Bypass {
        /// True if the limits are lifted.
        on: bool,
    },
    /// The person wrote a prompt, so the spawns since the last one no longer count.
    Prompted,
    /// haltline let a spawn through.
    Permitted {
        permit: Permit,
        /// Digest of the row of the agent that spawns.
        #[serde(rename = "lane")]
        agent: Digest,
        /// That agent's turn.
        turn: u64,
    },
    /// A spawn that haltline had let through did not happen.
    Refunded { call: Digest },
    /// A spawn that haltline had let through happened, whatever became of the sub-agent.
    PermitUsed { call: Digest },
    #[serde(rename = "agent_began")]
    SubAgentBegan {
        id: String,
        depth: u32,
        /// The call whose permit the sub-agent used, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Digest>,
    },
    #[serde(rename = "agent_ended")]
    SubAgentEnded { id: String },
    /// haltline will stop this sub-agent at its next action.
    #[serde(rename = "agent_ending")]
    SubAgentEnding { id: String },
    /// The agent calls an external service.
    ApiCalled {
        call: Digest,
        /// The price reserved for the call; `None` if unknown.
        micros: Option<u64>,
        /// How many start times the tree keeps.
        keep: u32,
    },
    /// The call's price became known, or the reserved price became final.
    #[serde(rename = "api_settled")]
    ApiCharged {
        call: Digest,
        /// The price; `None` keeps the reserved price.
        micros: Option<u64>,
    },
    /// Model responses were paid for.
    Spent {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// Millionths of a dollar; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micros: Option<u64>,
        /// True if it counts towards the rate of spending.
        #[serde(rename = "paced", default, skip_serializing_if = "std::ops::Not::not")]
        is_paced: bool,
        /// True if a sub-agent got them.
        #[serde(rename = "sub", default, skip_serializing_if = "std::ops::Not::not")]
        is_sub_agent: bool,
    },
    /// A sub-agent failed at its task.
    TaskFailed {
        task: Digest,
        /// Digest of the result.
        result: Digest,
    },
    /// A sub-agent ended its task, after others had failed at it.
    TaskDone { task: Digest },
    /// haltline warned that a task is given to another sub-agent.
    TaskRepeated { task: Digest },
    /// One of the agents started a turn.
    Turn,
    /// One of the agents made a call.
    Called,
    /// The person wrote a prompt, from which a budget counts.
    PromptBudgetBegan,
    /// haltline let a call through after a hard limit so that the agent can save its work.
    Saved,
    /// haltline warned the agent of a limit.
    #[serde(rename = "told")]
    LimitWarned { key: Digest },
    /// A fact about one of the tree's circuits.
    #[serde(rename = "board")]
    Circuit(CircuitFact),
}

impl AgentTreeFact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            AgentTreeFact::Bypass { on: true } => synced("bypassed"),
            AgentTreeFact::Bypass { on: false } => unsynced("bypass_over"),
            AgentTreeFact::Prompted => unsynced("prompted"),
            AgentTreeFact::Permitted { .. } => unsynced("spawn_permitted"),
            AgentTreeFact::Refunded { .. } => unsynced("spawn_refunded"),
            AgentTreeFact::PermitUsed { .. } => unsynced("spawn_used"),
            AgentTreeFact::SubAgentBegan { .. } => unsynced("agent_began"),
            AgentTreeFact::SubAgentEnded { .. } => unsynced("agent_ended"),
            AgentTreeFact::SubAgentEnding { .. } => unsynced("agent_ending"),
            AgentTreeFact::ApiCalled { .. } => unsynced("api_called"),
            AgentTreeFact::ApiCharged { .. } => unsynced("api_settled"),
            AgentTreeFact::Spent { .. } => unsynced("spent"),
            AgentTreeFact::TaskFailed { .. } => unsynced("task_failed"),
            AgentTreeFact::TaskDone { .. } => unsynced("task_done"),
            AgentTreeFact::TaskRepeated { .. } => unsynced("task_repeated"),
            AgentTreeFact::Turn => unsynced("turn"),
            AgentTreeFact::Called => unsynced("called"),
            AgentTreeFact::PromptBudgetBegan => unsynced("prompt_budget_began"),
            AgentTreeFact::Saved => unsynced("saved"),
            AgentTreeFact::LimitWarned { .. } => unsynced("told"),
            AgentTreeFact::Circuit(fact) => fact.kind(),
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// All tokens, read and written.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write]
            .iter()
            .fold(0, |sum, &part| sum.saturating_add(part))
    }

    /// The tokens as a budget counts them: one that is read from the cache counts as a tenth, which is what it costs.
    pub fn weighted_tokens(&self) -> u64 {
        Usage { cache_read: self.cache_read.div_ceil(10), ..*self }.tokens()
    }
}

/// How many sub-agents are kept; more cannot run at once, because each would have cost a model call.
const SUB_AGENTS_MAX: usize = 256;
/// How many tasks are kept.
const TASKS_MAX: usize = 32;

impl AgentTree {
    /// The state of a tree that haltline sees for the first time.
    pub fn new(at: Moment) -> Self {
        Self { first_seen: at, last_seen: at, ..Self::default() }
    }

    /// Number of sub-agents that run or are about to start.
    pub fn live(&self) -> usize {
        self.sub_agents.iter().filter(|agent| !agent.is_ending).count() + self.permits.len()
    }

    /// The depth of an agent; the main agent has depth 0.
    pub fn depth(&self, agent: Option<&str>) -> u32 {
        let known = agent.and_then(|id| self.sub_agents.iter().find(|agent| agent.id == id));
        match (agent, known) {
            (None, _) => 0,
            (Some(_), Some(known)) => known.depth,
            // haltline did not see it start; it is at least one level below the main agent.
            (Some(_), None) => 1,
        }
    }

    /// The state after a fact.
    pub(crate) fn apply(tree: Option<AgentTree>, fact: &AgentTreeFact, at: Moment) -> AgentTree {
        let mut tree = tree.unwrap_or_else(|| AgentTree::new(at));
        tree.last_seen = at;
        match fact {
            AgentTreeFact::Bypass { on } => tree.is_bypassed = *on,
            AgentTreeFact::Permitted { permit, agent, turn } => {
                if tree.live() == 0 {
                    tree.fan_out_micros = 0;
                }
                increment(&mut tree.spawns);
                increment(&mut tree.spawns_since_prompt);
                tree.permits.push(*permit);
                keep_newest(&mut tree.permits, SUB_AGENTS_MAX);
                tree.last_spawn = Some((*agent, *turn, permit.since));
            }
            AgentTreeFact::Prompted => {
                tree.spawns_since_prompt = 0;
                tree.tasks.clear();
            }
            AgentTreeFact::Refunded { call } => {
                let before = tree.permits.len();
                tree.permits.retain(|permit| permit.call != *call);
                if tree.permits.len() < before {
                    tree.spawns = tree.spawns.saturating_sub(1);
                    tree.spawns_since_prompt = tree.spawns_since_prompt.saturating_sub(1);
                }
            }
            AgentTreeFact::PermitUsed { call } => tree.permits.retain(|permit| permit.call != *call),
            AgentTreeFact::SubAgentBegan { id, depth, call } => tree.begin_sub_agent(id, *depth, *call, at),
            AgentTreeFact::SubAgentEnded { id } => tree.sub_agents.retain(|agent| agent.id != *id),
            AgentTreeFact::SubAgentEnding { id } => {
                for agent in tree.sub_agents.iter_mut().filter(|agent| agent.id == *id) {
                    agent.is_ending = true;
                }
            }
            AgentTreeFact::ApiCalled { call, micros, keep } => {
                increment(&mut tree.api.count);
                tree.api.recent.push(at);
                keep_newest(&mut tree.api.recent, *keep as usize);
                match micros {
                    Some(micros) => tree.api.reserved.push(Reservation { call: *call, micros: *micros }),
                    None => tree.api.is_partial = true,
                }
            }
            AgentTreeFact::ApiCharged { call, micros } => {
                let index = tree.api.reserved.iter().position(|one| one.call == *call);
                let reserved = index.map(|index| tree.api.reserved.remove(index).micros);
                let price = micros.or(reserved).unwrap_or_default();
                tree.api.micros = tree.api.micros.saturating_add(price);
                tree.spent.micros = tree.spent.micros.saturating_add(price);
                tree.spent.is_priced |= micros.or(reserved).is_some();
            }
            AgentTreeFact::TaskFailed { task, result } => {
                let task = tree.task(*task);
                task.failures = if task.failure == Some(*result) { task.failures.saturating_add(1) } else { 1 };
                task.failure = Some(*result);
            }
            AgentTreeFact::TaskDone { task } => tree.tasks.retain(|known| known.identity != *task),
            AgentTreeFact::TaskRepeated { task } => tree.task(*task).is_warned = true,
            AgentTreeFact::Spent { tokens, micros, is_paced, is_sub_agent } => {
                if *is_sub_agent {
                    tree.fan_out_micros = tree.fan_out_micros.saturating_add(micros.unwrap_or_default());
                }
                tree.spent.tokens = tree.spent.tokens.saturating_add(tokens.unwrap_or_default());
                match micros {
                    Some(micros) => {
                        tree.spent.micros = tree.spent.micros.saturating_add(*micros);
                        tree.spent.is_priced = true;
                        if *is_paced {
                            tree.spend_rate.get_or_insert_default().add(*micros, at);
                        }
                    }
                    None => tree.spent.is_partial = true,
                }
            }
            AgentTreeFact::Turn => increment(&mut tree.spent.turns),
            AgentTreeFact::Called => increment(&mut tree.spent.calls),
            AgentTreeFact::PromptBudgetBegan => {
                let Spent { micros, tokens, calls, .. } = tree.spent;
                tree.prompt_start = Some(PromptStart { since: at, micros, tokens, calls });
            }
            AgentTreeFact::Saved => tree.saving_calls_used = tree.saving_calls_used.saturating_add(1),
            AgentTreeFact::LimitWarned { key } => tree.warned_limits.push(*key),
            AgentTreeFact::Circuit(fact) => {
                // A circuit that closes empties its window (L5).
                if let CircuitFact::Recovered { .. } | CircuitFact::Reset { .. } | CircuitFact::FalsePositive { .. } =
                    fact
                {
                    tree.api.recent.clear();
                }
                tree.circuits.apply(fact, at);
            }
        }
        tree
    }

    fn task(&mut self, identity: Digest) -> &mut Task {
        let index = self.tasks.iter().position(|task| task.identity == identity).unwrap_or_else(|| {
            self.tasks.push(Task { identity, failures: 0, failure: None, is_warned: false });
            keep_newest(&mut self.tasks, TASKS_MAX);
            self.tasks.len() - 1
        });
        &mut self.tasks[index]
    }

    fn begin_sub_agent(&mut self, id: &str, depth: u32, call: Option<Digest>, at: Moment) {
        let task = call.and_then(|call| self.permits.iter().find(|permit| permit.call == call)?.task);
        if let Some(call) = call {
            self.permits.retain(|permit| permit.call != call);
        }
        if let Some(known) = self.sub_agents.iter_mut().find(|agent| agent.id == id) {
            known.depth = depth;
            return;
        }
        self.sub_agents.push(SubAgent { id: id.to_owned(), depth, since: at, is_ending: false, task });
        keep_newest(&mut self.sub_agents, SUB_AGENTS_MAX);
    }
}
