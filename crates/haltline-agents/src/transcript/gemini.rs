//! Gemini CLI's chats: JSON lines, or one document in older versions.
//!
//! A message of the model is written again, under its name, whenever one of its calls gets further: only what is new
//! in it is told. Answers stand with the calls, and once more in a message of the user, which is passed over.

use std::collections::VecDeque;

use haltline_core::Instant;
use haltline_core::identity::{Action, Answer};
use haltline_core::loop_::{Happening, Stream, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::price::{self, Price};
use crate::qwen::shown_part;
use crate::{bypass, json};

/// A message that so many others have followed is not written again.
const WRITTEN_MAX: usize = 64;

/// A line about the session, a message, or a whole document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    start_time: Unread<'a>,
    kind: Unread<'a>,
    messages: Unread<'a>,
    id: Unread<'a>,
    timestamp: Unread<'a>,
    r#type: Unread<'a>,
    content: Unread<'a>,
    tool_calls: Unread<'a>,
    tokens: Unread<'a>,
    model: Unread<'a>,
}

/// A call that a message of the model lists.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    /// The tool.
    pub name: Unread<'a>,
    /// Its arguments.
    pub args: Unread<'a>,
    /// How far it got.
    pub status: Unread<'a>,
    result: Unread<'a>,
    timestamp: Unread<'a>,
    agent_id: Unread<'a>,
}

/// A part of a message, of the user or of an answer. Qwen Code, which descends from this client, has the same.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part<'a> {
    /// Words.
    #[serde(borrow)]
    pub text: Unread<'a>,
    /// A call.
    pub function_call: Unread<'a>,
    /// What came back from one.
    pub function_response: Unread<'a>,
}

/// What came back from a call.
#[derive(Deserialize)]
pub struct FunctionResponse<'a> {
    /// The call.
    #[serde(borrow)]
    pub id: Unread<'a>,
    response: Unread<'a>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    output: Unread<'a>,
    error: Unread<'a>,
}

#[derive(Deserialize)]
struct Tokens<'a> {
    #[serde(borrow)]
    input: Unread<'a>,
    output: Unread<'a>,
    cached: Unread<'a>,
    thoughts: Unread<'a>,
    tool: Unread<'a>,
}

/// Reads one file.
#[derive(Debug)]
pub struct GeminiReader {
    stream: Stream,
    is_begun: bool,
    /// The file is a sub-agent's: another agent asks in it.
    is_subagent: bool,
    prices: Vec<Price>,
    /// The messages that may still be written again, the last one last.
    written: VecDeque<Written>,
    calls: Calls,
}

/// What has been read of a message: it is written again, under its id, whenever more of it is known.
#[derive(Debug)]
struct Written {
    name: Option<String>,
    is_counted: bool,
    /// The ids of its calls that have begun, and whether they have ended.
    calls: Vec<(String, bool)>,
}

