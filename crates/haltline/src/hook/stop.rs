//! The strongest stop for a client whose hooks cannot end a turn: haltline interrupts its process as Ctrl-C does (E5).
//!
//! haltline only ever signals the session's own process. It must be an ancestor of this hook with the client's name, a
//! hook must have recorded it and its start time when the session began, it must have had no other session, and its
//! arguments must show that it runs without a person at the terminal. If any of that is missing, haltline only denies
//! the call.

use std::path::Path;

use haltline_agents::hook::{HookCall, HookEvent, StopMethod};
use haltline_core::loop_::TURN_ENDS;
use haltline_core::{Reason, Verdict};
use haltline_engine::config::Config;

use super::SELF_TEST_PREFIX;
use crate::ancestry::{self, AncestorProcess};

/// The process to interrupt after the answer is printed, if nothing less stops the agent.
pub fn process_to_interrupt(
    hook_call: &HookCall,
    verdict: &Verdict,
    state_folder: &Path,
    config: &Config,
) -> Option<AncestorProcess> {
    let is_unattended = match hook_call.client.protocol().stop {
        StopMethod::Interrupt { is_unattended } => is_unattended,
        StopMethod::Answer | StopMethod::DenyOnly => return None,
    };
    let is_due = hook_call.event == HookEvent::ToolStart && matches!(verdict, Verdict::Stop(_));
    // A sub-agent runs inside its parent's process, which may be doing useful work.
    let is_root_agent = hook_call.agent.sub_agent.is_none() && !hook_call.agent.session.starts_with(SELF_TEST_PREFIX);
    if !(is_due && is_root_agent && config.interrupts()) {
        return None;
    }
    let client = hook_call.client.name();
    let process = ancestry::recorded_client(state_folder, client, &hook_call.agent.session)?;
    is_unattended(&process.arguments(client)).then_some(process)
}

/// The verdict in words that hold in this client: where nothing ends the turn, haltline asks the agent to end it, and
/// does not say once per call that it has ended.
pub fn with_honest_ending(hook_call: &HookCall, verdict: Verdict, is_interrupted: bool) -> Verdict {
    let ends_turn = match hook_call.client.protocol().stop {
        StopMethod::Answer => true,
        StopMethod::Interrupt { .. } | StopMethod::DenyOnly => is_interrupted || hook_call.event == HookEvent::Stop,
    };
    match verdict {
        Verdict::Stop(reason) if !ends_turn => {
            let text = reason.text.replace(TURN_ENDS, "End your turn now: say what you tried and what is missing.");
            Verdict::Stop(Reason { text, ..reason })
        }
        Verdict::Pass | Verdict::Warn(_) | Verdict::Deny(_) | Verdict::Stop(_) => verdict,
    }
}

pub fn interrupt(client: &AncestorProcess) {
    // A process that is gone or not ours has nothing left to stop.
    client.interrupt();
}
