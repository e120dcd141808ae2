//! The stable code of an incident. The journal keeps patterns and keys; the docs have a page per code.

use super::Pattern;
use super::decide::{STOP_HOOK, hook_key, limit_key};
use crate::identity::Digest;

/// Limits that have a code of their own within their pattern.
const LIMIT_CODES: [(Pattern, &str, &str); 15] = [
    (Pattern::AgentSpawn, "spacing", "HL-SPAWN-02"),
    (Pattern::AgentSpawn, "concurrent", "HL-SPAWN-03"),
    (Pattern::AgentSpawn, "spawns", "HL-SPAWN-04"),
    (Pattern::AgentSpawn, "depth", "HL-SPAWN-05"),
    (Pattern::AgentSpawn, "stop_oldest", "HL-SPAWN-06"),
    (Pattern::AgentSpawn, "same_task", "HL-SPAWN-07"),
    (Pattern::ExternalApi, "api_calls", "HL-API-02"),
    (Pattern::ExternalApi, "api_cost", "HL-API-03"),
    (Pattern::Budget, "budget prompt", "HL-BUDGET-04"),
    (Pattern::Budget, "budget day", "HL-BUDGET-04"),
    (Pattern::Budget, "budget night", "HL-BUDGET-04"),
    (Pattern::Budget, "budget week", "HL-BUDGET-04"),
    (Pattern::Budget, "budget project", "HL-BUDGET-04"),
    (Pattern::Budget, "budget velocity", "HL-BUDGET-06"),
    (Pattern::Budget, "budget fan_out", "HL-BUDGET-07"),
];

/// The code of an incident with this pattern and circuit key.
pub fn code(pattern: Pattern, key: Digest) -> &'static str {
    if pattern == Pattern::HookRecursion && key == hook_key(STOP_HOOK) {
        return "HL-HOOK-02";
    }
    let limit = LIMIT_CODES.iter().find(|(of, name, _)| *of == pattern && key == limit_key(name));
    limit.map_or_else(|| pattern.row().code, |(_, _, code)| code)
}

/// True if the code stands for a capacity limit: waiting helps, so such a denial is not the detection of a loop and is
/// counted separately.
pub fn is_capacity(code: &str) -> bool {
    code == CAPACITY_CODE
}

/// The code of the only capacity limit: sub-agents at once.
pub const CAPACITY_CODE: &str = "HL-SPAWN-03";
