//! The fields of a hook's stdin, and what each event means.

use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::{Happening, Stream};
use serde::Deserialize;

use crate::call::{Call, Unread};
use crate::gemini::shell_text;
use crate::hook::{Asked, HookEvent, ReadError, Reading};
use crate::{Client, bypass, claude, json};

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    hook_event_name: Unread<'a>,
    transcript_path: Unread<'a>,
    cwd: Unread<'a>,
    model: Unread<'a>,
    agent_id: Unread<'a>,
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_use_id: Unread<'a>,
    tool_response: Unread<'a>,
    error: Unread<'a>,
    is_interrupt: Unread<'a>,
    prompt: Unread<'a>,
    source: Unread<'a>,
    trigger: Unread<'a>,
    reason: Unread<'a>,
}

/// What came back from a call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    #[serde(borrow)]
    llm_content: Unread<'a>,
}

/// Whether somebody asks. Before every other request the prompt is empty, but for what hooks of others have added to it.
fn is_asked(prompt: &str) -> bool {
    !prompt.trim().is_empty() && !prompt.starts_with("\n\n")
}

/// What a tool's result shows of an output that was too large. The rest of it is the name of a file, another one each time.
pub(crate) fn shown_part(text: &str) -> &str {
    const HEAD: &str = "Tool output was too large and has been truncated.\n";
    let rest = text.strip_prefix(HEAD).and_then(|rest| rest.split_once("\nTruncated part of the output:\n"));
    rest.map_or(text, |(_, shown)| shown)
}

/// The event of this name: those of Claude Code, but what a prompt means depends on who asks.
pub fn event(name: &str, has_prompt: bool) -> HookEvent {
    match claude::event(name) {
        HookEvent::Prompt if !has_prompt => HookEvent::ModelStart,
        event => event,
    }
}

/// Reads what a hook of Qwen Code got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let payload: Payload<'_> = json::payload(&text)?;
    let session = json::name(payload.session_id).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(payload.hook_event_name).unwrap_or_default();
    let event = event(&name, json::name(payload.prompt).is_some_and(|prompt| is_asked(&prompt)));
    let stream = Stream { session, client: Client::Qwen.name().to_owned(), ..Stream::default() };
    let folder = json::name(payload.cwd);
    Ok(Reading {
        what: happening(event, &payload, &stream, folder.as_deref()),
        folder,
        model: json::name(payload.model),
        feed: if is_told(event) { json::name(payload.transcript_path) } else { None },
        unsettled: None,
        config_file: None,
        asked: Asked { client: Client::Qwen, event, name, stream },
    })
}

/// Whether the transcript says something now that matters to this event.
fn is_told(event: HookEvent) -> bool {
    match event {
        HookEvent::ToolStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::ModelStart
        | HookEvent::Prompt
        | HookEvent::Stop
        | HookEvent::SessionEnd => true,
        HookEvent::SessionStart
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
            model: json::name(payload.model),
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
        HookEvent::ToolFailed => {
            let call = payload.call();
            let is_cancelled = json::is_true(payload.is_interrupt);
            let outcome = if is_cancelled { Outcome::Cancelled } else { Outcome::Failed };
            let text = payload.error.map(json::shown).unwrap_or_default();
            call.tool().map(|tool| call.end(&tool, stream, folder, Answer::new(outcome, None, &text)))
        }
        HookEvent::SpawnStart => json::name(payload.agent_id).map(|child| Happening::SpawnStart { child, depth: None }),
        HookEvent::SpawnEnd => json::name(payload.agent_id).map(|child| Happening::SpawnEnd { child: Some(child) }),
        // That a hook kept it going is said at every end, whether it is so or not.
        HookEvent::Stop => Some(Happening::Stop { blocked: false, running: None }),
        HookEvent::Compaction => {
            Some(Happening::Compaction { trigger: json::owned_text(payload.trigger).unwrap_or_default() })
        }
        HookEvent::SessionEnd => {
            Some(Happening::SessionEnd { reason: json::owned_text(payload.reason).unwrap_or_default() })
        }
        HookEvent::Batch
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

fn ending(tool: &str, response: Unread<'_>) -> Answer {
    let Some(raw) = response else { return Answer::new(Outcome::Unknown, None, "") };
    let content = json::object::<Response<'_>>(raw).and_then(|response| response.llm_content);
    let text = json::shown(content.unwrap_or(raw));
    let text = shown_part(&text);
    match tool {
        "run_shell_command" => shell_text::answer(text),
        _other => Answer::new(Outcome::Ok, None, text),
    }
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
