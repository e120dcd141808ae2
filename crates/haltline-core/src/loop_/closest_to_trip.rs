//! How close an agent is to its next trip, for status displays. It counts as the decision counts, and decides nothing.

use super::pattern::{count, failed_turns, repeats};
use super::{AgentState, AgentTree, Limits, Pattern, Preset};
use crate::{Elapsed, Moment};

/// The pattern that is closest to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosestToTrip {
    pub pattern: Pattern,
    pub count: u32,
    /// The count at which the pattern trips.
    pub limit: u32,
}

/// The pattern that is closest to its limit; `None` if nothing counts towards any limit.
pub fn closest_to_trip(
    agent: &AgentState,
    tree: Option<&AgentTree>,
    limits: &Limits,
    now: Moment,
) -> Option<ClosestToTrip> {
    let mut found: Vec<ClosestToTrip> = Vec::new();
    let mut add = |pattern, is_enabled: bool, count: u32, limit: u32| {
        if is_enabled && count > 0 && limit > 0 {
            found.push(ClosestToTrip { pattern, count, limit });
        }
    };
    let is_literal = limits.preset == Preset::Literal;
    let completed = agent.since_prompt();
    if let Some(last) = completed.iter().rev().find(|call| call.has_result()) {
        let (failures, repeat) = (limits.tool_failure, limits.repeat);
        let is_same = |call: &super::CompletedCall| {
            if is_literal { call.tool == last.tool } else { call.is_same(last.identity, last.normal) }
        };
        let failed = failed_turns(completed, agent.turn.number, failures.window, is_same);
        add(Pattern::ToolFailure, failures.enabled, failed, failures.threshold);
        // A single call is not a repeat yet.
        let times = repeats(completed, last.identity);
        add(Pattern::Repeat, repeat.enabled && !is_literal && times > 1, times, repeat.deny);
        let sequence = limits.sequential_tools;
        let newest_first = completed.iter().rev();
        let in_a_row = count(newest_first.take_while(|call| call.tool == last.tool && call.is_counted()));
        add(Pattern::SequentialTools, sequence.enabled && is_literal, in_a_row, sequence.threshold);
    }
    if !is_literal {
        let no_progress = &agent.no_progress;
        let same = no_progress.errors.last().filter(|error| error.calls.len() > 1).map_or(0, |error| error.in_a_row);
        // One of each is normal work.
        for (pattern, warn_deny, count) in [
            (Pattern::SameError, limits.same_error, same),
            (Pattern::Retread, limits.retread, no_progress.known_results),
            (Pattern::Stagnation, limits.stagnation, no_progress.rephrased),
            (Pattern::Cascade, limits.cascade, no_progress.failures),
            (Pattern::FruitlessSearches, limits.fruitless_searches, agent.fruitless_searches.in_a_row),
            (Pattern::Compaction, limits.compaction, agent.compaction.fruitless),
            (
                Pattern::IdleContinuation,
                limits.idle_continuation,
                agent.continuation.idle_fifths / super::continuation::WAIT_FACTOR,
            ),
        ] {
            add(pattern, warn_deny.enabled && count > 1, count, warn_deny.deny);
        }
    }
    if let Some(last) = agent.hook_runs.since_prompt.last() {
        let runs = agent.hook_runs.count(last.0, agent.turn.number, limits.hook_recursion.window);
        add(Pattern::HookRecursion, limits.hook_recursion.enabled, runs, limits.hook_recursion.threshold);
    }
    add(Pattern::Denials, limits.denials.enabled, agent.permission_denials.in_a_row, limits.denials.in_a_row);
    if let Some(tree) = tree {
        let calls = api_calls_within(tree, limits.external_api.window, now);
        add(Pattern::ExternalApi, limits.external_api.enabled, calls, limits.external_api.threshold);
        let live = u32::try_from(tree.live()).unwrap_or(u32::MAX);
        add(Pattern::AgentSpawn, true, live, limits.agents.concurrent_max);
    }
    // Of equal shares, the pattern that was added first wins.
    found.into_iter().reduce(|best, other| {
        let share = |one: &ClosestToTrip| u64::from(one.count) * 1_000_000 / u64::from(one.limit);
        if share(&other) > share(&best) { other } else { best }
    })
}

/// How many calls to external services count towards the rate limit.
pub fn api_calls_within(tree: &AgentTree, window_s: u32, now: Moment) -> u32 {
    let window_ms = u64::from(window_s) * 1000;
    let is_recent = |then: &&Moment| match now.since(**then) {
        Elapsed::Known(elapsed) => elapsed < window_ms,
        // A time that cannot be compared counts as recent (E3).
        Elapsed::Unknown => true,
    };
    count(tree.api.recent.iter().filter(is_recent))
}

#[cfg(test)]
mod tests {
    use super::super::CompletedCall;
    use super::*;
    use crate::Instant;
    use crate::identity::Digest;

    #[test]
    fn the_breaker_with_the_largest_share_of_its_limit_is_named() {
        let now = Moment::from_wall_clock(Instant::from_millis(0));
        let limits = Limits::default();
        let mut agent = AgentState::new(now);
        assert_eq!(closest_to_trip(&agent, None, &limits, now), None);
        agent.has_new_prompt = false;
        agent.completed = (0..2).map(|_| CompletedCall::with_result(Digest(1), Digest(2), true)).collect();
        agent.completed[1].turn = 9;
        agent.turn.number = 9;
        let repeat = ClosestToTrip { pattern: Pattern::Repeat, count: 2, limit: 4 };
        assert_eq!(closest_to_trip(&agent, None, &limits, now), Some(repeat));
        agent.permission_denials.in_a_row = 2;
        let denials = ClosestToTrip { pattern: Pattern::Denials, count: 2, limit: 3 };
        assert_eq!(closest_to_trip(&agent, None, &limits, now), Some(denials));
    }
}
