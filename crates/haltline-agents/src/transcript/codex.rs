//! Codex CLI's rollouts: one JSON record per line, and a separate file for each sub-agent.
//!
//! What the client sends by itself is recorded as messages of the user; it is recognised by the tags it begins with.
//! The exit code of a call is in the envelope above its output, which the core parses.

use std::borrow::Cow;

use haltline_core::Instant;
use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::price::{self, Price};
use crate::{bypass, json};

/// One record. The hooks read the same file while the client writes it.
#[derive(Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    pub timestamp: Unread<'a>,
    pub r#type: Unread<'a>,
    pub payload: Unread<'a>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    session_id: Unread<'a>,
    parent_thread_id: Unread<'a>,
    cwd: Unread<'a>,
    model: Unread<'a>,
    source: Unread<'a>,
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow)]
    subagent: Unread<'a>,
}

#[derive(Deserialize)]
struct SubAgentSource<'a> {
    #[serde(borrow)]
    thread_spawn: Unread<'a>,
}

#[derive(Deserialize)]
struct Spawned<'a> {
    #[serde(borrow)]
    parent_thread_id: Unread<'a>,
}

/// A message, a call, the output of a call, or an event of the client.
#[derive(Deserialize)]
pub(crate) struct Item<'a> {
    #[serde(borrow)]
    pub r#type: Unread<'a>,
    pub role: Unread<'a>,
    pub content: Unread<'a>,
    pub call_id: Unread<'a>,
    pub id: Unread<'a>,
    pub name: Unread<'a>,
    pub namespace: Unread<'a>,
    pub arguments: Unread<'a>,
    pub input: Unread<'a>,
    pub action: Unread<'a>,
    pub output: Unread<'a>,
    pub info: Unread<'a>,
    pub item: Unread<'a>,
    pub response_id: Unread<'a>,
    pub usage: Unread<'a>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    pub passthrough: Unread<'a>,
}

#[derive(Deserialize)]
struct Passthrough<'a> {
    #[serde(borrow)]
    content_item_kinds: Unread<'a>,
}

#[derive(Deserialize)]
pub(crate) struct Block<'a> {
    #[serde(borrow)]
    pub text: Unread<'a>,
}

/// An output that is an object, or a text that contains one, as older versions wrote it.
#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    output: Unread<'a>,
    content: Unread<'a>,
    success: Unread<'a>,
    metadata: Unread<'a>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    exit_code: Unread<'a>,
}

#[derive(Deserialize)]
struct SubAgent<'a> {
    #[serde(borrow)]
    agent_id: Unread<'a>,
    agent_path: Unread<'a>,
}

#[derive(Deserialize)]
struct Counts<'a> {
    #[serde(borrow)]
    total_token_usage: Unread<'a>,
    last_token_usage: Unread<'a>,
}

#[derive(Deserialize)]
struct TokenUsage<'a> {
    #[serde(borrow)]
    input_tokens: Unread<'a>,
    cached_input_tokens: Unread<'a>,
    cache_write_input_tokens: Unread<'a>,
    output_tokens: Unread<'a>,
}

#[derive(Debug)]
pub struct CodexReader {
    agent_ref: AgentRef,
    is_begun: bool,
    folder: Option<String>,
    model: Option<String>,
    prices: Vec<Price>,
    calls: Calls,
    /// What the session had used at the last count.
    total: Usage,
    /// Number of the response that the calls belong to: the next one begins with the first call after a result.
    response: u64,
    is_answered: bool,
}

