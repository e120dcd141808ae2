//! What the agent did since it last learned something new (L6): failures, results it already had, rephrased calls.
//!
//! An agent that makes progress gets a new result now and then; one that is stuck does not, however different its calls
//! look. A new successful result clears these counters, and so do a prompt, a write and a compaction. The calls of one
//! turn count once. The counters are sums, so a stuck phase may be longer than the completed calls that are kept.

use serde::{Deserialize, Serialize};

use super::agent_state::is_default;
use crate::identity::{Action, Digest, WordHash, WordSet};

/// How many different errors are kept.
const ERRORS_MAX: usize = 8;
/// How many different calls are kept for one error.
const CALLS_MAX: usize = 3;
/// How many failed tools are kept.
const TOOLS_MAX: usize = 16;
/// Word overlap, in percent, from which on two calls count as rephrasings of each other.
pub const REPHRASED_PERCENT: u32 = 55;
/// If an error quotes the calls that got it, a call that contains the quoted words but has less word overlap than this,
/// in percent, does something else with them.
const QUOTED_PERCENT: u32 = 30;
/// Word overlap, in percent, from which on a call counts as a rephrasing of the call just before it. It is lower,
/// because each call is compared with its predecessor only and a series of calls may drift.
const CONSECUTIVE_PERCENT: u32 = 50;

/// Word overlap, in percent, from which on a call is more of what failed.
const CASCADE_PERCENT: u32 = 40;
/// After this many earlier calls with the same short result, one more counts as a series.
const SAME_RESULTS_MIN: u32 = 3;

/// Counters of what the agent did since its last new successful result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoProgress {
    /// Turns with a failed call.
    #[serde(rename = "failed", default, skip_serializing_if = "is_default")]
    pub failures: u32,
    /// Results that the same call had before, and errors that came before.
    #[serde(rename = "known", default, skip_serializing_if = "is_default")]
    pub known_results: u32,
    /// Consecutive known results of calls that rephrase the call before.
    #[serde(rename = "reworded", default, skip_serializing_if = "is_default")]
    pub rephrased: u32,
    /// The turns in which `known_results`, `failures` and `rephrased` last increased: the calls of one turn count once.
    #[serde(rename = "turns", default, skip_serializing_if = "is_default")]
    pub counted_turns: [u64; 3],
    #[serde(rename = "words", default)]
    pub last_words: WordSet,
    /// The words of all calls of the current series of similar calls.
    #[serde(rename = "series", default, skip_serializing_if = "WordSet::is_empty")]
    pub series_words: WordSet,
    #[serde(rename = "tools", default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tools: Vec<Digest>,
    /// The key of haltline's last warning about this.
    #[serde(rename = "warned", default, skip_serializing_if = "Option::is_none")]
    pub last_warning: Option<Digest>,
    /// The errors, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<RepeatedError>,
}

/// An error that calls of one tool got, once or several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedError {
    pub tool: Digest,
    /// Digest of the error without its volatile parts.
    pub normal: Digest,
    /// How many turns got this error.
    pub count: u32,
    /// How many turns in a row got this error, without another result in between.
    #[serde(rename = "row")]
    pub in_a_row: u32,
    /// The first few different calls that got the error.
    pub calls: Vec<Digest>,
    /// The words that the error has in common with every one of these calls.
    #[serde(rename = "shared", default, skip_serializing_if = "Vec::is_empty")]
    pub shared_words: Vec<WordHash>,
    /// True if the error quoted a part of every one of these calls.
    #[serde(rename = "is_named", default, skip_serializing_if = "std::ops::Not::not")]
    pub quotes_calls: bool,
    /// The words of the last of these calls.
    #[serde(rename = "words", default)]
    pub last_words: WordSet,
    /// The turn of the last of these calls.
    #[serde(rename = "turn", default)]
    pub last_turn: u64,
    /// True if the last of these calls would have written something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_write: bool,
}

