//! Recognises events that several configurations of one client deliver, so that each counts once (L4).

use super::*;

impl AgentDraft<'_> {
    /// Digest of the hook source that delivered this event, if known.
    pub(super) fn hook_source(&self) -> Option<Digest> {
        let agent_ref = self.request.agent_ref;
        let hook_source = agent_ref.hook_source.as_deref()?;
        Some(match agent_ref.call_ids {
            // One client may deliver events under its own name and under another client's.
            CallIds::Stable | CallIds::StartOnly => {
                Digest::from_parts(&[b"door", hook_source.as_bytes(), agent_ref.client.as_bytes()])
            }
            CallIds::None => Digest::from_parts(&[b"door", hook_source.as_bytes()]),
        })
    }

    /// True if another hook source has just delivered the same event, and the event has no id.
    pub(super) fn is_duplicate_delivery(&self) -> bool {
        match self.request.agent_ref.call_ids {
            CallIds::Stable | CallIds::StartOnly => {
                let (kind, hook_source) = (self.request.event.unidentified(), self.hook_source());
                kind.zip(hook_source)
                    .is_some_and(|(kind, hook_source)| self.agent.deliveries.is_duplicate(kind, hook_source, self.now))
            }
            // haltline listens to one source, so nothing from it is a duplicate.
            CallIds::None => false,
        }
    }

    /// True if the client sends no call ids and the event comes from a source other than the chosen one. The source of
    /// the last `SessionStart` is the chosen one.
    pub(super) fn is_from_other_source(&self) -> bool {
        match self.request.agent_ref.call_ids {
            CallIds::Stable | CallIds::StartOnly => return false,
            CallIds::None => {}
        }
        let is_beginning = matches!(self.request.event, LoopEvent::SessionStart { .. });
        let (hook_source, chosen) = (self.hook_source(), self.agent.deliveries.hook_source);
        !is_beginning && hook_source.is_some() && chosen.is_some() && hook_source != chosen
    }
}
