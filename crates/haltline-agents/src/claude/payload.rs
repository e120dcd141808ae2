//! The fields of a hook's stdin, and what each event means.
//!
//! It runs on every tool call: the payload is split once, without reading what tools were given or gave back, and of
//! those only what the event needs is read.

use haltline_core::loop_::{BatchEnd, Happening, Stream};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::response;
use crate::call::{Call, Unread};
use crate::hook::{Asked, HookEvent, ReadError, Reading};
use crate::{Client, bypass, copilot, json};

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    timestamp: Unread<'a>,
    hook_event_name: Unread<'a>,
    transcript_path: Unread<'a>,
    cwd: Unread<'a>,
    agent_id: Unread<'a>,
    agent_type: Unread<'a>,
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_use_id: Unread<'a>,
    tool_response: Unread<'a>,
    tool_calls: Unread<'a>,
    error: Unread<'a>,
    is_interrupt: Unread<'a>,
    prompt: Unread<'a>,
    source: Unread<'a>,
    model: Unread<'a>,
    stop_hook_active: Unread<'a>,
    background_tasks: Unread<'a>,
    trigger: Unread<'a>,
    reason: Unread<'a>,
    file_path: Unread<'a>,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    r#type: Unread<'a>,
    status: Unread<'a>,
}

/// The event of this name.
pub fn event(name: &str) -> HookEvent {
    match name {
        "SessionStart" => HookEvent::SessionStart,
        "UserPromptSubmit" => HookEvent::Prompt,
        "PreToolUse" => HookEvent::ToolStart,
        "PostToolUse" => HookEvent::ToolEnd,
        "PostToolUseFailure" => HookEvent::ToolFailed,
        "PostToolBatch" => HookEvent::Batch,
        "SubagentStart" => HookEvent::SpawnStart,
        "SubagentStop" => HookEvent::SpawnEnd,
        "Stop" => HookEvent::Stop,
        "StopFailure" => HookEvent::StopFailed,
        "PreCompact" => HookEvent::Compaction,
        "SessionEnd" => HookEvent::SessionEnd,
        "ConfigChange" => HookEvent::SettingsChanged,
        _other => HookEvent::Other,
    }
}

/// Reads what a hook of Claude Code got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let payload: Payload<'_> = json::payload(&text)?;
    if payload.is_of_copilot() {
        return copilot::read_for(Client::Claude, &text);
    }
    let session = json::name(payload.session_id).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(payload.hook_event_name).unwrap_or_default();
    let event = event(&name);
    // These two name the child itself, and are the parent's doing.
    let is_about_child = matches!(event, HookEvent::SpawnStart | HookEvent::SpawnEnd);
    let agent = if is_about_child { None } else { json::name(payload.agent_id) };
    let client = Client::Claude.name().to_owned();
    let stream = Stream { session, agent, client, is_batched: true, ..Stream::default() };
    let folder = json::name(payload.cwd);
    let what = happening(event, &payload, &stream, folder.as_deref());
    let is_config = event == HookEvent::SettingsChanged;
    Ok(Reading {
        what,
        folder,
        model: None,
        feed: feed(event, &payload, stream.agent.as_deref()),
        unsettled: None,
        config_file: if is_config { json::name(payload.file_path) } else { None },
        asked: Asked { client: Client::Claude, event, name, stream },
    })
}

/// The agent's transcript, when a response is complete.
fn feed(event: HookEvent, payload: &Payload<'_>, agent: Option<&str>) -> Option<String> {
    match event {
        HookEvent::Batch | HookEvent::Stop | HookEvent::Prompt | HookEvent::SessionEnd => {}
        HookEvent::SpawnEnd
        | HookEvent::SessionStart
        | HookEvent::ToolStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::SpawnStart
        | HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => return None,
    }
    let session = json::name(payload.transcript_path)?;
    match agent {
        None => Some(session),
        // Sub-agents' transcripts stand in a folder named after the session's.
        Some(agent) => Some(format!("{}/subagents/agent-{agent}.jsonl", session.strip_suffix(".jsonl")?)),
    }
}

