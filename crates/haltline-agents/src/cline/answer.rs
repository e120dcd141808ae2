//! What a hook prints for Cline: one line of JSON, or nothing, which lets the client go its own way.
//!
//! The client waits for hooks before and after a call, and for no others. It has no refusal of one call: `cancel` ends the
//! whole run, and exit codes are ignored. But a hook may replace a call's arguments, and none of the client's tools works
//! without any: so a refusal takes them away, and the reason comes with the error that the tool returns. The run goes
//! on. Only a stop cancels it.

use haltline_core::Verdict;
use serde_json::{Value, json};

use crate::hook::{Asked, HookEvent};

/// The client cuts what is longer than 50,000.
const TEXT_BYTES_MAX: usize = 40_000;

/// Nothing that a hook says is shown to the person.
pub fn shows_notice(_asked: &Asked, _verdict: &Verdict) -> bool {
    false
}

/// There is nobody who would read it.
pub fn complaint(_text: &str) -> Option<String> {
    None
}

/// The line for stdout, or `None` for silence.
pub fn answer(asked: &Asked, verdict: &Verdict, _notice: Option<&str>) -> Option<String> {
    let told = |text: &str| json!({ "contextModification": cap(text) });
    let ended = |text: &str| json!({ "cancel": true, "errorMessage": cap(text) });
    let answer: Value = match asked.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass => return None,
            Verdict::Warn(reason) => told(&reason.text),
            Verdict::Deny(reason) => json!({ "overrideInput": null, "contextModification": cap(&reason.text) }),
            Verdict::Stop(reason) => ended(&reason.text),
        },
        HookEvent::ToolEnd => match verdict {
            Verdict::Pass => return None,
            Verdict::Warn(reason) | Verdict::Deny(reason) => told(&reason.text),
            Verdict::Stop(reason) => ended(&reason.text),
        },
        HookEvent::SessionStart
        | HookEvent::Prompt
        | HookEvent::ModelStart
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::Stop
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SessionEnd
        | HookEvent::SettingsChanged
        | HookEvent::Other => return None,
    };
    Some(answer.to_string())
}

fn cap(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES_MAX - '…'.len_utf8()).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    format!("{}…", &text[..end])
}
