//! What a hook prints for Codex: one line of JSON, or nothing, which lets the client go its own way.
//!
//! The client throws away an answer with a field it does not expect there, and then goes on as if nobody had answered.
//! So a refusal is `permissionDecision` with its reason and nothing else: not even a notice for the person comes with
//! it. `continue: false` before a call is such a field. Nothing here keeps an agent going: the client has no limit on
//! Stop hooks that do.

use haltline_core::Verdict;
use serde_json::{Value, json};

use crate::hook::{Asked, HookEvent, capped};

/// Whether the client shows the person a notice that comes with this answer.
pub fn shows_notice(asked: &Asked, verdict: &Verdict) -> bool {
    match asked.event {
        HookEvent::ToolStart => !verdict.refuses(),
        HookEvent::SessionStart
        | HookEvent::Prompt
        | HookEvent::ToolEnd
        | HookEvent::Stop
        | HookEvent::Compaction
        | HookEvent::Interrupted => true,
        HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::SessionEnd
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

/// A line for the person where the event could not be read. It is valid at every event but the last of a session.
pub fn complaint(text: Option<&str>) -> Option<String> {
    Some(json!({ "systemMessage": capped(text?) }).to_string())
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = serde_json::Map::new();
    let told = |text: &str| json!({ "hookEventName": asked.name, "additionalContext": capped(text) });
    match asked.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => {
                output.insert("hookSpecificOutput".to_owned(), told(&reason.text));
            }
            Verdict::Deny(reason) | Verdict::Stop(reason) => return Some(refusal(&asked.name, &reason.text)),
        },
        HookEvent::ToolEnd | HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                output.insert("hookSpecificOutput".to_owned(), told(&reason.text));
            }
        }
        HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => {
                output.insert("hookSpecificOutput".to_owned(), told(&reason.text));
            }
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                output.insert("decision".to_owned(), json!("block"));
                output.insert("reason".to_owned(), json!(capped(&reason.text)));
            }
        },
        HookEvent::Stop => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            // The turn was to end anyway; this outweighs the hooks that would keep it going.
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                output.insert("continue".to_owned(), json!(false));
                output.insert("stopReason".to_owned(), json!(capped(reason.text.lines().next().unwrap_or_default())));
            }
        },
        HookEvent::SpawnEnd | HookEvent::Compaction | HookEvent::Interrupted => {}
        HookEvent::SessionEnd
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::SettingsChanged
        | HookEvent::Other => return None,
    }
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        output.insert("systemMessage".to_owned(), json!(capped(notice)));
    }
    (!output.is_empty()).then(|| Value::Object(output).to_string())
}

fn refusal(event: &str, text: &str) -> String {
    // Without a reason the client takes the answer for a mistake.
    let text = capped(text);
    let special = json!({ "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": text });
    json!({ "hookSpecificOutput": special }).to_string()
}
