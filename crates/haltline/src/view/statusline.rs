//! The view of `haltline statusline`.

use haltline_core::loop_::{ClosestToTrip, Pattern};
use haltline_engine::CircuitCounts;
use serde::Serialize;

use super::overview::UnclosedView;

/// One line for a status bar, and what it says.
#[derive(Debug, Serialize)]
pub struct StatuslineView {
    pub schema: u32,
    /// `OPEN`, `HALF_OPEN` or `CLOSED` for the whole project; `UNKNOWN` if the store cannot be read.
    pub state: &'static str,
    /// The short part of the line.
    pub segment: String,
    /// The whole line.
    pub text: String,
    #[serde(flatten)]
    pub counts: Option<OpenCountsView>,
    /// The circuits that are not CLOSED, those of this session first.
    pub circuits: Vec<UnclosedView>,
    /// The pattern that is closest to its limit.
    pub near: Option<NearView>,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct OpenCountsView {
    pub open: usize,
    pub half_open: usize,
}

#[derive(Debug, Serialize)]
pub struct NearView {
    pub pattern: &'static str,
    pub count: u32,
    pub limit: u32,
}

impl OpenCountsView {
    pub fn new(counts: CircuitCounts) -> Self {
        Self { open: counts.open, half_open: counts.half_open }
    }
}

impl NearView {
    pub fn new(near: &ClosestToTrip) -> Self {
        Self { pattern: near.pattern.as_str(), count: near.count, limit: near.limit }
    }
}

/// What a pattern counts, in two or three words.
pub fn pattern_words(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::ToolFailure => "same failure",
        Pattern::Repeat | Pattern::Interleaved => "same call and result",
        Pattern::Cycle => "same cycle of calls",
        Pattern::SameError => "same error",
        Pattern::FutileWrites => "same failure after edits",
        Pattern::Retread => "known results",
        Pattern::Stagnation => "same question reworded",
        Pattern::Cascade => "failures in a row",
        Pattern::FruitlessSearches => "searches without results",
        Pattern::SimilarErrors => "same kind of error",
        Pattern::MissingProgram => "missing program",
        Pattern::Compaction => "compactions without news",
        Pattern::CostGrowth => "growing cost",
        Pattern::Chanting => "same words",
        Pattern::CacheMisses => "cache misses",
        Pattern::IdleContinuation => "turns without news",
        Pattern::SequentialTools => "same tool in a row",
        Pattern::HookRecursion => "same hook",
        Pattern::Denials => "permissions denied",
        Pattern::AgentSpawn => "sub-agents at once",
        Pattern::ExternalApi => "API calls",
        Pattern::Budget => "budget",
        Pattern::ProviderLimit => "provider limit",
        Pattern::ProviderOverload => "provider overloaded",
        Pattern::Constraint => "constraint",
        Pattern::Tampering => "tampering",
    }
}
