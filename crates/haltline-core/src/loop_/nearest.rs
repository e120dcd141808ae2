//! How near an agent is to its next trip, for those who watch it work. Counts as the decision counts; decides nothing.

use super::pattern::{failed_turns, is_within, repeats};
use super::{Lane, Limits, Pattern, Preset, Tree};
use crate::{Elapsed, Moment};

/// The breaker that would trip first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearness {
    /// Which.
    pub pattern: Pattern,
    /// How much was counted.
    pub count: u32,
    /// What trips it.
    pub limit: u32,
}

/// The breaker that is nearest to its limit; `None` where nothing counts towards any.
pub fn nearest(lane: &Lane, tree: Option<&Tree>, limits: &Limits, now: Moment) -> Option<Nearness> {
    let mut found: Vec<Nearness> = Vec::new();
    let mut add = |pattern, is_watched: bool, count: u32, limit: u32| {
        if is_watched && count > 0 && limit > 0 {
            found.push(Nearness { pattern, count, limit });
        }
    };
    let is_literal = match limits.preset {
        Preset::Literal => true,
        Preset::Default => false,
    };
    let past = lane.since_prompt();
    if let Some(last) = past.iter().rev().find(|call| call.is_known()) {
        let (failures, repeat) = (limits.tool_failure, limits.repeat);
        let is_same = |call: &super::Past| {
            if is_literal {
                call.tool == last.tool
            } else {
                call.identity == last.identity && call.normal == last.normal
            }
        };
        let failed = failed_turns(past, lane.turn, failures.window, is_same);
        add(Pattern::ToolFailure, failures.enabled, failed, failures.threshold);
        // A single call is no repeat yet.
        let times = repeats(past, last.identity);
        add(Pattern::Repeat, repeat.enabled && !is_literal && times > 1, times, repeat.deny);
        let sequence = limits.sequential_tools;
        let row = past.iter().rev().take_while(|call| call.tool == last.tool && call.is_counted()).count();
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        add(Pattern::SequentialTools, sequence.enabled && is_literal, row, sequence.threshold);
    }
    if !is_literal {
        let rut = &lane.rut;
        let same = rut.errors.last().filter(|error| error.calls.len() > 1).map_or(0, |error| error.row);
        // One of each is an ordinary day.
        for (pattern, rungs, count) in [
            (Pattern::SameError, limits.same_error, same),
            (Pattern::Retread, limits.retread, rut.known),
            (Pattern::Stagnation, limits.stagnation, rut.reworded),
            (Pattern::Cascade, limits.cascade, rut.failed),
            (Pattern::Compaction, limits.compaction, lane.compaction.barren),
        ] {
            add(pattern, rungs.enabled && count > 1, count, rungs.deny);
        }
    }
    if let Some(last) = lane.hooks.last() {
        let window = limits.hook_recursion.window;
        let runs = lane.hooks.iter().filter(|run| run.0 == last.0 && is_within(run.1, lane.turn, window)).count();
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        add(Pattern::HookRecursion, limits.hook_recursion.enabled, runs, limits.hook_recursion.threshold);
    }
    add(Pattern::Denials, limits.denials.enabled, lane.denied_in_a_row, limits.denials.in_a_row);
    if let Some(tree) = tree {
        let calls = api_calls_within(tree, limits.external_api.window, now);
        add(Pattern::ExternalApi, limits.external_api.enabled, calls, limits.external_api.threshold);
        let live = u32::try_from(tree.live()).unwrap_or(u32::MAX);
        add(Pattern::AgentSpawn, true, live, limits.agents.concurrent_max);
    }
    // The first of equals is the one listed first above.
    found.into_iter().reduce(|best, other| {
        let share = |one: &Nearness| u64::from(one.count) * 1_000_000 / u64::from(one.limit);
        if share(&other) > share(&best) { other } else { best }
    })
}

/// How many calls of external services count towards the rate.
pub fn api_calls_within(tree: &Tree, window_s: u32, now: Moment) -> u32 {
    let window_ms = u64::from(window_s) * 1000;
    let is_recent = |then: &&Moment| match now.since(**then) {
        Elapsed::Known(elapsed) => elapsed < window_ms,
        // What cannot be compared is counted (E3).
        Elapsed::Unknown => true,
    };
    u32::try_from(tree.api.recent.iter().filter(is_recent).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::Past;
    use super::*;
    use crate::Instant;
    use crate::identity::Digest;

    #[test]
    fn the_breaker_with_the_largest_share_of_its_limit_is_named() {
        let now = Moment::recorded(Instant::from_millis(0));
        let limits = Limits::default();
        let mut lane = Lane::new(now);
        assert_eq!(nearest(&lane, None, &limits, now), None);
        lane.is_prompted = false;
        lane.past = (0..2).map(|_| Past::known(Digest(1), Digest(2), true)).collect();
        lane.past[1].turn = 9;
        lane.turn = 9;
        let repeat = Nearness { pattern: Pattern::Repeat, count: 2, limit: 4 };
        assert_eq!(nearest(&lane, None, &limits, now), Some(repeat));
        lane.denied_in_a_row = 2;
        let denials = Nearness { pattern: Pattern::Denials, count: 2, limit: 3 };
        assert_eq!(nearest(&lane, None, &limits, now), Some(denials));
    }
}
