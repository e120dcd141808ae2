//! Claude Code's session files: one JSON record per line, and a separate file for each sub-agent.
//!
//! A file records the result of a call twice, as the tool's own object and as the text for the model. The live hook
//! receives the first for a success and the second for a failure, so this reader parses both with the hook's code.
//! While a sub-agent works, the main file repeats its records too (`agent_progress`): they are echoes.

mod prompt;

use std::borrow::Cow;

use haltline_core::Instant;
use haltline_core::identity::{Action, CallResult, ModelText};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent};
use serde::Deserialize;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::claude::response;
use crate::claude::transcript::{CountedResponses, Message, response_part};
use crate::json;
use crate::price::{self, Price};

/// How many responses are remembered to count each only once.
const RESPONSES_MAX: usize = 1024;
/// The number of sub-agents in the background that are tracked.
const BACKGROUND_AGENTS_MAX: usize = 256;

/// One record. The hooks read the same file while the client writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    pub r#type: Unread<'a>,
    pub subtype: Unread<'a>,
    pub session_id: Unread<'a>,
    pub agent_id: Unread<'a>,
    pub is_sidechain: Unread<'a>,
    pub is_meta: Unread<'a>,
    pub is_compact_summary: Unread<'a>,
    pub timestamp: Unread<'a>,
    pub cwd: Unread<'a>,
    pub request_id: Unread<'a>,
    pub message: Unread<'a>,
    pub tool_use_result: Unread<'a>,
    pub data: Unread<'a>,
    pub attachment: Unread<'a>,
    pub compact_metadata: Unread<'a>,
    pub prompt_source: Unread<'a>,
    pub origin: Unread<'a>,
}

/// A record of a sub-agent, repeated in the main file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    agent_id: Unread<'a>,
    message: Unread<'a>,
}

#[derive(Deserialize)]
pub(crate) struct Block<'a> {
    #[serde(borrow)]
    pub r#type: Unread<'a>,
    pub id: Unread<'a>,
    pub name: Unread<'a>,
    pub input: Unread<'a>,
    pub text: Unread<'a>,
    pub tool_use_id: Unread<'a>,
    pub content: Unread<'a>,
    pub is_error: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    prompt: Unread<'a>,
    command_mode: Unread<'a>,
}

#[derive(Deserialize)]
struct Origin<'a> {
    #[serde(borrow)]
    kind: Unread<'a>,
}

#[derive(Deserialize)]
struct Compaction<'a> {
    #[serde(borrow)]
    trigger: Unread<'a>,
}

#[derive(Debug)]
pub struct ClaudeReader {
    /// The session of lines that do not name one.
    session: String,
    prices: Vec<Price>,
    calls: Calls,
    counted: CountedResponses,
    /// Sub-agents that still run in the background.
    background_agents: Vec<String>,
    /// A hook kept the agent from ending its turn since the last prompt.
    is_kept_going: bool,
}

/// When and where a line was written, and by which agent.
struct LineContext {
    at: Option<Instant>,
    agent_ref: AgentRef,
    folder: Option<String>,
    is_echo: bool,
}

impl LineContext {
    fn entry(&self, event: LoopEvent) -> Entry {
        Entry { at: self.at, agent_ref: self.agent_ref.clone(), event, is_echo: self.is_echo }
    }
}

