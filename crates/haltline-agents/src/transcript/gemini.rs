//! Gemini CLI's chats: JSON lines, or one document in older versions.
//!
//! The client writes a message of the model again, with the same id, whenever one of its calls makes progress; only
//! what is new in it becomes an event. Results are recorded with the calls, and again in a message of the user, which
//! is skipped.

use std::collections::VecDeque;

use haltline_core::identity::CallResult;
use haltline_core::loop_::{LoopEvent, Usage};
use serde_json::value::RawValue;

use super::record::{self, Calls, RecordContext};
use super::{Damaged, Entry};
use crate::bypass;
use crate::json;
use crate::price::Price;
use crate::qwen::visible_output;

/// A message that this many others have followed is not written again.
const WRITTEN_MAX: usize = 64;

json::unread! {
    /// A header line, a message, or a whole document. The hooks read the same file while the client writes it.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Record {
        session_id, start_time, kind, messages, id, timestamp, r#type, content, tool_calls, tokens, model,
    }

    /// A call in a message of the model. Qwen Code records only the first three fields with it.
    #[serde(rename_all = "camelCase")]
    pub struct Call { id, name, args, status, result, timestamp, agent_id }

    /// A part of a message, from the user or in a result. Qwen Code, which descends from this client, has the same.
    #[serde(rename_all = "camelCase")]
    pub struct Part { text, function_call, function_response }

    /// The result of a call, as it is sent to the model.
    pub struct FunctionResponse { id, response }

    struct Output { output, error }

    struct Tokens { input, output, cached, thoughts, tool }
}

#[derive(Debug)]
pub struct GeminiReader {
    context: RecordContext,
    is_begun: bool,
    /// The file is a sub-agent's, so its prompts come from another agent.
    is_subagent: bool,
    prices: Vec<Price>,
    /// The messages that may be written again, the last one last.
    written: VecDeque<WrittenMessage>,
    calls: Calls,
}

/// What has been read of a message so far: the client writes it again, with the same id, whenever it knows more.
#[derive(Debug)]
struct WrittenMessage {
    name: Option<String>,
    is_counted: bool,
    /// The ids of its calls that have begun, and whether they have ended.
    calls: Vec<(String, bool)>,
}

