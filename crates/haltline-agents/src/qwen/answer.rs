//! What a hook prints for Qwen Code: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! - `permissionDecision: deny` denies a call; before a call a stop can do no more.
//! - `decision: block` before the next request ends the agent.
//! - Before a call the client accepts no context for the model, so a warning waits for the end of that call.

use haltline_core::Verdict;
use serde_json::{Map, Value, json};

use crate::hook::{EventSet, HookCall, HookEvent, NoticeEvents, answer_line, capped};

/// The client shows the person a notice that comes with the answer to one of these events.
pub(super) const NOTICES: NoticeEvents = NoticeEvents::with_any_answer(EventSet::of(&[
    HookEvent::SessionStart,
    HookEvent::Prompt,
    HookEvent::ModelStart,
    HookEvent::ToolStart,
    HookEvent::ToolEnd,
    HookEvent::ToolFailed,
    HookEvent::Stop,
]));

/// The model receives a warning that comes with the answer to one of these events.
pub(super) const CARRY_WARNING: EventSet = EventSet::of(&[
    HookEvent::SessionStart,
    HookEvent::Prompt,
    HookEvent::ModelStart,
    HookEvent::ToolEnd,
    HookEvent::ToolFailed,
    HookEvent::SpawnStart,
]);

/// The line for stdout, or `None` to print nothing; `notice` is for the person.
pub fn answer(hook: &HookCall, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    let mut special = |members: Value| output.insert("hookSpecificOutput".to_owned(), members);
    let context = |text: &str| json!({ "hookEventName": hook.name, "additionalContext": capped(text) });
    match hook.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                special(json!({ "hookEventName": hook.name, "permissionDecision": "deny",
                    "permissionDecisionReason": capped(&reason.text) }));
            }
        },
        HookEvent::ToolEnd | HookEvent::ToolFailed | HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                special(context(&reason.text));
            }
        }
        HookEvent::Prompt | HookEvent::ModelStart => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => {
                special(context(&reason.text));
            }
            Verdict::Deny(reason) | Verdict::Stop(reason) => {
                output.insert("decision".to_owned(), json!("block"));
                output.insert("reason".to_owned(), json!(capped(&reason.text)));
            }
        },
        HookEvent::Stop => {}
        _unread => return None,
    }
    answer_line(output, "systemMessage", notice)
}
