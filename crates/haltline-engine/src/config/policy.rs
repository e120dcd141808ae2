//! Which value of the policy a key is.
//!
//! Only keys that somebody set are written; the rest is what the core has built in, and a test holds the two equal.

use haltline_core::claim;
use haltline_core::constraint;
use haltline_core::loop_::{Denials, OnFull, Preset, Rungs, Windowed};
use haltline_core::phase::{Thresholds, Weights};
use haltline_core::{Mode, Policy};

use super::key::Value;

/// Writes one key's value into the policy. Keys that decisions do not see are passed over.
pub fn set(policy: &mut Policy, name: &str, value: &Value) {
    let (table, field) = name.rsplit_once('.').unwrap_or(("", name));
    let loops = &mut policy.loop_;
    match table {
        "" if field == "mode" => policy.mode = if is(value, "observe") { Mode::Observe } else { Mode::Enforce },
        "constraint" => set_constraint(&mut policy.constraint, field, value),
        "loop" => match field {
            "preset" => loops.preset = if is(value, "literal") { Preset::Literal } else { Preset::Default },
            "pollers" => loops.pollers = texts(value),
            "probe_lease_seconds" => loops.probe_lease_s = number(value),
            _other => {}
        },
        "loop.hook_recursion" => set_windowed(&mut loops.hook_recursion, field, value),
        "loop.tool_failure" => set_windowed(&mut loops.tool_failure, field, value),
        "loop.sequential_tools" => set_windowed(&mut loops.sequential_tools, field, value),
        "loop.agent_spawn" => set_windowed(&mut loops.agent_spawn, field, value),
        "loop.external_api" => match field {
            "session_max" => loops.api.calls_max = number(value),
            "usd_per_call" => loops.api.call_micros = micros(value),
            "commands" => loops.api.commands = texts(value),
            "tools" => loops.api.tools = texts(value),
            _pattern => set_windowed(&mut loops.external_api, field, value),
        },
        "loop.repeat" => set_rungs(&mut loops.repeat, field, value),
        "loop.cycle" => set_rungs(&mut loops.cycle, field, value),
        "loop.interleaved" => set_rungs(&mut loops.interleaved, field, value),
        "loop.same_error" => set_rungs(&mut loops.same_error, field, value),
        "loop.futile_writes" => set_rungs(&mut loops.futile_writes, field, value),
        "loop.retread" => set_rungs(&mut loops.retread, field, value),
        "loop.stagnation" => set_rungs(&mut loops.stagnation, field, value),
        "loop.cascade" => set_rungs(&mut loops.cascade, field, value),
        "loop.compaction" => set_rungs(&mut loops.compaction, field, value),
        "loop.cost_growth" => set_rungs(&mut loops.cost_growth, field, value),
        "loop.chanting" => set_rungs(&mut loops.chanting, field, value),
        "loop.denials" => set_denials(&mut loops.denials, field, value),
        "agents" => set_agents(policy, field, value),
        "api" => match field {
            "cost_warn_usd" => loops.api.warn_micros = micros(value).unwrap_or_default(),
            "cost_block_usd" => loops.api.deny_micros = micros(value).unwrap_or_default(),
            _other => {}
        },
        "budget" => set_budget(policy, field, value),
        "memory" if field == "tool_history_max" => loops.history_max = number(value),
        "phase.red" => set_thresholds(&mut policy.phase.red, field, value),
        "phase.green" => set_thresholds(&mut policy.phase.green, field, value),
        "phase.refactor" => set_thresholds(&mut policy.phase.refactor, field, value),
        "phase.document" => set_thresholds(&mut policy.phase.document, field, value),
        "phase.qa" => set_thresholds(&mut policy.phase.qa, field, value),
        "phase.other" => set_thresholds(&mut policy.phase.other, field, value),
        "claim" => set_claim(&mut policy.claim, field, value),
        "run" if field == "neutral_max" => policy.phase.neutral = number(value),
        "run" => set_thresholds(&mut policy.phase.run, field, value),
        "run.progress" => set_weights(&mut policy.phase.weights, field, value),
        _not_for_decisions => {}
    }
}

fn set_thresholds(thresholds: &mut Thresholds, field: &str, value: &Value) {
    match field {
        "no_progress_threshold" => thresholds.no_progress = number(value),
        "same_error_threshold" => thresholds.same_error = number(value),
        _other => {}
    }
}

fn set_claim(limits: &mut claim::Limits, field: &str, value: &Value) {
    match (field, value) {
        ("circuit_breaker_rounds", value) => limits.circuit_breaker_rounds = number(value),
        ("circuit_breaker_rounds_reason", Value::Text(text)) => limits.circuit_breaker_rounds_reason.clone_from(text),
        ("final_stage", Value::Text(text)) => limits.final_stage.clone_from(text),
        _other => {}
    }
}

fn set_weights(weights: &mut Weights, field: &str, value: &Value) {
    let weight = match field {
        "commits" => &mut weights.commits,
        "staged" => &mut weights.staged,
        "unstaged" => &mut weights.unstaged,
        "untracked" => &mut weights.untracked,
        "repositories" => &mut weights.repositories,
        "worktrees" => &mut weights.worktrees,
        "files" => &mut weights.files,
        "tests" => &mut weights.tests,
        "status" => &mut weights.status,
        _enough => &mut weights.enough,
    };
    *weight = number(value);
}

fn set_constraint(limits: &mut constraint::Limits, field: &str, value: &Value) {
    match field {
        "violation_threshold" => limits.violation_threshold = number(value),
        "window_days" => limits.window_days = number(value),
        "cooldown_hours" => limits.cooldown_hours = number(value),
        "dedup_seconds" => limits.dedup_seconds = number(value),
        _not_for_decisions => {}
    }
}

