//! What hooks read from a session's record, `events.jsonl`: JSON lines, read on from where the previous read ended.
//!
//! The lines of sub-agents are in the same file, with the agent's id. Every read sums the usage of all agents, because
//! the record of an agent's last response is written after that agent's last hook.
//!
//! The record has the tokens of each response (`session.usage_record`) and the calls of each response
//! (`assistant.message`). The client writes it with a delay: a response without open calls, or whose calls have all
//! been requested, is an earlier one and says nothing about a call that is about to run.

use haltline_core::Instant;
use haltline_core::identity::{ModelText, Outcome};
use serde_json::Value;

use crate::json;
use crate::transcript::copilot::{EventData, Line, UsageRecord};
use crate::transcript::record;
use crate::transcript_reader::{CountedIds, Ending, ReadContext, TranscriptUsage, records, whole_lines};

/// Number of calls remembered of one response; no model makes more at once.
const CALLS_MAX: usize = 64;
/// Number of sub-agents remembered that have a response in progress.
const AGENTS_MAX: usize = 64;

/// What one read hands to the next, written as `RESPONSE #REQUESTED/CALLS @call @call counted counted …`, where the
/// calls are those that have not ended; then the same for each sub-agent with a response in progress, after `>AGENT`.
#[derive(Debug, Default)]
struct ResumeState {
    /// The last response of each agent, the main agent's first.
    responses: Vec<Response>,
    counted: CountedIds,
}

/// The last response of one agent.
#[derive(Debug, Default)]
struct Response {
    agent: Option<String>,
    name: String,
    /// Number of its calls, out of `total_calls`, for which a hook has run before the call.
    requested_calls: usize,
    total_calls: usize,
    open_calls: Vec<String>,
}

impl Response {
    /// True if a call that is about to run may belong to this response.
    fn is_in_progress(&self) -> bool {
        !self.open_calls.is_empty() && !self.name.is_empty() && self.requested_calls < self.total_calls
    }

    fn append_to(&self, text: &mut String) {
        text.push_str(&format!("{} #{}/{}", self.name, self.requested_calls, self.total_calls));
        for call in &self.open_calls {
            text.push_str(" @");
            text.push_str(call);
        }
    }
}

/// True if an id survives `resume_state` unchanged.
fn survives_resume_state(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace) && !name.starts_with(['@', '#', '>'])
}

impl ResumeState {
    fn parse(text: Option<&str>) -> Self {
        let mut fields = text.unwrap_or_default().split(' ');
        let mut response = Response { name: fields.next().unwrap_or_default().to_owned(), ..Response::default() };
        let mut state = Self::default();
        for field in fields.filter(|field| !field.is_empty()) {
            if let Some(agent) = field.strip_prefix('>') {
                let next = Response { agent: Some(agent.to_owned()), ..Response::default() };
                state.responses.push(std::mem::replace(&mut response, next));
            } else if let Some(call) = field.strip_prefix('@') {
                response.open_calls.push(call.to_owned());
            } else if let Some((requested, calls)) = field.strip_prefix('#').and_then(|numbers| numbers.split_once('/'))
            {
                (response.requested_calls, response.total_calls) =
                    (requested.parse().unwrap_or_default(), calls.parse().unwrap_or_default());
            } else if response.agent.is_some() {
                field.clone_into(&mut response.name);
            } else {
                state.counted.insert(field.to_owned());
            }
        }
        state.responses.push(response);
        state
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        self.responses[0].append_to(&mut text);
        for response in self.counted.recent() {
            text.push(' ');
            text.push_str(response);
        }
        for response in self.responses[1..].iter().filter(|response| response.is_in_progress()).take(AGENTS_MAX) {
            text.push_str(&format!(" >{} ", response.agent.as_deref().unwrap_or_default()));
            response.append_to(&mut text);
        }
        text
    }

