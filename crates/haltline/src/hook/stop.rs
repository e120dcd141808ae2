//! The strongest stop of a client whose hooks cannot end a turn: its process is interrupted as by Ctrl-C (E5).
//!
//! Only the session's own process is ever signalled: one above this hook, called as the client is, that a hook wrote down
//! when the session began, with the moment it started, that has had no other session, and whose arguments say that nobody
//! sits before it. Where any of that is missing, the refusal stands alone.

use std::path::Path;

use haltline_agents::hook::{Asked, HookEvent, Stop};
use haltline_core::Verdict;
use haltline_engine::config::Config;

use super::REHEARSAL;
use crate::ancestry::{self, Process};

/// The process to interrupt once the answer is given, where nothing less ends the agent.
pub fn process(asked: &Asked, verdict: &Verdict, state_folder: &Path, config: &Config) -> Option<Process> {
    let is_unattended = match asked.client.protocol().stop {
        Stop::Interrupted { is_unattended } => is_unattended,
        Stop::Answered | Stop::Refused => return None,
    };
    let is_due = asked.event == HookEvent::ToolStart && matches!(verdict, Verdict::Stop(_));
    // A sub-agent works inside its parent's process, which may be at something good.
    let is_whole = asked.stream.agent.is_none() && !asked.stream.session.starts_with(REHEARSAL);
    if !(is_due && is_whole && config.interrupts()) {
        return None;
    }
    let client = asked.client.name();
    let process = ancestry::recorded_client(state_folder, client, &asked.stream.session)?;
    is_unattended(&process.arguments(client)).then_some(process)
}

/// Interrupts it.
pub fn interrupt(client: &Process) {
    // One that is gone, or not ours, has nothing left to stop.
    client.interrupt();
}
