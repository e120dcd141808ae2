//! What a hook prints for Cline: one line of JSON, or nothing, which lets the client go its own way.
//!
//! The client waits for hooks before and after a call, and for no others. It has no refusal of one call: `cancel` ends the
//! whole run, and exit codes are ignored. But a hook may replace a call's arguments, and none of the client's tools works
//! without any: so a refusal takes them away, and the reason comes with the error that the tool returns. The run goes
//! on. Only a stop cancels it.

use haltline_core::Verdict;
use serde_json::{Value, json};

use crate::hook::{Asked, HookEvent, capped};

/// Nothing that a hook says is shown to the person.
pub fn shows_notice(_asked: &Asked, _verdict: &Verdict) -> bool {
    false
}

/// There is nobody who would read it.
pub fn complaint(_text: Option<&str>) -> Option<String> {
    None
}

/// The line for stdout, or `None` for silence.
pub fn answer(asked: &Asked, verdict: &Verdict, _notice: Option<&str>) -> Option<String> {
    let told = |text: &str| json!({ "contextModification": capped(text) });
    let ended = |text: &str| json!({ "cancel": true, "errorMessage": capped(text) });
    let answer: Value = match asked.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass => return None,
            Verdict::Warn(reason) => told(&reason.text),
            Verdict::Deny(reason) => json!({ "overrideInput": null, "contextModification": capped(&reason.text) }),
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
