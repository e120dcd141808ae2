//! The current turn of an agent (L3).

use crate::identity::Digest;

/// The current turn: one model response with all its calls.
///
/// `is_empty` and `is_over` are independent: a model may answer a prompt without a call, and the client ends that turn
/// as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub number: u64,
    /// True while the turn has no call.
    pub is_empty: bool,
    /// True if the client said that the turn is over.
    pub is_over: bool,
    /// The response that the last call belonged to, in this turn or an earlier one.
    pub response: Option<Digest>,
    /// True once the client has reported the end of a turn.
    pub marks_ends: bool,
}

impl Default for Turn {
    fn default() -> Self {
        Self { number: 1, is_empty: true, is_over: false, response: None, marks_ends: false }
    }
}

impl Turn {
    /// The number of the turn after this one.
    pub(in crate::loop_) fn next(&self) -> u64 {
        self.number.saturating_add(1)
    }

    /// A person's prompt begins a new turn.
    pub(super) fn begin_next(&mut self) {
        *self = Self { number: self.next(), is_empty: true, is_over: false, ..*self };
    }

    /// A call of the turn with this number starts, or is denied.
    pub(super) fn add_call(&mut self, number: u64, response: Option<Digest>) {
        *self = Self { number, is_empty: false, is_over: false, response: response.or(self.response), ..*self };
    }
}
