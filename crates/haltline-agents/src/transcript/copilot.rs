//! Copilot CLI's `events.jsonl`: one event per line, including those of sub-agents, which carry the sub-agent's name.

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{LoopEvent, Usage};
use serde_json::value::RawValue;

use super::record::{self, Calls, RecordContext};
use super::{Damaged, Entry};
use crate::bypass;
use crate::json;
use crate::price::Price;

json::unread! {
    /// One event. The hooks read the same file while the client writes it.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Line { r#type, data, agent_id, timestamp }

    /// The fields of all events that haltline uses.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct EventData {
        session_id, selected_model, context, content, source, message_id, tool_requests, tool_call_id, tool_name,
        arguments, success, result, error, shell_execution, usage, parent_tool_call_id,
        #[serde(rename = "type")] kind, hook_type, input,
    }
}

impl EventData<'_> {
    /// The ids of the calls that a response requests.
    pub(crate) fn requested_calls(&self) -> Vec<String> {
        let requests: Vec<&RawValue> = self.tool_requests.and_then(json::list).unwrap_or_default();
        requests.into_iter().filter_map(|request| json::member_text(Some(request), "toolCallId")).collect()
    }
}

json::unread! {
    struct CallOutput { content, message, code }

    #[serde(rename_all = "camelCase")]
    pub(crate) struct UsageRecord {
        model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, api_call_id,
    }
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
    context: RecordContext,
    prices: Vec<Price>,
    calls: Calls,
    /// The last responses: their agent, their name, and the calls they request.
    responses: Vec<(Option<String>, String, Vec<String>)>,
}

impl CopilotReader {
    pub fn new(name: &str, prices: &[Price]) -> Self {
        Self {
            context: RecordContext::new("copilot", name),
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
            self.context.at = record::time(line.timestamp);
            self.context.agent_ref.sub_agent = agent;
            entries.extend(self.read_event(&line, &data));
        })
    }

    fn read_event(&mut self, line: &Line<'_>, data: &EventData<'_>) -> Option<Entry> {
        let kind = line.r#type.and_then(json::text)?;
        match kind.as_ref() {
            "assistant.message" => {
                self.remember_response(data);
                None
            }
            "tool.execution_start" => self.start(data),
            "tool.execution_complete" => {
                let id = json::non_empty_text(data.tool_call_id)?;
                self.calls.finish(&self.context, &id, |_tool| call_result(data))
            }
            "subagent.started" | "subagent.completed" | "subagent.failed" => {
                // The start and end of a sub-agent are events of the agent that started it.
                let named = self.context.agent_ref.sub_agent.take();
                let sub_agent = named.or_else(|| json::non_empty_text(data.tool_call_id))?;
                Some(self.context.entry(match kind.as_ref() {
                    "subagent.started" => LoopEvent::SpawnStart { sub_agent, depth: None },
                    _ended => LoopEvent::SpawnEnd { sub_agent: Some(sub_agent) },
                }))
            }
            kind => self.session_event(kind, line, data).map(|event| self.context.entry(event)),
        }
    }

    fn session_event(&mut self, kind: &str, line: &Line<'_>, data: &EventData<'_>) -> Option<LoopEvent> {
        let context = &mut self.context;
        match kind {
            "session.start" | "session.resume" => {
                if let Some(session) = json::non_empty_text(data.session_id) {
                    context.agent_ref.session = session;
                }
                context.folder = json::member_text(data.context, "cwd").or(context.folder.take());
                let resumed = kind == "session.resume";
                Some(LoopEvent::SessionStart {
                    model: json::non_empty_text(data.selected_model),
                    resumed,
                    is_nested: false,
                })
            }
            // The prompt of a sub-agent comes from the agent that started it.
            "user.message" if context.agent_ref.sub_agent.is_none() => {
                let by_user = data.source.is_none() || record::is_text(data.source, "user");
                let text = data.content.and_then(json::text).unwrap_or_default();
                Some(LoopEvent::Prompt { by_user, bypass: by_user && bypass::is_requested(&text) })
            }
            "session.usage_record" | "assistant.usage" => {
                let used: UsageRecord<'_> = json::object(data.usage.or(line.data)?)?;
                let model = json::non_empty_text(used.model);
                let last_response = json::non_empty_text(used.api_call_id);
                Some(record::usage_event(used.usage(), model.as_deref(), &self.prices, last_response))
            }
            "session.compaction_complete" => Some(LoopEvent::Compaction { trigger: String::new(), has_shrunk: None }),
            "session.shutdown" => Some(LoopEvent::SessionEnd {
                reason: json::non_empty_text(data.kind).unwrap_or_else(|| "shutdown".to_owned()),
            }),
            _ => None,
        }
    }

    fn remember_response(&mut self, data: &EventData<'_>) {
        let Some(name) = json::non_empty_text(data.message_id) else { return };
        let calls = data.requested_calls();
        if calls.is_empty() {
            return;
        }
        if self.responses.len() == RESPONSES_MAX {
            self.responses.remove(0);
        }
        self.responses.push((self.context.agent_ref.sub_agent.clone(), name, calls));
    }

    fn start(&mut self, data: &EventData<'_>) -> Option<Entry> {
        let (id, tool) = (json::non_empty_text(data.tool_call_id)?, json::non_empty_text(data.tool_name)?);
        let agent = &self.context.agent_ref.sub_agent;
        let mut responses = self.responses.iter().rev();
        let response = responses.find(|(of, _, calls)| of == agent && calls.contains(&id));
        let response = response.map(|(_, name, _)| name.clone());
        self.calls.start(&self.context, &id, &tool, &record::input(data.arguments), response)
    }
}

fn call_result(data: &EventData<'_>) -> CallResult {
    let exit = json::number(json::member(data.shell_execution, "exitCode"));
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
