//! The fields of a hook's stdin, and what each event means.
//!
//! `BeforeModel` carries the whole conversation and `AfterTool` the whole output, megabytes of each: what nobody asks for is
//! passed over unread.

use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::{Happening, Naming, Stream};
use serde::Deserialize;

use super::shell_text;
use crate::call::{Call, Unread};
use crate::hook::{Asked, HookEvent, ReadError, Reading};
use crate::{Client, bypass, json};

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    hook_event_name: Unread<'a>,
    transcript_path: Unread<'a>,
    cwd: Unread<'a>,
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_response: Unread<'a>,
    llm_request: Unread<'a>,
    prompt: Unread<'a>,
    source: Unread<'a>,
    stop_hook_active: Unread<'a>,
    reason: Unread<'a>,
}

/// What came back from a call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    #[serde(borrow)]
    llm_content: Unread<'a>,
    error: Unread<'a>,
}

#[derive(Deserialize)]
struct Fault<'a> {
    #[serde(borrow)]
    message: Unread<'a>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    model: Unread<'a>,
}

/// The event of this name.
pub fn event(name: &str) -> HookEvent {
    match name {
        "SessionStart" => HookEvent::SessionStart,
        "BeforeAgent" => HookEvent::Prompt,
        "BeforeModel" => HookEvent::ModelStart,
        "BeforeTool" => HookEvent::ToolStart,
        "AfterTool" => HookEvent::ToolEnd,
        "AfterAgent" => HookEvent::Stop,
        "SessionEnd" => HookEvent::SessionEnd,
        _other => HookEvent::Other,
    }
}

/// Reads what a hook of Gemini CLI got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does. Neither does it
/// say through which door it came.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let payload: Payload<'_> = json::payload(&text)?;
    let session = json::name(payload.session_id).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(payload.hook_event_name).unwrap_or_default();
    let event = event(&name);
    let stream =
        Stream { session, client: Client::Gemini.name().to_owned(), naming: Naming::Counted, ..Stream::default() };
    let folder = json::name(payload.cwd);
    let model = payload.llm_request.and_then(json::object::<Request<'_>>).and_then(|request| json::name(request.model));
    Ok(Reading {
        what: happening(event, &payload, &stream, folder.as_deref()),
        folder,
        model,
        feed: if is_told(event) { json::name(payload.transcript_path) } else { None },
        unsettled: None,
        config_file: None,
        asked: Asked { client: Client::Gemini, event, name, stream },
    })
}

/// Whether the transcript says something now that matters to this event.
fn is_told(event: HookEvent) -> bool {
    match event {
        HookEvent::ToolEnd | HookEvent::ModelStart | HookEvent::Stop | HookEvent::SessionEnd => true,
        HookEvent::SessionStart
        | HookEvent::Prompt
        | HookEvent::ToolStart
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

fn happening(event: HookEvent, payload: &Payload<'_>, stream: &Stream, folder: Option<&str>) -> Option<Happening> {
    match event {
        HookEvent::SessionStart => Some(Happening::SessionStart {
            model: None,
            resumed: json::name(payload.source).as_deref() == Some("resume"),
            is_nested: false,
        }),
        // The words of a hook that keeps the agent going come here too, and look the same.
        HookEvent::Prompt => Some(bypass::prompt(payload.prompt, true)),
        HookEvent::ModelStart => Some(Happening::ModelStart),
        HookEvent::ToolStart => {
            let call = payload.call();
            call.tool().map(|tool| call.start(&tool, stream, folder))
        }
        HookEvent::ToolEnd => {
            let call = payload.call();
            call.tool().map(|tool| call.end(&tool, stream, folder, ending(&tool, call.tool_response)))
        }
        HookEvent::Stop => Some(Happening::Stop { blocked: json::is_true(payload.stop_hook_active), running: None }),
        HookEvent::SessionEnd => {
            Some(Happening::SessionEnd { reason: json::owned_text(payload.reason).unwrap_or_default() })
        }
        HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

/// How a call ended: a tool's failure stands apart, a command's in the text that the model reads.
fn ending(tool: &str, response: Unread<'_>) -> Answer {
    let Some(raw) = response else { return Answer::new(Outcome::Unknown, None, "") };
    let Some(response) = json::object::<Response<'_>>(raw) else {
        return Answer::new(Outcome::Ok, None, &json::shown(raw));
    };
    let text = response.llm_content.map(json::shown).unwrap_or_default();
    if let Some(fault) = response.error.and_then(json::object::<Fault<'_>>) {
        let said = if text.is_empty() { fault.message.map(json::shown).unwrap_or_default() } else { text };
        return Answer::new(Outcome::Failed, None, &said);
    }
    if tool == "run_shell_command" {
        return shell_text::answer(&text);
    }
    let outcome = if tool == "invoke_agent" { of_agent(&text) } else { Outcome::Ok };
    Answer::new(outcome, None, &text)
}

/// A sub-agent says why it ended.
fn of_agent(text: &str) -> Outcome {
    let reason = text.lines().take(8).find_map(|line| line.strip_prefix("Termination Reason: "));
    match reason.map(str::trim) {
        None | Some("GOAL") => Outcome::Ok,
        Some("ABORTED") => Outcome::Cancelled,
        Some(_other) => Outcome::Failed,
    }
}

impl<'a> Payload<'a> {
    fn call(&self) -> Call<'a> {
        Call {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_use_id: None,
            tool_response: self.tool_response,
        }
    }
}
