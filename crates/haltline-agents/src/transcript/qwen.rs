//! Qwen Code's chats: one JSON record per line, with the outer form of Claude Code's and the parts of Gemini's.

use haltline_core::loop_::{LoopEvent, Usage};
use serde_json::value::RawValue;

use super::gemini::{Call, FunctionResponse, Part, response_result};
use super::record::{self, Calls, RecordContext};
use super::{Damaged, Entry};
use crate::bypass;
use crate::json::{self, Unread};
use crate::price::Price;

json::unread! {
    /// One record of a chat. The hooks read the same file while the client writes it.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Line {
        uuid, session_id, agent_id, timestamp, r#type, subtype, cwd, model, message, usage_metadata,
        tool_call_result,
    }
}

impl<'a> Line<'a> {
    pub(crate) fn parts(&self) -> Vec<Part<'a>> {
        json::member(self.message, "parts").map(record::elements).unwrap_or_default()
    }
}

json::unread! {
    #[serde(rename_all = "camelCase")]
    struct Metadata { prompt_token_count, candidates_token_count, cached_content_token_count }
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
        record::for_each_object(line, |line: Line<'_>| self.line(&line, entries))
    }

    fn context(&self, line: &Line<'_>) -> RecordContext {
        let session = line.session_id.and_then(json::text).filter(|session| !session.is_empty());
        let mut context = RecordContext::new("qwen", session.as_deref().unwrap_or(&self.session));
        context.at = record::time(line.timestamp);
        context.folder = json::non_empty_text(line.cwd);
        context.agent_ref.sub_agent = json::non_empty_text(line.agent_id);
        context
    }

    fn line(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        let (parts, context) = (line.parts(), self.context(line));
        if record::is_text(line.r#type, "assistant") {
            self.response(line, &parts, &context, entries);
        } else if record::is_text(line.r#type, "tool_result") {
            self.results(line, &parts, &context, entries);
        } else if record::is_text(line.r#type, "user") && line.agent_id.is_none() {
            entries.extend(prompt(line.subtype, &parts).map(|prompt| context.entry(prompt)));
        } else if record::is_text(line.subtype, "chat_compression") {
            entries.push(context.entry(LoopEvent::Compaction { trigger: String::new(), has_shrunk: None }));
        }
    }

    fn response(&mut self, line: &Line<'_>, parts: &[Part<'_>], context: &RecordContext, entries: &mut Vec<Entry>) {
        let name = json::non_empty_text(line.uuid);
        if let Some(usage) = line.usage_metadata.and_then(usage) {
            let model = json::non_empty_text(line.model);
            let message = record::usage_event(usage, model.as_deref(), &self.prices, name.clone());
            entries.push(context.entry(message));
        }
        for call in parts.iter().filter_map(|part| part.function_call).filter_map(json::object::<Call<'_>>) {
            if let (Some(id), Some(tool)) = (json::non_empty_text(call.id), json::non_empty_text(call.name)) {
                entries.extend(self.calls.start(context, &id, &tool, &record::input(call.args), name.clone()));
            }
        }
    }

    fn results(&mut self, line: &Line<'_>, parts: &[Part<'_>], context: &RecordContext, entries: &mut Vec<Entry>) {
        let status = json::member(line.tool_call_result, "status");
        let is_success = status.is_none() || record::is_text(status, "success");
        let responses = parts.iter().filter_map(|part| part.function_response);
        for response in responses.filter_map(json::object::<FunctionResponse<'_>>) {
            if let Some(id) = json::non_empty_text(response.id) {
                entries.extend(self.calls.finish(context, &id, |_tool| response_result(&response, is_success)));
            }
        }
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