fn happening(event: HookEvent, payload: &Payload<'_>, stream: &Stream, folder: Option<&str>) -> Option<Happening> {
    match event {
        HookEvent::SessionStart => Some(Happening::SessionStart {
            model: json::name(payload.model),
            resumed: matches!(json::name(payload.source).as_deref(), Some("resume" | "compact" | "fork")),
            is_nested: false,
        }),
        HookEvent::Prompt => Some(prompt(payload)),
        HookEvent::ToolStart => {
            let call = payload.call();
            let tool = call.tool()?;
            Some(call.start(&tool, stream, folder))
        }
        HookEvent::ToolEnd => {
            let call = payload.call();
            let tool = call.tool()?;
            Some(call.end(&tool, stream, folder, response::of_success(&tool, payload.tool_response)))
        }
        HookEvent::ToolFailed => {
            let call = payload.call();
            let tool = call.tool()?;
            let error = json::owned_text(payload.error).unwrap_or_default();
            let answer = response::of_failure(&error, json::is_true(payload.is_interrupt));
            Some(call.end(&tool, stream, folder, answer))
        }
        HookEvent::Batch => Some(batch(payload.tool_calls, stream, folder)),
        HookEvent::SpawnStart => Some(Happening::SpawnStart { child: json::name(payload.agent_id)?, depth: None }),
        HookEvent::SpawnEnd => {
            // Compaction ends two sub-agents that never began; they have no type.
            json::name(payload.agent_type)?;
            Some(Happening::SpawnEnd { child: Some(json::name(payload.agent_id)?) })
        }
        HookEvent::Stop => Some(Happening::Stop {
            blocked: json::is_true(payload.stop_hook_active),
            running: payload.background_tasks.and_then(running),
        }),
        HookEvent::Compaction => {
            Some(Happening::Compaction { trigger: json::owned_text(payload.trigger).unwrap_or_default() })
        }
        HookEvent::SessionEnd => {
            Some(Happening::SessionEnd { reason: json::owned_text(payload.reason).unwrap_or_default() })
        }
        HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

/// A prompt is the person's unless the client says, or shows, that it wrote it itself.
fn prompt(payload: &Payload<'_>) -> Happening {
    let text = payload.prompt.and_then(json::text).unwrap_or_default();
    let is_own = text.trim_start().starts_with("<task-notification>")
        || matches!(
            json::name(payload.source).as_deref(),
            Some("system" | "loop_wakeup" | "schedule_wakeup" | "poll_event")
        );
    bypass::prompt(payload.prompt, !is_own)
}

fn running(tasks: &RawValue) -> Option<Vec<String>> {
    let is_running = |task: &Task<'_>| {
        json::name(task.r#type).as_deref() == Some("subagent") && json::name(task.status).as_deref() == Some("running")
    };
    let tasks: Vec<&RawValue> = json::list(tasks)?;
    let tasks = tasks.into_iter().filter_map(json::object::<Task<'_>>).filter(is_running);
    Some(tasks.filter_map(|task| json::name(task.id)).collect())
}

fn batch(calls: Unread<'_>, stream: &Stream, folder: Option<&str>) -> Happening {
    let calls: Vec<Call<'_>> = calls.map(calls_of).unwrap_or_default();
    let ends = calls.iter().filter_map(|call| {
        let tool = call.tool()?;
        Some(BatchEnd {
            call: call.name(&tool, stream),
            action: call.action(&tool, folder),
            answer: response::of_batch(call.tool_response),
        })
    });
    Happening::Batch { ends: ends.collect() }
}

/// The calls in one pass; one by one only where something that is no call is among them.
fn calls_of(calls: &RawValue) -> Vec<Call<'_>> {
    json::list(calls).unwrap_or_else(|| {
        let each: Vec<&RawValue> = json::list(calls).unwrap_or_default();
        each.into_iter().filter_map(json::object).collect()
    })
}

impl<'a> Payload<'a> {
    /// Copilot CLI runs the hooks of a project's Claude settings beside its own, and a call must count the same through both.
    /// It says when, which Claude Code does not, and has none of the words in which Claude Code speaks of calls.
    fn is_of_copilot(&self) -> bool {
        let own = [self.tool_use_id, self.tool_response, self.tool_calls];
        self.timestamp.is_some() && own.iter().all(Option::is_none)
    }

    fn call(&self) -> Call<'a> {
        Call {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_use_id: self.tool_use_id,
            tool_response: self.tool_response,
        }
    }
}
