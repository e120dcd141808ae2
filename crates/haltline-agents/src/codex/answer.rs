//! What a hook prints for Codex: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! The client discards an answer with a field that the event does not expect, and continues as if there were no answer.
//! So a denial is `permissionDecision` with its reason and nothing else, not even a notice for the person; `continue:
//! false` before a call would be such a field. No answer keeps an agent going: the client has no limit on Stop hooks
//! that do.

use haltline_core::Verdict;
use serde_json::json;

use crate::hook::{EventSet, HookCall, HookEvent, NoticeEvents, answer_line, capped};

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

/// With the denial of a call the client accepts no notice.
pub(super) const NOTICES: NoticeEvents =
    NoticeEvents { passed: SHOW_NOTICE, denied: SHOW_NOTICE.without(HookEvent::ToolStart) };

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
                output.insert("stopReason".to_owned(), json!(capped(&reason.for_person())));
            }
        },
        HookEvent::SpawnEnd | HookEvent::Compaction | HookEvent::Interrupted => {}
        _unread => return None,
    }
    answer_line(output, "systemMessage", notice)
}

fn denial(event: &str, text: &str) -> String {
    // The client treats a denial without a reason as a mistake.
    let text = capped(text);
    let special = json!({ "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": text });
    json!({ "hookSpecificOutput": special }).to_string()
}
