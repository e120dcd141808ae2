//! The fields of a hook's stdin, and what each event means.

use haltline_core::identity::{Action, Answer};
use haltline_core::loop_::{Happening, Stream};
use serde::Deserialize;

use super::call::{self, Output};
use crate::call::Unread;
use crate::hook::{Asked, HookEvent, ReadError, Reading};
use crate::{Client, bypass, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload<'a> {
    #[serde(borrow)]
    hook_name: Unread<'a>,
    task_id: Unread<'a>,
    session_context: Unread<'a>,
    workspace_roots: Unread<'a>,
    #[serde(rename = "agent_id")]
    agent: Unread<'a>,
    #[serde(rename = "parent_agent_id")]
    parent: Unread<'a>,
    iteration: Unread<'a>,
    #[serde(rename = "tool_call")]
    call: Unread<'a>,
    #[serde(rename = "tool_result")]
    result: Unread<'a>,
    user_prompt_submit: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context<'a> {
    #[serde(borrow)]
    root_session_id: Unread<'a>,
}

#[derive(Deserialize)]
struct Prompt<'a> {
    #[serde(borrow)]
    prompt: Unread<'a>,
}

/// One call, before or after.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    name: Unread<'a>,
    input: Unread<'a>,
    output: Unread<'a>,
    error: Unread<'a>,
}

/// The event of this name, as payloads spell it.
pub fn event(name: &str) -> HookEvent {
    match name {
        "agent_start" | "agent_resume" => HookEvent::SessionStart,
        "prompt_submit" => HookEvent::Prompt,
        "tool_call" => HookEvent::ToolStart,
        "tool_result" => HookEvent::ToolEnd,
        "agent_end" => HookEvent::Stop,
        "agent_error" => HookEvent::StopFailed,
        // A session that was shut down was broken off: one that ends well says nothing more.
        "agent_abort" | "session_shutdown" => HookEvent::Interrupted,
        _other => HookEvent::Other,
    }
}

/// Reads what a hook of Cline got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let payload: Payload<'_> = json::payload(&text)?;
    let context: Option<Context<'_>> = payload.session_context.and_then(json::object);
    // Sub-agents share the session; each has a task of its own.
    let session = context.and_then(|context| json::name(context.root_session_id));
    let session = session.or_else(|| json::name(payload.task_id)).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(payload.hook_name).unwrap_or_default();
    let agent = json::name(payload.parent).and_then(|_parent| json::name(payload.agent));
    let stream = Stream { session, agent, client: Client::Cline.name().to_owned(), ..Stream::default() };
    let roots: Vec<Unread<'_>> = payload.workspace_roots.and_then(json::list).unwrap_or_default();
    let folder = roots.first().copied().flatten().and_then(|root| json::name(Some(root)));
    let event = event(&name);
    let what = happening(event, &name, &payload, &stream, folder.as_deref());
    Ok(Reading {
        what,
        folder,
        model: None,
        feed: None,
        unsettled: None,
        config_file: None,
        asked: Asked { client: Client::Cline, event, name, stream },
    })
}

fn happening(
    event: HookEvent,
    name: &str,
    payload: &Payload<'_>,
    stream: &Stream,
    folder: Option<&str>,
) -> Option<Happening> {
    match event {
        // A sub-agent begins and ends with the call that starts it. Its own events are not waited for by the client, and
        // come in any order.
        HookEvent::SessionStart if stream.agent.is_some() => None,
        HookEvent::SessionStart => {
            Some(Happening::SessionStart { model: None, resumed: name == "agent_resume", is_nested: false })
        }
        HookEvent::Prompt => {
            let prompt: Option<Prompt<'_>> = payload.user_prompt_submit.and_then(json::object);
            Some(bypass::prompt(prompt.and_then(|prompt| prompt.prompt), stream.agent.is_none()))
        }
        HookEvent::ToolStart => start(payload, folder),
        HookEvent::ToolEnd => end(payload, folder),
        HookEvent::Stop | HookEvent::StopFailed | HookEvent::Interrupted => {
            Some(Happening::Stop { blocked: false, running: None })
        }
        HookEvent::ModelStart
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::Compaction
        | HookEvent::SessionEnd
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

/// A response, as far as the client tells them apart.
fn response(payload: &Payload<'_>) -> Option<String> {
    payload.iteration.map(|iteration| iteration.get().to_owned()).filter(|iteration| iteration != "null")
}

impl<'a> Payload<'a> {
    fn call(&self, told: Unread<'a>) -> Option<(String, Call<'a>, String)> {
        let call: Call<'a> = told.and_then(json::object)?;
        let tool = json::name(call.name)?;
        // The service makes up the id, and some count anew in each response.
        let response = response(self).unwrap_or_default();
        let id = json::name(call.id).unwrap_or_else(|| tool.clone());
        Some((format!("{response}/{id}"), call, tool))
    }
}

fn start(payload: &Payload<'_>, folder: Option<&str>) -> Option<Happening> {
    let (name, call, tool) = payload.call(payload.call)?;
    let agent = json::name(payload.agent).unwrap_or_default();
    Some(Happening::ToolStart {
        call: name,
        message: response(payload).map(|response| format!("{agent}/{response}")),
        action: Box::new(action(&tool, call.input, folder)),
        guarded: Vec::new(),
        touched: Vec::new(),
        tampering: None,
    })
}

fn end(payload: &Payload<'_>, folder: Option<&str>) -> Option<Happening> {
    let (name, told, tool) = payload.call(payload.result)?;
    // Where the arguments are missing, a refusal took them away: the call is known by its name, or not at all.
    let has_input = told.input.is_some_and(|input| input.get() != "null");
    let action = has_input.then(|| Box::new(action(&tool, told.input, folder)));
    let Output { outcome, exit, text } = call::output(&tool, told.output, told.error);
    let answer = Answer::new(outcome, exit, &text);
    Some(Happening::ToolEnd { call: name, action, answer: Box::new(answer) })
}

fn action(tool: &str, input: Unread<'_>, folder: Option<&str>) -> Action {
    let plain = input.map_or("{}", serde_json::value::RawValue::get);
    match input.filter(|_| tool == call::SHELL).and_then(call::command_lines) {
        Some(lines) => Action::new(tool, &serde_json::json!({ "command": lines }).to_string(), folder),
        None => Action::new(tool, plain, folder),
    }
}
