//! Views of running sessions, as on seed 002's dashboard (L11).

use haltline_core::loop_::{AgentState, AgentTree, CircuitState, Limits, api_calls_within, dollars};
use haltline_core::{CircuitName, Moment};
use serde::Serialize;

use super::incident::cost;

/// The sessions of the last 24 hours.
#[derive(Debug, Serialize)]
pub struct SessionsView {
    /// Number of agents that were active.
    #[serde(rename = "streams_24h")]
    pub agents_24h: usize,
    /// Circuits that are not CLOSED.
    pub breakers: Vec<TrippedCircuitView>,
    /// What the most recently active session uses.
    pub resources: Option<ResourceView>,
    /// Incidents by pattern.
    pub incidents_24h: Vec<PatternView>,
}

/// A circuit that is not CLOSED.
#[derive(Debug, Serialize)]
pub struct TrippedCircuitView {
    pub incident: String,
    pub circuit: String,
    pub pattern: &'static str,
    pub state: &'static str,
    pub remaining_s: Option<u64>,
    pub until: String,
    #[serde(rename = "level")]
    pub streak: u32,
    pub turn: Option<u64>,
    pub why: Option<String>,
}

/// What a session with its sub-agents uses.
#[derive(Debug, Serialize)]
pub struct ResourceView {
    pub session: String,
    pub agents: u32,
    pub agents_max: u32,
    pub spawns: u64,
    pub spawns_max: u32,
    pub api_calls: u32,
    pub api_calls_max: u32,
    pub api_window_s: u32,
    /// `unknown`, or dollars.
    pub api_cost: String,
    pub api_cost_warn: String,
    pub session_cost: String,
}

/// How often a pattern tripped.
#[derive(Debug, Serialize)]
pub struct PatternView {
    pub pattern: &'static str,
    pub incidents: usize,
    /// A limit was reached: agents, external services, budget.
    pub is_resource: bool,
}

/// Returns the name of the row of the agent tree that an agent belongs to.
pub fn agent_tree_row(row: &CircuitName, agent: &AgentState) -> CircuitName {
    match &agent.root_session {
        Some(root) => CircuitName::tree(root),
        // The session is spelled the same in both names.
        None => {
            let session = row.scope().split('/').next().unwrap_or_default();
            CircuitName::from_stored(format!("tree/{session}"))
        }
    }
}

/// The name of a circuit's state and the remaining seconds of its cooldown.
pub fn state_name(state: CircuitState<'_>, now: Moment) -> (&'static str, Option<u64>) {
    match state {
        CircuitState::Open(trip) => ("OPEN", trip.remaining_ms(now).map(|left| left.div_ceil(1000))),
        CircuitState::HalfOpen(..) | CircuitState::Probing(_) => ("HALF_OPEN", None),
        CircuitState::Closed => ("CLOSED", None),
    }
}

impl ResourceView {
    pub fn new(session: &str, tree: &AgentTree, limits: &Limits, now: Moment) -> Self {
        let api = &tree.api;
        let spent = dollars(api.committed());
        Self {
            session: session.to_owned(),
            agents: u32::try_from(tree.live()).unwrap_or(u32::MAX),
            agents_max: limits.agents.concurrent_max,
            spawns: tree.spawns,
            spawns_max: limits.agents.spawns_max,
            api_calls: api_calls_within(tree, limits.external_api.window, now),
            api_calls_max: limits.external_api.threshold,
            api_window_s: limits.external_api.window,
            api_cost: match (api.is_partial, api.committed()) {
                (true, 0) => "unknown".to_owned(),
                (true, _) => format!("at least {spent}"),
                (false, _) => spent,
            },
            api_cost_warn: dollars(limits.api.warn_micros),
            session_cost: cost(Some(tree)),
        }
    }
}