impl CodexReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            agent_ref: AgentRef { session: name.to_owned(), client: "codex".to_owned(), ..AgentRef::default() },
            is_begun: false,
            folder: None,
            model: None,
            prices: prices.to_vec(),
            calls: Calls::default(),
            total: Usage::default(),
            response: 0,
            is_answered: false,
        }
    }

    pub fn read_line(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::for_each_object(line, |whole: &RawValue| {
            let Some(line) = json::object::<Line<'_>>(whole) else { return };
            let mut emit = |entry| entries.push(entry);
            self.line(&line, whole, &mut emit);
        })
    }

    fn line(&mut self, line: &Line<'_>, whole: &RawValue, emit: &mut dyn FnMut(Entry)) {
        let at = record::time(line.timestamp);
        let Some(payload) = line.payload else {
            // The first versions wrote bare items, after a line about the session.
            return match line.r#type {
                Some(_) => self.item(at, whole, emit),
                None => self.begin(at, whole, emit),
            };
        };
        if record::is_text(line.r#type, "response_item") {
            self.item(at, payload, emit);
        } else if record::is_text(line.r#type, "event_msg") {
            self.event(at, payload, emit);
        } else if record::is_text(line.r#type, "session_meta") {
            self.begin(at, payload, emit);
        } else if record::is_text(line.r#type, "turn_context") {
            let Some(context) = json::object::<Meta<'_>>(payload) else { return };
            self.folder = json::non_empty_text(context.cwd).or(self.folder.take());
            self.model = json::non_empty_text(context.model).or(self.model.take());
        } else if record::is_text(line.r#type, "compacted") {
            emit(self.entry(at, LoopEvent::Compaction { trigger: String::new() }));
        }
    }

    fn entry(&self, at: Option<Instant>, event: LoopEvent) -> Entry {
        Entry { at, agent_ref: self.agent_ref.clone(), event, is_echo: false }
    }

    /// A file that was forked from another one repeats the first line of that file after its own, so only the first
    /// counts.
    fn begin(&mut self, at: Option<Instant>, meta: &RawValue, emit: &mut dyn FnMut(Entry)) {
        let Some(meta) = json::object::<Meta<'_>>(meta).filter(|_| !self.is_begun) else { return };
        let Some(own) = json::non_empty_text(meta.id) else { return };
        self.is_begun = true;
        self.folder = json::non_empty_text(meta.cwd);
        let subagent = meta.source.and_then(json::object::<Source<'_>>).and_then(|source| source.subagent);
        let spawned = subagent.and_then(json::object::<SubAgentSource<'_>>).and_then(|subagent| subagent.thread_spawn);
        let spawned = spawned.and_then(json::object::<Spawned<'_>>);
        let parent =
            json::non_empty_text(meta.parent_thread_id).or_else(|| json::non_empty_text(spawned?.parent_thread_id));
        if subagent.is_some() || parent.is_some() {
            self.agent_ref.session = json::non_empty_text(meta.session_id).or(parent).unwrap_or_else(|| own.clone());
            self.agent_ref.sub_agent = Some(own);
            return;
        }
        self.agent_ref.session = own;
        let model = json::non_empty_text(meta.model);
        emit(self.entry(at, LoopEvent::SessionStart { model, resumed: false, is_nested: false }));
    }

    fn item(&mut self, at: Option<Instant>, item: &RawValue, emit: &mut dyn FnMut(Entry)) {
        let Some(item) = json::object::<Item<'_>>(item) else { return };
        if record::is_text(item.r#type, "function_call") {
            self.start(at, &item, &record::input(item.arguments), emit);
        } else if record::is_text(item.r#type, "custom_tool_call") {
            self.start(at, &item, &record::input(item.input), emit);
        } else if record::is_text(item.r#type, "local_shell_call") {
            self.start(at, &item, &record::input(item.action), emit);
        } else if ["function_call_output", "custom_tool_call_output", "local_shell_call_output"]
            .iter()
            .any(|kind| record::is_text(item.r#type, kind))
        {
            self.end(at, &item, emit);
        } else if record::is_text(item.r#type, "message") && record::is_text(item.role, "user") {
            self.prompt(at, &item, emit);
        }
    }

    fn start(&mut self, at: Option<Instant>, item: &Item<'_>, input: &str, emit: &mut dyn FnMut(Entry)) {
        let name = json::non_empty_text(item.name).unwrap_or_else(|| "local_shell".to_owned());
        let Some(id) = json::non_empty_text(item.call_id).or_else(|| json::non_empty_text(item.id)) else { return };
        let tool = match json::non_empty_text(item.namespace).filter(|space| space.starts_with("mcp__")) {
            Some(space) => format!("{space}__{name}"),
            None => name,
        };
        let Some(call) = self.calls.begin(None, &id, &tool, at, input) else { return };
        self.response += u64::from(std::mem::take(&mut self.is_answered));
        let action = Box::new(Action::new(&tool, input, self.folder.as_deref()));
        let message = Some(format!("response-{}", self.response));
        let start = LoopEvent::ToolStart { call, response: message, action, context: CallContext::Missing };
        emit(self.entry(at, start));
    }

    fn end(&mut self, at: Option<Instant>, item: &Item<'_>, emit: &mut dyn FnMut(Entry)) {
        let Some(id) = json::non_empty_text(item.call_id) else { return };
        let Some((call, tool)) = self.calls.end(None, &id) else { return };
        self.is_answered = true;
        let result = Box::new(call_result(&tool, item.output));
        emit(self.entry(at, LoopEvent::ToolEnd { call, action: None, result }));
    }

    fn prompt(&mut self, at: Option<Instant>, item: &Item<'_>, emit: &mut dyn FnMut(Entry)) {
        self.is_answered = true;
        // The prompt of a sub-agent comes from the agent that started it.
        if self.agent_ref.sub_agent.is_some() {
            return;
        }
        let blocks: Vec<Block<'_>> = item.content.map(record::elements).unwrap_or_default();
        let texts: Vec<Cow<'_, str>> = blocks.iter().filter_map(|block| block.text.and_then(json::text)).collect();
        let notices = texts.iter().filter_map(|text| text.trim_start().strip_prefix("<subagent_notification>"));
        for notice in notices {
            let object = notice.split("</subagent_notification>").next().unwrap_or_default().trim();
            let sub_agent: Option<SubAgent<'_>> = serde_json::from_str(object).ok();
            if let Some(sub_agent) = sub_agent
                .and_then(|child| json::non_empty_text(child.agent_path).or(json::non_empty_text(child.agent_id)))
            {
                emit(self.entry(at, LoopEvent::SpawnEnd { sub_agent: Some(sub_agent) }));
            }
            emit(self.entry(at, LoopEvent::Prompt { by_user: false, bypass: false }));
        }
        let passthrough = item.passthrough.and_then(json::object::<Passthrough<'_>>);
        let kinds = passthrough.and_then(|passthrough| passthrough.content_item_kinds);
        let is_own = kinds.is_some_and(|kinds| {
            let kinds: Vec<json::Text<'_>> = json::list(kinds).unwrap_or_default();
            !kinds.is_empty() && !kinds.iter().any(|kind| kind.0.starts_with("user.") || kind.0 == "unknown")
        });
        let is_picture = texts.is_empty() && !blocks.is_empty();
        if !is_own && (is_picture || texts.iter().any(|text| is_typed(text))) {
            let bypass = texts.iter().any(|text| bypass::is_requested(text));
            emit(self.entry(at, LoopEvent::Prompt { by_user: true, bypass }));
        }
    }

    fn event(&mut self, at: Option<Instant>, event: &RawValue, emit: &mut dyn FnMut(Entry)) {
        let Some(event) = json::object::<Item<'_>>(event) else { return };
        if record::is_text(event.r#type, "token_count") {
            let Some(counts) = event.info.and_then(json::object::<Counts<'_>>) else { return };
            let Some(usage) = self.usage_since_last_count(&counts).filter(|usage| *usage != Usage::default()) else {
                return;
            };
            let cost = self.model.as_deref().and_then(|model| price::cost(model, &usage, &self.prices));
            let message = LoopEvent::Message { usage: Some(usage), cost, range: None, last_response: None, text: None };
            emit(self.entry(at, message));
        } else if record::is_text(event.r#type, "task_complete") && self.agent_ref.sub_agent.is_none() {
            emit(self.entry(at, LoopEvent::Stop { blocked: false, running: None }));
        }
    }

    /// What was used since the last count. The same count is recorded more than once, so the totals are compared.
    fn usage_since_last_count(&mut self, counts: &Counts<'_>) -> Option<Usage> {
        let total = counts.total_token_usage.and_then(usage)?;
        let before = std::mem::replace(&mut self.total, total);
        let grown = |now: u64, before: u64| now.checked_sub(before);
        let since = || {
            Some(Usage {
                input: grown(total.input, before.input)?,
                output: grown(total.output, before.output)?,
                cache_read: grown(total.cache_read, before.cache_read)?,
                cache_write: grown(total.cache_write, before.cache_write)?,
            })
        };
        // A total that shrinks was reset.
        since().or_else(|| counts.last_token_usage.and_then(usage))
    }
}

/// The token usage. The client's input count includes cached tokens, which are subtracted here.
pub(crate) fn usage(used: &RawValue) -> Option<Usage> {
    let used: TokenUsage<'_> = json::object(used)?;
    let cache_read = record::tokens(used.cached_input_tokens);
    let cache_write = record::tokens(used.cache_write_input_tokens);
    let input = record::tokens(used.input_tokens).saturating_sub(cache_read.saturating_add(cache_write));
    Some(Usage { input, output: record::tokens(used.output_tokens), cache_read, cache_write })
}

/// False for what the client itself adds to the user's messages.
fn is_typed(text: &str) -> bool {
    const OWN: [&str; 14] = [
        "<environment_context>",
        "<user_instructions>",
        "<INSTRUCTIONS>",
        "# AGENTS.md instructions",
        "<turn_aborted>",
        "<subagent_notification>",
        "<skill>",
        "<user_shell_command>",
        "<permissions instructions>",
        "<collaboration_mode>",
        "<hook_prompt",
        "<goal_context>",
        "<model_switch>",
        "Warning: The maximum number of unified exec processes",
    ];
    let text = text.trim_start();
    !text.is_empty() && !OWN.iter().any(|start| text.starts_with(start))
}

fn call_result(tool: &str, output: Unread<'_>) -> CallResult {
    let Some(output) = output else { return record::call_result(None, None, "") };
    let text = json::text(output);
    let object = match &text {
        Some(text) if text.starts_with("{\"output\":") => serde_json::from_str::<Wrapped<'_>>(text).ok(),
        Some(_) => None,
        None => json::object::<Wrapped<'_>>(output),
    };
    let metadata = object.as_ref().and_then(|object| object.metadata).and_then(json::object::<Metadata<'_>>);
    let exit = metadata.and_then(|metadata| metadata.exit_code?.get().parse().ok());
    let inner = object.as_ref().and_then(|object| object.output.or(object.content)).map(json::text_for_model);
    let is_failed = object.as_ref().is_some_and(|object| object.success.is_some() && !json::is_true(object.success));
    // Only commands say how they ended; any other tool that does not report a failure succeeded.
    let is_command = ["exec_command", "write_stdin", "shell", "shell_command", "local_shell", "unified_exec"];
    let is_success = match is_failed {
        true => Some(false),
        false => (!is_command.contains(&tool)).then_some(true),
    };
    let shown = inner.or_else(|| text.clone()).unwrap_or_else(|| json::text_for_model(output));
    if tool.ends_with("spawn_agent")
        && let Some(sub_agent) = text.as_deref().and_then(|text| serde_json::from_str::<SubAgent<'_>>(text).ok())
        && let Some(sub_agent) = json::non_empty_text(sub_agent.agent_id)
    {
        // The id of the new sub-agent must not make the result a different one.
        let mut result = record::call_result(Some(true), None, "launched");
        (result.sub_agent, result.is_sub_agent_running) = (Some(sub_agent), true);
        return result;
    }
    let result = record::call_result(is_success, exit, &shown);
    if result.outcome == Outcome::Ok { CallResult::for_tool(tool, result.outcome, result.exit, &shown) } else { result }
}
