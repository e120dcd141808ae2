//! What a hook prints for Gemini CLI: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! - `decision: deny` denies a call, and its reason reaches the model.
//! - `continue: false` ends the agent.
//! - Before a call the client accepts no context for the model, so a warning waits for the end of that call.
//!
//! No answer rejects the end of a turn: the client has no limit on hooks that do.

use haltline_core::Verdict;
use serde_json::{Map, Value, json};

use crate::hook::{EventSet, HookCall, HookEvent, NoticeEvents, answer_line, capped};

/// The client shows the person a notice that comes with the answer to one of these events. `SessionEnd` is not among
/// them, because the client does not wait for its hook.
pub(super) const NOTICES: NoticeEvents = NoticeEvents::with_any_answer(EventSet::of(&[
    HookEvent::SessionStart,
    HookEvent::Prompt,
    HookEvent::ModelStart,
    HookEvent::ToolStart,
    HookEvent::ToolEnd,
    HookEvent::Stop,
]));

/// The model receives a warning that comes with the answer to one of these events.
pub(super) const CARRY_WARNING: EventSet =
    EventSet::of(&[HookEvent::SessionStart, HookEvent::Prompt, HookEvent::ToolEnd]);

/// The line for stdout, or `None` to print nothing; `notice` is for the person.
pub fn answer(hook: &HookCall, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    match hook.event {
        HookEvent::ToolStart | HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => add_context(&mut output, hook, &reason.text),
            Verdict::Deny(reason) => deny(&mut output, &reason.text),
            Verdict::Stop(reason) => {
                // If another hook's answer overrides the end, the call is still denied.
                deny(&mut output, &reason.text);
                end_agent(&mut output, &reason.text);
            }
        },
        HookEvent::ToolEnd => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) | Verdict::Deny(reason) => add_context(&mut output, hook, &reason.text),
            Verdict::Stop(reason) => end_agent(&mut output, &reason.text),
        },
        HookEvent::SessionStart => {
            if let Some(reason) = verdict.reason() {
                add_context(&mut output, hook, &reason.text);
            }
        }
        HookEvent::ModelStart | HookEvent::Stop => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => end_agent(&mut output, &reason.text),
        },
        _unread => return None,
    }
    answer_line(output, "systemMessage", notice)
}

fn add_context(output: &mut Map<String, Value>, hook: &HookCall, text: &str) {
    if CARRY_WARNING.contains(hook.event) {
        let context = json!({ "hookEventName": hook.name, "additionalContext": capped(text) });
        output.insert("hookSpecificOutput".to_owned(), context);
    }
}

fn deny(output: &mut Map<String, Value>, text: &str) {
    output.insert("decision".to_owned(), json!("deny"));
    output.insert("reason".to_owned(), json!(capped(text)));
}

fn end_agent(output: &mut Map<String, Value>, text: &str) {
    output.insert("continue".to_owned(), json!(false));
    output.insert("stopReason".to_owned(), json!(capped(text)));
}
