//! The patterns of unproductive work, and how each is recognised in an agent's completed calls (L1, L6).
//!
//! Nothing here decides: each function counts and returns the count.

use serde::{Deserialize, Serialize};

use super::CompletedCall;
use crate::identity::Digest;

/// The longest cycle that is searched for.
const PERIOD_MAX: usize = 5;
/// Among how many of the last calls a repeat with other calls in between is searched for.
const RECENT_CALLS: usize = 20;

/// The kinds of trouble that the loop breaker recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Hooks run inside hooks, or a Stop hook keeps the agent going.
    HookRecursion,
    /// The same call fails again and again.
    ToolFailure,
    /// The same call comes in a row.
    SequentialTools,
    /// The agent starts sub-agents too fast, too deep or too many.
    AgentSpawn,
    /// The agent calls external services too often, or they cost too much.
    ExternalApi,
    /// The same call has the same result.
    Repeat,
    /// The same call has the same result, with other calls in between.
    Interleaved,
    /// A few calls come in turn, always the same ones with the same results.
    Cycle,
    /// One call after another gets the same error.
    SameError,
    /// The same call fails in the same way although files were written in between.
    FutileWrites,
    /// The agent makes calls again whose results it already has.
    Retread,
    /// The agent rephrases the same call and gets results that it already has.
    Stagnation,
    /// One call after another fails, whatever the tool.
    Cascade,
    /// One search after another finds nothing.
    FruitlessSearches,
    /// Most calls of a tool get the same kind of error.
    SimilarErrors,
    /// A program that is not there is called again and again.
    MissingProgram,
    /// The conversation is compacted again and again with nothing new in between.
    Compaction,
    /// A response costs many times as much as usual.
    CostGrowth,
    /// The model writes the same text over and over.
    Chanting,
    /// One large prompt after another is not in the model service's cache.
    CacheMisses,
    /// The agent is continued again and again, and no call changes or finds out anything.
    IdleContinuation,
    /// Permission rules deny the agent's calls again and again.
    Denials,
    /// The session's budget is used up.
    Budget,
    /// A model service said that the account has reached its limit.
    ProviderLimit,
    /// A model service is overloaded.
    ProviderOverload,
    /// A constraint guards the action.
    Constraint,
    /// The agent tries to change or control haltline itself.
    Tampering,
}

impl Pattern {
    /// The pattern's stable name in configuration, messages and listings.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    pub fn nature(self) -> Nature {
        self.row().nature
    }
}

/// What kind of trouble a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Work that makes no progress.
    Loop,
    /// Use of more than a limit allows.
    Resource,
    /// An action that a rule forbids.
    Rule,
}

/// How often the newest calls with this identity had the same result without interruption. Calls without a known result
/// are skipped; a different call, or a different result, ends the series.
pub fn repeats(completed: &[CompletedCall], identity: Digest) -> u32 {
    let mut newest_first = completed.iter().rev().filter(|call| call.has_result());
    let Some(last) = newest_first.next().filter(|last| last.identity == identity && last.is_counted()) else {
        return 0;
    };
    if last.is_after_prompt() {
        return 1;
    }
    let (mut count, mut turn) = (1, last.turn);
    for call in newest_first {
        if call.identity != identity || call.normal != last.normal || !call.is_counted() {
            break;
        }
        // The calls of one turn count once.
        count += u32::from(call.turn != turn);
        turn = call.turn;
        if call.is_after_prompt() {
            break;
        }
    }
    count
}

/// How often a call with this identity had the same result among the last calls, whatever came in between. A changed
/// result, of this call or of another call that was made before, is progress and ends the count (L4).
///
/// A cheap question about how things stand, such as `git status`, is asked between other work: any other call that is new
/// ends its count.
pub fn interleaved(completed: &[CompletedCall], identity: Digest, is_status: bool) -> u32 {
    let known: Vec<&CompletedCall> = completed.iter().filter(|call| call.has_result() && call.is_counted()).collect();
    let recent = &known[known.len().saturating_sub(RECENT_CALLS)..];
    let (mut count, mut turn) = (0, None);
    for (index, call) in recent.iter().enumerate().rev() {
        if call.identity == identity && turn.replace(call.turn) != Some(call.turn) {
            count += 1;
        }
        let before = recent[..index].iter().rev().find(|before| before.identity == call.identity);
        let is_other_work = is_status && before.is_none() && call.identity != identity && !call.is_failed();
        if is_other_work || before.is_some_and(|before| before.normal != call.normal) {
            break;
        }
    }
    count
}

