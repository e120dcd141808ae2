//! Parses the payload of a hook and translates each event.
//!
//! A sub-agent has a separate session here, and names its parent's: haltline reads it as an agent of the parent
//! session. The last line of a command's output says how the command ended. If a long output lost that line, the
//! session record has it.

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallIds, LoopEvent};

use crate::call;
use crate::hook::{EventSet, HookCall, HookEvent, ParsedHook, PendingOutcome, ReadError};
use crate::payload::{self, Fields, Payload};
use crate::{Client, json};

// The hooks are installed under Claude Code's event names, so the client uses those.
pub use crate::claude::event;

/// At these events the session record contains something that matters.
const READ_RECORD: EventSet = EventSet::of(&[
    HookEvent::ToolStart,
    HookEvent::Prompt,
    HookEvent::SpawnEnd,
    HookEvent::Stop,
    HookEvent::SessionEnd,
]);

json::unread! {
    struct ToolResult { result_type, text_result_for_llm }
}

/// Reads what a hook of Copilot CLI gets on stdin.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    read_for(Client::Copilot, &json::decode_lossy(stdin))
}

/// Like [`read`], for the client named on the hook's command line: Copilot also runs the hooks in a project's Claude
/// settings.
pub(crate) fn read_for(client: Client, text: &str) -> Result<ParsedHook, ReadError> {
    let fields: Fields<'_> = json::payload(text)?;
    // Calls have no id, and the model is not known.
    let fields = Fields { tool_response: fields.tool_result, tool_use_id: None, model: None, ..fields };
    let own_session = fields.session().ok().or_else(|| json::non_empty_text(fields.parent_session));
    let own_session = own_session.ok_or(ReadError::NoSession)?;
    let is_sub_agent_start = fields.agent_name.is_some() && fields.agent_id.is_some();
    let default_name = if is_sub_agent_start { "SubagentStart" } else { "" };
    let name = json::owned_text(fields.hook_event_name).unwrap_or_else(|| default_name.to_owned());
    let event = event(&name);
    let sub_agent = fields.sub_agent(event);
    let session = sub_agent.as_ref().and_then(|_| json::non_empty_text(fields.parent_agent_id)).unwrap_or(own_session);
    let agent = AgentRef { sub_agent, call_ids: CallIds::StartOnly, ..payload::agent_of(client, session) };
    let payload = Payload::new(fields, HookCall { client, event, name, agent });
    let (loop_event, pending_outcome) = loop_event(&payload);
    let is_own_hook = client == Client::Copilot;
    let needs_record = READ_RECORD.contains(event) || pending_outcome.is_some();
    Ok(ParsedHook {
        transcript_path: if is_own_hook && needs_record { session_record(&payload.hook.agent.session) } else { None },
        pending_outcome: pending_outcome.filter(|_| is_own_hook),
        ..payload.into_parsed(loop_event)
    })
}

/// The path of a session's record, below the client's folder. The session id is foreign input and must not be a path.
fn session_record(session: &str) -> Option<String> {
    let is_plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_plain.then(|| format!("~/session-state/{session}/events.jsonl"))
}

fn loop_event(payload: &Payload<'_>) -> (Option<LoopEvent>, Option<PendingOutcome>) {
    let fields = &payload.fields;
    let mut pending = None;
    let loop_event = match payload.hook.event {
        HookEvent::ToolEnd => payload.call_end(|tool| {
            let (result, pending_outcome) = call_result(fields, tool);
            pending = pending_outcome;
            result
        }),
        HookEvent::ToolFailed => payload.call_end(|_tool| {
            let error = fields.error.map(json::text_for_model).unwrap_or_default();
            CallResult::new(Outcome::Failed, None, &error)
        }),
        _usual => payload.usual_event(),
    };
    let moment = || json::owned_text(fields.timestamp).unwrap_or_default();
    (payload::with_call_id(loop_event, |call| call::timed_call_id(call, &moment())), pending)
}

fn call_result(fields: &Fields<'_>, tool: &str) -> (CallResult, Option<PendingOutcome>) {
    let result = fields.tool_result.and_then(json::object::<ToolResult<'_>>);
    let text = match &result {
        Some(result) => result.text_result_for_llm.map(json::text_for_model),
        None => fields.tool_result.map(json::text_for_model),
    };
    let text = text.unwrap_or_default();
    let kind = result.and_then(|result| json::non_empty_text(result.result_type));
    let outcome = match kind.as_deref() {
        Some("success") | None => Outcome::Ok,
        Some("rejected") => Outcome::Rejected,
        Some("denied") => Outcome::Denied,
        Some(_failure) => Outcome::Failed,
    };
    let is_shell = matches!(tool, "Bash" | "bash" | "PowerShell" | "powershell");
    if !is_shell || outcome != Outcome::Ok {
        return (CallResult::new(outcome, None, &text), None);
    }
    let (output, exit) = split_exit_code(&text);
    let is_cut = exit.is_none() && is_output_in_file(&text);
    let outcome = match exit {
        None if is_cut => Outcome::Unknown,
        Some(0) | None => Outcome::Ok,
        Some(_) => Outcome::Failed,
    };
    let pending = is_cut.then(|| {
        let input = fields.tool_input.map(json::compact).unwrap_or_default();
        let moment = json::owned_text(fields.timestamp).unwrap_or_default();
        PendingOutcome { call: format!("{moment} {input}"), text: text.to_string() }
    });
    (CallResult::new(outcome, exit, output), pending)
}

/// Splits the last line, in which the client reports the exit code, from the output of a command.
fn split_exit_code(text: &str) -> (&str, Option<i32>) {
    const BEFORE: &str = "completed with exit code ";
    let whole = text.trim_end();
    let (output, last) = whole.rsplit_once('\n').unwrap_or(("", whole));
    let exit = last.strip_prefix("<shellId: ").and_then(|rest| rest.strip_suffix('>'));
    let exit = exit.and_then(|rest| rest.split_once(BEFORE)).and_then(|(_, code)| code.trim().parse().ok());
    if exit.is_some() { (output, exit) } else { (text, None) }
}

/// True if the client moved the output into a file, and perhaps with it the line that says how the command ended.
fn is_output_in_file(text: &str) -> bool {
    text.starts_with("Output too large")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_read_from_the_last_line_only() {
        assert_eq!(split_exit_code("one\n<shellId: 0 completed with exit code 1>"), ("one", Some(1)));
        assert_eq!(split_exit_code("<shellId: 12 completed with exit code 0>\n"), ("", Some(0)));
        assert_eq!(split_exit_code("one\n<shellId: 0 completed with exit code -9>"), ("one", Some(-9)));
        for other in ["", "one", "<shellId: 0 completed with exit code x>", "<shellId: 0 is still running>"] {
            assert_eq!(split_exit_code(other), (other, None), "{other}");
        }
        let quoted = "<shellId: 0 completed with exit code 1>\nmore";
        assert_eq!(split_exit_code(quoted), (quoted, None));
    }

    #[test]
    fn a_session_id_cannot_leave_the_folder() {
        assert_eq!(session_record("1facdf79-b0f3").as_deref(), Some("~/session-state/1facdf79-b0f3/events.jsonl"));
        for name in ["../x", "a/b", "a\0b", "a b"] {
            assert_eq!(session_record(name), None, "{name}");
        }
    }
}