impl GeminiReader {
    /// A reader of a file of this name.
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            stream: Stream { session: name.to_owned(), client: "gemini".to_owned(), ..Stream::default() },
            is_begun: false,
            is_subagent: false,
            prices: prices.to_vec(),
            written: VecDeque::new(),
            calls: Calls::default(),
        }
    }

    /// Reads one line, or the document.
    pub fn take(&mut self, piece: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::each(piece, |record: Record<'_>| {
            self.begin(&record, entries);
            for message in record.messages.map(record::elements::<Record<'_>>).unwrap_or_default() {
                self.message(&message, entries);
            }
            self.message(&record, entries);
        })
    }

    fn entry(&self, at: Option<Instant>, what: Happening) -> Entry {
        Entry { at, stream: self.stream.clone(), what, is_echo: false }
    }

    fn begin(&mut self, record: &Record<'_>, entries: &mut Vec<Entry>) {
        let Some(session) = json::name(record.session_id).filter(|_| !self.is_begun) else { return };
        self.is_begun = true;
        self.stream.session = session;
        self.is_subagent = record::is_word(record.kind, "subagent");
        let start = Happening::SessionStart { model: None, resumed: false, is_nested: false };
        entries.push(self.entry(record::time(record.start_time), start));
    }

    fn message(&mut self, record: &Record<'_>, entries: &mut Vec<Entry>) {
        let at = record::time(record.timestamp);
        if record::is_word(record.r#type, "gemini") {
            self.response(at, record, entries);
        } else if record::is_word(record.r#type, "user") && !self.is_subagent {
            let Some(text) = record.content.and_then(typed) else { return };
            // The client's own advice, such as that it sees a loop.
            let by_user = !text.starts_with("System: ");
            let bypass = by_user && bypass::is_asked_for(&text);
            let mut written = self.written_of(json::name(record.id));
            if !std::mem::replace(&mut written.is_counted, true) {
                entries.push(self.entry(at, Happening::Prompt { by_user, bypass }));
            }
            self.remember(written);
        }
    }

    fn response(&mut self, at: Option<Instant>, record: &Record<'_>, entries: &mut Vec<Entry>) {
        let mut written = self.written_of(json::name(record.id));
        self.more_of(&mut written, at, record, entries);
        self.remember(written);
    }

    fn written_of(&mut self, name: Option<String>) -> Written {
        let known = self.written.iter().position(|written| name.is_some() && written.name == name);
        let known = known.and_then(|place| self.written.remove(place));
        known.unwrap_or_else(|| Written { name, is_counted: false, calls: Vec::new() })
    }

    fn remember(&mut self, written: Written) {
        if self.written.len() == WRITTEN_MAX {
            self.written.pop_front();
        }
        self.written.push_back(written);
    }

    /// What a message says that it has not said before.
    fn more_of(&mut self, written: &mut Written, at: Option<Instant>, record: &Record<'_>, entries: &mut Vec<Entry>) {
        if let Some(usage) = record.tokens.and_then(usage).filter(|_| !written.is_counted) {
            written.is_counted = true;
            let model = json::name(record.model);
            let cost = model.and_then(|model| price::cost(&model, &usage, &self.prices));
            let last = written.name.clone();
            entries
                .push(self.entry(at, Happening::Message { usage: Some(usage), cost, offset: None, last, said: None }));
        }
        let calls: Vec<Call<'_>> = record.tool_calls.map(record::elements).unwrap_or_default();
        let mut ends = Vec::new();
        for call in &calls {
            let (Some(id), Some(tool)) = (json::name(call.id), json::name(call.name)) else { continue };
            let known = written.calls.iter().position(|(known, _)| *known == id);
            let place = known.unwrap_or_else(|| {
                let input = record::input(call.args);
                if let Some(name) = self.calls.begin(None, &id, &tool, at, &input) {
                    let action = Box::new(Action::new(&tool, &input, None));
                    let message = written.name.clone();
                    let (guarded, touched, tampering) = (Vec::new(), Vec::new(), None);
                    let start = Happening::ToolStart { call: name, message, action, guarded, touched, tampering };
                    entries.push(self.entry(at, start));
                }
                written.calls.push((id.clone(), false));
                written.calls.len() - 1
            });
            if !written.calls[place].1
                && let Some(answer) = answer(call)
            {
                written.calls[place].1 = true;
                let Some((call_name, _)) = self.calls.end(None, &id) else { continue };
                let end = Happening::ToolEnd { call: call_name, action: None, answer: Box::new(answer) };
                ends.push(self.entry(record::time(call.timestamp).or(at), end));
            }
        }
        entries.append(&mut ends);
    }
}

/// What somebody typed; `None` where it is an answer, or the client's own.
fn typed(content: &RawValue) -> Option<String> {
    const OWN: [&str; 4] = [
        "<session_context>",
        "This is the Gemini CLI. We are setting up the context",
        "<state_snapshot>",
        "<hook_context>",
    ];
    let parts: Vec<Part<'_>> = record::elements(content);
    if parts.iter().any(|part| part.function_response.is_some()) {
        return None;
    }
    let text = json::text(content).or_else(|| {
        let mut texts = parts.iter().filter_map(|part| part.text.and_then(json::text));
        texts.find(|text| !OWN.iter().any(|start| text.trim_start().starts_with(start)))
    })?;
    let is_own = OWN.iter().any(|start| text.trim_start().starts_with(start));
    (!is_own && !text.trim().is_empty()).then(|| text.into_owned())
}

/// What came back; `None` while the call has not ended.
pub fn answer(call: &Call<'_>) -> Option<Answer> {
    let is_success = if record::is_word(call.status, "success") {
        true
    } else if record::is_word(call.status, "error") || record::is_word(call.status, "cancelled") {
        false
    } else {
        return None;
    };
    let parts: Vec<Part<'_>> = call.result.map(record::elements).unwrap_or_default();
    let response = parts.iter().find_map(|part| part.function_response).and_then(json::object);
    let mut answer = match response {
        Some(response) => answer_of(&response, is_success),
        None => record::answer(Some(is_success), None, &call.result.map(json::shown).unwrap_or_default()),
    };
    answer.child = json::name(call.agent_id);
    Some(answer)
}

/// What came back, as the model saw it; `is_success` is the client's word.
pub fn answer_of(response: &FunctionResponse<'_>, is_success: bool) -> Answer {
    let Some(value) = response.response else { return record::answer(Some(is_success), None, "") };
    let Some(told) = json::object::<Output<'_>>(value) else {
        return record::answer(Some(is_success), None, &json::shown(value));
    };
    let text = told.error.or(told.output).map_or_else(|| json::compact(value), json::shown);
    record::answer(Some(is_success && told.error.is_none()), None, shown_part(&text))
}

/// The input counts what came from the cache too.
pub fn usage(tokens: &RawValue) -> Option<Usage> {
    let tokens: Tokens<'_> = json::object(tokens)?;
    let cache_read = record::tokens(tokens.cached);
    let input = record::tokens(tokens.input).saturating_add(record::tokens(tokens.tool)).saturating_sub(cache_read);
    let output = record::tokens(tokens.output).saturating_add(record::tokens(tokens.thoughts));
    Some(Usage { input, output, cache_read, cache_write: 0 })
}