/// The result of a call that ended, with what is needed to count it.
pub(super) struct CountedResult<'a> {
    pub tool: Digest,
    pub identity: Digest,
    pub normal: Digest,
    pub words: WordSet,
    pub turn: u64,
    pub is_write: bool,
    pub is_failed: bool,
    pub is_terse: bool,
    pub is_search: bool,
    /// The call looked for something and found nothing: with another word it is another question.
    pub finds_nothing: bool,
    /// The call only reads.
    pub is_reading: bool,
    /// How many earlier calls had the same result.
    pub same_results: u32,
    /// An earlier call had the same result.
    pub is_known: bool,
    /// The same call had the same result often enough to count as a repeat.
    pub is_repeat: bool,
    /// The agent never made this call before.
    pub is_first_call: bool,
    pub shared_words: &'a [WordHash],
    pub quotes_call: bool,
}

/// The key of the circuit for an error of a tool.
pub(super) fn error_key(tool: Digest, normal: Digest) -> Digest {
    Digest::from_parts(&[b"error", &tool.0.to_be_bytes(), &normal.0.to_be_bytes()])
}

impl RepeatedError {
    pub fn key(&self) -> Digest {
        error_key(self.tool, self.normal)
    }

    /// How often this error came to calls like `action`, which is about to run. Zero if `action` is a different matter.
    pub fn matching_count(&self, action: &Action, tool: Digest) -> u32 {
        // A call that changes something may be what helps.
        if tool != self.tool || self.calls.len() < 2 || action.is_write != self.is_write {
            return 0;
        }
        if self.quotes_calls {
            let still_has_all =
                !self.shared_words.is_empty() && self.shared_words.iter().all(|word| action.words.contains(*word));
            return if still_has_all && action.words.overlap(self.last_words) >= QUOTED_PERCENT {
                self.count
            } else {
                0
            };
        }
        // An error that quotes nothing may have many reasons. In another file it is another error.
        if action.words.names_other_files(self.last_words) {
            return 0;
        }
        // A series of similar calls is a variation of one attempt. After only two different calls, or if the calls
        // differ much, one more attempt is allowed.
        let distinct_calls = self.calls.len() + usize::from(!self.calls.contains(&action.identity));
        let fewer = self.in_a_row.saturating_sub(1);
        let in_a_row = match (self.calls.len() >= CALLS_MAX, distinct_calls >= CALLS_MAX) {
            (true, _) => self.in_a_row,
            // The third different call is about to run: haltline warns and does not deny yet.
            (false, true) => fewer.max(self.in_a_row.min(2)),
            (false, false) => fewer,
        };
        if action.words.similarity(self.last_words) >= REPHRASED_PERCENT {
            in_a_row
        } else {
            in_a_row.saturating_sub(1)
        }
    }
}

impl NoProgress {
    /// True when every no-progress counter is zero.
    pub fn is_clear(&self) -> bool {
        self.failures == 0 && self.known_results == 0 && self.rephrased == 0
    }

    /// True if a call asks the same as the last one in other words. A call in which a word gives way to one that was not
    /// there before asks about something else, unless it is a search: there the word may be an option.
    pub(super) fn is_rewording(&self, words: WordSet, may_exchange: bool, percent: u32) -> bool {
        let is_other = may_exchange && words.exchanges(self.last_words, self.series_words);
        words.similarity(self.last_words) >= percent && !is_other
    }

    /// True if a call is like one of those that failed.
    pub(super) fn has_failed_like(&self, words: WordSet) -> bool {
        self.errors.iter().any(|error| error.last_words.overlap(words) >= CASCADE_PERCENT)
    }

    /// Clears the counters. An error stays as long as its circuit is not CLOSED.
    pub(super) fn clear(&mut self, is_tripped: impl Fn(Digest) -> bool) {
        self.failures = 0;
        self.known_results = 0;
        self.rephrased = 0;
        self.failed_tools.clear();
        self.last_warning = None;
        self.errors.retain(|error| is_tripped(error.key()));
    }

