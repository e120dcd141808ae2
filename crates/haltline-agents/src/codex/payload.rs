//! Parses the payload of a hook and translates each event.

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{AgentRef, LoopEvent};

use crate::hook::{EventSet, HookCall, HookEvent, ParsedHook, PendingOutcome, ReadError};
use crate::json::Unread;
use crate::payload::{self, Fields, Payload};
use crate::{Client, claude, json};

/// At these events the transcript contains something that matters.
const READ_TRANSCRIPT: EventSet = EventSet::of(&[
    HookEvent::ToolStart,
    HookEvent::Prompt,
    HookEvent::Stop,
    HookEvent::Interrupted,
    HookEvent::SessionEnd,
]);

/// The event with this name: those of Claude Code, and one more.
pub fn event(name: &str) -> HookEvent {
    match name {
        "Interrupt" => HookEvent::Interrupted,
        other => claude::event(other),
    }
}

/// Reads what a hook of Codex gets on stdin.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(stdin);
    let fields: Fields<'_> = json::payload(&text)?;
    let name = fields.event_name();
    let event = event(&name);
    let agent = payload::agent_of(Client::Codex, fields.session()?);
    let agent = AgentRef { sub_agent: fields.sub_agent(event), ..agent };
    let payload = Payload::new(fields, HookCall { client: Client::Codex, event, name, agent });
    let (loop_event, pending_outcome) = loop_event(&payload);
    Ok(ParsedHook {
        model: json::non_empty_text(fields.model),
        transcript_path: transcript_path(&payload, pending_outcome.is_some()),
        pending_outcome,
        ..payload.into_parsed(loop_event)
    })
}

/// The transcript, if it contains something that matters to this event.
fn transcript_path(payload: &Payload<'_>, is_outcome_pending: bool) -> Option<String> {
    match payload.hook.event {
        HookEvent::ToolEnd if is_outcome_pending => json::non_empty_text(payload.fields.transcript_path),
        // `transcript_path` of a sub-agent's start and end names sometimes its transcript and sometimes its parent's.
        HookEvent::SpawnEnd => json::non_empty_text(payload.fields.agent_transcript_path),
        _other => payload.transcript_path(READ_TRANSCRIPT),
    }
}

fn loop_event(payload: &Payload<'_>) -> (Option<LoopEvent>, Option<PendingOutcome>) {
    match payload.hook.event {
        HookEvent::SessionStart => (Some(payload.session_start(claude::RESUMING_SOURCES)), None),
        HookEvent::ToolEnd => tool_end(payload),
        _usual => (payload.usual_event(), None),
    }
}

/// The end of a command comes without its exit code, and also while the command still runs: only the transcript knows.
/// Any other call that has an end has succeeded.
fn tool_end(payload: &Payload<'_>) -> (Option<LoopEvent>, Option<PendingOutcome>) {
    let call = payload.fields.call();
    let text = call.tool_response.map(json::text_for_model).unwrap_or_default();
    let has_transcript = json::non_empty_text(payload.fields.transcript_path).is_some();
    let mut pending_call = None;
    let loop_event = payload.call_end(|tool| {
        if tool == "Bash" && has_transcript {
            pending_call = Some(call.id(tool, &payload.hook.agent));
            return CallResult::new(Outcome::Unknown, None, &text);
        }
        spawn_result(tool, &text).unwrap_or_else(|| CallResult::for_tool(tool, Outcome::Ok, None, &text))
    });
    (loop_event, pending_call.map(|call| PendingOutcome { call, text: text.into_owned() }))
}

/// The result of a call that started a sub-agent. The id of the new sub-agent does not make the result a new one.
pub(crate) fn spawn_result(tool: &str, text: &str) -> Option<CallResult> {
    let result: Unread<'_> = if tool.ends_with("spawn_agent") { serde_json::from_str(text).ok() } else { None };
    let sub_agent = Some(json::member_text(result, "agent_id")?);
    Some(CallResult { sub_agent, is_sub_agent_running: true, ..CallResult::new(Outcome::Ok, None, "launched") })
}
