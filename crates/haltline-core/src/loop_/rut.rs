//! What came since the last new answer (L6): failures, answers that were known before, questions put in other words.
//!
//! An agent that gets somewhere learns something new now and then; one that is stuck does not, however different its
//! calls look. A new answer that is no failure ends the rut, and so do a prompt, a write and a shortened conversation.
//! The calls of one response count once.

use serde::{Deserialize, Serialize};

use super::lane::is_default;
use crate::identity::{Action, Digest, Word, Words};

/// How many different complaints are remembered.
const ERRORS_MAX: usize = 8;
/// How many different calls of one complaint are told apart.
const CALLS_MAX: usize = 3;
/// How many tools that failed are remembered.
const TOOLS_MAX: usize = 16;
/// Calls at least so alike, in percent, ask the same in other words.
pub const ALIKE_PERCENT: u32 = 55;
/// A call that has the name of a complaint and less in common than this with those that got it, in percent, is about to
/// do something else with it.
const NAMED_PERCENT: u32 = 30;
/// A row of them may wander: each is held against the one before it.
const ROW_PERCENT: u32 = 50;

/// What came since the last new answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rut {
    /// Responses with a call that failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed: u32,
    /// Answers that the same call had got before, and complaints that came before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub known: u32,
    /// The last answers in a row that were known before, to questions in other words.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reworded: u32,
    /// The turns in which these three last rose: the calls of one response count once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turns: [u64; 3],
    /// The words of the last call.
    #[serde(default)]
    pub words: Words,
    /// The tools that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Digest>,
    /// What the agent was last told about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<Digest>,
    /// The complaints, the last one at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Error>,
}

/// A complaint that came, perhaps more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// The tool.
    pub tool: Digest,
    /// What it said, without its volatile parts.
    pub normal: Digest,
    /// How often.
    pub count: u32,
    /// How often without another answer in between.
    pub row: u32,
    /// The first few different calls that got it.
    pub calls: Vec<Digest>,
    /// What it says of all these calls: words that it shares with each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Word>,
    /// It quoted something of every one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_named: bool,
    /// The words of the last of them.
    #[serde(default)]
    pub words: Words,
    /// The turn of the last of them.
    #[serde(default)]
    pub turn: u64,
    /// They would have written something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_write: bool,
}

/// A call that ended and was answered, before it is counted.
pub(super) struct Landing<'a> {
    pub tool: Digest,
    pub identity: Digest,
    pub normal: Digest,
    pub words: Words,
    pub turn: u64,
    pub is_write: bool,
    pub is_failed: bool,
    pub is_terse: bool,
    /// The answer was heard before.
    pub is_heard: bool,
    /// To the same call.
    pub is_again: bool,
    /// The call was never made before.
    pub is_first: bool,
    pub shared: &'a [Word],
    pub is_named: bool,
}

/// The circuit of a complaint.
pub(super) fn error_key(tool: Digest, normal: Digest) -> Digest {
    Digest::of(&[b"error", &tool.0.to_be_bytes(), &normal.0.to_be_bytes()])
}

impl Error {
    /// Its circuit.
    pub fn key(&self) -> Digest {
        error_key(self.tool, self.normal)
    }

    /// How often it came to calls like this one, which is about to run. Zero where this call is another matter.
    pub fn times(&self, action: &Action, tool: Digest) -> u32 {
        // What changes something may be what helps.
        if tool != self.tool || self.calls.len() < 2 || action.is_write != self.is_write {
            return 0;
        }
        if self.is_named {
            let still_has_all = !self.shared.is_empty() && self.shared.iter().all(|word| action.words.holds(*word));
            return if still_has_all && action.words.overlap(self.words) >= NAMED_PERCENT { self.count } else { 0 };
        }
        // A complaint without a name may come for many reasons. Over several files it is one of each.
        if action.words.is_elsewhere(self.words) {
            return 0;
        }
        // A row of calls much like each other is a variation of one attempt; of only two calls, or of calls unlike each
        // other, it takes one more.
        let others = self.calls.len() + usize::from(!self.calls.contains(&action.identity));
        let fewer = self.row.saturating_sub(1);
        let row = match (self.calls.len() >= CALLS_MAX, others >= CALLS_MAX) {
            (true, _) => self.row,
            // The third is on its way: it is warned of, not refused.
            (false, true) => fewer.max(self.row.min(2)),
            (false, false) => fewer,
        };
        if action.words.likeness(self.words) >= ALIKE_PERCENT { row } else { row.saturating_sub(1) }
    }
}

