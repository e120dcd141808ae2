//! Counts the turn ends after which the agent was set going again and brought nothing (L6).
//!
//! Who continues the agent does not matter: a Stop hook, a goal, an autopilot, a timer, or the client's own "Continue". A
//! person's prompt begins a turn of its own, and its first end never counts. What counts is whether a call that ran changed
//! something or found something out.

use serde::{Deserialize, Serialize};

use super::TurnEnd;

/// Limits are this many times higher for an agent that waits between attempts: a poll that never ends is found late,
/// one that works is never denied.
pub(super) const WAIT_FACTOR: u32 = 5;

/// What the calls since the last turn end brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gain {
    /// No call ran, or calls only said something or had results that were known.
    #[default]
    Nothing,
    /// Calls had new results, and each was a variation of the call before it.
    Variation,
    /// A call changed something or found something out.
    New,
}

/// The turn ends in a row that brought nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Numbers", into = "Numbers")]
pub struct Continuation {
    /// Number of these turn ends.
    pub idle_ends: u32,
    /// The same, in fifths: an end after a wait counts one fifth.
    pub idle_fifths: u32,
    /// What the agent gained since the last turn end.
    pub gain: Gain,
    /// What it had gained at that turn end.
    pub last_gain: Gain,
    /// A person's prompt began the turn.
    pub is_prompted: bool,
    /// The agent waited in this turn, or rested before it.
    pub has_waited: bool,
    /// A call ended the turn; the client has yet to report the same end.
    pub is_ended_by_call: bool,
}

impl Gain {
    fn from_bits(bits: u8) -> Self {
        match (bits & 1 != 0, bits & 2 != 0) {
            (true, _) => Gain::New,
            (false, true) => Gain::Variation,
            (false, false) => Gain::Nothing,
        }
    }

    fn bits(self) -> u8 {
        match self {
            Gain::Nothing => 0,
            Gain::New => 1,
            Gain::Variation => 2,
        }
    }
}

/// The stored form: the two counts, and everything else as bits.
type Numbers = (u32, u32, u8);

impl From<Numbers> for Continuation {
    fn from((idle_ends, idle_fifths, bits): Numbers) -> Self {
        let [gain, last_gain] = [bits, bits >> 2].map(Gain::from_bits);
        let [is_prompted, has_waited, is_ended_by_call] = [16, 32, 64].map(|bit| bits & bit != 0);
        Self { idle_ends, idle_fifths, gain, last_gain, is_prompted, has_waited, is_ended_by_call }
    }
}

impl From<Continuation> for Numbers {
    fn from(continuation: Continuation) -> Self {
        let switches = [continuation.is_prompted, continuation.has_waited, continuation.is_ended_by_call];
        let bits = switches.iter().rev().fold(0, |bits, is_on| bits << 1 | u8::from(*is_on));
        let bits = bits << 4 | continuation.last_gain.bits() << 2 | continuation.gain.bits();
        (continuation.idle_ends, continuation.idle_fifths, bits)
    }
}

impl Continuation {
    /// A person wrote to the agent.
    pub(super) fn on_prompt(&mut self) {
        *self = Self { is_prompted: true, ..Self::default() };
    }

    /// The client prompted the agent by itself.
    pub(super) fn on_notice(&mut self, has_rested: bool) {
        self.has_waited |= has_rested;
    }

    pub(super) fn add(&mut self, gain: Gain) {
        self.gain = self.gain.max(gain);
        if gain != Gain::Nothing {
            self.is_ended_by_call = false;
        }
    }

    /// A turn ends. It counts if something other than a person had continued the agent and it gained nothing.
    pub(super) fn end_turn(&mut self, was_continued: bool) {
        let (idle_ends, idle_fifths) = match self.gain {
            Gain::New | Gain::Variation => (0, 0),
            Gain::Nothing if was_continued && !self.is_prompted => {
                let fifths = if self.has_waited { 1 } else { WAIT_FACTOR };
                (self.idle_ends.saturating_add(1), self.idle_fifths.saturating_add(fifths))
            }
            Gain::Nothing => (self.idle_ends, self.idle_fifths),
        };
        *self = Self { idle_ends, idle_fifths, last_gain: self.gain, ..Self::default() };
    }

    /// The client reports that a turn ended. A call may have ended it already.
    pub(super) fn on_stop(&mut self, end: TurnEnd, was_continued: bool) {
        match end {
            TurnEnd::Reported => return,
            TurnEnd::Waiting => self.has_waited = true,
            TurnEnd::Idle => {}
        }
        if self.is_ended_by_call {
            self.is_ended_by_call = false;
            return;
        }
        self.end_turn(was_continued);
    }

    /// A call ended the turn, such as one by which the agent says that its goal is reached.
    pub(super) fn on_closing_call(&mut self) {
        self.end_turn(true);
        self.is_ended_by_call = true;
    }

    /// The circuit closed, so that nothing before counts (L5).
    pub(super) fn clear_counts(&mut self) {
        (self.idle_ends, self.idle_fifths) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_keeps_everything() {
        for bits in 0..128_u32 {
            let is_set = |bit: u32| bits & bit != 0;
            let gain = |low: u32| match bits / low % 4 {
                0 => Gain::Nothing,
                1 => Gain::New,
                _other => Gain::Variation,
            };
            let continuation = Continuation {
                idle_ends: bits,
                idle_fifths: 5 * bits,
                gain: gain(1),
                last_gain: gain(4),
                is_prompted: is_set(16),
                has_waited: is_set(32),
                is_ended_by_call: is_set(64),
            };
            assert_eq!(Continuation::from(Numbers::from(continuation)), continuation);
        }
    }
}
