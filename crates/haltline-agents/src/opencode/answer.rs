//! What a hook prints for the plugin: one line of JSON, or nothing. `deny` is thrown at the model in place of the call's
//! result, `stop` ends the session that asked, `tell` comes with the next result, `notice` is shown to the person.

use haltline_core::{Reason, Verdict};
use serde_json::{Map, Value, json};

use crate::hook::{Asked, HookEvent, capped};

/// Whether the person is shown a notice that comes with this answer: wherever somebody is left to show it.
pub fn shows_notice(asked: &Asked, _verdict: &Verdict) -> bool {
    !matches!(asked.event, HookEvent::SessionEnd | HookEvent::Other)
}

/// A line for the person where the event could not be read.
pub fn complaint(text: Option<&str>) -> Option<String> {
    Some(json!({ "notice": capped(text?) }).to_string())
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    let mut say = |key: &str, reason: &Reason| {
        output.insert(key.to_owned(), json!(capped(&reason.text)));
    };
    match asked.event {
        HookEvent::ToolStart | HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => say("tell", reason),
            Verdict::Deny(reason) => say("deny", reason),
            Verdict::Stop(reason) => {
                say("deny", reason);
                output.insert("stop".to_owned(), json!(true));
            }
        },
        HookEvent::ToolEnd | HookEvent::ToolFailed | HookEvent::Batch => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) | Verdict::Deny(reason) => say("tell", reason),
            Verdict::Stop(reason) => {
                say("tell", reason);
                output.insert("stop".to_owned(), json!(true));
            }
        },
        HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                say("tell", reason);
            }
        }
        HookEvent::SpawnEnd
        | HookEvent::ModelStart
        | HookEvent::Stop
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged => {}
        HookEvent::SessionEnd | HookEvent::Other => return None,
    }
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        output.insert("notice".to_owned(), json!(capped(notice)));
    }
    (!output.is_empty()).then(|| Value::Object(output).to_string())
}
