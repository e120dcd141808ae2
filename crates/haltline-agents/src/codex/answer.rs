//! What a hook prints for Codex: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! The client discards an answer with a field that the event does not expect, and continues as if there were no answer.
//! So a denial is `permissionDecision` with its reason and nothing else, not even a notice for the person; `continue:
//! false` before a call would be such a field. No answer keeps an agent going: the client has no limit on Stop hooks
//! that do.

use haltline_core::Verdict;
use serde_json::{Value, json};

use crate::hook::{EventSet, HookCall, HookEvent, capped};

/// The client shows the person a notice that comes with the answer to one of these events, unless it denies a call.
const SHOW_NOTICE: EventSet = EventSet::of(&[
    HookEvent::SessionStart,
    HookEvent::Prompt,
    HookEvent::ToolStart,
    HookEvent::ToolEnd,
    HookEvent::Stop,
    HookEvent::Compaction,
    HookEvent::Interrupted,
]);

/// True if the client shows the person a notice that comes with this answer.
pub fn shows_notice(hook: &HookCall, verdict: &Verdict) -> bool {
    let denies_call = hook.event == HookEvent::ToolStart && verdict.denies();
    SHOW_NOTICE.contains(hook.event) && !denies_call
}

/// A notice for the person, when the event could not be read. It is valid for every event except `SessionEnd`.
pub fn answer_unreadable(text: Option<&str>) -> Option<String> {
    Some(json!({ "systemMessage": capped(text?) }).to_string())
}

/// The line for stdout, or `None` to print nothing; `notice` is for the person.
pub fn answer(hook: &HookCall, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = serde_json::Map::new();
    let context = |text: &str| json!({ "hookEventName": hook.name, "additionalContext": capped(text) });
    match hook.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => {
                output.insert("hookSpecificOutput".to_owned(), context(&reason.text));
            }
            Verdict::Deny(reason) | Verdict::Stop(reason) => return Some(denial(&hook.name, &reason.text)),
        },
        HookEvent::ToolEnd | HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                output.insert("hookSpecificOutput".to_owned(), context(&reason.text));
            }
        }
        HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => {
                output.insert("hookSpecificOutput".to_owned(), context(&reason.text));
            }
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                output.insert("decision".to_owned(), json!("block"));
                output.insert("reason".to_owned(), json!(capped(&reason.text)));
            }
        },
        HookEvent::Stop => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            // The turn was about to end anyway; this overrides hooks that would keep it going.
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                output.insert("continue".to_owned(), json!(false));
                output.insert("stopReason".to_owned(), json!(capped(reason.text.lines().next().unwrap_or_default())));
            }
        },
        HookEvent::SpawnEnd | HookEvent::Compaction | HookEvent::Interrupted => {}
        _unread => return None,
    }
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        output.insert("systemMessage".to_owned(), json!(capped(notice)));
    }
    (!output.is_empty()).then(|| Value::Object(output).to_string())
}

fn denial(event: &str, text: &str) -> String {
    // The client treats a denial without a reason as a mistake.
    let text = capped(text);
    let special = json!({ "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": text });
    json!({ "hookSpecificOutput": special }).to_string()
}
