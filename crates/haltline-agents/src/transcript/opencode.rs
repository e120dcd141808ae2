//! OpenCode's `export`: one document with the session, its messages, and the parts of each.
//!
//! The session of a sub-agent is a separate document, which names its parent session.

use haltline_core::identity::CallResult;
use haltline_core::loop_::LoopEvent;

use super::record::{self, Calls, RecordContext};
use super::{Damaged, Entry};
use crate::bypass;
use crate::json;
use crate::opencode::response;
use crate::price::Price;

json::unread! {
    struct Document { info, messages }

    struct Session { id, #[serde(rename = "parentID")] parent_id, directory, time }

    struct Message { info, parts }

    struct Info { id, role, time, #[serde(rename = "modelID")] model_id, tokens, cost }

    /// A part of a message. The plugin sends the same parts of a prompt.
    pub(crate) struct Part {
        r#type, text, synthetic, ignored, auto, #[serde(rename = "callID")] call_id, tool, state,
    }
}

impl Part<'_> {
    /// True for a text that the client added to the message.
    pub fn is_by_client(&self) -> bool {
        json::is_true(self.synthetic) || json::is_true(self.ignored)
    }
}

json::unread! {
    struct CallState { status, input, output, error, metadata, time }
}

#[derive(Debug)]
pub struct OpenCodeReader {
    context: RecordContext,
    prices: Vec<Price>,
    calls: Calls,
}

impl OpenCodeReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self { context: RecordContext::new("opencode", name), prices: prices.to_vec(), calls: Calls::default() }
    }

    pub fn read_document(&mut self, document: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::for_each_object(document, |document: Document<'_>| {
            if let Some(session) = document.info.and_then(json::object::<Session<'_>>) {
                self.begin(&session, entries);
            }
            for message in document.messages.map(record::elements::<Message<'_>>).unwrap_or_default() {
                self.message(&message, entries);
            }
        })
    }

    fn begin(&mut self, session: &Session<'_>, entries: &mut Vec<Entry>) {
        let context = &mut self.context;
        context.folder = json::non_empty_text(session.directory);
        context.at = record::millis(json::member(session.time, "created"));
        let Some(own) = json::non_empty_text(session.id) else { return };
        if let Some(parent) = json::non_empty_text(session.parent_id) {
            (context.agent_ref.session, context.agent_ref.sub_agent) = (parent, Some(own));
            return;
        }
        context.agent_ref.session = own;
        entries.push(context.entry(LoopEvent::SessionStart { model: None, resumed: false, is_nested: false }));
    }

    fn message(&mut self, message: &Message<'_>, entries: &mut Vec<Entry>) {
        let Some(info) = message.info.and_then(json::object::<Info<'_>>) else { return };
        self.context.at = record::millis(json::member(info.time, "created"));
        let parts: Vec<Part<'_>> = message.parts.map(record::elements).unwrap_or_default();
        if let Some(compaction) = parts.iter().find(|part| record::is_text(part.r#type, "compaction")) {
            let trigger = if json::is_true(compaction.auto) { "auto" } else { "manual" };
            entries.push(self.context.entry(LoopEvent::Compaction { trigger: trigger.to_owned(), has_shrunk: None }));
        }
        if record::is_text(info.role, "user") {
            entries.extend(self.prompt(&parts).map(|prompt| self.context.entry(prompt)));
        } else if record::is_text(info.role, "assistant") {
            self.response(&info, &parts, entries);
        }
    }

    /// Texts that the client adds are marked; a message that has only such texts is not a prompt.
    fn prompt(&self, parts: &[Part<'_>]) -> Option<LoopEvent> {
        let is_typed = |part: &&Part<'_>| {
            !part.is_by_client() && ["text", "file", "subtask"].iter().any(|kind| record::is_text(part.r#type, kind))
        };
        // The prompt of a sub-agent comes from the agent that started it.
        if self.context.agent_ref.sub_agent.is_some() || !parts.iter().any(|part| is_typed(&part)) {
            return None;
        }
        let mut texts = parts.iter().filter(is_typed).filter_map(|part| part.text.and_then(json::text));
        Some(LoopEvent::Prompt { by_user: true, bypass: texts.any(|text| bypass::is_requested(&text)) })
    }

    fn response(&mut self, info: &Info<'_>, parts: &[Part<'_>], entries: &mut Vec<Entry>) {
        let name = json::non_empty_text(info.id);
        let model = json::non_empty_text(info.model_id);
        let used = response::message(info.tokens, info.cost, model.as_deref(), &self.prices, name.clone());
        if let Some(message @ LoopEvent::Message { usage: Some(_), .. }) = used {
            entries.push(self.context.entry(message));
        }
        let (mut steps, mut ends) = (0, Vec::new());
        for part in parts {
            if record::is_text(part.r#type, "step-start") {
                // Older versions put several responses into one message.
                steps += 1;
                entries.append(&mut ends);
            } else if record::is_text(part.r#type, "tool") {
                let response =
                    name.as_ref().map(|name| if steps > 1 { format!("{name}/{steps}") } else { name.clone() });
                self.call(part, response, entries, &mut ends);
            }
        }
        entries.append(&mut ends);
    }

    /// A call and its end; the end goes to `ends`, because the other calls of the response begin before it.
    fn call(&mut self, part: &Part<'_>, response: Option<String>, entries: &mut Vec<Entry>, ends: &mut Vec<Entry>) {
        let (Some(id), Some(tool)) = (json::non_empty_text(part.call_id), json::non_empty_text(part.tool)) else {
            return;
        };
        let Some(state) = part.state.and_then(json::object::<CallState<'_>>) else { return };
        let mut context = self.context.clone();
        context.at = record::millis(json::member(state.time, "start")).or(context.at);
        let input = record::input(state.input);
        let Some(start) = self.calls.start(&context, &id, &tool, &input, response) else { return };
        entries.push(start);
        if let Some(result) = call_result(&tool, &state) {
            context.at = record::millis(json::member(state.time, "end")).or(context.at);
            ends.extend(self.calls.finish(&context, &id, |_tool| result));
        }
    }
}

/// The result of a call; `None` while the call has not ended.
fn call_result(tool: &str, state: &CallState<'_>) -> Option<CallResult> {
    let is_success = record::is_text(state.status, "completed");
    let is_over = is_success || record::is_text(state.status, "error");
    let text = if is_success { state.output } else { state.error.or(state.output) };
    let text = text.map(json::text_for_model).unwrap_or_default();
    is_over.then(|| response::call_result(tool, is_success, state.metadata, &text))
}
