//! What a hook prints for Copilot CLI: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! - Before a call, only nested context (`hookSpecificOutput`) reaches the model; after it, only flat context.
//! - A denial is flat, which the client accepts under either name of the event.
//! - The client never shows an answer to a person.
//!
//! No answer keeps an agent going that wants to end.

use haltline_core::Verdict;
use serde_json::json;

use crate::hook::{HookCall, HookEvent, capped};

/// The line for stdout, or `None` to print nothing.
pub fn answer(hook: &HookCall, verdict: &Verdict, _notice: Option<&str>) -> Option<String> {
    let reason = verdict.reason()?;
    let text = capped(&reason.text);
    let answer = match hook.event {
        HookEvent::ToolStart if verdict.denies() => {
            json!({ "permissionDecision": "deny", "permissionDecisionReason": text })
        }
        HookEvent::ToolStart => {
            json!({ "hookSpecificOutput": { "hookEventName": hook.name, "additionalContext": text } })
        }
        HookEvent::Prompt if verdict.denies() => json!({ "decision": "block", "reason": text }),
        HookEvent::Prompt
        | HookEvent::SessionStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::SpawnStart => json!({ "additionalContext": text }),
        _unread => return None,
    };
    Some(answer.to_string())
}
