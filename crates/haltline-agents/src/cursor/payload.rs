//! Parses the payload of a hook and translates each event.
//!
//! The client may reuse a call's id for another call, so haltline adds the arguments and the id of the person's message
//! to it.

use haltline_core::digest_hex;
use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallIds, LoopEvent, TurnEnd};
use serde_json::value::RawValue;

use crate::hook::{HookCall, HookEvent, ParsedHook, ReadError};
use crate::json::Unread;
use crate::payload::{self, ABOUT_SUB_AGENT, EventNames, Fields, Payload};
use crate::{Client, json};

const EVENTS: EventNames = &[
    ("sessionStart", HookEvent::SessionStart),
    ("beforeSubmitPrompt", HookEvent::Prompt),
    ("preToolUse", HookEvent::ToolStart),
    ("postToolUse", HookEvent::ToolEnd),
    ("postToolUseFailure", HookEvent::ToolFailed),
    ("subagentStart", HookEvent::SpawnStart),
    ("subagentStop", HookEvent::SpawnEnd),
    ("preCompact", HookEvent::Compaction),
    ("stop", HookEvent::Stop),
    ("sessionEnd", HookEvent::SessionEnd),
];

pub fn event(name: &str) -> HookEvent {
    payload::event_named(EVENTS, name)
}

/// Reads what a hook of Cursor gets on stdin.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(stdin);
    let fields: Fields<'_> = json::payload(&text)?;
    // The client does not say whether a session is resumed.
    let fields = Fields { agent_id: fields.subagent_id, tool_response: fields.tool_output, source: None, ..fields };
    let name = fields.event_name();
    let event = event(&name);
    let parent = json::non_empty_text(fields.parent_conversation_id).filter(|_| ABOUT_SUB_AGENT.contains(event));
    let session = parent.or_else(|| json::non_empty_text(fields.conversation_id));
    let session = session.map_or_else(|| fields.session(), Ok)?;
    let call_ids = match json::non_empty_text(fields.tool_use_id) {
        Some(_) => CallIds::Stable,
        None => CallIds::None,
    };
    let agent = AgentRef { call_ids, ..payload::agent_of(Client::Cursor, session) };
    let mut payload = Payload::new(fields, HookCall { client: Client::Cursor, event, name, agent });
    payload.folder = payload.folder.or_else(|| fields.workspace_roots.and_then(first_root));
    let loop_event = payload::with_call_id(loop_event(&payload), |call| unique_call_id(&fields, call));
    Ok(ParsedHook { model: json::non_empty_text(fields.model), ..payload.into_parsed(loop_event) })
}

fn first_root(roots: &RawValue) -> Option<String> {
    let roots: Vec<&RawValue> = json::list(roots)?;
    json::non_empty_text(roots.first().copied())
}

fn loop_event(payload: &Payload<'_>) -> Option<LoopEvent> {
    let fields = &payload.fields;
    match payload.hook.event {
        HookEvent::ToolEnd => payload.call_end(|_tool| end_result(fields.tool_output)),
        HookEvent::ToolFailed => payload.call_end(|_tool| failure_result(fields)),
        // The documentation does not promise that the payload names the sub-agent.
        HookEvent::SpawnEnd => Some(LoopEvent::SpawnEnd { sub_agent: json::non_empty_text(fields.subagent_id) }),
        HookEvent::Stop => {
            // How often a hook has kept the agent going.
            let count: u64 = json::number(fields.loop_count).unwrap_or_default();
            Some(LoopEvent::Stop { blocked: count > 0, running: None, end: TurnEnd::Idle })
        }
        _usual => payload.usual_event(),
    }
}

/// A call id that no other call has.
fn unique_call_id(fields: &Fields<'_>, call: &str) -> String {
    let generation = json::owned_text(fields.generation_id).unwrap_or_default();
    let input = fields.tool_input.map_or("", RawValue::get);
    digest_hex(&[call.as_bytes(), generation.as_bytes(), input.as_bytes()], 8)
}

/// The result of a call. A command's output is a string that holds JSON with the exit code.
fn end_result(output: Unread<'_>) -> CallResult {
    let text = output.map(json::text_for_model).unwrap_or_default();
    let shell: Unread<'_> = if text.trim_start().starts_with('{') { serde_json::from_str(&text).ok() } else { None };
    let exit: Option<i32> = json::number(json::member(shell, "exitCode"));
    match exit {
        Some(0) | None => CallResult::new(Outcome::Ok, exit, &text),
        Some(_) => CallResult::new(Outcome::Failed, exit, &text),
    }
}

fn failure_result(fields: &Fields<'_>) -> CallResult {
    let text = fields.error_message.map(json::text_for_model).unwrap_or_default();
    let outcome = match json::non_empty_text(fields.failure_type).as_deref() {
        Some("permission_denied") => Outcome::Denied,
        _error if json::is_true(fields.is_interrupt) => Outcome::Cancelled,
        _error => Outcome::Failed,
    };
    CallResult::new(outcome, None, &text)
}
