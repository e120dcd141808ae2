//! What a hook prints for Copilot CLI: one line of JSON, or nothing, which lets the client go its own way.
//!
//! Where a text has to stand differs by event: before a call only what is nested reaches the model, after it only what is
//! flat. A refusal is flat, which the client takes under either name of the event. Nothing here is ever shown to a person:
//! the client has no place for it. Nothing here keeps an agent going that wants to end.

use haltline_core::Verdict;
use serde_json::json;

use crate::hook::{Asked, HookEvent};

/// The client cuts longer texts.
const TEXT_BYTES_MAX: usize = 8_000;

/// Whether the client shows the person a notice that comes with this answer.
pub fn shows_notice(_asked: &Asked, _verdict: &Verdict) -> bool {
    false
}

/// A line for the person where the event could not be read: the client shows none.
pub fn complaint(_text: &str) -> Option<String> {
    None
}

/// The line for stdout, or `None` for silence.
pub fn answer(asked: &Asked, verdict: &Verdict, _notice: Option<&str>) -> Option<String> {
    let reason = verdict.reason()?;
    let text = cap(&reason.text);
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

fn cap(text: &str) -> String {
    // A refusal without a reason would be one that nobody understands.
    let text = if text.trim().is_empty() { "refused by haltline" } else { text };
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES_MAX - '…'.len_utf8()).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    format!("{}…", &text[..end])
}
