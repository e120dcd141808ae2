//! Claude Code's session files: one JSON record per line, and a separate file for each sub-agent.
//!
//! A file records the result of a call twice, as the tool's own object and as the text for the model. The live hook
//! receives the first for a success and the second for a failure, so this reader parses both with the hook's code.
//! While a sub-agent works, the main file repeats its records too (`agent_progress`): they are echoes.

mod prompt;

use std::borrow::Cow;

use haltline_core::identity::{CallResult, ModelText};
use haltline_core::loop_::{LoopEvent, TurnEnd};

use super::record::{self, Calls, RecordContext};
use super::{Damaged, Entry};
use crate::claude::response;
use crate::claude::transcript::{CountedResponses, Message, response_part};
use crate::json::{self, Unread};
use crate::price::{self, Price};

/// How many responses are remembered to count each only once.
const RESPONSES_MAX: usize = 1024;
/// The number of sub-agents in the background that are tracked.
const BACKGROUND_AGENTS_MAX: usize = 256;

json::unread! {
    /// One record, or a record of a sub-agent that the main file repeats as `data`. The hooks read the same file while the
    /// client writes it.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Line {
        r#type, subtype, session_id, agent_id, is_sidechain, is_meta, is_compact_summary, timestamp, cwd, request_id,
        message, tool_use_result, data, attachment, compact_metadata, prompt_source, origin,
    }

    pub(crate) struct Block { r#type, id, name, input, text, tool_use_id, content, is_error }
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

    fn context(&self, line: &Line<'_>) -> RecordContext {
        let session = line.session_id.and_then(json::text).filter(|session| !session.is_empty());
        // Calls carry the name of their response, so the agent does not mark the ends of batches.
        let mut context = RecordContext::new("claude-code", session.as_deref().unwrap_or(&self.session));
        context.at = record::time(line.timestamp);
        context.folder = json::non_empty_text(line.cwd);
        // Old files have the sub-agents' lines among the others, without a name.
        let unnamed = || json::is_true(line.is_sidechain).then(|| "sidechain".to_owned());
        context.agent_ref.sub_agent = json::non_empty_text(line.agent_id).or_else(unnamed);
        context
    }

    fn read_response(&mut self, line: &Line<'_>, context: &RecordContext, entries: &mut Vec<Entry>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let part = response_part(&message, line.request_id);
        // The usage of an echo is in the sub-agent's own file.
        if !context.is_echo
            && let Some(part) = &part
            && let Some((usage, hour, _)) = self.counted.count_part(part)
        {
            let cost = price::cost_with_hour(&part.model, &usage, hour, &self.prices);
            let last_response = Some(part.id.clone().into_owned());
            let message =
                LoopEvent::Message { usage: Some(usage), cost, model: None, range: None, last_response, text: None };
            entries.push(context.entry(message));
        }
        let blocks: Vec<Block<'_>> = message.content.map(record::elements).unwrap_or_default();
        for block in blocks.iter().filter(|block| record::is_text(block.r#type, "text")) {
            let text = block.text.and_then(json::text).and_then(|text| ModelText::from_text(&text));
            if text.is_some() {
                let event =
                    LoopEvent::Message { usage: None, cost: None, model: None, range: None, last_response: None, text };
                entries.push(context.entry(event));
            }
        }
        for block in blocks.iter().filter(|block| record::is_text(block.r#type, "tool_use")) {
            let (Some(id), Some(tool)) = (json::non_empty_text(block.id), json::non_empty_text(block.name)) else {
                continue;
            };
            let input = block.input.map_or("{}", |input| input.get());
            let response = part.as_ref().map(|part| part.id.clone().into_owned());
            entries.extend(self.calls.start(context, &id, &tool, input, response));
        }
    }

    fn read_results_and_prompt(&mut self, line: &Line<'_>, context: &RecordContext, entries: &mut Vec<Entry>) {
        let Some(message) = line.message.and_then(json::object::<Message<'_>>) else { return };
        let Some(content) = message.content else { return };
        let blocks: Vec<Block<'_>> = record::elements(content);
        let is_result = |block: &&Block<'_>| record::is_text(block.r#type, "tool_result");
        let is_single = blocks.iter().filter(is_result).count() == 1;
        for block in blocks.iter().filter(is_result) {
            let Some(id) = json::non_empty_text(block.tool_use_id) else { continue };
            // The object belongs to the line: with two results it is unclear which of them it describes.
            let object = line.tool_use_result.filter(|_| is_single);
            let end = self.calls.finish(context, &id, |tool| call_result(tool, block, object));
            if let Some(Entry { event: LoopEvent::ToolEnd { result, .. }, .. }) = &end
                && let Some(sub_agent) = result.sub_agent.clone().filter(|_| result.is_sub_agent_running)
                && self.background_agents.len() < BACKGROUND_AGENTS_MAX
            {
                self.background_agents.push(sub_agent);
            }
            entries.extend(end);
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
        let context = self.context(line);
        let is_queued = record::is_text(json::member(line.attachment, "type"), "queued_command");
        if !is_queued || context.agent_ref.sub_agent.is_some() {
            return;
        }
        let text = json::member(line.attachment, "prompt").map(json::text_for_model).unwrap_or_default();
        let mode = json::member(line.attachment, "commandMode");
        let is_by_client = is_by_client(line) || mode.is_some() && !record::is_text(mode, "prompt");
        let texts = [text];
        let from = if is_by_client { Some(prompt::PromptSource::Client) } else { prompt::source_of(&texts) };
        self.add_prompt(from, &texts, &context, entries);
    }

    fn add_prompt(
        &mut self,
        from: Option<prompt::PromptSource>,
        texts: &[Cow<'_, str>],
        context: &RecordContext,
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
            let trigger = json::member_text(line.compact_metadata, "trigger").unwrap_or_default();
            entries.push(self.context(line).entry(LoopEvent::Compaction { trigger, has_shrunk: None }));
        } else if record::is_text(line.subtype, "stop_hook_summary") {
            let stop = LoopEvent::Stop { blocked: self.is_kept_going, running: None, end: TurnEnd::Idle };
            entries.push(self.context(line).entry(stop));
        }
    }

    fn read_progress(&mut self, line: &Line<'_>, entries: &mut Vec<Entry>) {
        let Some(progress) = line.data.and_then(json::object::<Line<'_>>) else { return };
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
    json::member_text(line.origin, "kind").is_some_and(|kind| kind != "human" && kind != "user")
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
