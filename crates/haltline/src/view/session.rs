//! Views of running sessions, as on seed 002's dashboard (L11).

use haltline_core::loop_::{AgentTree, Bound, Limits, api_calls_within, dollars};
use haltline_core::{Elapsed, Instant, Moment};
use haltline_engine::UnclosedCircuit;
use serde::Serialize;

use super::backtest::usd;
use super::incident::cost;

/// The sessions of the last 24 hours.
#[derive(Debug, Serialize)]
pub struct SessionsView {
    /// Number of agents that were active.
    #[serde(rename = "streams_24h")]
    pub agents_24h: usize,
    /// Circuits of sessions that are not CLOSED.
    pub breakers: Vec<TrippedCircuitView>,
    /// What the most recently active session uses.
    pub resources: Option<ResourceView>,
    /// Incidents by pattern.
    pub incidents_24h: Vec<PatternView>,
    /// How often haltline cleaned a memory folder.
    pub memory_cleanups_24h: usize,
    /// The sessions, the most recently active first.
    pub list: Vec<SessionView>,
}

/// One session with its sub-agents.
#[derive(Debug, Serialize)]
pub struct SessionView {
    pub session: String,
    /// When it was last active.
    pub at: String,
    /// Agents of the last 24 hours, sub-agents included.
    pub agents: usize,
    /// What it has cost, as far as prices are known; `None` if no price is known.
    pub cost_usd: Option<f64>,
    /// True if some responses had no known price.
    pub is_cost_partial: bool,
    /// What is used of each configured limit.
    pub budget: Vec<BudgetView>,
}

/// How much of a limit of the budget is used.
#[derive(Debug, Serialize)]
pub struct BudgetView {
    /// `cost_usd`, `tokens`, `turns` or `minutes`.
    pub unit: &'static str,
    pub used: f64,
    /// haltline warns here.
    pub warn: Option<f64>,
    /// haltline denies from here on.
    pub limit: Option<f64>,
}

impl SessionView {
    pub fn new(
        session: &str,
        last: Instant,
        agents: usize,
        tree: Option<&AgentTree>,
        limits: &Limits,
        now: Moment,
    ) -> Self {
        let spent = tree.map(|tree| tree.spent);
        Self {
            session: session.to_owned(),
            at: last.to_string(),
            agents,
            cost_usd: spent.filter(|spent| spent.is_priced).map(|spent| usd(spent.micros)),
            is_cost_partial: spent.is_some_and(|spent| spent.is_partial),
            budget: tree.map(|tree| budget(tree, limits, now)).unwrap_or_default(),
        }
    }
}

/// A unit, what is used of it, its limits, and how its number is shown.
type BudgetRow = (&'static str, u64, Bound, fn(u64) -> f64);

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn budget(tree: &AgentTree, limits: &Limits, now: Moment) -> Vec<BudgetView> {
    let budget = &limits.budget;
    let minutes = match now.since(tree.first_seen) {
        Elapsed::Known(millis) => millis / 60_000,
        Elapsed::Unknown => 0,
    };
    let plain = |number: u64| number as f64;
    let rows: [BudgetRow; 4] = [
        ("cost_usd", tree.spent.micros, budget.micros, usd),
        ("tokens", tree.spent.tokens, budget.tokens, plain),
        ("turns", tree.spent.turns, budget.turns, plain),
        ("minutes", minutes, budget.minutes, plain),
    ];
    let is_set = |bound: Bound| bound.soft.is_some() || bound.hard.is_some();
    let set = rows.into_iter().filter(|(_, _, bound, _)| is_set(*bound));
    set.map(|(unit, used, bound, number)| BudgetView {
        unit,
        used: number(used),
        warn: bound.soft.map(number),
        limit: bound.hard.map(number),
    })
    .collect()
}

/// A circuit that is not CLOSED.
#[derive(Debug, Serialize)]
pub struct TrippedCircuitView {
    pub incident: String,
    pub circuit: String,
    pub pattern: &'static str,
    pub state: &'static str,
    pub remaining_s: Option<u64>,
    /// When the cooldown ends; `None` for a limit.
    pub until: Option<String>,
    #[serde(rename = "level")]
    pub streak: u32,
    pub turn: Option<u64>,
    pub why: Option<String>,
}

impl TrippedCircuitView {
    /// The view of a session's circuit.
    pub fn new(circuit: &UnclosedCircuit) -> Self {
        let incident = &circuit.incident;
        Self {
            incident: incident.id.clone(),
            circuit: incident.circuit().to_string(),
            pattern: incident.pattern.unwrap_or_default(),
            state: incident.state.as_str(),
            remaining_s: circuit.remaining_ms.map(|left| left.div_ceil(1000)),
            until: incident.until.filter(|_| circuit.remaining_ms.is_some()).as_ref().map(Instant::to_string),
            streak: incident.streak,
            turn: incident.turn,
            why: incident.reason.clone(),
        }
    }
}

/// What a session with its sub-agents uses.
#[derive(Debug, Serialize)]
pub struct ResourceView {
    pub session: String,
    pub agents: u32,
    pub agents_max: u32,
    pub spawns: u64,
    pub spawns_max: u32,
    /// Sub-agents that were started since the last prompt.
    pub spawns_since_prompt: u64,
    /// 0 if there is no such limit.
    pub spawns_per_prompt_max: u32,
    pub api_calls: u32,
    pub api_calls_max: u32,
    pub api_window_s: u32,
    /// `unknown`, or dollars.
    pub api_cost: String,
    pub api_cost_warn: String,
    pub session_cost: String,
    /// Cost of calls to external services, as far as prices are known.
    pub api_cost_usd: f64,
    /// Cost of the session; `None` if no price is known.
    pub cost_usd: Option<f64>,
}

/// How often a pattern tripped.
#[derive(Debug, Serialize)]
pub struct PatternView {
    pub pattern: &'static str,
    pub incidents: usize,
    /// A limit was reached: agents, external services, budget.
    pub is_resource: bool,
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
            spawns_max: limits.agents.session_spawns_max(limits.preset).unwrap_or_default(),
            spawns_since_prompt: tree.spawns_since_prompt,
            spawns_per_prompt_max: limits.agents.prompt_spawns_max(limits.preset).unwrap_or_default(),
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
            api_cost_usd: usd(api.committed()),
            cost_usd: Some(tree.spent).filter(|spent| spent.is_priced).map(|spent| usd(spent.micros)),
        }
    }
}
