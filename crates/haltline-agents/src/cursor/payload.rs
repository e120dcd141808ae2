//! The fields of a hook's stdin, and what each event means.
//!
//! A call's name may come again for another call, so what it does belongs to the name as well, and which message of the
//! person it answers.

use haltline_core::digest_hex;
use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::{Happening, Naming, Stream};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{Call, Unread};
use crate::hook::{Asked, HookEvent, ReadError, Reading};
use crate::{Client, bypass, json};

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    conversation_id: Unread<'a>,
    session_id: Unread<'a>,
    parent_conversation_id: Unread<'a>,
    generation_id: Unread<'a>,
    hook_event_name: Unread<'a>,
    model: Unread<'a>,
    workspace_roots: Unread<'a>,
    cwd: Unread<'a>,
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_use_id: Unread<'a>,
    tool_output: Unread<'a>,
    error_message: Unread<'a>,
    failure_type: Unread<'a>,
    is_interrupt: Unread<'a>,
    subagent_id: Unread<'a>,
    prompt: Unread<'a>,
    loop_count: Unread<'a>,
    trigger: Unread<'a>,
    reason: Unread<'a>,
}

/// What a shell command came to.
#[derive(Deserialize)]
struct Shell<'a> {
    #[serde(borrow, rename = "exitCode")]
    exit_code: Unread<'a>,
}

/// The event of this name.
pub fn event(name: &str) -> HookEvent {
    match name {
        "sessionStart" => HookEvent::SessionStart,
        "beforeSubmitPrompt" => HookEvent::Prompt,
        "preToolUse" => HookEvent::ToolStart,
        "postToolUse" => HookEvent::ToolEnd,
        "postToolUseFailure" => HookEvent::ToolFailed,
        "subagentStart" => HookEvent::SpawnStart,
        "subagentStop" => HookEvent::SpawnEnd,
        "preCompact" => HookEvent::Compaction,
        "stop" => HookEvent::Stop,
        "sessionEnd" => HookEvent::SessionEnd,
        _other => HookEvent::Other,
    }
}

/// Reads what a hook of Cursor got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let payload: Payload<'_> = json::payload(&text)?;
    let name = json::owned_text(payload.hook_event_name).unwrap_or_default();
    let event = event(&name);
    let is_about_child = matches!(event, HookEvent::SpawnStart | HookEvent::SpawnEnd);
    let parent = json::name(payload.parent_conversation_id).filter(|_| is_about_child);
    let session = parent.or_else(|| json::name(payload.conversation_id)).or_else(|| json::name(payload.session_id));
    let session = session.ok_or(ReadError::NoSession)?;
    let naming = match json::name(payload.tool_use_id) {
        Some(_) => Naming::Own,
        None => Naming::Counted,
    };
    let stream = Stream { session, client: Client::Cursor.name().to_owned(), naming, ..Stream::default() };
    let folder = json::name(payload.cwd).or_else(|| payload.workspace_roots.and_then(first_root));
    Ok(Reading {
        what: happening(event, &payload, &stream, folder.as_deref()),
        folder,
        model: json::name(payload.model),
        feed: None,
        unsettled: None,
        config_file: None,
        asked: Asked { client: Client::Cursor, event, name, stream },
    })
}

fn first_root(roots: &RawValue) -> Option<String> {
    let roots: Vec<&RawValue> = json::list(roots)?;
    json::name(roots.first().copied())
}

fn happening(event: HookEvent, payload: &Payload<'_>, stream: &Stream, folder: Option<&str>) -> Option<Happening> {
    let call = payload.call();
    match event {
        HookEvent::SessionStart => {
            Some(Happening::SessionStart { model: json::name(payload.model), resumed: false, is_nested: false })
        }
        HookEvent::Prompt => Some(bypass::prompt(payload.prompt, true)),
        HookEvent::ToolStart => {
            let tool = call.tool()?;
            Some(payload.named(call.start(&tool, stream, folder)))
        }
        HookEvent::ToolEnd => {
            let tool = call.tool()?;
            let answer = ended(payload.tool_output);
            Some(payload.named(call.end(&tool, stream, folder, answer)))
        }
        HookEvent::ToolFailed => {
            let tool = call.tool()?;
            Some(payload.named(call.end(&tool, stream, folder, failed(payload))))
        }
        HookEvent::SpawnStart => Some(Happening::SpawnStart { child: json::name(payload.subagent_id)?, depth: None }),
        // Which one it is, the documentation does not promise.
        HookEvent::SpawnEnd => Some(Happening::SpawnEnd { child: json::name(payload.subagent_id) }),
        HookEvent::Stop => {
            // How often a hook has kept it going.
            let count: u64 = payload.loop_count.and_then(|count| count.get().parse().ok()).unwrap_or_default();
            Some(Happening::Stop { blocked: count > 0, running: None })
        }
        HookEvent::Compaction => {
            Some(Happening::Compaction { trigger: json::owned_text(payload.trigger).unwrap_or_default() })
        }
        HookEvent::SessionEnd => {
            Some(Happening::SessionEnd { reason: json::owned_text(payload.reason).unwrap_or_default() })
        }
        HookEvent::ModelStart
        | HookEvent::Batch
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

/// A command's output comes as a text that is JSON, with its exit code in it.
fn ended(output: Unread<'_>) -> Answer {
    let text = output.map(json::shown).unwrap_or_default();
    let shell: Option<Shell<'_>> =
        if text.trim_start().starts_with('{') { serde_json::from_str(&text).ok() } else { None };
    let exit: Option<i32> = shell.and_then(|shell| shell.exit_code?.get().parse().ok());
    match exit {
        Some(0) | None => Answer::new(Outcome::Ok, exit, &text),
        Some(_) => Answer::new(Outcome::Failed, exit, &text),
    }
}

fn failed(payload: &Payload<'_>) -> Answer {
    let text = payload.error_message.map(json::shown).unwrap_or_default();
    let outcome = match json::name(payload.failure_type).as_deref() {
        Some("permission_denied") => Outcome::Denied,
        _error if json::is_true(payload.is_interrupt) => Outcome::Cancelled,
        _error => Outcome::Failed,
    };
    Answer::new(outcome, None, &text)
}

impl<'a> Payload<'a> {
    fn call(&self) -> Call<'a> {
        Call {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_use_id: self.tool_use_id,
            tool_response: self.tool_output,
        }
    }

    /// The same with a name that no other call has.
    fn named(&self, mut what: Happening) -> Happening {
        if let Happening::ToolStart { call, .. } | Happening::ToolEnd { call, .. } = &mut what {
            let generation = json::owned_text(self.generation_id).unwrap_or_default();
            let input = self.tool_input.map_or("", RawValue::get);
            *call = digest_hex(&[call.as_bytes(), generation.as_bytes(), input.as_bytes()], 8);
        }
        what
    }
}
