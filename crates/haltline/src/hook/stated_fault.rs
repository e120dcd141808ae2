//! Adds to an event which account its agent uses, and why the model service ended the turn: the payload says neither whose
//! key the client has nor in which time zone it names a time.

use haltline_agents::RUN_MARKER;
use haltline_agents::hook::ParsedHook;
use haltline_agents::provider::account_of;
use haltline_core::Instant;
use haltline_core::loop_::LoopEvent;

use crate::environment::variable;
use crate::local_time::stated_instant;

pub fn complete(parsed: &mut ParsedHook, now: impl FnOnce() -> Instant) {
    parsed.hook.agent.account = account_of(&parsed.hook.agent.client, variable);
    parsed.hook.agent.run = variable(RUN_MARKER);
    if let Some(fault) = parsed.stated_fault.take() {
        let now = now();
        let until = fault.reset.as_ref().map(|reset| stated_instant(reset, now));
        parsed.loop_event = Some(LoopEvent::ProviderFault(fault.until(until)));
    }
}
