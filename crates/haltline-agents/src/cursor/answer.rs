//! What a hook prints for Cursor: one JSON object, or nothing where nobody waits for a permission.
//!
//! Before a call the client takes no context for the model, so a warning waits for the end of that call. `followup_message`
//! at the end of a turn would keep the agent going, and is never said.

use haltline_core::{Reason, Verdict};
use serde_json::{Value, json};

use crate::hook::{Asked, HookEvent, capped};

/// Whether the client shows the person a notice that comes with this answer: only with a refusal.
pub fn shows_notice(asked: &Asked, verdict: &Verdict) -> bool {
    verdict.refuses() && is_permission(asked.event)
}

/// A line for the person where the event could not be read: the client has no place for it. An empty object lets it go on,
/// every time: silence may count as a refusal.
pub fn complaint(_text: Option<&str>) -> Option<String> {
    Some("{}".to_owned())
}

/// Whether the client waits for a permission.
fn is_permission(event: HookEvent) -> bool {
    matches!(event, HookEvent::ToolStart | HookEvent::SpawnStart | HookEvent::Prompt)
}

/// Whether the model reads a warning that comes with the answer to this event.
pub(super) fn carries_warning(event: HookEvent) -> bool {
    matches!(event, HookEvent::SessionStart | HookEvent::ToolEnd)
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let answer = match (asked.event, verdict) {
        (HookEvent::ToolStart | HookEvent::SpawnStart, Verdict::Deny(reason) | Verdict::Stop(reason)) => {
            json!({ "permission": "deny", "user_message": for_person(reason, notice), "agent_message": capped(&reason.text) })
        }
        (HookEvent::Prompt, Verdict::Deny(reason) | Verdict::Stop(reason)) => {
            json!({ "continue": false, "user_message": for_person(reason, notice) })
        }
        (HookEvent::ToolStart | HookEvent::SpawnStart | HookEvent::Prompt, Verdict::Pass) => json!({}),
        (HookEvent::SessionStart | HookEvent::ToolEnd, Verdict::Warn(reason) | Verdict::Deny(reason)) => {
            told(&reason.text)
        }
        (HookEvent::SessionStart | HookEvent::ToolEnd, Verdict::Stop(reason)) => told(&reason.text),
        (HookEvent::SessionStart | HookEvent::ToolEnd, Verdict::Pass)
        | (HookEvent::ToolStart | HookEvent::SpawnStart | HookEvent::Prompt, Verdict::Warn(_))
        | (
            HookEvent::ModelStart
            | HookEvent::ToolFailed
            | HookEvent::Batch
            | HookEvent::SpawnEnd
            | HookEvent::Stop
            | HookEvent::StopFailed
            | HookEvent::Interrupted
            | HookEvent::Compaction
            | HookEvent::SessionEnd
            | HookEvent::SettingsChanged
            | HookEvent::Other,
            _,
        ) => return None,
    };
    Some(answer.to_string())
}

fn told(text: &str) -> Value {
    json!({ "additional_context": capped(text) })
}

/// The first line of a reason says what happened; the rest is for the model.
fn for_person(reason: &Reason, notice: Option<&str>) -> String {
    let first = reason.text.lines().next().unwrap_or_default();
    match notice.filter(|text| !text.is_empty()) {
        Some(notice) => capped(&format!("{first}\n{notice}")),
        None => capped(first),
    }
}
