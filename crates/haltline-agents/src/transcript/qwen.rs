//! Qwen Code's chats: one JSON record a line, in the outer form of Claude Code's and with the parts of Gemini's.

use haltline_core::identity::Action;
use haltline_core::loop_::{Happening, Stream, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::gemini::{FunctionResponse, Part, answer_of};
use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::price::{self, Price};
use crate::{bypass, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    uuid: Unread<'a>,
    session_id: Unread<'a>,
    agent_id: Unread<'a>,
    timestamp: Unread<'a>,
    r#type: Unread<'a>,
    subtype: Unread<'a>,
    cwd: Unread<'a>,
    model: Unread<'a>,
    message: Unread<'a>,
    usage_metadata: Unread<'a>,
    tool_call_result: Unread<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    parts: Unread<'a>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    name: Unread<'a>,
    args: Unread<'a>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    status: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    prompt_token_count: Unread<'a>,
    candidates_token_count: Unread<'a>,
    cached_content_token_count: Unread<'a>,
}

/// Reads the lines of one file.
#[derive(Debug)]
pub struct QwenReader {
    /// The session, where a line does not say.
    session: String,
    prices: Vec<Price>,
    calls: Calls,
}

impl QwenReader {
    /// A reader of a file of this name.
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self { session: name.to_owned(), prices: prices.to_vec(), calls: Calls::default() }
    }

    /// Reads one line.
    pub fn take(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::each(line, |line: Line<'_>| {
            for what in self.line(&line) {
                let (at, stream) = (record::time(line.timestamp), self.stream(&line));
                entries.push(Entry { at, stream, what, is_echo: false });
            }
        })
    }

    fn stream(&self, line: &Line<'_>) -> Stream {
        Stream {
            session: json::name(line.session_id).unwrap_or_else(|| self.session.clone()),
            agent: json::name(line.agent_id),
            client: "qwen".to_owned(),
            ..Stream::default()
        }
    }

    fn line(&mut self, line: &Line<'_>) -> Vec<Happening> {
        let message = line.message.and_then(json::object::<Message<'_>>);
        let parts: Vec<Part<'_>> = message.and_then(|message| message.parts).map(record::elements).unwrap_or_default();
        if record::is_word(line.r#type, "assistant") {
            self.response(line, &parts)
        } else if record::is_word(line.r#type, "tool_result") {
            self.results(line, &parts)
        } else if record::is_word(line.r#type, "user") && line.agent_id.is_none() {
            prompt(line.subtype, &parts).into_iter().collect()
        } else if record::is_word(line.subtype, "chat_compression") {
            vec![Happening::Compaction { trigger: String::new() }]
        } else {
            Vec::new()
        }
    }

    fn response(&mut self, line: &Line<'_>, parts: &[Part<'_>]) -> Vec<Happening> {
        let name = json::name(line.uuid);
        let mut told = Vec::new();
        if let Some(usage) = line.usage_metadata.and_then(usage) {
            let cost = json::name(line.model).and_then(|model| price::cost(&model, &usage, &self.prices));
            told.push(Happening::Message { usage: Some(usage), cost, offset: None, last: name.clone(), said: None });
        }
        for call in parts.iter().filter_map(|part| part.function_call).filter_map(json::object::<FunctionCall<'_>>) {
            let (Some(id), Some(tool)) = (json::name(call.id), json::name(call.name)) else { continue };
            let (agent, input) = (json::name(line.agent_id), record::input(call.args));
            let at = record::time(line.timestamp);
            if let Some(call) = self.calls.begin(agent.as_deref(), &id, &tool, at, &input) {
                let folder = json::name(line.cwd);
                told.push(Happening::ToolStart {
                    call,
                    message: name.clone(),
                    action: Box::new(Action::new(&tool, &input, folder.as_deref())),
                    guarded: Vec::new(),
                    touched: Vec::new(),
                    tampering: None,
                });
            }
        }
        told
    }

    fn results(&mut self, line: &Line<'_>, parts: &[Part<'_>]) -> Vec<Happening> {
        let status = line.tool_call_result.and_then(json::object::<CallResult<'_>>).and_then(|result| result.status);
        let is_success = status.is_none() || record::is_word(status, "success");
        let responses = parts.iter().filter_map(|part| part.function_response);
        let mut told = Vec::new();
        for response in responses.filter_map(json::object::<FunctionResponse<'_>>) {
            let Some(id) = json::name(response.id) else { continue };
            if let Some((call, _)) = self.calls.end(json::name(line.agent_id).as_deref(), &id) {
                let answer = Box::new(answer_of(&response, is_success));
                told.push(Happening::ToolEnd { call, action: None, answer });
            }
        }
        told
    }
}

/// A prompt with a subtype is the client's: a notification, a timer.
pub fn prompt(subtype: Unread<'_>, parts: &[Part<'_>]) -> Option<Happening> {
    if parts.iter().any(|part| part.function_response.is_some()) {
        return None;
    }
    let by_user = subtype.is_none();
    let bypass = by_user
        && parts.iter().filter_map(|part| part.text.and_then(json::text)).any(|text| bypass::is_asked_for(&text));
    Some(Happening::Prompt { by_user, bypass })
}

/// The input counts what came from the cache too.
pub fn usage(metadata: &RawValue) -> Option<Usage> {
    let metadata: Metadata<'_> = json::object(metadata)?;
    let cache_read = record::tokens(metadata.cached_content_token_count);
    let input = record::tokens(metadata.prompt_token_count).saturating_sub(cache_read);
    let output = record::tokens(metadata.candidates_token_count);
    Some(Usage { input, output, cache_read, cache_write: 0 })
}
