//! What haltline prints for the plugin: one line of JSON, or nothing.
//!
//! - `deny`: the plugin throws this text, and the model gets it instead of the call's result.
//! - `stop`: the plugin ends the session that sent the event.
//! - `tell`: the model gets this text with the next result.
//! - `notice`: the plugin shows this text to the person.

use haltline_core::{Reason, Verdict};
use serde_json::{Map, json};

use crate::hook::{EventSet, HookCall, HookEvent, NoticeEvents, answer_line, capped};

/// After these events the session is over or haltline does not answer.
const UNANSWERED: EventSet = EventSet::of(&[HookEvent::SessionEnd, HookEvent::Other]);

/// The plugin shows the person a notice whenever the session goes on.
pub(super) const NOTICES: NoticeEvents = NoticeEvents::with_any_answer(UNANSWERED.complement());

/// A notice for the person, when the event could not be read.
pub fn answer_unreadable(text: Option<&str>) -> Option<String> {
    Some(json!({ "notice": capped(text?) }).to_string())
}

/// The line for stdout, or `None` to print nothing; `notice` is for the person.
pub fn answer(hook: &HookCall, verdict: &Verdict, notice: Option<&str>) -> Option<String> {
    let mut output = Map::new();
    let mut set_text = |key: &str, reason: &Reason| {
        output.insert(key.to_owned(), json!(capped(&reason.text)));
    };
    match hook.event {
        HookEvent::ToolStart | HookEvent::Prompt => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) => set_text("tell", reason),
            Verdict::Deny(reason) => set_text("deny", reason),
            Verdict::Stop(reason) => {
                set_text("deny", reason);
                output.insert("stop".to_owned(), json!(true));
            }
        },
        HookEvent::ToolEnd | HookEvent::ToolFailed | HookEvent::Batch => match verdict {
            Verdict::Pass => {}
            Verdict::Warn(reason) | Verdict::Deny(reason) => set_text("tell", reason),
            Verdict::Stop(reason) => {
                set_text("tell", reason);
                output.insert("stop".to_owned(), json!(true));
            }
        },
        HookEvent::SessionStart | HookEvent::SpawnStart => {
            if let Some(reason) = verdict.reason() {
                set_text("tell", reason);
            }
        }
        unread if UNANSWERED.contains(unread) => return None,
        _notice_only => {}
    }
    answer_line(output, "notice", notice)
}
