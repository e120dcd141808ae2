//! Codex's `exec --json`: threads, turns and items, one a line. Written against version 0.166.0.
//!
//! The stream says less than Claude Code's: nothing of hooks, no model, no cost, and the tokens of the whole thread only
//! when a turn is over. Items of the kind `error` are notices; what ends a turn is `turn.failed`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Dialect, Ending, MESSAGE_BYTES_MAX, Spent, Tail, Told, WORDS_BYTES_MAX, complaint, fault, last_bytes};
use crate::json;
use crate::transcript::record::{self, Unread};
use haltline_core::identity::Action;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    thread_id: Unread<'a>,
    item: Unread<'a>,
    usage: Unread<'a>,
    error: Unread<'a>,
    message: Unread<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    text: Unread<'a>,
    command: Unread<'a>,
    status: Unread<'a>,
}

#[derive(Deserialize)]
struct Problem<'a> {
    #[serde(borrow)]
    message: Unread<'a>,
}

#[derive(Deserialize)]
struct Usage<'a> {
    #[serde(borrow)]
    input_tokens: Unread<'a>,
    output_tokens: Unread<'a>,
}

/// Whether a program that writes this line speaks it.
pub(super) fn is_spoken(object: &RawValue) -> bool {
    let Some(line) = json::object::<Line<'_>>(object) else { return false };
    record::is_word(line.r#type, "thread.started") && line.thread_id.is_some()
}

/// What was heard so far.
#[derive(Debug)]
pub(super) struct Codex {
    words: Tail,
    told: Told,
    /// An error that did not end a turn, so far.
    error: Option<String>,
    /// Items of the turn that is running.
    items: u64,
}

impl Default for Codex {
    fn default() -> Self {
        let told = Told { dialect: Dialect::Codex, ..Told::default() };
        Self { words: Tail::new(WORDS_BYTES_MAX), told, error: None, items: 0 }
    }
}

impl Codex {
    pub fn take(&mut self, object: &RawValue) {
        let Some(line) = json::object::<Line<'_>>(object) else { return };
        let Some(kind) = line.r#type.and_then(json::text) else { return };
        match kind.as_ref() {
            "thread.started" => self.told.session = json::name(line.thread_id).or(self.told.session.take()),
            "turn.started" => {
                (self.items, self.error) = (0, None);
                self.told.ending = Ending::Silent;
            }
            "item.completed" => self.item(line.item),
            "turn.completed" => self.turn_completed(line.usage),
            "turn.failed" => {
                let problem: Option<Problem<'_>> = line.error.and_then(json::object);
                let message = problem.and_then(|problem| json::name(problem.message)).or(self.error.take());
                self.told.ending = failed(&message.unwrap_or_default());
            }
            "error" => self.error = json::name(line.message).filter(|message| !message.starts_with("Reconnecting")),
            _ => {}
        }
    }

    pub fn spent(&self) -> Spent {
        self.told.spent
    }

    pub fn session(&self) -> Option<&str> {
        self.told.session.as_deref()
    }

    pub fn finish(self) -> Told {
        let ending = match (self.told.ending, self.error) {
            (Ending::Silent, Some(message)) => failed(&message),
            (ending, _) => ending,
        };
        Told { words: self.words.finish(), ending, ..self.told }
    }

    fn item(&mut self, item: Unread<'_>) {
        let Some(item) = item.and_then(json::object::<Item<'_>>) else { return };
        let Some(kind) = item.r#type.and_then(json::text) else { return };
        let is_write = match kind.as_ref() {
            "agent_message" => {
                self.items += 1;
                let text = json::owned_text(item.text).unwrap_or_default();
                self.words.push(&text);
                self.words.push("\n");
                self.told.last_message = last_bytes(&text, MESSAGE_BYTES_MAX).to_owned();
                return;
            }
            "command_execution" => Action::new("shell", item.command.map_or("\"\"", RawValue::get), None).is_write,
            "file_change" => true,
            "mcp_tool_call" | "collab_tool_call" | "web_search" => false,
            // Notices, thoughts and lists of tasks are no calls, and so is what nobody knows.
            _ => return,
        };
        self.items += 1;
        self.told.tool_calls += 1;
        self.told.writing_calls += u64::from(is_write);
        self.told.denials = self.told.denials.saturating_add(u32::from(record::is_word(item.status, "declined")));
    }

    fn turn_completed(&mut self, usage: Unread<'_>) {
        let number = |value: Unread<'_>| value.and_then(|value| value.get().parse::<u64>().ok());
        let tokens = usage.and_then(json::object::<Usage<'_>>).and_then(|usage| {
            // What came from the cache is part of the input, what was thought part of the output.
            Some(number(usage.input_tokens)?.saturating_add(number(usage.output_tokens)?))
        });
        if tokens.is_some() {
            self.told.spent = Spent { tokens, whole_session: true, ..Spent::default() };
        }
        // A turn without a word and without a token asked no model: only a hook that refused the prompt, or the session,
        // does that. What was taken before by a session that goes on does not show it.
        let was_asked = self.items > 0 || tokens != Some(0);
        self.told.ending = if was_asked { Ending::Finished } else { Ending::Hook { reason: None } };
    }
}

fn failed(message: &str) -> Ending {
    fault::ending(message, None, None)
        .unwrap_or_else(|| Ending::Failed { kind: "turn_failed".to_owned(), message: complaint(message) })
}
