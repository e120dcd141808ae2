//! Codex CLI's rollouts: one JSON record a line, each sub-agent in a file of its own.
//!
//! What the client sends by itself stands there as the user's messages; it is told by the tags it begins with. A call's
//! exit code stands in the envelope above its output, which the core reads.

use std::borrow::Cow;

use haltline_core::Instant;
use haltline_core::identity::{Action, Answer, Outcome};
use haltline_core::loop_::{Happening, Stream, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::price::{self, Price};
use crate::{bypass, json};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Unread<'a>,
    r#type: Unread<'a>,
    payload: Unread<'a>,
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
struct Subagent<'a> {
    #[serde(borrow)]
    thread_spawn: Unread<'a>,
}

#[derive(Deserialize)]
struct Spawned<'a> {
    #[serde(borrow)]
    parent_thread_id: Unread<'a>,
}

/// What the model said, or was told.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    role: Unread<'a>,
    content: Unread<'a>,
    call_id: Unread<'a>,
    id: Unread<'a>,
    name: Unread<'a>,
    namespace: Unread<'a>,
    arguments: Unread<'a>,
    input: Unread<'a>,
    action: Unread<'a>,
    output: Unread<'a>,
    info: Unread<'a>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    passthrough: Unread<'a>,
}

#[derive(Deserialize)]
struct Passthrough<'a> {
    #[serde(borrow)]
    content_item_kinds: Unread<'a>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Unread<'a>,
}

/// An output that is an object, or a text that holds one, as older versions wrote it.
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
struct Child<'a> {
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
struct Taken<'a> {
    #[serde(borrow)]
    input_tokens: Unread<'a>,
    cached_input_tokens: Unread<'a>,
    cache_write_input_tokens: Unread<'a>,
    output_tokens: Unread<'a>,
}

/// Reads the lines of one file.
#[derive(Debug)]
pub struct CodexReader {
    stream: Stream,
    is_begun: bool,
    folder: Option<String>,
    model: Option<String>,
    prices: Vec<Price>,
    calls: Calls,
    /// What the session had taken by the last count.
    total: Usage,
    /// Which response the calls belong to: the next one begins with the first call after an answer.
    response: u64,
    is_answered: bool,
}

impl CodexReader {
    /// A reader of a file of this name.
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            stream: Stream { session: name.to_owned(), client: "codex".to_owned(), ..Stream::default() },
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

    /// Reads one line.
    pub fn take(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::each(line, |whole: &RawValue| {
            let Some(line) = json::object::<Line<'_>>(whole) else { return };
            let mut tell = |entry| entries.push(entry);
            self.line(&line, whole, &mut tell);
        })
    }