    pub(super) fn count_result(&mut self, result: &CountedResult<'_>, is_tripped: impl Fn(Digest) -> bool) {
        let is_like_last = self.is_rewording(result.words, !result.is_search, CONSECUTIVE_PERCENT)
            && !(result.is_search && result.finds_nothing && result.words != self.last_words);
        let is_series = result.words.similarity(self.last_words) >= CONSECUTIVE_PERCENT;
        self.series_words = if is_series { self.series_words.union(result.words) } else { result.words };
        self.last_words = result.words;
        if !result.is_failed && !result.is_known {
            return self.clear(is_tripped);
        }
        if result.is_repeat || (result.is_failed && result.is_known) {
            increment_once_per_turn(&mut self.known_results, &mut self.counted_turns[0], result.turn);
        }
        // The result of another call of the same turn does not interrupt the series.
        for error in self.errors.iter_mut().filter(|error| error.last_turn < result.turn) {
            let is_same = result.is_failed && error.tool == result.tool && error.normal == result.normal;
            if !is_same && !is_tripped(error.key()) {
                error.in_a_row = 0;
            }
        }
        if result.is_failed {
            self.rephrased = 0;
            increment_once_per_turn(&mut self.failures, &mut self.counted_turns[1], result.turn);
            if !self.failed_tools.contains(&result.tool) && self.failed_tools.len() < TOOLS_MAX {
                self.failed_tools.push(result.tool);
            }
            self.count_error(result, is_tripped);
        } else if is_like_last && result.is_first_call && (!result.is_terse || result.is_reading) {
            increment_once_per_turn(&mut self.rephrased, &mut self.counted_turns[2], result.turn);
            // A short answer may be the answer to many questions; four times the same is no coincidence.
            if result.is_terse && result.same_results >= SAME_RESULTS_MIN {
                self.rephrased = self.rephrased.max(SAME_RESULTS_MIN + 1);
            }
        } else {
            self.rephrased = 0;
            // A first call whose result says little did something, and it worked.
            if result.is_terse && result.is_first_call {
                self.failures = 0;
            }
        }
    }

    fn count_error(&mut self, result: &CountedResult<'_>, is_tripped: impl Fn(Digest) -> bool) {
        let is_same = |error: &RepeatedError| error.tool == result.tool && error.normal == result.normal;
        let mut error = match self.errors.iter().position(is_same) {
            Some(index) => {
                let mut error = self.errors.remove(index);
                error.shared_words.retain(|word| result.shared_words.contains(word));
                error.quotes_calls &= result.quotes_call;
                error
            }
            None => RepeatedError {
                tool: result.tool,
                normal: result.normal,
                count: 0,
                in_a_row: 0,
                calls: Vec::new(),
                shared_words: result.shared_words.to_vec(),
                quotes_calls: result.quotes_call,
                last_words: result.words,
                last_turn: 0,
                is_write: result.is_write,
            },
        };
        if result.turn > error.last_turn {
            error.count = error.count.saturating_add(1);
            error.in_a_row = error.in_a_row.saturating_add(1);
            error.last_turn = result.turn;
        }
        error.last_words = result.words;
        error.is_write = result.is_write;
        if error.calls.len() < CALLS_MAX && !error.calls.contains(&result.identity) {
            error.calls.push(result.identity);
        }
        if self.errors.len() >= ERRORS_MAX {
            let oldest = self.errors.iter().position(|error| !is_tripped(error.key())).unwrap_or(0);
            self.errors.remove(oldest);
        }
        self.errors.push(error);
    }
}

/// Increments `count`, unless this turn was counted already.
fn increment_once_per_turn(count: &mut u32, last: &mut u64, turn: u64) {
    if turn > *last {
        *count = count.saturating_add(1);
        *last = turn;
    }
}
