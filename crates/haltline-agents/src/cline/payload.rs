//! Parses the payload of a hook and translates each event.

use haltline_core::identity::{Action, CallResult};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, TurnEnd};

use super::call::{self, Output};
use crate::hook::{HookCall, HookEvent, ParsedHook, ReadError};
use crate::json::Unread;
use crate::payload::{self, EventNames};
use crate::{Client, bypass, json};

const EVENTS: EventNames = &[
    ("agent_start", HookEvent::SessionStart),
    ("agent_resume", HookEvent::SessionStart),
    ("prompt_submit", HookEvent::Prompt),
    ("tool_call", HookEvent::ToolStart),
    ("tool_result", HookEvent::ToolEnd),
    ("agent_end", HookEvent::Stop),
    ("agent_error", HookEvent::StopFailed),
    ("agent_abort", HookEvent::Interrupted),
    // A session that was shut down was interrupted: one that ends normally sends nothing more.
    ("session_shutdown", HookEvent::Interrupted),
];

json::unread! {
    #[serde(rename_all = "camelCase")]
    struct ClineFields {
        hook_name, task_id, session_context, workspace_roots, #[serde(rename = "agent_id")] agent,
        #[serde(rename = "parent_agent_id")] parent, iteration, #[serde(rename = "tool_call")] call,
        #[serde(rename = "tool_result")] result, user_prompt_submit,
    }

    /// One call, before or after it ran.
    struct Call { id, name, input, output, error }
}

/// The event with this name, as payloads spell it.
pub fn event(name: &str) -> HookEvent {
    payload::event_named(EVENTS, name)
}

/// Reads what a hook of Cline gets on stdin.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(stdin);
    let fields: ClineFields<'_> = json::payload(&text)?;
    // Sub-agents share the session, but each has its own task id.
    let session = json::member_text(fields.session_context, "rootSessionId");
    let session = session.or_else(|| json::non_empty_text(fields.task_id)).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(fields.hook_name).unwrap_or_default();
    let sub_agent = json::non_empty_text(fields.parent).and_then(|_parent| json::non_empty_text(fields.agent));
    let agent = AgentRef { sub_agent, ..payload::agent_of(Client::Cline, session) };
    let roots: Vec<Unread<'_>> = fields.workspace_roots.and_then(json::list).unwrap_or_default();
    let folder = roots.first().copied().flatten().and_then(|root| json::non_empty_text(Some(root)));
    let event = event(&name);
    let loop_event = loop_event(event, &name, &fields, &agent, folder.as_deref());
    Ok(ParsedHook::new(HookCall { client: Client::Cline, event, name, agent }, folder, loop_event))
}

fn loop_event(
    event: HookEvent,
    name: &str,
    fields: &ClineFields<'_>,
    agent: &AgentRef,
    folder: Option<&str>,
) -> Option<LoopEvent> {
    match event {
        // A sub-agent starts and ends with the call that starts it. The client does not wait for the sub-agent's own
        // events, so they come in any order.
        HookEvent::SessionStart if agent.sub_agent.is_some() => None,
        HookEvent::SessionStart => {
            Some(LoopEvent::SessionStart { model: None, resumed: name == "agent_resume", is_nested: false })
        }
        HookEvent::Prompt => {
            let prompt = json::member(fields.user_prompt_submit, "prompt");
            Some(bypass::prompt_event(prompt, agent.sub_agent.is_none()))
        }
        HookEvent::ToolStart => tool_start(fields, folder),
        HookEvent::ToolEnd => tool_end(fields, folder),
        HookEvent::Stop | HookEvent::StopFailed | HookEvent::Interrupted => {
            Some(LoopEvent::Stop { blocked: false, running: None, end: TurnEnd::Idle })
        }
        _undecided => None,
    }
}

/// The number of the response, if the client sends one.
fn response_number(fields: &ClineFields<'_>) -> Option<String> {
    fields.iteration.map(|iteration| iteration.get().to_owned()).filter(|iteration| iteration != "null")
}

impl<'a> ClineFields<'a> {
    fn parse_call(&self, raw: Unread<'a>) -> Option<(String, Call<'a>, String)> {
        let call: Call<'a> = raw.and_then(json::object)?;
        let tool = json::non_empty_text(call.name)?;
        // The model service chooses the id, and some services start counting again in each response.
        let response = response_number(self).unwrap_or_default();
        let id = json::non_empty_text(call.id).unwrap_or_else(|| tool.clone());
        Some((format!("{response}/{id}"), call, tool))
    }
}

fn tool_start(fields: &ClineFields<'_>, folder: Option<&str>) -> Option<LoopEvent> {
    let (call_id, call, tool) = fields.parse_call(fields.call)?;
    let agent = json::non_empty_text(fields.agent).unwrap_or_default();
    Some(LoopEvent::ToolStart {
        call: call_id,
        response: response_number(fields).map(|response| format!("{agent}/{response}")),
        action: Box::new(action(&tool, call.input, folder)),
        context: CallContext::Missing,
    })
}

fn tool_end(fields: &ClineFields<'_>, folder: Option<&str>) -> Option<LoopEvent> {
    let (call_id, call, tool) = fields.parse_call(fields.result)?;
    // If the arguments are missing, a denial removed them: haltline knows the call by its id, or not at all.
    let has_input = call.input.is_some_and(|input| input.get() != "null");
    let action = has_input.then(|| Box::new(action(&tool, call.input, folder)));
    let Output { outcome, exit, text } = call::parse_output(&tool, call.output, call.error);
    let result = CallResult::new(outcome, exit, &text);
    Some(LoopEvent::ToolEnd { call: call_id, action, result: Box::new(result) })
}

fn action(tool: &str, input: Unread<'_>, folder: Option<&str>) -> Action {
    let raw = input.map_or("{}", serde_json::value::RawValue::get);
    match input.filter(|_| tool == call::SHELL).and_then(call::parse_command_lines) {
        Some(lines) => Action::new(tool, &serde_json::json!({ "command": lines }).to_string(), folder),
        None => Action::new(tool, raw, folder),
    }
}
