//! What a hook prints for Qwen Code: one line of JSON, or nothing, which lets the client go its own way.
//!
//! A call is refused by `permissionDecision: deny`, which is also all that a stop can do there; what ends the agent is
//! `decision: block` before its next request. Before a call the client takes no context for the model, so a warning waits
//! for the end of that call.

use haltline_core::Verdict;
use serde_json::{Map, Value, json};

use crate::hook::{Asked, HookEvent, capped};

/// Whether the client shows the person a notice that comes with this answer.
pub fn shows_notice(asked: &Asked, _verdict: &Verdict) -> bool {
    match asked.event {
        HookEvent::SessionStart
        | HookEvent::Prompt
        | HookEvent::ModelStart
        | HookEvent::ToolStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::Stop => true,
        HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::SessionEnd
        | HookEvent::Compaction
        | HookEvent::Batch
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

/// A line for the person where the event could not be read.
pub fn complaint(text: Option<&str>) -> Option<String> {
    Some(json!({ "systemMessage": capped(text?) }).to_string())
}

/// Whether the model reads a warning that comes with the answer to this event.
pub(super) fn carries_warning(event: HookEvent) -> bool {
    match event {
        HookEvent::SessionStart
        | HookEvent::Prompt
        | HookEvent::ModelStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::SpawnStart => true,
        HookEvent::ToolStart
        | HookEvent::Batch
        | HookEvent::SpawnEnd
        | HookEvent::Stop
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SessionEnd
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    let mut special = |members: Value| output.insert("hookSpecificOutput".to_owned(), members);
    let told = |text: &str| json!({ "hookEventName": asked.name, "additionalContext": capped(text) });
    match asked.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                special(json!({ "hookEventName": asked.name, "permissionDecision": "deny",
                    "permissionDecisionReason": capped(&reason.text) }));
            }
        },
        HookEvent::ToolEnd | HookEvent::ToolFailed | HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                special(told(&reason.text));
            }
        }
        HookEvent::Prompt | HookEvent::ModelStart => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => {
                special(told(&reason.text));
            }
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                output.insert("decision".to_owned(), json!("block"));
                output.insert("reason".to_owned(), json!(capped(&reason.text)));
            }
        },
        HookEvent::Stop => {}
        HookEvent::SpawnEnd
        | HookEvent::SessionEnd
        | HookEvent::Compaction
        | HookEvent::Batch
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => return None,
    }
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        output.insert("systemMessage".to_owned(), json!(capped(notice)));
    }
    (!output.is_empty()).then(|| Value::Object(output).to_string())
}
