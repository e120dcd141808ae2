//! What a hook prints for Gemini CLI: one line of JSON, or nothing, which lets the client go its own way.
//!
//! `decision: deny` refuses a call and its reason reaches the model; `continue: false` ends the agent. Before a call the
//! client takes no context for the model, so a warning waits for the end of that call. Nothing here rejects the end of a
//! turn: the client has no limit on hooks that do.

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
        | HookEvent::Stop => true,
        // The client does not wait for this one.
        HookEvent::SessionEnd
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

/// Whether the model reads a warning that comes with the answer to this event.
pub(super) fn carries_warning(event: HookEvent) -> bool {
    matches!(event, HookEvent::SessionStart | HookEvent::Prompt | HookEvent::ToolEnd)
}

/// A line for the person where the event could not be read.
pub fn complaint(text: Option<&str>) -> Option<String> {
    Some(json!({ "systemMessage": capped(text?) }).to_string())
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    match asked.event {
        HookEvent::ToolStart | HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => tell(&mut output, asked, &reason.text),
            Verdict::Deny(reason) => deny(&mut output, &reason.text),
            Verdict::Stop(reason) => {
                // Should another hook's word outweigh the end, the call is refused all the same.
                deny(&mut output, &reason.text);
                end(&mut output, &reason.text);
            }
        },
        HookEvent::ToolEnd => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) | Verdict::Deny(reason) => tell(&mut output, asked, &reason.text),
            Verdict::Stop(reason) => end(&mut output, &reason.text),
        },
        HookEvent::SessionStart => {
            if let Some(reason) = verdict.reason() {
                tell(&mut output, asked, &reason.text);
            }
        }
        HookEvent::ModelStart | HookEvent::Stop => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => end(&mut output, &reason.text),
        },
        HookEvent::SessionEnd
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => return None,
    }
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        output.insert("systemMessage".to_owned(), json!(capped(notice)));
    }
    (!output.is_empty()).then(|| Value::Object(output).to_string())
}

fn tell(output: &mut Map<String, Value>, asked: &Asked, text: &str) {
    if carries_warning(asked.event) {
        let context = json!({ "hookEventName": asked.name, "additionalContext": capped(text) });
        output.insert("hookSpecificOutput".to_owned(), context);
    }
}

fn deny(output: &mut Map<String, Value>, text: &str) {
    output.insert("decision".to_owned(), json!("deny"));
    output.insert("reason".to_owned(), json!(capped(text)));
}

fn end(output: &mut Map<String, Value>, text: &str) {
    output.insert("continue".to_owned(), json!(false));
    output.insert("stopReason".to_owned(), json!(capped(text)));
}
