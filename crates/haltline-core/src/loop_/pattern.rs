//! The patterns of unproductive work, and how each is seen in an agent's past (L1, L6).
//!
//! Nothing here decides: each function counts, and says what it counted.

use serde::{Deserialize, Serialize};

use super::Past;
use crate::identity::Digest;

/// The longest cycle that is looked for.
const PERIOD_MAX: usize = 5;
/// How far back a repeat with other calls in between is looked for.
const RECENT_CALLS: usize = 20;

/// What went wrong, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Hooks inside hooks, or a Stop hook that keeps the agent going.
    HookRecursion,
    /// The same call failing.
    ToolFailure,
    /// The same call in a row.
    SequentialTools,
    /// Sub-agents started too fast, too deep, too many.
    AgentSpawn,
    /// External services called too often, or too dearly.
    ExternalApi,
    /// The same call with the same answer.
    Repeat,
    /// The same call with the same answer, with other calls in between.
    Interleaved,
    /// A few calls in turn, always the same.
    Cycle,
    /// The same complaint to one call after another.
    SameError,
    /// The same failure although files were written in between.
    FutileWrites,
    /// What was asked and answered before, asked all over again.
    Retread,
    /// The same question in other words, with answers that were known.
    Stagnation,
    /// One failure after another, whatever the tool.
    Cascade,
    /// The conversation shortened again and again with nothing new in between.
    Compaction,
    /// A response that costs many times the usual.
    CostGrowth,
    /// The model says the same over and over.
    Chanting,
    /// Refused by permission rules again and again.
    Denials,
    /// The session's budget.
    Budget,
    /// A constraint that stands in front of the action.
    Constraint,
    /// The agent reaches for haltline itself.
    Tampering,
}

impl Pattern {
    /// The word for it in configuration, messages and listings.
    pub fn word(self) -> &'static str {
        match self {
            Pattern::HookRecursion => "hook_recursion",
            Pattern::ToolFailure => "tool_failure",
            Pattern::SequentialTools => "sequential_tools",
            Pattern::AgentSpawn => "agent_spawn",
            Pattern::ExternalApi => "external_api",
            Pattern::Repeat => "repeat",
            Pattern::Interleaved => "interleaved",
            Pattern::Cycle => "cycle",
            Pattern::SameError => "same_error",
            Pattern::FutileWrites => "futile_writes",
            Pattern::Retread => "retread",
            Pattern::Stagnation => "stagnation",
            Pattern::Cascade => "cascade",
            Pattern::Compaction => "compaction",
            Pattern::CostGrowth => "cost_growth",
            Pattern::Chanting => "chanting",
            Pattern::Denials => "denials",
            Pattern::Budget => "budget",
            Pattern::Constraint => "constraint",
            Pattern::Tampering => "tampering",
        }
    }

    /// What it is about.
    pub fn nature(self) -> Nature {
        match self {
            Pattern::HookRecursion
            | Pattern::ToolFailure
            | Pattern::SequentialTools
            | Pattern::Repeat
            | Pattern::Interleaved
            | Pattern::Cycle
            | Pattern::SameError
            | Pattern::FutileWrites
            | Pattern::Retread
            | Pattern::Stagnation
            | Pattern::Cascade
            | Pattern::Compaction
            | Pattern::CostGrowth
            | Pattern::Chanting
            | Pattern::Denials => Nature::Loop,
            Pattern::AgentSpawn | Pattern::ExternalApi | Pattern::Budget => Nature::Resource,
            Pattern::Constraint | Pattern::Tampering => Nature::Rule,
        }
    }
}

/// What a pattern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Work that leads nowhere.
    Loop,
    /// More than there is.
    Resource,
    /// What is not allowed.
    Rule,
}