/// How often a call with this identity failed in the same way since it last had another result, although something was
/// written in between.
pub fn futile(completed: &[CompletedCall], identity: Digest) -> u32 {
    let mut same = completed.iter().rev().filter(|call| call.identity == identity && call.has_result()).peekable();
    let Some(last) = same.peek().map(|last| last.normal) else { return 0 };
    let is_again = |call: &&CompletedCall| call.is_failed() && call.normal == last && !call.is_circuit_closed_since();
    count(same.take_while(is_again))
}

/// True if time passed on purpose since a call with this identity was last made, so that there is a reason to repeat
/// it: a call waited, or the agent was idle twice lately. A single idle time may be a model that thought for long, and
/// a failure is not fixed by being idle.
///
/// Being idle is a reason only for a call that looks at something that may change by itself: a slow model is no poller.
pub fn has_waited(completed: &[CompletedCall], identity: Digest, is_after_idle: bool, may_poll: bool) -> bool {
    let recent = || completed.iter().rev().take(PERIOD_MAX + 1);
    let since = recent().take_while(|call| call.identity != identity).count() + 1;
    let rests = recent().filter(|call| call.is_after_idle()).count() + usize::from(is_after_idle);
    let has_failed = completed.iter().rev().find(|call| call.has_result()).is_some_and(CompletedCall::is_failed);
    recent().take(since).any(CompletedCall::has_waited) || (may_poll && rests >= 2 && !has_failed)
}

/// A cycle that a call would continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Number of calls in one round.
    pub period: usize,
    /// How many rounds were completed.
    pub rounds: u32,
    /// The cycle's key; it is the same whichever call a round starts with.
    pub key: Digest,
    /// The identities of the calls of one round.
    pub calls: Vec<Digest>,
}

/// The cycle that a call with this identity would continue, if there is one: the same two to five calls in turn, each
/// always with the same result.
pub fn cycle(completed: &[CompletedCall], identity: Digest) -> Option<Cycle> {
    let start = completed.iter().rposition(|call| call.is_after_prompt()).unwrap_or(0);
    let tail: Vec<&CompletedCall> =
        completed[start..].iter().filter(|call| call.has_result() && call.is_counted()).collect();
    for period in 2..=PERIOD_MAX {
        if tail.len() < 2 * period || tail[tail.len() - period].identity != identity {
            continue;
        }
        let same = |a: &CompletedCall, b: &CompletedCall| a.is_same(b.identity, b.normal);
        let long = tail.len();
        let length = period
            + (0..long - period)
                .take_while(|&back| same(tail[long - 1 - back], tail[long - 1 - back - period]))
                .count();
        let round: Vec<Digest> = tail[long - period..].iter().map(|call| call.identity).collect();
        // One call alone is a repeat, and a period of four may be one of two: the shortest period is tried first.
        let is_one_call = tail[long - period..].iter().all(|call| same(call, tail[long - 1]));
        if length < 2 * period || is_one_call {
            continue;
        }
        let rounds = u32::try_from(length / period).unwrap_or(u32::MAX);
        return Some(Cycle { period, rounds, key: rotation(&round), calls: round });
    }
    None
}

/// A digest of a round that is the same whichever call the round starts with.
fn rotation(round: &[Digest]) -> Digest {
    let first = (0..round.len())
        .min_by_key(|&start| -> Vec<Digest> { round[start..].iter().chain(&round[..start]).copied().collect() });
    let start = first.unwrap_or(0);
    let bytes: Vec<u8> = round[start..].iter().chain(&round[..start]).flat_map(|call| call.0.to_be_bytes()).collect();
    Digest::from_parts(&[b"cycle", &bytes])
}

/// In how many of the last `window` turns a call that `fits` selects failed. The calls of one turn count once.
pub fn failed_turns(completed: &[CompletedCall], turn: u64, window: u32, fits: impl Fn(&CompletedCall) -> bool) -> u32 {
    let mut turns: Vec<u64> = completed
        .iter()
        .filter(|call| call.is_failed() && call.is_counted() && is_within(call.turn, turn, window) && fits(call))
        .map(|call| call.turn)
        .collect();
    // A call may end after calls of later turns.
    turns.sort_unstable();
    turns.dedup();
    u32::try_from(turns.len()).unwrap_or(u32::MAX)
}

