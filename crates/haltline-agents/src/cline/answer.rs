//! What a hook prints for Cline: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! - The client waits only for the hooks before and after a call.
//! - It cannot deny a single call: `cancel` ends the whole run, and exit codes are ignored.
//! - A hook may replace a call's arguments, and no tool of the client works without any. So haltline denies a call by
//!   removing its arguments; the reason reaches the model with the tool's error, and the run goes on.
//! - Only a stop cancels the run.

use haltline_core::Verdict;
use serde_json::{Value, json};

use crate::hook::{HookCall, HookEvent, capped};

/// The line for stdout, or `None` to print nothing.
pub fn answer(hook: &HookCall, verdict: &Verdict, _notice: Option<&str>) -> Option<String> {
    let context = |text: &str| json!({ "contextModification": capped(text) });
    let cancellation = |text: &str| json!({ "cancel": true, "errorMessage": capped(text) });
    let answer: Value = match hook.event {
        HookEvent::ToolStart => match verdict {
            Verdict::Pass => return None,
            Verdict::Warn(reason) => context(&reason.text),
            Verdict::Deny(reason) => json!({ "overrideInput": null, "contextModification": capped(&reason.text) }),
            Verdict::Stop(reason) => cancellation(&reason.text),
        },
        HookEvent::ToolEnd => match verdict {
            Verdict::Pass => return None,
            Verdict::Warn(reason) | Verdict::Deny(reason) => context(&reason.text),
            Verdict::Stop(reason) => cancellation(&reason.text),
        },
        _unread => return None,
    };
    Some(answer.to_string())
}