/// How often a call with this identity was answered the same without a break, up to now. A call whose answer nobody
/// knows says nothing; a different call, or a different answer, ends the row.
pub fn repeats(past: &[Past], identity: Digest) -> u32 {
    let mut row = past.iter().rev().filter(|call| call.is_known());
    let Some(last) = row.next().filter(|last| last.identity == identity && last.is_counted()) else { return 0 };
    if last.is_boundary() {
        return 1;
    }
    let (mut count, mut turn) = (1, last.turn);
    for call in row {
        if call.identity != identity || call.normal != last.normal || !call.is_counted() {
            break;
        }
        // The calls of one response count once.
        count += u32::from(call.turn != turn);
        turn = call.turn;
        if call.is_boundary() {
            break;
        }
    }
    count
}

/// How often a call with this identity was answered the same among the last calls, whatever came in between. A changed
/// answer, to this call or to another that was made before, is progress and ends the count (L4).
pub fn interleaved(past: &[Past], identity: Digest) -> u32 {
    let known: Vec<&Past> = past.iter().filter(|call| call.is_known() && call.is_counted()).collect();
    let recent = &known[known.len().saturating_sub(RECENT_CALLS)..];
    let (mut count, mut turn) = (0, None);
    for (place, call) in recent.iter().enumerate().rev() {
        if call.identity == identity && turn.replace(call.turn) != Some(call.turn) {
            count += 1;
        }
        let before = recent[..place].iter().rev().find(|before| before.identity == call.identity);
        if before.is_some_and(|before| before.normal != call.normal) {
            break;
        }
    }
    count
}

/// How often a call with this identity failed in the same way, since it last gave another answer, although something
/// was written in between.
pub fn futile(past: &[Past], identity: Digest) -> u32 {
    let mut same = past.iter().rev().filter(|call| call.identity == identity && call.is_known()).peekable();
    let Some(last) = same.peek().map(|last| last.normal) else { return 0 };
    let is_again = |call: &&Past| call.is_failed() && call.normal == last && !call.is_closed();
    u32::try_from(same.take_while(is_again).count()).unwrap_or(u32::MAX)
}

/// Whether time passed on purpose since a call with this identity was last made, so that there is a reason to ask again:
/// somebody waited, or there were two rests lately. A single rest may be a model that thought for long, and what fails is
/// not mended by resting.
pub fn has_waited(past: &[Past], identity: Digest, is_rested: bool) -> bool {
    let recent = || past.iter().rev().take(PERIOD_MAX + 1);
    let since = recent().take_while(|call| call.identity != identity).count() + 1;
    let rests = recent().filter(|call| call.is_rested()).count() + usize::from(is_rested);
    let has_failed = past.iter().rev().find(|call| call.is_known()).is_some_and(Past::is_failed);
    recent().take(since).any(Past::is_waited) || (rests >= 2 && !has_failed)
}

/// A cycle that a call would carry on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// How many calls it has.
    pub period: usize,
    /// How often the call that would follow was made before in it.
    pub rounds: u32,
    /// Names it whatever call one starts at.
    pub key: Digest,
}

/// The cycle that a call with this identity would carry on, if there is one: the same two to five calls in turn, each
/// always with the same answer.
pub fn cycle(past: &[Past], identity: Digest) -> Option<Cycle> {
    let start = past.iter().rposition(|call| call.is_boundary()).unwrap_or(0);
    let tail: Vec<&Past> = past[start..].iter().filter(|call| call.is_known() && call.is_counted()).collect();
    for period in 2..=PERIOD_MAX {
        if tail.len() < 2 * period || tail[tail.len() - period].identity != identity {
            continue;
        }
        let same = |a: &Past, b: &Past| a.is_same(b.identity, b.normal);
        let long = tail.len();
        let length = period
            + (0..long - period)
                .take_while(|&back| same(tail[long - 1 - back], tail[long - 1 - back - period]))
                .count();
        let round: Vec<Digest> = tail[long - period..].iter().map(|call| call.identity).collect();
        // One call alone is a repeat, and a period of four may be one of two: the shortest is looked for first.
        if length < 2 * period || round.iter().all(|call| *call == round[0]) {
            continue;
        }
        let rounds = u32::try_from(length / period).unwrap_or(u32::MAX);
        return Some(Cycle { period, rounds, key: rotation(&round) });
    }
    None
}

