//! Codex CLI's rollouts: one JSON record per line, and a separate file for each sub-agent.
//!
//! What the client sends by itself is recorded as messages of the user; it is recognised by the tags it begins with.
//! The exit code of a call is in the envelope above its output, which the core parses.

use std::borrow::Cow;

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{LoopEvent, TurnEnd, Usage};
use serde_json::value::RawValue;

use super::record::{self, Calls, RecordContext};
use super::{Damaged, Entry};
use crate::json::{self, Block, Unread};
use crate::price::Price;
use crate::{bypass, codex};

json::unread! {
    /// One record. The hooks read the same file while the client writes it.
    pub(crate) struct Line { timestamp, r#type, payload }

    struct Meta { id, session_id, parent_thread_id, cwd, model, source }

    /// A message, a call, the output of a call, or an event of the client.
    pub(crate) struct Item {
        r#type, role, content, call_id, id, name, namespace, arguments, input, action, output, info, item,
        response_id, usage, #[serde(rename = "internal_chat_message_metadata_passthrough")] passthrough,
    }

    /// An output that is an object, or a text that contains one, as older versions wrote it.
    struct Wrapped { output, content, success, metadata }

    struct TokenUsage { input_tokens, cached_input_tokens, cache_write_input_tokens, output_tokens }
}

#[derive(Debug)]
pub struct CodexReader {
    context: RecordContext,
    is_begun: bool,
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
            context: RecordContext::new("codex", name),
            is_begun: false,
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
            if let Some(line) = json::object::<Line<'_>>(whole) {
                self.line(&line, whole, entries);
            }
        })
    }

    fn line(&mut self, line: &Line<'_>, whole: &RawValue, entries: &mut Vec<Entry>) {
        self.context.at = record::time(line.timestamp);
        let Some(payload) = line.payload else {
            // The first versions wrote bare items, after a line about the session.
            return match line.r#type {
                Some(_) => self.item(whole, entries),
                None => self.begin(whole, entries),
            };
        };
        if record::is_text(line.r#type, "response_item") {
            self.item(payload, entries);
        } else if record::is_text(line.r#type, "event_msg") {
            self.event(payload, entries);
        } else if record::is_text(line.r#type, "session_meta") {
            self.begin(payload, entries);
        } else if record::is_text(line.r#type, "turn_context") {
            let Some(context) = json::object::<Meta<'_>>(payload) else { return };
            self.context.folder = json::non_empty_text(context.cwd).or(self.context.folder.take());
            self.model = json::non_empty_text(context.model).or(self.model.take());
        } else if record::is_text(line.r#type, "compacted") {
            entries.push(self.context.entry(LoopEvent::Compaction { trigger: String::new(), has_shrunk: None }));
        }
    }

    /// A file that was forked from another one repeats the first line of that file after its own, so only the first
    /// counts.
    fn begin(&mut self, meta: &RawValue, entries: &mut Vec<Entry>) {
        let Some(meta) = json::object::<Meta<'_>>(meta).filter(|_| !self.is_begun) else { return };
        let Some(own) = json::non_empty_text(meta.id) else { return };
        self.is_begun = true;
        self.context.folder = json::non_empty_text(meta.cwd);
        let subagent = json::member(meta.source, "subagent");
        let spawner = || json::member_text(json::member(subagent, "thread_spawn"), "parent_thread_id");
        let parent = json::non_empty_text(meta.parent_thread_id).or_else(spawner);
        let agent_ref = &mut self.context.agent_ref;
        if subagent.is_some() || parent.is_some() {
            agent_ref.session = json::non_empty_text(meta.session_id).or(parent).unwrap_or_else(|| own.clone());
            agent_ref.sub_agent = Some(own);
            return;
        }
        agent_ref.session = own;
        let model = json::non_empty_text(meta.model);
        entries.push(self.context.entry(LoopEvent::SessionStart { model, resumed: false, is_nested: false }));
    }

    fn item(&mut self, item: &RawValue, entries: &mut Vec<Entry>) {
        let Some(item) = json::object::<Item<'_>>(item) else { return };
        if record::is_text(item.r#type, "function_call") {
            self.start(&item, &record::input(item.arguments), entries);
        } else if record::is_text(item.r#type, "custom_tool_call") {
            self.start(&item, &record::input(item.input), entries);
        } else if record::is_text(item.r#type, "local_shell_call") {
            self.start(&item, &record::input(item.action), entries);
        } else if ["function_call_output", "custom_tool_call_output", "local_shell_call_output"]
            .iter()
            .any(|kind| record::is_text(item.r#type, kind))
        {
            self.end(&item, entries);
        } else if record::is_text(item.r#type, "message") && record::is_text(item.role, "user") {
            self.prompt(&item, entries);
        }
    }

    fn start(&mut self, item: &Item<'_>, input: &str, entries: &mut Vec<Entry>) {
        let name = json::non_empty_text(item.name).unwrap_or_else(|| "local_shell".to_owned());
        let Some(id) = json::non_empty_text(item.call_id).or_else(|| json::non_empty_text(item.id)) else { return };
        let tool = match json::non_empty_text(item.namespace).filter(|space| space.starts_with("mcp__")) {
            Some(space) => format!("{space}__{name}"),
            None => name,
        };
        let response = self.response + u64::from(self.is_answered);
        let name = format!("response-{response}");
        if let Some(start) = self.calls.start(&self.context, &id, &tool, input, Some(name)) {
            (self.response, self.is_answered) = (response, false);
            entries.push(start);
        }
    }

    fn end(&mut self, item: &Item<'_>, entries: &mut Vec<Entry>) {
        let Some(id) = json::non_empty_text(item.call_id) else { return };
        if let Some(end) = self.calls.finish(&self.context, &id, |tool| call_result(tool, item.output)) {
            self.is_answered = true;
            entries.push(end);
        }
    }

    fn prompt(&mut self, item: &Item<'_>, entries: &mut Vec<Entry>) {
        self.is_answered = true;
        // The prompt of a sub-agent comes from the agent that started it.
        if self.context.agent_ref.sub_agent.is_some() {
            return;
        }
        let blocks: Vec<Block<'_>> = item.content.map(record::elements).unwrap_or_default();
        let texts: Vec<Cow<'_, str>> = blocks.iter().filter_map(|block| block.text.and_then(json::text)).collect();
        let notices = texts.iter().filter_map(|text| text.trim_start().strip_prefix("<subagent_notification>"));
        for notice in notices {
            let object = notice.split("</subagent_notification>").next().unwrap_or_default().trim();
            let object: Unread<'_> = serde_json::from_str(object).ok();
            let sub_agent = ["agent_path", "agent_id"].iter().find_map(|name| json::member_text(object, name));
            if sub_agent.is_some() {
                entries.push(self.context.entry(LoopEvent::SpawnEnd { sub_agent }));
            }
            entries.push(self.context.entry(LoopEvent::Prompt { by_user: false, bypass: false }));
        }
        let kinds = json::member(item.passthrough, "content_item_kinds");
        let is_own = kinds.is_some_and(|kinds| {
            let kinds: Vec<json::Text<'_>> = json::list(kinds).unwrap_or_default();
            !kinds.is_empty() && !kinds.iter().any(|kind| kind.0.starts_with("user.") || kind.0 == "unknown")
        });
        let is_picture = texts.is_empty() && !blocks.is_empty();
        if !is_own && (is_picture || texts.iter().any(|text| is_typed(text))) {
            let bypass = texts.iter().any(|text| bypass::is_requested(text));
            entries.push(self.context.entry(LoopEvent::Prompt { by_user: true, bypass }));
        }
    }

    fn event(&mut self, event: &RawValue, entries: &mut Vec<Entry>) {
        let Some(event) = json::object::<Item<'_>>(event) else { return };
        if record::is_text(event.r#type, "token_count") {
            if let Some(usage) = self.usage_since_last_count(event.info).filter(|usage| *usage != Usage::default()) {
                let message = record::usage_event(usage, self.model.as_deref(), &self.prices, None);
                entries.push(self.context.entry(message));
            }
        } else if record::is_text(event.r#type, "task_complete") && self.context.agent_ref.sub_agent.is_none() {
            entries.push(self.context.entry(LoopEvent::Stop { blocked: false, running: None, end: TurnEnd::Idle }));
        }
    }

    /// What was used since the last count. The same count is recorded more than once, so the totals are compared.
    fn usage_since_last_count(&mut self, counts: Unread<'_>) -> Option<Usage> {
        let total = json::member(counts, "total_token_usage").and_then(usage)?;
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
        since().or_else(|| json::member(counts, "last_token_usage").and_then(usage))
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
    let metadata = object.as_ref().and_then(|object| object.metadata);
    let exit = json::number(json::member(metadata, "exit_code"));
    let inner = object.as_ref().and_then(|object| object.output.or(object.content)).map(json::text_for_model);
    let is_failed = object.as_ref().is_some_and(|object| object.success.is_some() && !json::is_true(object.success));
    // Only commands say how they ended; any other tool that does not report a failure succeeded.
    let is_command = ["exec_command", "write_stdin", "shell", "shell_command", "local_shell", "unified_exec"];
    let is_success = match is_failed {
        true => Some(false),
        false => (!is_command.contains(&tool)).then_some(true),
    };
    let shown = inner.or_else(|| text.clone()).unwrap_or_else(|| json::text_for_model(output));
    if let Some(result) = text.as_deref().and_then(|text| codex::spawn_result(tool, text)) {
        return result;
    }
    let result = record::call_result(is_success, exit, &shown);
    if result.outcome == Outcome::Ok { CallResult::for_tool(tool, result.outcome, result.exit, &shown) } else { result }
}
