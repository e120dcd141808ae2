//! OpenCode's `export`: one document with the session, its messages, and the parts of each.
//!
//! The session of a sub-agent is a separate document, which names its parent session.

use haltline_core::Instant;
use haltline_core::identity::{Action, CallResult};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Usage};
use serde::Deserialize;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::opencode::response;
use crate::price::{self, Price};
use crate::{bypass, json};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    info: Unread<'a>,
    messages: Unread<'a>,
}

#[derive(Deserialize)]
struct Session<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    #[serde(rename = "parentID")]
    parent_id: Unread<'a>,
    directory: Unread<'a>,
    time: Unread<'a>,
}

#[derive(Deserialize)]
struct Time<'a> {
    #[serde(borrow)]
    created: Unread<'a>,
    start: Unread<'a>,
    end: Unread<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    info: Unread<'a>,
    parts: Unread<'a>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    role: Unread<'a>,
    time: Unread<'a>,
    #[serde(rename = "modelID")]
    model_id: Unread<'a>,
    tokens: Unread<'a>,
    cost: Unread<'a>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    text: Unread<'a>,
    synthetic: Unread<'a>,
    ignored: Unread<'a>,
    auto: Unread<'a>,
    #[serde(rename = "callID")]
    call_id: Unread<'a>,
    tool: Unread<'a>,
    state: Unread<'a>,
}

#[derive(Deserialize)]
struct CallState<'a> {
    #[serde(borrow)]
    status: Unread<'a>,
    input: Unread<'a>,
    output: Unread<'a>,
    error: Unread<'a>,
    metadata: Unread<'a>,
    time: Unread<'a>,
}

#[derive(Debug)]
pub struct OpenCodeReader {
    agent_ref: AgentRef,
    folder: Option<String>,
    prices: Vec<Price>,
    calls: Calls,
}

impl OpenCodeReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        let agent_ref = AgentRef { session: name.to_owned(), client: "opencode".to_owned(), ..AgentRef::default() };
        Self { agent_ref, folder: None, prices: prices.to_vec(), calls: Calls::default() }
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

    fn entry(&self, at: Option<Instant>, event: LoopEvent) -> Entry {
        Entry { at, agent_ref: self.agent_ref.clone(), event, is_echo: false }
    }

    fn begin(&mut self, session: &Session<'_>, entries: &mut Vec<Entry>) {
        self.folder = json::non_empty_text(session.directory);
        let Some(own) = json::non_empty_text(session.id) else { return };
        if let Some(parent) = json::non_empty_text(session.parent_id) {
            (self.agent_ref.session, self.agent_ref.sub_agent) = (parent, Some(own));
            return;
        }
        self.agent_ref.session = own;
        let at = times(session.time).and_then(|time| record::millis(time.created));
        entries.push(self.entry(at, LoopEvent::SessionStart { model: None, resumed: false, is_nested: false }));
    }

    fn message(&mut self, message: &Message<'_>, entries: &mut Vec<Entry>) {
        let Some(info) = message.info.and_then(json::object::<Info<'_>>) else { return };
        let at = times(info.time).and_then(|time| record::millis(time.created));
        let parts: Vec<Part<'_>> = message.parts.map(record::elements).unwrap_or_default();
        if let Some(compaction) = parts.iter().find(|part| record::is_text(part.r#type, "compaction")) {
            let trigger = if json::is_true(compaction.auto) { "auto" } else { "manual" };
            entries.push(self.entry(at, LoopEvent::Compaction { trigger: trigger.to_owned() }));
        }
        if record::is_text(info.role, "user") {
            entries.extend(self.prompt(&parts).map(|event| self.entry(at, event)));
        } else if record::is_text(info.role, "assistant") {
            self.response(at, &info, &parts, entries);
        }
    }

    /// Texts that the client adds are marked; a message that has only such texts is not a prompt.
    fn prompt(&self, parts: &[Part<'_>]) -> Option<LoopEvent> {
        let is_typed = |part: &&Part<'_>| {
            let is_marked = json::is_true(part.synthetic) || json::is_true(part.ignored);
            !is_marked && ["text", "file", "subtask"].iter().any(|kind| record::is_text(part.r#type, kind))
        };
        // The prompt of a sub-agent comes from the agent that started it.
        if self.agent_ref.sub_agent.is_some() || !parts.iter().any(|part| is_typed(&part)) {
            return None;
        }
        let mut texts = parts.iter().filter(is_typed).filter_map(|part| part.text.and_then(json::text));
        Some(LoopEvent::Prompt { by_user: true, bypass: texts.any(|text| bypass::is_requested(&text)) })
    }

    fn response(&mut self, at: Option<Instant>, info: &Info<'_>, parts: &[Part<'_>], entries: &mut Vec<Entry>) {
        let name = json::non_empty_text(info.id);
        if let Some(usage) = info.tokens.and_then(response::usage).filter(|usage| *usage != Usage::default()) {
            let listed =
                json::non_empty_text(info.model_id).and_then(|model| price::cost(&model, &usage, &self.prices));
            // The client writes 0 when it does not know the price.
            let reported_dollars: Option<f64> = info.cost.and_then(|cost| cost.get().parse().ok());
            let cost = reported_dollars.filter(|dollars| *dollars > 0.0).and_then(price::millionths).or(listed);
            let message =
                LoopEvent::Message { usage: Some(usage), cost, range: None, last_response: name.clone(), text: None };
            entries.push(self.entry(at, message));
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
                self.call(at, part, response, entries, &mut ends);
            }
        }
        entries.append(&mut ends);
    }

    /// A call and its end; the end goes to `ends`, because the other calls of the response begin before it.
    fn call(
        &mut self,
        at: Option<Instant>,
        part: &Part<'_>,
        message: Option<String>,
        entries: &mut Vec<Entry>,
        ends: &mut Vec<Entry>,
    ) {
        let (Some(id), Some(tool)) = (json::non_empty_text(part.call_id), json::non_empty_text(part.tool)) else {
            return;
        };
        let Some(state) = part.state.and_then(json::object::<CallState<'_>>) else { return };
        let time = times(state.time);
        let began = time.as_ref().and_then(|time| record::millis(time.start)).or(at);
        let input = record::input(state.input);
        let Some(call) = self.calls.begin(None, &id, &tool, began, &input) else { return };
        let action = Box::new(Action::new(&tool, &input, self.folder.as_deref()));
        let start = LoopEvent::ToolStart { call, response: message, action, context: CallContext::Missing };
        entries.push(self.entry(began, start));
        if let Some(result) = call_result(&tool, &state)
            && let Some((call, _)) = self.calls.end(None, &id)
        {
            let ended = time.and_then(|time| record::millis(time.end)).or(began);
            let end = LoopEvent::ToolEnd { call, action: None, result: Box::new(result) };
            ends.push(self.entry(ended, end));
        }
    }
}

fn times(value: Unread<'_>) -> Option<Time<'_>> {
    value.and_then(json::object)
}

/// The result of a call; `None` while the call has not ended.
fn call_result(tool: &str, state: &CallState<'_>) -> Option<CallResult> {
    let is_success = record::is_text(state.status, "completed");
    let is_over = is_success || record::is_text(state.status, "error");
    let text = if is_success { state.output } else { state.error.or(state.output) };
    let text = text.map(json::text_for_model).unwrap_or_default();
    is_over.then(|| response::call_result(tool, is_success, state.metadata, &text))
}