fn set_windowed(pattern: &mut Windowed, field: &str, value: &Value) {
    match field {
        "enabled" => pattern.enabled = flag(value),
        "threshold" => pattern.threshold = number(value),
        "window_turns" | "window_seconds" => pattern.window = number(value),
        "cooldown_base_seconds" => pattern.cooldown_s = number(value),
        _other => {}
    }
}

fn set_rungs(pattern: &mut Rungs, field: &str, value: &Value) {
    match field {
        "enabled" => pattern.enabled = flag(value),
        "warn" => pattern.warn = number(value),
        "deny" => pattern.deny = number(value),
        "cooldown_base_seconds" => pattern.cooldown_s = number(value),
        _other => {}
    }
}

fn set_denials(pattern: &mut Denials, field: &str, value: &Value) {
    match field {
        "enabled" => pattern.enabled = flag(value),
        "in_a_row" => pattern.in_a_row = number(value),
        "of_recent" => pattern.of_recent = number(value),
        "recent" => pattern.recent = number(value),
        "cooldown_base_seconds" => pattern.cooldown_s = number(value),
        _other => {}
    }
}

fn set_agents(policy: &mut Policy, field: &str, value: &Value) {
    let agents = &mut policy.loop_.agents;
    match field {
        "max_concurrent" => agents.concurrent_max = number(value),
        "max_per_session" => agents.spawns_max = number(value),
        "max_depth" => agents.depth_max = number(value),
        "spawn_cooldown_seconds" => agents.spacing_s = number(value),
        "on_full" => agents.on_full = if is(value, "stop_oldest") { OnFull::StopOldest } else { OnFull::Deny },
        _other => {}
    }
}

/// Zero is no limit.
fn set_budget(policy: &mut Policy, field: &str, value: &Value) {
    let budget = &mut policy.loop_.budget;
    let limit = micros(value).unwrap_or_else(|| number(value).into());
    let limit = (limit > 0).then_some(limit);
    match field {
        "usd_soft" => budget.micros.soft = limit,
        "usd_hard" => budget.micros.hard = limit,
        "tokens_soft" => budget.tokens.soft = limit,
        "tokens_hard" => budget.tokens.hard = limit,
        "turns_soft" => budget.turns.soft = limit,
        "turns_hard" => budget.turns.hard = limit,
        "minutes_soft" => budget.minutes.soft = limit,
        "minutes_hard" => budget.minutes.hard = limit,
        "saving_calls" => budget.saving_calls = number(value),
        _other => {}
    }
}

/// The number; a key's kind and range were checked when it was read.
pub fn number(value: &Value) -> u32 {
    match value {
        Value::Number(number) => u32::try_from(*number).expect("ranges are within u32"),
        Value::Text(_) | Value::Flag(_) | Value::List(_) | Value::Money(_) | Value::Unknown => 0,
    }
}

fn micros(value: &Value) -> Option<u64> {
    match value {
        Value::Money(micros) => Some(*micros),
        Value::Text(_) | Value::Flag(_) | Value::List(_) | Value::Number(_) | Value::Unknown => None,
    }
}

fn flag(value: &Value) -> bool {
    *value == Value::Flag(true)
}

fn is(value: &Value, word: &str) -> bool {
    matches!(value, Value::Text(text) if text == word)
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(texts) => texts.clone(),
        Value::Text(_) | Value::Flag(_) | Value::Number(_) | Value::Money(_) | Value::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Kind;
    use super::super::keys::KEYS;
    use super::*;

    /// A value the key takes that is not its default.
    fn another(kind: &Kind) -> Value {
        match kind {
            Kind::Number { low, default, .. } => Value::Number(i64::from(if default == low { low + 1 } else { *low })),
            Kind::Choice(choices) => Value::Text(choices[1].to_owned()),
            Kind::Text(_) | Kind::Folder(_) => Value::Text("elsewhere".to_owned()),
            Kind::Flag(flag) => Value::Flag(!flag),
            Kind::List(_) => Value::List(vec!["one".to_owned()]),
            Kind::Prices => Value::List(vec!["model 1 2 3 4".to_owned()]),
            Kind::Money { default, .. } => Value::Money(default + 1),
            Kind::Cost => Value::Money(1),
        }
    }

    #[test]
    fn what_the_keys_have_built_in_is_what_the_core_has() {
        let mut policy = Policy::default();
        KEYS.iter().for_each(|key| set(&mut policy, key.name, &another(&key.kind)));
        assert_ne!(policy, Policy::default());
        KEYS.iter().for_each(|key| set(&mut policy, key.name, &key.default_value()));
        assert_eq!(policy, Policy::default());
    }

    #[test]
    fn every_key_of_a_family_moves_a_value_of_the_policy_of_its_own() {
        let mut seen = Vec::new();
        for key in KEYS {
            let mut policy = Policy::default();
            set(&mut policy, key.name, &another(&key.kind));
            let table = key.name.split('.').next().unwrap_or_default();
            let is_seen_by_decisions = match key.name {
                "mode" | "memory.tool_history_max" => true,
                "constraint.directory" | "constraint.mirror" | "loop.interrupt" | "run.grace_seconds" => false,
                _other => ["constraint", "loop", "agents", "api", "budget", "phase", "claim", "run"].contains(&table),
            };
            assert_eq!(policy != Policy::default(), is_seen_by_decisions, "{}", key.name);
            assert!(!is_seen_by_decisions || !seen.contains(&policy), "{} moves what another key moves", key.name);
            seen.push(policy);
        }
    }
}
