//! What a hook prints for Claude Code: one line of JSON, or nothing, which lets the client go its own way.
//!
//! What each event reads differs, and the wrong word does harm: context on `Stop` or `SubagentStop` keeps the agent
//! going, `continue: false` alone on `PreToolUse` lets the call run, and on `PostToolUseFailure` it is ignored. A
//! call is never allowed by us (E7), and nobody's turn is prolonged.

use haltline_core::Verdict;
use serde::Serialize;

use crate::hook::{Asked, HookEvent};

/// How long a text may be, in UTF-16 units: the client puts anything longer into a file.
const TEXT_UNITS_MAX: usize = 10_000;

#[derive(Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    goes_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Specific>,
}

#[derive(Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    hook_event_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
}

/// Whether the client shows the person a notice that comes with this event.
pub fn shows_notice(asked: &Asked, _verdict: &Verdict) -> bool {
    match asked.event {
        HookEvent::Prompt
        | HookEvent::ToolStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::Stop => true,
        HookEvent::SessionStart
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SessionEnd
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

/// A line for the person where the event could not be read.
pub fn complaint(text: Option<&str>) -> Option<String> {
    Some(line(&Output { system_message: Some(cap(text?)), ..Output::default() }))
}

/// The line for stdout, or `None` for silence; `notice` is for the person.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let notice = notice.filter(|text| !text.is_empty());
    let event = asked.name.as_str();
    let mut output = Output::default();
    match asked.event {
        HookEvent::ToolStart => before_a_call(&mut output, event, verdict),
        HookEvent::ToolEnd | HookEvent::Batch => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) | Verdict::Deny(reason) => output.tell(event, &reason.text),
            Verdict::Stop(reason) => output.end(&reason.text),
        },
        HookEvent::ToolFailed | HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                output.tell(event, &reason.text);
            }
        }
        HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => output.tell(event, &reason.text),
            Verdict::Deny(reason) => output.block(&reason.text),
            Verdict::Stop(reason) => output.end(&reason.text),
        },
        HookEvent::Stop => match verdict {
            // Context would keep the agent going; a warning here is for the person only.
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => output.end(&reason.text),
        },
        HookEvent::SettingsChanged => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => output.block(&reason.text),
        },
        HookEvent::SpawnEnd | HookEvent::Compaction => {}
        // Nobody reads what these print.
        HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SessionEnd
        | HookEvent::Other => return None,
    }
    output.system_message = notice.map(cap);
    (output != Output::default()).then(|| line(&output))
}

fn line(output: &Output) -> String {
    serde_json::to_string(output).expect("texts and booleans are always JSON")
}

fn before_a_call(output: &mut Output, event: &str, verdict: &Verdict) {
    let refusal = |text: &str| Specific {
        hook_event_name: event.to_owned(),
        permission_decision: Some("deny"),
        permission_decision_reason: Some(cap(text)),
        additional_context: None,
    };
    match verdict {
        Verdict::Pass => {}
        Verdict::Warn(reason) => output.tell(event, &reason.text),
        Verdict::Deny(reason) => output.hook_specific_output = Some(refusal(&reason.text)),
        Verdict::Stop(reason) => {
            // Without the refusal the call would still run before the turn ends.
            output.hook_specific_output = Some(refusal(&reason.text));
            output.end(&reason.text);
        }
    }
}

impl Output {
    /// Tells the agent, which goes on.
    fn tell(&mut self, event: &str, text: &str) {
        self.hook_specific_output = Some(Specific {
            hook_event_name: event.to_owned(),
            additional_context: Some(cap(text)),
            ..Specific::default()
        });
    }

    /// Ends the turn. The client shows the reason beside the notice, which tells the person everything: one line is
    /// enough here (E16).
    fn end(&mut self, text: &str) {
        self.goes_on = Some(false);
        self.stop_reason = text.lines().next().map(cap);
    }

    fn block(&mut self, text: &str) {
        self.decision = Some("block");
        self.reason = Some(cap(text));
    }
}

/// The text, cut where the client would no longer show it.
fn cap(text: &str) -> String {
    if text.len() <= TEXT_UNITS_MAX {
        return text.to_owned();
    }
    let (mut units, mut kept) = (0, 0);
    for (place, letter) in text.char_indices() {
        units += letter.len_utf16();
        if units > TEXT_UNITS_MAX {
            return format!("{}…", &text[..kept]);
        }
        // The mark of the cut takes one unit itself.
        if units < TEXT_UNITS_MAX {
            kept = place + letter.len_utf8();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let units = |text: &str| text.encode_utf16().count();
        for text in ["a".repeat(10_001), "é".repeat(20_000), "😀".repeat(5_001), format!("a{}", "😀".repeat(5_000))]
        {
            let cut = cap(&text);
            assert!(units(&cut) <= 10_000 && units(&cut) >= 9_998, "{}", units(&cut));
            assert!(cut.ends_with('…') && text.starts_with(cut.trim_end_matches('…')));
        }
        for text in ["a".repeat(10_000), "é".repeat(10_000), "😀".repeat(5_000)] {
            assert_eq!(cap(&text), text);
        }
    }
}