/// The number of items, capped.
pub fn count(items: impl Iterator) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// True if `then` is the current turn or one of the `window` − 1 turns before it (L3).
pub fn is_within(then: u64, turn: u64, window: u32) -> bool {
    turn.saturating_sub(then) < u64::from(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(identity: u64, normal: u64) -> CompletedCall {
        CompletedCall::with_result(Digest(identity), Digest(normal), false)
    }

    fn row(calls: &[(u64, u64)]) -> Vec<CompletedCall> {
        let mut past: Vec<CompletedCall> = calls.iter().map(|&(identity, normal)| call(identity, normal)).collect();
        (0..).zip(&mut past).for_each(|(turn, call)| call.turn = turn);
        past
    }

    #[test]
    fn repeats_of_a_call_with_the_same_result_are_counted_from_the_newest() {
        assert_eq!(repeats(&row(&[(1, 1), (1, 1), (1, 1)]), Digest(1)), 3);
        assert_eq!(repeats(&row(&[(1, 2), (1, 1), (1, 1)]), Digest(1)), 2);
        assert_eq!(repeats(&row(&[(1, 1), (2, 1), (1, 1)]), Digest(1)), 1);
        assert_eq!(repeats(&row(&[(1, 1), (2, 1)]), Digest(1)), 0);
        assert_eq!(repeats(&[], Digest(1)), 0);
    }

    #[test]
    fn other_calls_in_between_do_not_matter_unless_one_of_them_shows_progress() {
        assert_eq!(interleaved(&row(&[(1, 1), (2, 2), (1, 1), (3, 3), (1, 1)]), Digest(1), false), 3);
        assert_eq!(interleaved(&row(&[(1, 1), (2, 2), (1, 9), (3, 3), (1, 9)]), Digest(1), false), 2);
        assert_eq!(interleaved(&row(&[(2, 1), (1, 1), (2, 2), (1, 1), (2, 3), (1, 1)]), Digest(1), false), 1);
        assert_eq!(interleaved(&row(&[(2, 2)]), Digest(1), false), 0);
        let far = (0..25).map(|other| (100 + other, 0));
        let past: Vec<(u64, u64)> = [(1, 1)].into_iter().chain(far).chain([(1, 1)]).collect();
        assert_eq!(interleaved(&row(&past), Digest(1), false), 1);
    }

    #[test]
    fn the_same_failure_counts_across_writes_and_not_across_another_result() {
        let fails = |normal| CompletedCall::with_result(Digest(1), Digest(normal), true);
        let mut past = vec![fails(1), fails(1), fails(1)];
        past[0].set(super::super::completed_call::CallFlag::WrittenSince);
        assert_eq!(futile(&past, Digest(1)), 3);
        past.insert(1, fails(2));
        assert_eq!(futile(&past, Digest(1)), 2);
        past[3].set(super::super::completed_call::CallFlag::CircuitClosedSince);
        assert_eq!(futile(&past, Digest(1)), 0);
    }

    #[test]
    fn a_cycle_is_found_by_the_call_that_would_continue_it() {
        let past = row(&[(1, 1), (2, 2), (1, 1), (2, 2)]);
        let found = cycle(&past, Digest(1)).expect("a cycle of two");
        assert_eq!((found.period, found.rounds), (2, 2));
        assert_eq!(cycle(&past, Digest(2)), None);
        let turned = row(&[(2, 2), (1, 1), (2, 2), (1, 1)]);
        assert_eq!(cycle(&turned, Digest(2)).expect("the same cycle").key, found.key);
        assert_eq!(cycle(&row(&[(1, 1), (1, 1), (1, 1), (1, 1)]), Digest(1)), None);
        assert_eq!(cycle(&row(&[(1, 1), (2, 2), (1, 9), (2, 2)]), Digest(1)), None);
        let three = row(&[(1, 1), (2, 2), (3, 3), (1, 1), (2, 2), (3, 3), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(cycle(&three, Digest(1)).map(|found| (found.period, found.rounds)), Some((3, 3)));
    }
}
