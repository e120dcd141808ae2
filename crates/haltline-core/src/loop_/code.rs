//! The stable code of an incident, from what it is about: the journal keeps patterns and keys, pages explain codes.

use super::Pattern;
use super::decide::{STOP_HOOK, hook_key, limit_key};
use crate::identity::Digest;

/// The code of an incident.
pub fn code(pattern: Pattern, key: Digest) -> &'static str {
    let is = |name: &str| key == limit_key(name);
    match pattern {
        Pattern::HookRecursion if key == hook_key(STOP_HOOK) => "HL-HOOK-02",
        Pattern::HookRecursion => "HL-HOOK-01",
        Pattern::ToolFailure => "HL-FAIL-01",
        Pattern::SequentialTools => "HL-LOOP-03",
        Pattern::AgentSpawn if is("spacing") => "HL-SPAWN-02",
        Pattern::AgentSpawn if is("concurrent") => "HL-SPAWN-03",
        Pattern::AgentSpawn if is("spawns") => "HL-SPAWN-04",
        Pattern::AgentSpawn if is("depth") => "HL-SPAWN-05",
        Pattern::AgentSpawn if is("stop_oldest") => "HL-SPAWN-06",
        Pattern::AgentSpawn => "HL-SPAWN-01",
        Pattern::ExternalApi if is("api_calls") => "HL-API-02",
        Pattern::ExternalApi if is("api_cost") => "HL-API-03",
        Pattern::ExternalApi => "HL-API-01",
        Pattern::Repeat => "HL-LOOP-01",
        Pattern::Interleaved => "HL-LOOP-04",
        Pattern::Cycle => "HL-LOOP-02",
        Pattern::SameError => "HL-LOOP-05",
        Pattern::FutileWrites => "HL-LOOP-06",
        Pattern::Retread => "HL-LOOP-07",
        Pattern::Stagnation => "HL-LOOP-08",
        Pattern::Cascade => "HL-LOOP-09",
        Pattern::Compaction => "HL-LOOP-10",
        Pattern::CostGrowth => "HL-LOOP-11",
        Pattern::Chanting => "HL-LOOP-12",
        Pattern::Denials => "HL-DENY-01",
        Pattern::Budget => "HL-BUDGET-02",
        Pattern::Constraint => "HL-CON-01",
        Pattern::Tampering => "HL-OWN-01",
    }
}

/// Whether a refusal is about room, not about going in circles: waiting helps, so it is no detection. Such refusals
/// are counted apart.
pub fn is_capacity(code: &str) -> bool {
    code == "HL-SPAWN-03"
}
