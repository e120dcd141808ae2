//! Copilot CLI's `events.jsonl`: one event a line, those of sub-agents among the others, with their name.

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
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    data: Unread<'a>,
    agent_id: Unread<'a>,
    timestamp: Unread<'a>,
}

/// What the events say, as far as anybody asks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    selected_model: Unread<'a>,
    context: Unread<'a>,
    content: Unread<'a>,
    source: Unread<'a>,
    message_id: Unread<'a>,
    tool_requests: Unread<'a>,
    tool_call_id: Unread<'a>,
    tool_name: Unread<'a>,
    arguments: Unread<'a>,
    success: Unread<'a>,
    result: Unread<'a>,
    error: Unread<'a>,
    shell_execution: Unread<'a>,
    usage: Unread<'a>,
    parent_tool_call_id: Unread<'a>,
    cwd: Unread<'a>,
    #[serde(rename = "type")]
    kind: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    tool_call_id: Unread<'a>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    content: Unread<'a>,
    message: Unread<'a>,
    code: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellExecution<'a> {
    #[serde(borrow)]
    exit_code: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taken<'a> {
    #[serde(borrow)]
    model: Unread<'a>,
    input_tokens: Unread<'a>,
    output_tokens: Unread<'a>,
    cache_read_tokens: Unread<'a>,
    cache_write_tokens: Unread<'a>,
    api_call_id: Unread<'a>,
}

/// More responses than this are never under way at once.
const RESPONSES_MAX: usize = 64;

/// Reads the lines of one file.
#[derive(Debug)]
pub struct CopilotReader {
    stream: Stream,
    folder: Option<String>,
    prices: Vec<Price>,
    calls: Calls,
    /// The last responses: their agent, their name, the calls they ask for.
    responses: Vec<(Option<String>, String, Vec<String>)>,
}

