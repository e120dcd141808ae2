//! What a hook prints for Claude Code: one line of JSON, or nothing, which leaves the client to its own rules.
//!
//! Each event reads different fields, and the wrong field does harm:
//! - `additionalContext` on `Stop` or `SubagentStop` keeps the agent going.
//! - `continue: false` alone on `PreToolUse` still lets the call run.
//! - `continue: false` on `PostToolUseFailure` is ignored.
//!
//! haltline never allows a call (E7) and never prolongs a turn.

use haltline_core::{Reason, Verdict};
use serde::Serialize;

use crate::hook::{EventSet, HookCall, HookEvent, NoticeEvents};

/// Maximum length of a text in UTF-16 units: the client moves anything longer into a file.
const TEXT_UNITS_MAX: usize = 10_000;

/// The client shows the person a notice that comes with one of these events.
pub(super) const NOTICES: NoticeEvents = NoticeEvents::with_any_answer(EventSet::of(&[
    HookEvent::Prompt,
    HookEvent::ToolStart,
    HookEvent::ToolEnd,
    HookEvent::ToolFailed,
    HookEvent::Batch,
    HookEvent::Stop,
]));

#[derive(Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    should_continue: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<HookSpecificOutput>,
}

#[derive(Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput {
    hook_event_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
}

/// A notice for the person, when the event could not be read.
pub fn answer_unreadable(text: Option<&str>) -> Option<String> {
    Some(to_line(&Output { system_message: Some(cap(text?)), ..Output::default() }))
}

/// The line for stdout, or `None` to print nothing; `notice` is for the person.
pub fn answer(hook: &HookCall, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let notice = notice.filter(|text| !text.is_empty());
    let event = hook.name.as_str();
    let mut output = Output::default();
    match hook.event {
        HookEvent::ToolStart => answer_tool_start(&mut output, event, verdict),
        HookEvent::ToolEnd | HookEvent::Batch => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) | Verdict::Deny(reason) => output.add_context(event, &reason.text),
            Verdict::Stop(reason) => output.end_turn(reason),
        },
        HookEvent::ToolFailed | HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                output.add_context(event, &reason.text);
            }
        }
        HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => output.add_context(event, &reason.text),
            Verdict::Deny(reason) => output.block(&reason.text),
            Verdict::Stop(reason) => output.end_turn(reason),
        },
        HookEvent::Stop => match verdict {
            // Context would keep the agent going, so a warning here goes only to the person.
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => output.end_turn(reason),
        },
        HookEvent::SettingsChanged => match verdict {
            Verdict::Pass | Verdict::Warn(_) => {}
            Verdict::Deny(reason) | Verdict::Stop(reason) => output.block(&reason.text),
        },
        HookEvent::SpawnEnd | HookEvent::Compaction => {}
        // The client ignores the output of all other hooks.
        _unread => return None,
    }
    output.system_message = notice.map(cap);
    (output != Output::default()).then(|| to_line(&output))
}

fn to_line(output: &Output) -> String {
    serde_json::to_string(output).expect("texts and booleans are always JSON")
}

fn answer_tool_start(output: &mut Output, event: &str, verdict: &Verdict) {
    let denial = |text: &str| HookSpecificOutput {
        hook_event_name: event.to_owned(),
        permission_decision: Some("deny"),
        permission_decision_reason: Some(cap(text)),
        additional_context: None,
    };
    match verdict {
        Verdict::Pass => {}
        Verdict::Warn(reason) => output.add_context(event, &reason.text),
        Verdict::Deny(reason) => output.hook_specific_output = Some(denial(&reason.text)),
        Verdict::Stop(reason) => {
            // Without the denial the call would still run before the turn ends.
            output.hook_specific_output = Some(denial(&reason.text));
            output.end_turn(reason);
        }
    }
}

impl Output {
    /// Gives the agent a text; the agent continues.
    fn add_context(&mut self, event: &str, text: &str) {
        self.hook_specific_output = Some(HookSpecificOutput {
            hook_event_name: event.to_owned(),
            additional_context: Some(cap(text)),
            ..HookSpecificOutput::default()
        });
    }

    /// Ends the turn. The client shows this reason to the person: what happened, to which command, and what to do now
    /// (E16).
    fn end_turn(&mut self, reason: &Reason) {
        self.should_continue = Some(false);
        self.stop_reason = Some(cap(&reason.for_person()));
    }

    fn block(&mut self, text: &str) {
        self.decision = Some("block");
        self.reason = Some(cap(text));
    }
}

/// The text, cut to the length that the client still shows.
fn cap(text: &str) -> String {
    if text.len() <= TEXT_UNITS_MAX {
        return text.to_owned();
    }
    let (mut units, mut kept) = (0, 0);
    for (index, character) in text.char_indices() {
        units += character.len_utf16();
        if units > TEXT_UNITS_MAX {
            return format!("{}…", &text[..kept]);
        }
        // The ellipsis takes one unit itself.
        if units < TEXT_UNITS_MAX {
            kept = index + character.len_utf8();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_ends_in_an_ellipsis() {
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