impl Rut {
    /// Whether nothing leads nowhere.
    pub fn is_out(&self) -> bool {
        self.failed == 0 && self.known == 0 && self.reworded == 0
    }

    /// It is over. What a circuit that is not closed is about stays known.
    pub(super) fn end(&mut self, is_held: impl Fn(Digest) -> bool) {
        self.failed = 0;
        self.known = 0;
        self.reworded = 0;
        self.tools.clear();
        self.warned = None;
        self.errors.retain(|error| is_held(error.key()));
    }

    /// Counts a call.
    pub(super) fn land(&mut self, landing: &Landing<'_>, is_held: impl Fn(Digest) -> bool) {
        let is_like_last = landing.words.likeness(self.words) >= ROW_PERCENT;
        self.words = landing.words;
        if !landing.is_failed && !landing.is_heard {
            return self.end(is_held);
        }
        if landing.is_again || (landing.is_failed && landing.is_heard) {
            rise(&mut self.known, &mut self.turns[0], landing.turn);
        }
        // A sibling's answer is no answer in between.
        for error in self.errors.iter_mut().filter(|error| error.turn < landing.turn) {
            let is_same = landing.is_failed && error.tool == landing.tool && error.normal == landing.normal;
            if !is_same && !is_held(error.key()) {
                error.row = 0;
            }
        }
        if landing.is_failed {
            self.reworded = 0;
            rise(&mut self.failed, &mut self.turns[1], landing.turn);
            if !self.tools.contains(&landing.tool) && self.tools.len() < TOOLS_MAX {
                self.tools.push(landing.tool);
            }
            self.complained(landing, is_held);
        } else if is_like_last && !landing.is_terse {
            rise(&mut self.reworded, &mut self.turns[2], landing.turn);
        } else {
            self.reworded = 0;
            // Something was done that says little: it worked all the same.
            if landing.is_terse && landing.is_first {
                self.failed = 0;
            }
        }
    }

    fn complained(&mut self, landing: &Landing<'_>, is_held: impl Fn(Digest) -> bool) {
        let is_same = |error: &Error| error.tool == landing.tool && error.normal == landing.normal;
        let mut error = match self.errors.iter().position(is_same) {
            Some(place) => {
                let mut error = self.errors.remove(place);
                error.shared.retain(|word| landing.shared.contains(word));
                error.is_named &= landing.is_named;
                error
            }
            None => Error {
                tool: landing.tool,
                normal: landing.normal,
                count: 0,
                row: 0,
                calls: Vec::new(),
                shared: landing.shared.to_vec(),
                is_named: landing.is_named,
                words: landing.words,
                turn: 0,
                is_write: landing.is_write,
            },
        };
        if landing.turn > error.turn {
            error.count = error.count.saturating_add(1);
            error.row = error.row.saturating_add(1);
            error.turn = landing.turn;
        }
        error.words = landing.words;
        error.is_write = landing.is_write;
        if error.calls.len() < CALLS_MAX && !error.calls.contains(&landing.identity) {
            error.calls.push(landing.identity);
        }
        if self.errors.len() >= ERRORS_MAX {
            let oldest = self.errors.iter().position(|error| !is_held(error.key())).unwrap_or(0);
            self.errors.remove(oldest);
        }
        self.errors.push(error);
    }
}

/// One more, unless this response was counted already.
fn rise(count: &mut u32, last: &mut u64, turn: u64) {
    if turn > *last {
        *count = count.saturating_add(1);
        *last = turn;
    }
}
