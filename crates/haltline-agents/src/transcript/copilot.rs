//! Copilot CLI's `events.jsonl`: one event per line, including those of sub-agents, which carry the sub-agent's name.

use haltline_core::Instant;
use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{self, Calls, Unread};
use super::{Damaged, Entry};
use crate::price::{self, Price};
use crate::{bypass, json};

/// One event. The hooks read the same file while the client writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    pub r#type: Unread<'a>,
    pub data: Unread<'a>,
    pub agent_id: Unread<'a>,
    pub timestamp: Unread<'a>,
}

/// The fields of all events that haltline uses.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventData<'a> {
    #[serde(borrow)]
    pub session_id: Unread<'a>,
    pub selected_model: Unread<'a>,
    pub context: Unread<'a>,
    pub content: Unread<'a>,
    pub source: Unread<'a>,
    pub message_id: Unread<'a>,
    pub tool_requests: Unread<'a>,
    pub tool_call_id: Unread<'a>,
    pub tool_name: Unread<'a>,
    pub arguments: Unread<'a>,
    pub success: Unread<'a>,
    pub result: Unread<'a>,
    pub error: Unread<'a>,
    pub shell_execution: Unread<'a>,
    pub usage: Unread<'a>,
    pub parent_tool_call_id: Unread<'a>,
    pub cwd: Unread<'a>,
    #[serde(rename = "type")]
    pub kind: Unread<'a>,
    pub hook_type: Unread<'a>,
    pub input: Unread<'a>,
}

impl EventData<'_> {
    /// The ids of the calls that a response requests.
    pub(crate) fn requested_calls(&self) -> Vec<String> {
        let requests: Vec<Request<'_>> = self.tool_requests.map(record::elements).unwrap_or_default();
        requests.iter().filter_map(|request| json::non_empty_text(request.tool_call_id)).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    tool_call_id: Unread<'a>,
}

#[derive(Deserialize)]
struct CallOutput<'a> {
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
pub(crate) struct UsageRecord<'a> {
    #[serde(borrow)]
    pub model: Unread<'a>,
    pub input_tokens: Unread<'a>,
    pub output_tokens: Unread<'a>,
    pub cache_read_tokens: Unread<'a>,
    pub cache_write_tokens: Unread<'a>,
    pub api_call_id: Unread<'a>,
}

impl UsageRecord<'_> {
    /// The token usage. The client's input count includes cached tokens, which are subtracted here.
    pub(crate) fn usage(&self) -> Usage {
        let cache_read = record::tokens(self.cache_read_tokens);
        let cache_write = record::tokens(self.cache_write_tokens);
        let input = record::tokens(self.input_tokens).saturating_sub(cache_read.saturating_add(cache_write));
        Usage { input, output: record::tokens(self.output_tokens), cache_read, cache_write }
    }
}

/// The number of responses that are remembered; more are never in progress at once.
const RESPONSES_MAX: usize = 64;

#[derive(Debug)]
pub struct CopilotReader {
    agent_ref: AgentRef,
    folder: Option<String>,
    prices: Vec<Price>,
    calls: Calls,
    /// The last responses: their agent, their name, and the calls they request.
    responses: Vec<(Option<String>, String, Vec<String>)>,
}