impl ClaudeReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            session: name.to_owned(),
            prices: prices.to_vec(),
            calls: Calls::default(),
            counted: CountedResponses::new(RESPONSES_MAX),
            background_agents: Vec::new(),
            is_kept_going: false,
        }
    }

    pub fn read_line(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::for_each_object(line, |line: Line<'_>| self.line(&line, entries))
    }

    fn line(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        if record::is_text(line.r#type, "assistant") {
            self.read_response(line, &self.context(line), entries);
        } else if record::is_text(line.r#type, "user") {
            self.read_results_and_prompt(line, &self.context(line), entries);
        } else if record::is_text(line.r#type, "system") {
            self.read_note(line, entries);
        } else if record::is_text(line.r#type, "progress") {
            self.read_progress(line, entries);
        } else if record::is_text(line.r#type, "attachment") {
            self.read_queued_prompt(line, entries);
        }
    }

    fn context(&self, line: &Line<'_>) -> LineContext {
        let agent = json::non_empty_text(line.agent_id);
        // Old files have the sub-agents' lines among the others, without a name.
        let agent = agent.or_else(|| json::is_true(line.is_sidechain).then(|| "sidechain".to_owned()));
        LineContext {
            at: record::time(line.timestamp),
            agent_ref: AgentRef {
                session: json::non_empty_text(line.session_id).unwrap_or_else(|| self.session.clone()),
                sub_agent: agent,
                client: "claude-code".to_owned(),
                // Calls carry the name of their response instead of batch ends.
                ..AgentRef::default()
            },
            folder: json::non_empty_text(line.cwd),
            is_echo: false,
        }
    }

    fn read_response(&mut self, line: &Line<'_>, context: &LineContext, entries: &mut Vec<Entry>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let part = response_part(&message, line.request_id);
        // The usage of an echo is in the sub-agent's own file.
        if !context.is_echo
            && let Some(part) = &part
            && let Some((usage, hour, _)) = self.counted.count_part(part)
        {
            let cost = price::cost_with_hour(&part.model, &usage, hour, &self.prices);
            let last = Some(part.id.clone().into_owned());
            entries.push(context.entry(LoopEvent::Message {
                usage: Some(usage),
                cost,
                range: None,
                last_response: last,
                text: None,
            }));
        }
        let blocks: Vec<Block<'_>> = message.content.map(record::elements).unwrap_or_default();
        for block in blocks.iter().filter(|block| record::is_text(block.r#type, "text")) {
            let text = block.text.and_then(json::text).and_then(|text| ModelText::from_text(&text));
            if text.is_some() {
                let event = LoopEvent::Message { usage: None, cost: None, range: None, last_response: None, text };
                entries.push(context.entry(event));
            }
        }
        let agent = context.agent_ref.sub_agent.as_deref();
        for block in blocks.iter().filter(|block| record::is_text(block.r#type, "tool_use")) {
            let (Some(id), Some(tool)) = (json::non_empty_text(block.id), json::non_empty_text(block.name)) else {
                continue;
            };
            let input = block.input.map_or("{}", |input| input.get());
            let Some(call) = self.calls.begin(agent, &id, &tool, context.at, input) else { continue };
            let action = Box::new(Action::new(&tool, input, context.folder.as_deref()));
            let message = part.as_ref().map(|part| part.id.clone().into_owned());
            entries.push(context.entry(LoopEvent::ToolStart {
                call,
                response: message,
                action,
                context: CallContext::Missing,
            }));
        }
    }

    fn read_results_and_prompt(&mut self, line: &Line<'_>, context: &LineContext, entries: &mut Vec<Entry>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let Some(content) = message.content else { return };
        let blocks: Vec<Block<'_>> = record::elements(content);
        let is_result = |block: &&Block<'_>| record::is_text(block.r#type, "tool_result");
        let is_single = blocks.iter().filter(is_result).count() == 1;
        for block in blocks.iter().filter(is_result) {
            let Some(id) = json::non_empty_text(block.tool_use_id) else { continue };
            let Some((call, tool)) = self.calls.end(context.agent_ref.sub_agent.as_deref(), &id) else { continue };
            // The object belongs to the line: with two results it is unclear which of them it describes.
            let object = line.tool_use_result.filter(|_| is_single);
            let result = call_result(&tool, block, object);
            if let Some(sub_agent) = result.sub_agent.clone().filter(|_| result.is_sub_agent_running)
                && self.background_agents.len() < BACKGROUND_AGENTS_MAX
            {
                self.background_agents.push(sub_agent);
            }
            entries.push(context.entry(LoopEvent::ToolEnd { call, action: None, result: Box::new(result) }));
        }
        // The prompt of a sub-agent comes from the agent that started it.
        if context.agent_ref.sub_agent.is_some() || json::is_true(line.is_compact_summary) {
            return;
        }
        let texts: Vec<_> = match json::text(content) {
            Some(text) => vec![text],
            None => blocks.iter().filter_map(|block| block.text.and_then(json::text)).collect(),
        };
        let is_picture = blocks.iter().any(|block| record::is_text(block.r#type, "image"));
        let from = if json::is_true(line.is_meta) {
            prompt::source_of_meta(&texts)
        } else if is_by_client(line) {
            Some(prompt::PromptSource::Client)
        } else {
            prompt::source_of(&texts).or((is_picture && texts.is_empty()).then_some(prompt::PromptSource::Person))
        };
        self.add_prompt(from, &texts, context, entries);
    }

    /// A prompt that arrived while the agent worked.
    fn read_queued_prompt(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        let Some(queued) = line.attachment.and_then(json::object::<Attachment<'_>>) else { return };
        if !record::is_text(queued.r#type, "queued_command") {
            return;
        }
        let context = self.context(line);
        if context.agent_ref.sub_agent.is_some() {
            return;
        }
        let text = queued.prompt.map(json::text_for_model).unwrap_or_default();
        let is_by_client =
            is_by_client(line) || queued.command_mode.is_some() && !record::is_text(queued.command_mode, "prompt");
        let texts = [text];
        let from = if is_by_client { Some(prompt::PromptSource::Client) } else { prompt::source_of(&texts) };
        self.add_prompt(from, &texts, &context, entries);
    }

    fn add_prompt(
        &mut self,
        from: Option<prompt::PromptSource>,
        texts: &[Cow<'_, str>],
        context: &LineContext,
        entries: &mut Vec<Entry>,
    ) {
        let Some(from) = from else { return };
        for id in texts.iter().filter_map(|text| prompt::finished_task(text)) {
            if let Some(index) = self.background_agents.iter().position(|child| child == id) {
                let sub_agent = self.background_agents.swap_remove(index);
                entries.push(context.entry(LoopEvent::SpawnEnd { sub_agent: Some(sub_agent) }));
            }
        }
        let by_user = match from {
            prompt::PromptSource::Person => true,
            prompt::PromptSource::Client => false,
            prompt::PromptSource::StopHook => {
                self.is_kept_going = true;
                false
            }
        };
        self.is_kept_going &= !by_user;
        let bypass = by_user && texts.iter().any(|text| crate::bypass::is_requested(text));
        entries.push(context.entry(LoopEvent::Prompt { by_user, bypass }));
    }

    fn read_note(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        if record::is_text(line.subtype, "compact_boundary") {
            let metadata = line.compact_metadata.and_then(json::object::<Compaction<'_>>);
            let trigger = metadata.and_then(|metadata| json::non_empty_text(metadata.trigger)).unwrap_or_default();
            entries.push(self.context(line).entry(LoopEvent::Compaction { trigger }));
        } else if record::is_text(line.subtype, "stop_hook_summary") {
            let stop = LoopEvent::Stop { blocked: self.is_kept_going, running: None };
            entries.push(self.context(line).entry(stop));
        }
    }

    fn read_progress(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        let Some(progress) = line.data.and_then(json::object::<Progress<'_>>) else { return };
        if !record::is_text(progress.r#type, "agent_progress") {
            return;
        }
        let Some(inner) = progress.message.and_then(json::object::<Line<'_>>) else { return };
        let Some(agent) = json::non_empty_text(progress.agent_id) else { return };
        let mut context = self.context(line);
        context.agent_ref.sub_agent = Some(agent);
        context.is_echo = true;
        context.at = record::time(inner.timestamp).or(context.at);
        if record::is_text(inner.r#type, "assistant") {
            self.read_response(&inner, &context, entries);
        } else if record::is_text(inner.r#type, "user") {
            self.read_results_and_prompt(&inner, &context, entries);
        }
    }
}

/// True when the client says that no person typed the text.
fn is_by_client(line: &Line<'_>) -> bool {
    let origin = line.origin.and_then(json::object::<Origin<'_>>).and_then(|origin| json::non_empty_text(origin.kind));
    origin.is_some_and(|kind| kind != "human" && kind != "user")
        || ["system", "loop_wakeup", "schedule_wakeup", "poll_event"]
            .iter()
            .any(|source| record::is_text(line.prompt_source, source))
}

/// The result of a call, parsed as the live hook parses it.
fn call_result(tool: &str, block: &Block<'_>, object: Unread<'_>) -> CallResult {
    if json::is_true(block.is_error) {
        let text = block.content.map(json::text_for_model).unwrap_or_default();
        return response::from_failure(&text, false);
    }
    match object {
        Some(object) => response::from_success(tool, Some(object)),
        None => response::from_batch(block.content),
    }
}