impl GeminiReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            context: RecordContext::new("gemini", name),
            is_begun: false,
            is_subagent: false,
            prices: prices.to_vec(),
            written: VecDeque::new(),
            calls: Calls::default(),
        }
    }

    /// Reads one line, or the document.
    pub fn read_piece(&mut self, piece: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::for_each_object(piece, |record: Record<'_>| {
            self.begin(&record, entries);
            for message in record.messages.map(record::elements::<Record<'_>>).unwrap_or_default() {
                self.message(&message, entries);
            }
            self.message(&record, entries);
        })
    }

    fn begin(&mut self, record: &Record<'_>, entries: &mut Vec<Entry>) {
        let Some(session) = json::non_empty_text(record.session_id).filter(|_| !self.is_begun) else { return };
        self.is_begun = true;
        self.context.agent_ref.session = session;
        self.context.at = record::time(record.start_time);
        self.is_subagent = record::is_text(record.kind, "subagent");
        let start = LoopEvent::SessionStart { model: None, resumed: false, is_nested: false };
        entries.push(self.context.entry(start));
    }

    fn message(&mut self, record: &Record<'_>, entries: &mut Vec<Entry>) {
        self.context.at = record::time(record.timestamp);
        if record::is_text(record.r#type, "gemini") {
            let mut written = self.take_written(json::non_empty_text(record.id));
            self.read_additions(&mut written, record, entries);
            self.remember(written);
        } else if record::is_text(record.r#type, "user") && !self.is_subagent {
            let Some(text) = record.content.and_then(typed_text) else { return };
            // Advice of the client itself, such as that it sees a loop.
            let by_user = !text.starts_with("System: ");
            let bypass = by_user && bypass::is_requested(&text);
            let mut written = self.take_written(json::non_empty_text(record.id));
            if !std::mem::replace(&mut written.is_counted, true) {
                entries.push(self.context.entry(LoopEvent::Prompt { by_user, bypass }));
            }
            self.remember(written);
        }
    }

    fn take_written(&mut self, name: Option<String>) -> WrittenMessage {
        let known = self.written.iter().position(|written| name.is_some() && written.name == name);
        let known = known.and_then(|index| self.written.remove(index));
        known.unwrap_or_else(|| WrittenMessage { name, is_counted: false, calls: Vec::new() })
    }

    fn remember(&mut self, written: WrittenMessage) {
        if self.written.len() == WRITTEN_MAX {
            self.written.pop_front();
        }
        self.written.push_back(written);
    }

    /// Adds what a message says that it did not say before.
    fn read_additions(&mut self, written: &mut WrittenMessage, record: &Record<'_>, entries: &mut Vec<Entry>) {
        if let Some(usage) = record.tokens.and_then(usage).filter(|_| !written.is_counted) {
            written.is_counted = true;
            let model = json::non_empty_text(record.model);
            let message = record::usage_event(usage, model.as_deref(), &self.prices, written.name.clone());
            entries.push(self.context.entry(message));
        }
        let calls: Vec<Call<'_>> = record.tool_calls.map(record::elements).unwrap_or_default();
        let mut ends = Vec::new();
        for call in &calls {
            let (Some(id), Some(tool)) = (json::non_empty_text(call.id), json::non_empty_text(call.name)) else {
                continue;
            };
            let known = written.calls.iter().position(|(known, _)| *known == id);
            let index = known.unwrap_or_else(|| {
                let response = written.name.clone();
                entries.extend(self.calls.start(&self.context, &id, &tool, &record::input(call.args), response));
                written.calls.push((id.clone(), false));
                written.calls.len() - 1
            });
            if !written.calls[index].1
                && let Some(result) = call_result(call)
            {
                written.calls[index].1 = true;
                let end = self.calls.finish(&self.context, &id, |_tool| result);
                ends.extend(end.map(|end| Entry { at: record::time(call.timestamp).or(end.at), ..end }));
            }
        }
        entries.append(&mut ends);
    }
}

/// The text that a person typed; `None` for a result, or for text of the client.
fn typed_text(content: &RawValue) -> Option<String> {
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

/// The result of a call; `None` while the call has not ended.
pub fn call_result(call: &Call<'_>) -> Option<CallResult> {
    let is_success = if record::is_text(call.status, "success") {
        true
    } else if record::is_text(call.status, "error") || record::is_text(call.status, "cancelled") {
        false
    } else {
        return None;
    };
    let parts: Vec<Part<'_>> = call.result.map(record::elements).unwrap_or_default();
    let response = parts.iter().find_map(|part| part.function_response).and_then(json::object);
    let mut result = match response {
        Some(response) => response_result(&response, is_success),
        None => record::call_result(Some(is_success), None, &call.result.map(json::text_for_model).unwrap_or_default()),
    };
    result.sub_agent = json::non_empty_text(call.agent_id);
    Some(result)
}

/// The result as the model sees it; `is_success` is what the client says.
pub fn response_result(response: &FunctionResponse<'_>, is_success: bool) -> CallResult {
    let Some(value) = response.response else { return record::call_result(Some(is_success), None, "") };
    let Some(body) = json::object::<Output<'_>>(value) else {
        return record::call_result(Some(is_success), None, &json::text_for_model(value));
    };
    let text = body.error.or(body.output).map_or_else(|| json::compact(value), json::text_for_model);
    record::call_result(Some(is_success && body.error.is_none()), None, visible_output(&text))
}

/// The token usage. The client's input count includes cached tokens, which are subtracted here.
pub fn usage(tokens: &RawValue) -> Option<Usage> {
    let tokens: Tokens<'_> = json::object(tokens)?;
    let cache_read = record::tokens(tokens.cached);
    let input = record::tokens(tokens.input).saturating_add(record::tokens(tokens.tool)).saturating_sub(cache_read);
    let output = record::tokens(tokens.output).saturating_add(record::tokens(tokens.thoughts));
    Some(Usage { input, output, cache_read, cache_write: 0 })
}
