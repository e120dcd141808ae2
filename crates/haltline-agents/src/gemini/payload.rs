//! Parses the payload of a hook and translates each event.
//!
//! `BeforeModel` carries the whole conversation and `AfterTool` the whole output, up to megabytes each: fields that
//! haltline does not need are skipped without parsing.

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallIds, LoopEvent};

use super::shell_text;
use crate::hook::{EventSet, HookCall, HookEvent, ParsedHook, ReadError};
use crate::json::Unread;
use crate::payload::{self, EventNames, Fields, Payload};
use crate::{Client, json};

const EVENTS: EventNames = &[
    ("SessionStart", HookEvent::SessionStart),
    // The text of a hook that keeps the agent going also arrives here, and looks the same as a prompt.
    ("BeforeAgent", HookEvent::Prompt),
    ("BeforeModel", HookEvent::ModelStart),
    ("BeforeTool", HookEvent::ToolStart),
    ("AfterTool", HookEvent::ToolEnd),
    ("AfterAgent", HookEvent::Stop),
    ("SessionEnd", HookEvent::SessionEnd),
];

/// At these events the transcript contains something that matters.
const READ_TRANSCRIPT: EventSet =
    EventSet::of(&[HookEvent::ToolEnd, HookEvent::ModelStart, HookEvent::Stop, HookEvent::SessionEnd]);

json::unread! {
    /// The result of a call.
    #[serde(rename_all = "camelCase")]
    struct Response { llm_content, error }

    struct ToolError { message }
}

pub fn event(name: &str) -> HookEvent {
    payload::event_named(EVENTS, name)
}

/// Reads what a hook of Gemini CLI gets on stdin. The payload does not name the hook source.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(stdin);
    // Calls have no id, and only a request names the model.
    let fields = Fields { tool_use_id: None, model: None, ..json::payload(&text)? };
    let name = fields.event_name();
    let event = event(&name);
    let agent = AgentRef { call_ids: CallIds::None, ..payload::agent_of(Client::Gemini, fields.session()?) };
    let payload = Payload::new(fields, HookCall { client: Client::Gemini, event, name, agent });
    let loop_event = loop_event(&payload);
    Ok(ParsedHook {
        model: json::member_text(fields.llm_request, "model"),
        transcript_path: payload.transcript_path(READ_TRANSCRIPT),
        ..payload.into_parsed(loop_event)
    })
}

fn loop_event(payload: &Payload<'_>) -> Option<LoopEvent> {
    match payload.hook.event {
        HookEvent::ToolEnd => payload.call_end(|tool| call_result(tool, payload.fields.tool_response)),
        _usual => payload.usual_event(),
    }
}

/// The result of a call: a tool's failure is in a separate field, a command's in the text for the model.
fn call_result(tool: &str, response: Unread<'_>) -> CallResult {
    let Some(raw) = response else { return CallResult::new(Outcome::Unknown, None, "") };
    let Some(response) = json::object::<Response<'_>>(raw) else {
        return CallResult::new(Outcome::Ok, None, &json::text_for_model(raw));
    };
    let text = response.llm_content.map(json::text_for_model).unwrap_or_default();
    if let Some(error) = response.error.and_then(json::object::<ToolError<'_>>) {
        let message = if text.is_empty() { error.message.map(json::text_for_model).unwrap_or_default() } else { text };
        return CallResult::new(Outcome::Failed, None, &message);
    }
    if tool == "run_shell_command" {
        return shell_text::parse_result(&text);
    }
    let outcome = if tool == "invoke_agent" { sub_agent_outcome(&text) } else { Outcome::Ok };
    CallResult::new(outcome, None, &text)
}

/// A sub-agent reports why it ended.
fn sub_agent_outcome(text: &str) -> Outcome {
    let reason = text.lines().take(8).find_map(|line| line.strip_prefix("Termination Reason: "));
    match reason.map(str::trim) {
        None | Some("GOAL") => Outcome::Ok,
        Some("ABORTED") => Outcome::Cancelled,
        Some(_other) => Outcome::Failed,
    }
}