impl CopilotReader {
    /// A reader of a file of this name.
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            stream: Stream { session: name.to_owned(), client: "copilot".to_owned(), ..Stream::default() },
            folder: None,
            prices: prices.to_vec(),
            calls: Calls::default(),
            responses: Vec::new(),
        }
    }

    /// Reads one line.
    pub fn take(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::each(line, |line: Line<'_>| {
            let Some(told) = line.data.and_then(json::object::<Told<'_>>) else { return };
            // Older versions name only the call that started a sub-agent.
            let agent = json::name(line.agent_id).or_else(|| json::name(told.parent_tool_call_id));
            if let Some(what) = self.event(&line, &told, agent.as_deref()) {
                // A sub-agent's beginning and end are the doing of the agent above it.
                let is_about_child = matches!(what, Happening::SpawnStart { .. } | Happening::SpawnEnd { .. });
                let agent = if is_about_child { None } else { agent };
                let at: Option<Instant> = record::time(line.timestamp);
                entries.push(Entry { at, stream: Stream { agent, ..self.stream.clone() }, what, is_echo: false });
            }
        })
    }

    fn event(&mut self, line: &Line<'_>, told: &Told<'_>, agent: Option<&str>) -> Option<Happening> {
        let kind = line.r#type.and_then(json::text)?;
        let child = || agent.map(str::to_owned).or_else(|| json::name(told.tool_call_id));
        match kind.as_ref() {
            "session.start" | "session.resume" => {
                self.stream.session = json::name(told.session_id).unwrap_or_else(|| self.stream.session.clone());
                let context = told.context.and_then(json::object::<Told<'_>>);
                self.folder = context.and_then(|context| json::name(context.cwd)).or(self.folder.take());
                let resumed = kind == "session.resume";
                Some(Happening::SessionStart { model: json::name(told.selected_model), resumed, is_nested: false })
            }
            // A sub-agent is asked by the agent above it.
            "user.message" if agent.is_none() => {
                let by_user = told.source.is_none() || record::is_word(told.source, "user");
                let text = told.content.and_then(json::text).unwrap_or_default();
                Some(Happening::Prompt { by_user, bypass: by_user && bypass::is_asked_for(&text) })
            }
            "assistant.message" => {
                self.response(told, agent);
                None
            }
            "tool.execution_start" => self.start(record::time(line.timestamp), told, agent),
            "tool.execution_complete" => {
                let (call, _) = self.calls.end(agent, &json::name(told.tool_call_id)?)?;
                Some(Happening::ToolEnd { call, action: None, answer: Box::new(answer(told)) })
            }
            "session.usage_record" | "assistant.usage" => self.taken(told.usage.or(line.data)?),
            "subagent.started" => Some(Happening::SpawnStart { child: child()?, depth: None }),
            "subagent.completed" | "subagent.failed" => Some(Happening::SpawnEnd { child: Some(child()?) }),
            "session.compaction_complete" => Some(Happening::Compaction { trigger: String::new() }),
            "session.shutdown" => {
                Some(Happening::SessionEnd { reason: json::name(told.kind).unwrap_or_else(|| "shutdown".to_owned()) })
            }
            _ => None,
        }
    }

    fn response(&mut self, told: &Told<'_>, agent: Option<&str>) {
        let Some(name) = json::name(told.message_id) else { return };
        let requests: Vec<Request<'_>> = told.tool_requests.map(record::elements).unwrap_or_default();
        let calls: Vec<String> = requests.iter().filter_map(|request| json::name(request.tool_call_id)).collect();
        if calls.is_empty() {
            return;
        }
        if self.responses.len() == RESPONSES_MAX {
            self.responses.remove(0);
        }
        self.responses.push((agent.map(str::to_owned), name, calls));
    }

    fn start(&mut self, at: Option<Instant>, told: &Told<'_>, agent: Option<&str>) -> Option<Happening> {
        let (id, tool) = (json::name(told.tool_call_id)?, json::name(told.tool_name)?);
        let input = record::input(told.arguments);
        let call = self.calls.begin(agent, &id, &tool, at, &input)?;
        let is_of =
            |(of, _, calls): &&(Option<String>, String, Vec<String>)| of.as_deref() == agent && calls.contains(&id);
        let message = self.responses.iter().rev().find(is_of).map(|(_, name, _)| name.clone());
        let action = Box::new(Action::new(&tool, &input, self.folder.as_deref()));
        Some(Happening::ToolStart { call, message, action, guarded: Vec::new(), touched: Vec::new(), tampering: None })
    }

    fn taken(&self, usage: &RawValue) -> Option<Happening> {
        let taken: Taken<'_> = json::object(usage)?;
        let cache_read = record::tokens(taken.cache_read_tokens);
        let cache_write = record::tokens(taken.cache_write_tokens);
        // The input counts what came from the cache too.
        let input = record::tokens(taken.input_tokens).saturating_sub(cache_read.saturating_add(cache_write));
        let usage = Usage { input, output: record::tokens(taken.output_tokens), cache_read, cache_write };
        let cost = json::name(taken.model).and_then(|model| price::cost(&model, &usage, &self.prices));
        Some(Happening::Message {
            usage: Some(usage),
            cost,
            offset: None,
            last: json::name(taken.api_call_id),
            said: None,
        })
    }
}

fn answer(told: &Told<'_>) -> Answer {
    let exit = told.shell_execution.and_then(json::object::<ShellExecution<'_>>);
    let exit = exit.and_then(|shell| shell.exit_code?.get().parse().ok());
    let error = told.error.and_then(json::object::<Said<'_>>);
    let result = told.result.and_then(json::object::<Said<'_>>);
    let said = error.as_ref().or(result.as_ref()).and_then(|said| said.message.or(said.content));
    let text = said.or(told.error).or(told.result).map(json::shown).unwrap_or_default();
    let code = error.and_then(|error| error.code);
    for (word, outcome) in [("rejected", Outcome::Rejected), ("denied", Outcome::Denied)] {
        if record::is_word(code, word) {
            return Answer::new(outcome, exit, &text);
        }
    }
    record::answer(Some(json::is_true(told.success)), exit, &text)
}