    fn last_response(&mut self, agent: Option<&str>) -> &mut Response {
        let index =
            self.responses.iter().position(|response| response.agent.as_deref() == agent).unwrap_or_else(|| {
                self.responses.push(Response { agent: agent.map(str::to_owned), ..Response::default() });
                self.responses.len() - 1
            });
        &mut self.responses[index]
    }
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], context: ReadContext<'_>) -> TranscriptUsage {
    let whole = whole_lines(text);
    let mut state = ResumeState::parse(context.resume_state);
    let mut sum = TranscriptUsage { consumed: whole.len() as u64, ..TranscriptUsage::default() };
    for line in records::<Line<'_>>(whole) {
        let Some(kind) = line.r#type.and_then(json::text) else { continue };
        if !matches!(kind.as_ref(), "session.usage_record" | "assistant.message" | "tool.execution_complete") {
            continue;
        }
        let Some(data) = line.data.and_then(json::object::<EventData<'_>>) else { continue };
        match kind.as_ref() {
            "session.usage_record" => count_usage(&data, &mut state, &mut sum),
            kind => {
                let agent = json::non_empty_text(line.agent_id);
                if agent.as_deref().is_some_and(|agent| !survives_resume_state(agent)) {
                    continue;
                }
                let response = state.last_response(agent.as_deref());
                if kind == "assistant.message" {
                    begin_response(&data, response);
                } else {
                    let call = json::non_empty_text(data.tool_call_id);
                    response.open_calls.retain(|open| Some(open) != call.as_ref());
                }
            }
        }
    }
    let response = state.last_response(context.sub_agent);
    if context.call.is_some() && response.is_in_progress() {
        response.requested_calls += 1;
        sum.response = Some(response.name.clone());
    }
    sum.resume_state = Some(state.to_text());
    sum
}

/// Counts each response once, even if its record appears twice.
fn count_usage(data: &EventData<'_>, state: &mut ResumeState, sum: &mut TranscriptUsage) {
    let Some(counts) = data.usage.and_then(json::object::<UsageRecord<'_>>) else { return };
    let Some(id) = json::non_empty_text(counts.api_call_id).filter(|name| survives_resume_state(name)) else { return };
    if state.counted.insert(id) {
        sum.count_response(&json::non_empty_text(counts.model).unwrap_or_default(), &counts.usage());
    }
}

fn begin_response(data: &EventData<'_>, response: &mut Response) {
    let calls = data.requested_calls().into_iter().filter(|name| survives_resume_state(name));
    response.open_calls = calls.take(CALLS_MAX).collect();
    (response.requested_calls, response.total_calls) = (0, response.open_calls.len());
    response.name =
        json::non_empty_text(data.message_id).filter(|name| survives_resume_state(name)).unwrap_or_default();
}

/// The text of the last response in these lines.
pub fn last_text(text: &[u8]) -> Option<ModelText> {
    records(text).rev().find_map(|line: Line<'_>| {
        let data = line.data.filter(|_| record::is_text(line.r#type, "assistant.message"));
        ModelText::from_text(&json::text(data.and_then(json::object::<EventData<'_>>)?.content?)?)
    })
}

/// How a command ended, if these lines say so. `call` is `TIMESTAMP ARGUMENTS` of its hook. The client records the
/// input of its hooks, which has more fields than the hooks receive. The timestamp matters because the same command may
/// have run before and ended differently. The first line may be incomplete.
pub fn outcome(text: &[u8], call: &str) -> Option<Ending> {
    let (timestamp, arguments) = call.split_once(' ')?;
    let arguments_value: Value = serde_json::from_str(arguments).ok()?;
    let timestamp = Instant::parse(timestamp).ok()?.as_millis();
    let input = records(text).rev().find_map(|line: Line<'_>| {
        let data = line.data.filter(|_| record::is_text(line.r#type, "hook.start"));
        let data = data.and_then(json::object::<EventData<'_>>)?;
        let input = data.input.filter(|_| record::is_text(data.hook_type, "postToolUse"))?;
        let input: Value = serde_json::from_str(input.get()).ok()?;
        (input["timestamp"].as_i64() == Some(timestamp) && input["toolArgs"] == arguments_value).then_some(input)
    })?;
    // The exit code is a floating-point number, and present only if it is not 0.
    let exit = input["toolResult"]["toolTelemetry"]["metrics"]["exit_code"].as_f64();
    #[expect(clippy::cast_possible_truncation, reason = "a float that is not an exit code becomes another failure")]
    let exit = exit.map(|code| code as i32);
    Some(match exit {
        Some(0) | None => (Outcome::Ok, Some(0)),
        Some(code) => (Outcome::Failed, Some(code)),
    })
}