    fn line(&mut self, line: &Line<'_>, whole: &RawValue, tell: &mut dyn FnMut(Entry)) {
        let at = record::time(line.timestamp);
        let Some(payload) = line.payload else {
            // The first versions wrote the items bare, after a line about the session.
            return match line.r#type {
                Some(_) => self.item(at, whole, tell),
                None => self.begin(at, whole, tell),
            };
        };
        if record::is_word(line.r#type, "response_item") {
            self.item(at, payload, tell);
        } else if record::is_word(line.r#type, "event_msg") {
            self.event(at, payload, tell);
        } else if record::is_word(line.r#type, "session_meta") {
            self.begin(at, payload, tell);
        } else if record::is_word(line.r#type, "turn_context") {
            let Some(context) = json::object::<Meta<'_>>(payload) else { return };
            self.folder = json::name(context.cwd).or(self.folder.take());
            self.model = json::name(context.model).or(self.model.take());
        } else if record::is_word(line.r#type, "compacted") {
            tell(self.entry(at, Happening::Compaction { trigger: String::new() }));
        }
    }

    fn entry(&self, at: Option<Instant>, what: Happening) -> Entry {
        Entry { at, stream: self.stream.clone(), what, is_echo: false }
    }

    /// A file that was forked from another one repeats that one's first line after its own.
    fn begin(&mut self, at: Option<Instant>, meta: &RawValue, tell: &mut dyn FnMut(Entry)) {
        let Some(meta) = json::object::<Meta<'_>>(meta).filter(|_| !self.is_begun) else { return };
        let Some(own) = json::name(meta.id) else { return };
        self.is_begun = true;
        self.folder = json::name(meta.cwd);
        let subagent = meta.source.and_then(json::object::<Source<'_>>).and_then(|source| source.subagent);
        let spawned = subagent.and_then(json::object::<Subagent<'_>>).and_then(|subagent| subagent.thread_spawn);
        let spawned = spawned.and_then(json::object::<Spawned<'_>>);
        let parent = json::name(meta.parent_thread_id).or_else(|| json::name(spawned?.parent_thread_id));
        if subagent.is_some() || parent.is_some() {
            self.stream.session = json::name(meta.session_id).or(parent).unwrap_or_else(|| own.clone());
            self.stream.agent = Some(own);
            return;
        }
        self.stream.session = own;
        let model = json::name(meta.model);
        tell(self.entry(at, Happening::SessionStart { model, resumed: false, is_nested: false }));
    }

    fn item(&mut self, at: Option<Instant>, item: &RawValue, tell: &mut dyn FnMut(Entry)) {
        let Some(item) = json::object::<Item<'_>>(item) else { return };
        if record::is_word(item.r#type, "function_call") {
            self.start(at, &item, &record::input(item.arguments), tell);
        } else if record::is_word(item.r#type, "custom_tool_call") {
            self.start(at, &item, &record::input(item.input), tell);
        } else if record::is_word(item.r#type, "local_shell_call") {
            self.start(at, &item, &record::input(item.action), tell);
        } else if ["function_call_output", "custom_tool_call_output", "local_shell_call_output"]
            .iter()
            .any(|kind| record::is_word(item.r#type, kind))
        {
            self.end(at, &item, tell);
        } else if record::is_word(item.r#type, "message") && record::is_word(item.role, "user") {
            self.prompt(at, &item, tell);
        }
    }

    fn start(&mut self, at: Option<Instant>, item: &Item<'_>, input: &str, tell: &mut dyn FnMut(Entry)) {
        let name = json::name(item.name).unwrap_or_else(|| "local_shell".to_owned());
        let Some(id) = json::name(item.call_id).or_else(|| json::name(item.id)) else { return };
        let tool = match json::name(item.namespace).filter(|space| space.starts_with("mcp__")) {
            Some(space) => format!("{space}__{name}"),
            None => name,
        };
        let Some(call) = self.calls.begin(None, &id, &tool, at, input) else { return };
        self.response += u64::from(std::mem::take(&mut self.is_answered));
        let action = Box::new(Action::new(&tool, input, self.folder.as_deref()));
        let message = Some(format!("response-{}", self.response));
        let start =
            Happening::ToolStart { call, message, action, guarded: Vec::new(), touched: Vec::new(), tampering: None };
        tell(self.entry(at, start));
    }

    fn end(&mut self, at: Option<Instant>, item: &Item<'_>, tell: &mut dyn FnMut(Entry)) {
        let Some(id) = json::name(item.call_id) else { return };
        let Some((call, tool)) = self.calls.end(None, &id) else { return };
        self.is_answered = true;
        let answer = Box::new(answer(&tool, item.output));
        tell(self.entry(at, Happening::ToolEnd { call, action: None, answer }));
    }

    fn prompt(&mut self, at: Option<Instant>, item: &Item<'_>, tell: &mut dyn FnMut(Entry)) {
        self.is_answered = true;
        // A sub-agent is asked by the agent above it.
        if self.stream.agent.is_some() {
            return;
        }
        let blocks: Vec<Block<'_>> = item.content.map(record::elements).unwrap_or_default();
        let texts: Vec<Cow<'_, str>> = blocks.iter().filter_map(|block| block.text.and_then(json::text)).collect();
        let notices = texts.iter().filter_map(|text| text.trim_start().strip_prefix("<subagent_notification>"));
        for notice in notices {
            let object = notice.split("</subagent_notification>").next().unwrap_or_default().trim();
            let child: Option<Child<'_>> = serde_json::from_str(object).ok();
            if let Some(child) = child.and_then(|child| json::name(child.agent_path).or(json::name(child.agent_id))) {
                tell(self.entry(at, Happening::SpawnEnd { child: Some(child) }));
            }
            tell(self.entry(at, Happening::Prompt { by_user: false, bypass: false }));
        }
        let passthrough = item.passthrough.and_then(json::object::<Passthrough<'_>>);
        let kinds = passthrough.and_then(|passthrough| passthrough.content_item_kinds);
        let is_own = kinds.is_some_and(|kinds| {
            let kinds: Vec<json::Text<'_>> = json::list(kinds).unwrap_or_default();
            !kinds.is_empty() && !kinds.iter().any(|kind| kind.0.starts_with("user.") || kind.0 == "unknown")
        });
        let is_picture = texts.is_empty() && !blocks.is_empty();
        if !is_own && (is_picture || texts.iter().any(|text| is_typed(text))) {
            let bypass = texts.iter().any(|text| bypass::is_asked_for(text));
            tell(self.entry(at, Happening::Prompt { by_user: true, bypass }));
        }
    }

    fn event(&mut self, at: Option<Instant>, event: &RawValue, tell: &mut dyn FnMut(Entry)) {
        let Some(event) = json::object::<Item<'_>>(event) else { return };
        if record::is_word(event.r#type, "token_count") {
            let Some(counts) = event.info.and_then(json::object::<Counts<'_>>) else { return };
            let Some(usage) = self.taken(&counts).filter(|usage| *usage != Usage::default()) else { return };
            let cost = self.model.as_deref().and_then(|model| price::cost(model, &usage, &self.prices));
            let message = Happening::Message { usage: Some(usage), cost, offset: None, last: None, said: None };
            tell(self.entry(at, message));
        } else if record::is_word(event.r#type, "task_complete") && self.stream.agent.is_none() {
            tell(self.entry(at, Happening::Stop { blocked: false, running: None }));
        }
    }

    /// What was taken since the last count. The same count comes more than once, so the sums are compared.
    fn taken(&mut self, counts: &Counts<'_>) -> Option<Usage> {
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
        // A sum that shrinks has begun anew.
        since().or_else(|| counts.last_token_usage.and_then(usage))
    }
}

/// The input counts what came from the cache too.
pub(crate) fn usage(taken: &RawValue) -> Option<Usage> {
    let taken: Taken<'_> = json::object(taken)?;
    let cache_read = record::tokens(taken.cached_input_tokens);
    let cache_write = record::tokens(taken.cache_write_input_tokens);
    let input = record::tokens(taken.input_tokens).saturating_sub(cache_read.saturating_add(cache_write));
    Some(Usage { input, output: record::tokens(taken.output_tokens), cache_read, cache_write })
}

/// What the client puts among the user's messages.
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

fn answer(tool: &str, output: Unread<'_>) -> Answer {
    let Some(output) = output else { return record::answer(None, None, "") };
    let text = json::text(output);
    let object = match &text {
        Some(text) if text.starts_with("{\"output\":") => serde_json::from_str::<Wrapped<'_>>(text).ok(),
        Some(_) => None,
        None => json::object::<Wrapped<'_>>(output),
    };
    let metadata = object.as_ref().and_then(|object| object.metadata).and_then(json::object::<Metadata<'_>>);
    let exit = metadata.and_then(|metadata| metadata.exit_code?.get().parse().ok());
    let inner = object.as_ref().and_then(|object| object.output.or(object.content)).map(json::shown);
    let is_failed = object.as_ref().is_some_and(|object| object.success.is_some() && !json::is_true(object.success));
    // Only commands tell how they ended; any other tool that says nothing of a failure has done its work.
    let is_command = ["exec_command", "write_stdin", "shell", "shell_command", "local_shell", "unified_exec"];
    let is_success = match is_failed {
        true => Some(false),
        false => (!is_command.contains(&tool)).then_some(true),
    };
    let shown = inner.or_else(|| text.clone()).unwrap_or_else(|| json::shown(output));
    if tool.ends_with("spawn_agent")
        && let Some(child) = text.as_deref().and_then(|text| serde_json::from_str::<Child<'_>>(text).ok())
        && let Some(child) = json::name(child.agent_id)
    {
        // A new name is no new answer.
        let mut answer = record::answer(Some(true), None, "launched");
        (answer.child, answer.is_running) = (Some(child), true);
        return answer;
    }
    let told = record::answer(is_success, exit, &shown);
    if told.outcome == Outcome::Ok { Answer::of(tool, told.outcome, told.exit, &shown) } else { told }
}
