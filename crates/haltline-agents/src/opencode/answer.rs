//! What a hook prints for the plugin: one line of JSON, or nothing. `deny` is thrown at the model in place of the call's
//! result, `stop` ends the session that asked, `tell` comes with the next result, `notice` is shown to the person.

use haltline_core::{Reason, Verdict};
use serde_json::{Map, Value, json};

use crate::hook::{Asked, HookEvent};

/// The client cuts tool results far above this.
const TEXT_BYTES_MAX: usize = 8_000;

/// Whether the person is shown a notice that comes with this answer: wherever somebody is left to show it.
pub fn shows_notice(asked: &Asked, _verdict: &Verdict) -> bool {
    !matches!(asked.event, HookEvent::SessionEnd | HookEvent::Other)
}

/// A line for the person where the event could not be read.
pub fn complaint(text: &str) -> Option<String> {
    Some(json!({ "notice": cap(text) }).to_string())
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    let mut say = |key: &str, reason: &Reason| {
        output.insert(key.to_owned(), json!(told(&reason.text)));
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
        HookEvent::ModelStart
        | HookEvent::SpawnEnd
        | HookEvent::Stop
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged => {}
        HookEvent::SessionEnd | HookEvent::Other => return None,
    }
    if let Some(notice) = notice.filter(|text| !text.is_empty()) {
        output.insert("notice".to_owned(), json!(cap(notice)));
    }
    (!output.is_empty()).then(|| Value::Object(output).to_string())
}

/// A refusal without a word would be none.
fn told(text: &str) -> String {
    if text.trim().is_empty() { "refused by haltline".to_owned() } else { cap(text) }
}

fn cap(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES_MAX - '…'.len_utf8()).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    format!("{}…", &text[..end])
}