impl CopilotReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            agent_ref: AgentRef { session: name.to_owned(), client: "copilot".to_owned(), ..AgentRef::default() },
            folder: None,
            prices: prices.to_vec(),
            calls: Calls::default(),
            responses: Vec::new(),
        }
    }

    pub fn read_line(&mut self, line: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        record::for_each_object(line, |line: Line<'_>| {
            let Some(data) = line.data.and_then(json::object::<EventData<'_>>) else { return };
            // Older versions name only the call that started a sub-agent.
            let agent = json::non_empty_text(line.agent_id).or_else(|| json::non_empty_text(data.parent_tool_call_id));
            if let Some(event) = self.event(&line, &data, agent.as_deref()) {
                // The start and end of a sub-agent are events of the agent that started it.
                let is_about_sub_agent = matches!(event, LoopEvent::SpawnStart { .. } | LoopEvent::SpawnEnd { .. });
                let agent = if is_about_sub_agent { None } else { agent };
                let at: Option<Instant> = record::time(line.timestamp);
                entries.push(Entry {
                    at,
                    agent_ref: AgentRef { sub_agent: agent, ..self.agent_ref.clone() },
                    event,
                    is_echo: false,
                });
            }
        })
    }

    fn event(&mut self, line: &Line<'_>, data: &EventData<'_>, agent: Option<&str>) -> Option<LoopEvent> {
        let kind = line.r#type.and_then(json::text)?;
        let sub_agent = || agent.map(str::to_owned).or_else(|| json::non_empty_text(data.tool_call_id));
        match kind.as_ref() {
            "session.start" | "session.resume" => {
                self.agent_ref.session =
                    json::non_empty_text(data.session_id).unwrap_or_else(|| self.agent_ref.session.clone());
                let context = data.context.and_then(json::object::<EventData<'_>>);
                self.folder = context.and_then(|context| json::non_empty_text(context.cwd)).or(self.folder.take());
                let resumed = kind == "session.resume";
                Some(LoopEvent::SessionStart {
                    model: json::non_empty_text(data.selected_model),
                    resumed,
                    is_nested: false,
                })
            }
            // The prompt of a sub-agent comes from the agent that started it.
            "user.message" if agent.is_none() => {
                let by_user = data.source.is_none() || record::is_text(data.source, "user");
                let text = data.content.and_then(json::text).unwrap_or_default();
                Some(LoopEvent::Prompt { by_user, bypass: by_user && bypass::is_requested(&text) })
            }
            "assistant.message" => {
                self.response(data, agent);
                None
            }
            "tool.execution_start" => self.start(record::time(line.timestamp), data, agent),
            "tool.execution_complete" => {
                let (call, _) = self.calls.end(agent, &json::non_empty_text(data.tool_call_id)?)?;
                Some(LoopEvent::ToolEnd { call, action: None, result: Box::new(call_result(data)) })
            }
            "session.usage_record" | "assistant.usage" => self.usage_event(data.usage.or(line.data)?),
            "subagent.started" => Some(LoopEvent::SpawnStart { sub_agent: sub_agent()?, depth: None }),
            "subagent.completed" | "subagent.failed" => Some(LoopEvent::SpawnEnd { sub_agent: Some(sub_agent()?) }),
            "session.compaction_complete" => Some(LoopEvent::Compaction { trigger: String::new() }),
            "session.shutdown" => Some(LoopEvent::SessionEnd {
                reason: json::non_empty_text(data.kind).unwrap_or_else(|| "shutdown".to_owned()),
            }),
            _ => None,
        }
    }

    fn response(&mut self, data: &EventData<'_>, agent: Option<&str>) {
        let Some(name) = json::non_empty_text(data.message_id) else { return };
        let calls = data.requested_calls();
        if calls.is_empty() {
            return;
        }
        if self.responses.len() == RESPONSES_MAX {
            self.responses.remove(0);
        }
        self.responses.push((agent.map(str::to_owned), name, calls));
    }

    fn start(&mut self, at: Option<Instant>, data: &EventData<'_>, agent: Option<&str>) -> Option<LoopEvent> {
        let (id, tool) = (json::non_empty_text(data.tool_call_id)?, json::non_empty_text(data.tool_name)?);
        let input = record::input(data.arguments);
        let call = self.calls.begin(agent, &id, &tool, at, &input)?;
        let is_of =
            |(of, _, calls): &&(Option<String>, String, Vec<String>)| of.as_deref() == agent && calls.contains(&id);
        let message = self.responses.iter().rev().find(is_of).map(|(_, name, _)| name.clone());
        let action = Box::new(Action::new(&tool, &input, self.folder.as_deref()));
        Some(LoopEvent::ToolStart { call, response: message, action, context: CallContext::Missing })
    }

    fn usage_event(&self, usage: &RawValue) -> Option<LoopEvent> {
        let used: UsageRecord<'_> = json::object(usage)?;
        let usage = used.usage();
        let cost = json::non_empty_text(used.model).and_then(|model| price::cost(&model, &usage, &self.prices));
        Some(LoopEvent::Message {
            usage: Some(usage),
            cost,
            range: None,
            last_response: json::non_empty_text(used.api_call_id),
            text: None,
        })
    }
}

fn call_result(data: &EventData<'_>) -> CallResult {
    let exit = data.shell_execution.and_then(json::object::<ShellExecution<'_>>);
    let exit = exit.and_then(|shell| shell.exit_code?.get().parse().ok());
    let error = data.error.and_then(json::object::<CallOutput<'_>>);
    let result = data.result.and_then(json::object::<CallOutput<'_>>);
    let output = error.as_ref().or(result.as_ref()).and_then(|output| output.message.or(output.content));
    let text = output.or(data.error).or(data.result).map(json::text_for_model).unwrap_or_default();
    let code = error.and_then(|error| error.code);
    for (word, outcome) in [("rejected", Outcome::Rejected), ("denied", Outcome::Denied)] {
        if record::is_text(code, word) {
            return CallResult::new(outcome, exit, &text);
        }
    }
    record::call_result(Some(json::is_true(data.success)), exit, &text)
}
