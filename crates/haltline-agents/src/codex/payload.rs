//! The fields of a hook's stdin, and what each event means.

use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::{Happening, Stream};
use serde::Deserialize;

use crate::call::{Call, Unread};
use crate::hook::{Asked, HookEvent, ReadError, Reading, Unsettled};
use crate::{Client, bypass, claude, json};

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    hook_event_name: Unread<'a>,
    transcript_path: Unread<'a>,
    agent_transcript_path: Unread<'a>,
    cwd: Unread<'a>,
    model: Unread<'a>,
    agent_id: Unread<'a>,
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_use_id: Unread<'a>,
    tool_response: Unread<'a>,
    prompt: Unread<'a>,
    source: Unread<'a>,
    stop_hook_active: Unread<'a>,
    trigger: Unread<'a>,
    reason: Unread<'a>,
}

/// What starting a sub-agent answers with.
#[derive(Deserialize)]
struct Spawned<'a> {
    #[serde(borrow)]
    agent_id: Unread<'a>,
}

/// The event of this name: those of Claude Code, and one more.
pub fn event(name: &str) -> HookEvent {
    match name {
        "Interrupt" => HookEvent::Interrupted,
        other => claude::event(other),
    }
}

/// Reads what a hook of Codex got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let payload: Payload<'_> = json::payload(&text)?;
    let session = json::name(payload.session_id).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(payload.hook_event_name).unwrap_or_default();
    let event = event(&name);
    // These two name the child itself, and are the parent's doing.
    let is_about_child = matches!(event, HookEvent::SpawnStart | HookEvent::SpawnEnd);
    let agent = if is_about_child { None } else { json::name(payload.agent_id) };
    let stream = Stream { session, agent, client: Client::Codex.name().to_owned(), ..Stream::default() };
    let folder = json::name(payload.cwd);
    let (what, unsettled) = happening(event, &payload, &stream, folder.as_deref());
    Ok(Reading {
        what,
        folder,
        model: json::name(payload.model),
        feed: feed(event, &payload, unsettled.is_some()),
        unsettled,
        config_file: None,
        asked: Asked { client: Client::Codex, event, name, stream },
    })
}

/// The transcript that says something now that matters to this event.
fn feed(event: HookEvent, payload: &Payload<'_>, is_unsettled: bool) -> Option<String> {
    match event {
        HookEvent::ToolStart | HookEvent::Prompt | HookEvent::Stop | HookEvent::Interrupted | HookEvent::SessionEnd => {
            json::name(payload.transcript_path)
        }
        HookEvent::ToolEnd => json::name(payload.transcript_path).filter(|_| is_unsettled),
        // What else is told of a child's start and end names now the one transcript, now the other.
        HookEvent::SpawnEnd => json::name(payload.agent_transcript_path),
        HookEvent::SpawnStart
        | HookEvent::SessionStart
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

fn happening(
    event: HookEvent,
    payload: &Payload<'_>,
    stream: &Stream,
    folder: Option<&str>,
) -> (Option<Happening>, Option<Unsettled>) {
    let what = match event {
        HookEvent::SessionStart => Some(Happening::SessionStart {
            model: json::name(payload.model),
            resumed: matches!(json::name(payload.source).as_deref(), Some("resume" | "compact" | "fork")),
            is_nested: false,
        }),
        HookEvent::Prompt => {
            // A sub-agent is asked by the agent above it.
            Some(bypass::prompt(payload.prompt, stream.agent.is_none()))
        }
        HookEvent::ToolStart => {
            let call = payload.call();
            call.tool().map(|tool| call.start(&tool, stream, folder))
        }
        HookEvent::ToolEnd => {
            let has_transcript = json::name(payload.transcript_path).is_some();
            return end(&payload.call(), stream, folder, has_transcript).unwrap_or_default();
        }
        HookEvent::SpawnStart => json::name(payload.agent_id).map(|child| Happening::SpawnStart { child, depth: None }),
        HookEvent::SpawnEnd => json::name(payload.agent_id).map(|child| Happening::SpawnEnd { child: Some(child) }),
        HookEvent::Stop => Some(Happening::Stop { blocked: json::is_true(payload.stop_hook_active), running: None }),
        HookEvent::Compaction => {
            Some(Happening::Compaction { trigger: json::owned_text(payload.trigger).unwrap_or_default() })
        }
        HookEvent::SessionEnd => {
            Some(Happening::SessionEnd { reason: json::owned_text(payload.reason).unwrap_or_default() })
        }
        HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    };
    (what, None)
}

/// A command's end is told without its exit code, and comes also while it goes on: only the transcript knows. Anything
/// else that has an end has done its work.
fn end(
    call: &Call<'_>,
    stream: &Stream,
    folder: Option<&str>,
    has_transcript: bool,
) -> Option<(Option<Happening>, Option<Unsettled>)> {
    let tool = call.tool()?;
    let text = call.tool_response.map(json::shown).unwrap_or_default();
    if tool == "Bash" && has_transcript {
        let what = call.end(&tool, stream, folder, Answer::new(Outcome::Unknown, None, &text));
        let unsettled = Unsettled { call: call.name(&tool, stream), text: text.into_owned() };
        return Some((Some(what), Some(unsettled)));
    }
    let child = if tool.ends_with("spawn_agent") { child(&text) } else { None };
    let answer = match child {
        // A new name is no new answer.
        Some(child) => Answer { child: Some(child), is_running: true, ..Answer::new(Outcome::Ok, None, "launched") },
        None => Answer::of(&tool, Outcome::Ok, None, &text),
    };
    Some((Some(call.end(&tool, stream, folder, answer)), None))
}

fn child(text: &str) -> Option<String> {
    serde_json::from_str::<Spawned<'_>>(text).ok().and_then(|spawned| json::name(spawned.agent_id))
}

impl<'a> Payload<'a> {
    fn call(&self) -> Call<'a> {
        Call {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_use_id: self.tool_use_id,
            tool_response: self.tool_response,
        }
    }
}
