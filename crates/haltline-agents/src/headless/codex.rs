//! Codex's `exec --json`: threads, turns and items, one per line. Written against version 0.166.0.
//!
//! The output says less than Claude Code's: nothing about hooks, no model, no cost, and the tokens of the whole thread
//! only when a turn has ended. Items of the kind `error` are notices; an error that ends a turn is `turn.failed`.

use serde_json::value::RawValue;

use super::{Ending, HeadlessReport, OutputFormat, Spent, TextTail, error_excerpt, fault};
use crate::json::{self, Unread};
use crate::transcript::record;
use haltline_core::identity::Action;

json::unread! {
    struct Line { r#type, thread_id, item, usage, error, message }

    struct Item { r#type, text, command, status }
}

/// True when a program that prints this object is Codex.
pub(super) fn recognises(object: &RawValue) -> bool {
    let Some(line) = json::object::<Line<'_>>(object) else { return false };
    record::is_text(line.r#type, "thread.started") && line.thread_id.is_some()
}

/// What the output has said so far.
#[derive(Debug, Default)]
pub(super) struct Codex {
    text: TextTail,
    report: HeadlessReport,
    /// The last error that has not ended a turn.
    error: Option<String>,
    /// Number of items of the running turn.
    items: u64,
}

impl Codex {
    pub fn parse_object(&mut self, object: &RawValue) {
        let Some(line) = json::object::<Line<'_>>(object) else { return };
        let Some(kind) = line.r#type.and_then(json::text) else { return };
        match kind.as_ref() {
            "thread.started" => {
                self.report.session = json::non_empty_text(line.thread_id).or(self.report.session.take())
            }
            "turn.started" => {
                (self.items, self.error) = (0, None);
                self.report.ending = Ending::Silent;
            }
            "item.completed" => self.read_item(line.item),
            "turn.completed" => self.end_turn(line.usage),
            "turn.failed" => {
                let message = json::member_text(line.error, "message").or(self.error.take());
                self.report.ending = failed_ending(&message.unwrap_or_default());
            }
            "error" => {
                self.error = json::non_empty_text(line.message).filter(|message| !message.starts_with("Reconnecting"))
            }
            _ => {}
        }
    }

    pub fn spent(&self) -> Spent {
        self.report.spent
    }

    pub fn session(&self) -> Option<&str> {
        self.report.session.as_deref()
    }

    pub fn finish(self) -> HeadlessReport {
        let ending = match (self.report.ending, self.error) {
            (Ending::Silent, Some(message)) => failed_ending(&message),
            (ending, _) => ending,
        };
        HeadlessReport { format: OutputFormat::Codex, text: self.text.finish(), ending, ..self.report }
    }

    fn read_item(&mut self, item: Unread<'_>) {
        let Some(item) = item.and_then(json::object::<Item<'_>>) else { return };
        let Some(kind) = item.r#type.and_then(json::text) else { return };
        let is_write = match kind.as_ref() {
            "agent_message" => {
                self.items += 1;
                self.report.add_message(&json::owned_text(item.text).unwrap_or_default(), &mut self.text);
                return;
            }
            "command_execution" => Action::new("shell", item.command.map_or("\"\"", RawValue::get), None).is_write,
            "file_change" => true,
            "mcp_tool_call" | "collab_tool_call" | "web_search" => false,
            // Notices, thoughts and task lists are not calls, and unknown kinds are not counted as calls.
            _ => return,
        };
        self.items += 1;
        self.report.tool_calls += 1;
        self.report.writing_calls += u64::from(is_write);
        self.report.denials = self.report.denials.saturating_add(u32::from(record::is_text(item.status, "declined")));
    }

    fn end_turn(&mut self, usage: Unread<'_>) {
        // Cached tokens are part of the input, reasoning tokens part of the output.
        let [input, output] = ["input_tokens", "output_tokens"].map(|name| json::number(json::member(usage, name)));
        let tokens = input.zip(output).map(|(input, output): (u64, u64)| input.saturating_add(output));
        if tokens.is_some() {
            self.report.spent = Spent { tokens, whole_session: true, ..Spent::default() };
        }
        // A turn without items and tokens never called a model: that happens only when a hook denied the prompt or the
        // session. The tokens count the whole thread, so a continued session that used tokens before does not show it.
        let was_model_called = self.items > 0 || tokens != Some(0);
        self.report.ending = if was_model_called { Ending::Finished } else { Ending::Hook { reason: None } };
    }
}

fn failed_ending(message: &str) -> Ending {
    fault::ending(message, None, None)
        .unwrap_or_else(|| Ending::Failed { kind: "turn_failed".to_owned(), message: error_excerpt(message) })
}
