//! The strongest stop of a client whose hooks cannot end a turn: its process is interrupted as by Ctrl-C (E5).
//!
//! Only the client's own process is ever signalled: one above this hook, called as the client is, that a hook wrote down
//! when the session began, with the moment it started. Where any of that is missing, the refusal stands alone.

use std::path::Path;

use haltline_agents::hook::{Asked, HookEvent, Stop};
use haltline_core::Verdict;
use haltline_engine::config::Config;

use super::REHEARSAL;
use crate::ancestry::{self, Process};

/// The process to interrupt once the answer is given, where nothing less ends the agent.
pub fn process(asked: &Asked, verdict: &Verdict, state_folder: &Path, config: &Config) -> Option<Process> {
    let is_last_resort = match asked.client.protocol().stop {
        Stop::Interrupted => true,
        Stop::Answered | Stop::Refused => false,
    };
    let is_due = asked.event == HookEvent::ToolStart && matches!(verdict, Verdict::Stop(_));
    // A sub-agent works inside its parent's process, which may be at something good.
    let is_whole = asked.stream.agent.is_none() && !asked.stream.session.starts_with(REHEARSAL);
    if !(is_last_resort && is_due && is_whole && config.interrupts()) {
        return None;
    }
    ancestry::recorded_client(state_folder, asked.client.name())
}

/// Interrupts it.
pub fn interrupt(client: &Process) {
    // One that is gone, or not ours, has nothing left to stop.
    client.interrupt();
}
