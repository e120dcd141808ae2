//! What a hook prints for Copilot CLI: one line of JSON, or nothing, which lets the client go its own way.
//!
//! Where a text has to stand differs by event: before a call only what is nested reaches the model, after it only what is
//! flat. A refusal is flat, which the client takes under either name of the event. Nothing here is ever shown to a person:
//! the client has no place for it. Nothing here keeps an agent going that wants to end.

use haltline_core::Verdict;
use serde_json::json;

use crate::hook::{Asked, HookEvent, capped};

/// Whether the client shows the person a notice that comes with this answer.
pub fn shows_notice(_asked: &Asked, _verdict: &Verdict) -> bool {
    false
}

/// A line for the person where the event could not be read: the client shows none.
pub fn complaint(_text: Option<&str>) -> Option<String> {
    None
}

/// The line for stdout, or `None` for silence.
pub fn answer(asked: &Asked, verdict: &Verdict, _notice: Option<&str>) -> Option<String> {
    let reason = verdict.reason()?;
    let text = capped(&reason.text);
    let answer = match asked.event {
        HookEvent::ToolStart if verdict.refuses() => {
            json!({ "permissionDecision": "deny", "permissionDecisionReason": text })
        }
        HookEvent::ToolStart => {
            json!({ "hookSpecificOutput": { "hookEventName": asked.name, "additionalContext": text } })
        }
        HookEvent::Prompt if verdict.refuses() => json!({ "decision": "block", "reason": text }),
        HookEvent::Prompt
        | HookEvent::SessionStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::SpawnStart => json!({ "additionalContext": text }),
        HookEvent::ModelStart
        | HookEvent::Batch
        | HookEvent::SpawnEnd
        | HookEvent::Stop
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SessionEnd
        | HookEvent::SettingsChanged
        | HookEvent::Other => return None,
    };
    Some(answer.to_string())
}
