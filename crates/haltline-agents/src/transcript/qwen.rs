//! Qwen Code's chats: one JSON record per line, with the outer form of Claude Code's and the parts of Gemini's.

use haltline_core::identity::Action;
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::gemini::{FunctionResponse, Part, response_result};
use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::price::{self, Price};
use crate::{bypass, json};

/// One record of a chat. The hooks read the same file while the client writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    pub uuid: Unread<'a>,
    pub session_id: Unread<'a>,
    pub agent_id: Unread<'a>,
    pub timestamp: Unread<'a>,
    pub r#type: Unread<'a>,
    pub subtype: Unread<'a>,
    pub cwd: Unread<'a>,
    pub model: Unread<'a>,
    pub message: Unread<'a>,
    pub usage_metadata: Unread<'a>,
    pub tool_call_result: Unread<'a>,
}

impl<'a> Line<'a> {
    /// The parts of the message.
    pub(crate) fn parts(&self) -> Vec<Part<'a>> {
        let message = self.message.and_then(json::object::<Message<'a>>);
        message.and_then(|message| message.parts).map(record::elements).unwrap_or_default()
    }
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

#[derive(Debug)]
pub struct QwenReader {
    /// The session of lines that do not name one.
    session: String,
    prices: Vec<Price>,
    calls: Calls,
}

impl QwenReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self { session: name.to_owned(), prices: prices.to_vec(), calls: Calls::default() }
    }

    pub fn read_line(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::for_each_object(line, |line: Line<'_>| {
            for event in self.line(&line) {
                let (at, agent_ref) = (record::time(line.timestamp), self.agent_ref(&line));
                entries.push(Entry { at, agent_ref, event, is_echo: false });
            }
        })
    }

    fn agent_ref(&self, line: &Line<'_>) -> AgentRef {
        AgentRef {
            session: json::non_empty_text(line.session_id).unwrap_or_else(|| self.session.clone()),
            sub_agent: json::non_empty_text(line.agent_id),
            client: "qwen".to_owned(),
            ..AgentRef::default()
        }
    }

    fn line(&mut self, line: &Line<'_>) -> Vec<LoopEvent> {
        let parts = line.parts();
        if record::is_text(line.r#type, "assistant") {
            self.response(line, &parts)
        } else if record::is_text(line.r#type, "tool_result") {
            self.results(line, &parts)
        } else if record::is_text(line.r#type, "user") && line.agent_id.is_none() {
            prompt(line.subtype, &parts).into_iter().collect()
        } else if record::is_text(line.subtype, "chat_compression") {
            vec![LoopEvent::Compaction { trigger: String::new() }]
        } else {
            Vec::new()
        }
    }

    fn response(&mut self, line: &Line<'_>, parts: &[Part<'_>]) -> Vec<LoopEvent> {
        let name = json::non_empty_text(line.uuid);
        let mut events = Vec::new();
        if let Some(usage) = line.usage_metadata.and_then(usage) {
            let cost = json::non_empty_text(line.model).and_then(|model| price::cost(&model, &usage, &self.prices));
            events.push(LoopEvent::Message {
                usage: Some(usage),
                cost,
                range: None,
                last_response: name.clone(),
                text: None,
            });
        }
        for call in parts.iter().filter_map(|part| part.function_call).filter_map(json::object::<FunctionCall<'_>>) {
            let (Some(id), Some(tool)) = (json::non_empty_text(call.id), json::non_empty_text(call.name)) else {
                continue;
            };
            let (agent, input) = (json::non_empty_text(line.agent_id), record::input(call.args));
            let at = record::time(line.timestamp);
            if let Some(call) = self.calls.begin(agent.as_deref(), &id, &tool, at, &input) {
                let folder = json::non_empty_text(line.cwd);
                events.push(LoopEvent::ToolStart {
                    call,
                    response: name.clone(),
                    action: Box::new(Action::new(&tool, &input, folder.as_deref())),
                    context: CallContext::Missing,
                });
            }
        }
        events
    }

    fn results(&mut self, line: &Line<'_>, parts: &[Part<'_>]) -> Vec<LoopEvent> {
        let status = line.tool_call_result.and_then(json::object::<CallResult<'_>>).and_then(|result| result.status);
        let is_success = status.is_none() || record::is_text(status, "success");
        let responses = parts.iter().filter_map(|part| part.function_response);
        let mut events = Vec::new();
        for response in responses.filter_map(json::object::<FunctionResponse<'_>>) {
            let Some(id) = json::non_empty_text(response.id) else { continue };
            if let Some((call, _)) = self.calls.end(json::non_empty_text(line.agent_id).as_deref(), &id) {
                let result = Box::new(response_result(&response, is_success));
                events.push(LoopEvent::ToolEnd { call, action: None, result });
            }
        }
        events
    }
}

/// A prompt with a subtype comes from the client: a notification, a timer.
pub fn prompt(subtype: Unread<'_>, parts: &[Part<'_>]) -> Option<LoopEvent> {
    if parts.iter().any(|part| part.function_response.is_some()) {
        return None;
    }
    let by_user = subtype.is_none();
    let bypass = by_user
        && parts.iter().filter_map(|part| part.text.and_then(json::text)).any(|text| bypass::is_requested(&text));
    Some(LoopEvent::Prompt { by_user, bypass })
}

/// The token usage. The client's input count includes cached tokens, which are subtracted here.
pub fn usage(metadata: &RawValue) -> Option<Usage> {
    let metadata: Metadata<'_> = json::object(metadata)?;
    let cache_read = record::tokens(metadata.cached_content_token_count);
    let input = record::tokens(metadata.prompt_token_count).saturating_sub(cache_read);
    let output = record::tokens(metadata.candidates_token_count);
    Some(Usage { input, output, cache_read, cache_write: 0 })
}
