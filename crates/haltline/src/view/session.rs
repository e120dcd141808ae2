//! Running sessions, as seed 002's dashboard shows them (L11).

use haltline_core::loop_::{Lane, Limits, Standing, Tree, api_calls_within, dollars};
use haltline_core::{CircuitName, Moment};
use serde::Serialize;

use super::incident::cost;

/// The sessions of the last 24 hours.
#[derive(Debug, Serialize)]
pub struct SessionsView {
    /// How many agents' streams were seen.
    pub streams_24h: usize,
    /// Circuits that are not CLOSED.
    pub breakers: Vec<BreakerView>,
    /// What the session seen last uses.
    pub resources: Option<ResourceView>,
    /// Incidents by pattern.
    pub incidents_24h: Vec<PatternView>,
}

/// A circuit that is not CLOSED.
#[derive(Debug, Serialize)]
pub struct BreakerView {
    pub incident: String,
    pub circuit: String,
    pub pattern: &'static str,
    pub state: &'static str,
    pub remaining_s: Option<u64>,
    pub until: String,
    pub level: u32,
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

/// The row of the tree an agent's stream belongs to.
pub fn tree_of(row: &CircuitName, lane: &Lane) -> CircuitName {
    match &lane.root {
        Some(root) => CircuitName::tree(root),
        // The session's part of the name is spelt the same in both.
        None => {
            let session = row.scope().split('/').next().unwrap_or_default();
            CircuitName::stored(format!("tree/{session}"))
        }
    }
}

/// The state of a circuit, and how many seconds are left of its cooldown.
pub fn stands(standing: Standing<'_>, now: Moment) -> (&'static str, Option<u64>) {
    match standing {
        Standing::Open(trip) => ("OPEN", trip.remaining_ms(now).map(|left| left.div_ceil(1000))),
        Standing::Trial(..) | Standing::Probing(_) => ("HALF_OPEN", None),
        Standing::Closed => ("CLOSED", None),
    }
}

impl ResourceView {
    pub fn new(session: &str, tree: &Tree, limits: &Limits, now: Moment) -> Self {
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
