//! What an agent's row keeps to recognise events that a client delivers more than once (L4).

use super::IN_FLIGHT_MAX;
use crate::circuit::keep_newest;
use crate::identity::Digest;
use crate::loop_::UnidentifiedEvent;
use crate::{Elapsed, Moment};

/// All hook sources deliver an event within this time. After it, a source that is gone no longer silences the others.
const DUPLICATE_WINDOW_MS: u64 = 60_000;
/// How many ids of ended calls are kept for one turn.
const ENDED_IDS_MAX: usize = 256;

/// The events that were delivered, as far as a duplicate of them may still come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// The one hook source that haltline listens to, if the client sends no call ids.
    pub hook_source: Option<Digest>,
    /// For each kind of event without an id: the hook source that delivered the last one, and when. Cleared when a call
    /// starts.
    pub recent_sources: Vec<(UnidentifiedEvent, Digest, Moment)>,
    /// Calls of the current turn that were denied. The client reports their ends too, and may deliver both events
    /// twice.
    pub denied_calls: Vec<Digest>,
    /// Ids of the calls of the current turn that have ended: a wide turn has more calls than the row keeps. If starts
    /// and ends have different ids, both are here.
    pub ended_ids: Vec<Digest>,
}

impl Deliveries {
    /// True if another hook source just delivered an event of this kind: then it is the same event.
    pub(in crate::loop_) fn is_duplicate(&self, kind: UnidentifiedEvent, hook_source: Digest, now: Moment) -> bool {
        let is_recent = |at: Moment| matches!(now.since(at), Elapsed::Known(elapsed) if elapsed < DUPLICATE_WINDOW_MS);
        self.recent_sources
            .iter()
            .any(|(known_kind, source, at)| *known_kind == kind && *source != hook_source && is_recent(*at))
    }

    pub(super) fn remember_source(&mut self, kind: UnidentifiedEvent, hook_source: Option<Digest>, at: Moment) {
        self.recent_sources.retain(|(known_kind, ..)| *known_kind != kind);
        self.recent_sources.extend(hook_source.map(|hook_source| (kind, hook_source, at)));
    }

    pub(super) fn remember_ended(&mut self, ids: impl IntoIterator<Item = Digest>) {
        self.ended_ids.extend(ids);
        keep_newest(&mut self.ended_ids, ENDED_IDS_MAX);
    }

    pub(super) fn remember_denied(&mut self, call: Digest) {
        self.denied_calls.push(call);
        keep_newest(&mut self.denied_calls, IN_FLIGHT_MAX);
    }

    /// Forgets the calls of the last turn: a client may use their ids again.
    pub(super) fn forget_calls(&mut self) {
        self.denied_calls.clear();
        self.ended_ids.clear();
    }
}
