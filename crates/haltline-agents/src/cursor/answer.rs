//! What a hook prints for Cursor: one JSON object, or nothing if the client does not wait for a permission.
//!
//! Before a call the client accepts no context for the model, so a warning waits for the end of that call. haltline
//! never sends `followup_message` at the end of a turn, because it would keep the agent going.

use haltline_core::{Reason, Verdict};
use serde_json::json;

use crate::hook::{EventSet, HookCall, HookEvent, NoticeEvents, capped};

/// The client waits for a permission after these events.
const WAIT_FOR_PERMISSION: EventSet = EventSet::of(&[HookEvent::ToolStart, HookEvent::SpawnStart, HookEvent::Prompt]);

/// The model receives a warning that comes with the answer to one of these events.
pub(super) const CARRY_WARNING: EventSet = EventSet::of(&[HookEvent::SessionStart, HookEvent::ToolEnd]);

/// The client shows the person a notice only with a denial.
pub(super) const NOTICES: NoticeEvents = NoticeEvents { denied: WAIT_FOR_PERMISSION, ..NoticeEvents::NONE };

/// The line for stdout, or `None` to print nothing; `notice` is for the person.
pub fn answer(hook: &HookCall, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let answer = match (hook.event, verdict) {
        (HookEvent::ToolStart | HookEvent::SpawnStart, Verdict::Deny(reason) | Verdict::Stop(reason)) => {
            json!({ "permission": "deny", "user_message": for_person(reason, notice), "agent_message": capped(&reason.text) })
        }
        (HookEvent::Prompt, Verdict::Deny(reason) | Verdict::Stop(reason)) => {
            json!({ "continue": false, "user_message": for_person(reason, notice) })
        }
        (event, Verdict::Pass) if WAIT_FOR_PERMISSION.contains(event) => json!({}),
        (event, Verdict::Warn(reason) | Verdict::Deny(reason) | Verdict::Stop(reason))
            if CARRY_WARNING.contains(event) =>
        {
            json!({ "additional_context": capped(&reason.text) })
        }
        _unread => return None,
    };
    Some(answer.to_string())
}

/// The first line of a reason says what happened; the rest is for the model.
fn for_person(reason: &Reason, notice: Option<&str>) -> String {
    let first = reason.text.lines().next().unwrap_or_default();
    match notice.filter(|text| !text.is_empty()) {
        Some(notice) => capped(&format!("{first}\n{notice}")),
        None => capped(first),
    }
}