/// The same name for a round whichever call it begins with.
fn rotation(round: &[Digest]) -> Digest {
    let first = (0..round.len())
        .min_by_key(|&start| -> Vec<Digest> { round[start..].iter().chain(&round[..start]).copied().collect() });
    let start = first.unwrap_or(0);
    let bytes: Vec<u8> = round[start..].iter().chain(&round[..start]).flat_map(|call| call.0.to_be_bytes()).collect();
    Digest::of(&[b"cycle", &bytes])
}

/// In how many turns calls that `fits` picks failed, within the last `window` turns. Siblings of one batch count once.
pub fn failed_turns(past: &[Past], turn: u64, window: u32, fits: impl Fn(&Past) -> bool) -> u32 {
    let mut turns: Vec<u64> = past
        .iter()
        .filter(|call| call.is_failed() && call.is_counted() && is_within(call.turn, turn, window) && fits(call))
        .map(|call| call.turn)
        .collect();
    // A call may end after later ones.
    turns.sort_unstable();
    turns.dedup();
    u32::try_from(turns.len()).unwrap_or(u32::MAX)
}

/// Whether a turn is the present one or one of the `window` − 1 before it (L3).
pub fn is_within(then: u64, turn: u64, window: u32) -> bool {
    turn.saturating_sub(then) < u64::from(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(identity: u64, normal: u64) -> Past {
        Past::known(Digest(identity), Digest(normal), false)
    }

    fn row(calls: &[(u64, u64)]) -> Vec<Past> {
        let mut past: Vec<Past> = calls.iter().map(|&(identity, normal)| call(identity, normal)).collect();
        (0..).zip(&mut past).for_each(|(turn, call)| call.turn = turn);
        past
    }

    #[test]
    fn a_row_of_the_same_call_and_answer_is_counted_from_its_end() {
        assert_eq!(repeats(&row(&[(1, 1), (1, 1), (1, 1)]), Digest(1)), 3);
        assert_eq!(repeats(&row(&[(1, 2), (1, 1), (1, 1)]), Digest(1)), 2);
        assert_eq!(repeats(&row(&[(1, 1), (2, 1), (1, 1)]), Digest(1)), 1);
        assert_eq!(repeats(&row(&[(1, 1), (2, 1)]), Digest(1)), 0);
        assert_eq!(repeats(&[], Digest(1)), 0);
    }

    #[test]
    fn other_calls_in_between_do_not_matter_unless_one_of_them_shows_progress() {
        assert_eq!(interleaved(&row(&[(1, 1), (2, 2), (1, 1), (3, 3), (1, 1)]), Digest(1)), 3);
        assert_eq!(interleaved(&row(&[(1, 1), (2, 2), (1, 9), (3, 3), (1, 9)]), Digest(1)), 2);
        assert_eq!(interleaved(&row(&[(2, 1), (1, 1), (2, 2), (1, 1), (2, 3), (1, 1)]), Digest(1)), 1);
        assert_eq!(interleaved(&row(&[(2, 2)]), Digest(1)), 0);
        let far = (0..25).map(|other| (100 + other, 0));
        let past: Vec<(u64, u64)> = [(1, 1)].into_iter().chain(far).chain([(1, 1)]).collect();
        assert_eq!(interleaved(&row(&past), Digest(1)), 1);
    }

    #[test]
    fn the_same_failure_counts_over_writes_and_not_over_another_answer() {
        let fails = |normal| Past::known(Digest(1), Digest(normal), true);
        let mut past = vec![fails(1), fails(1), fails(1)];
        past[0].mark(super::super::past::Mark::Spent);
        assert_eq!(futile(&past, Digest(1)), 3);
        past.insert(1, fails(2));
        assert_eq!(futile(&past, Digest(1)), 2);
        past[3].mark(super::super::past::Mark::Closed);
        assert_eq!(futile(&past, Digest(1)), 0);
    }

    #[test]
    fn a_cycle_is_found_by_the_call_that_would_carry_it_on() {
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
