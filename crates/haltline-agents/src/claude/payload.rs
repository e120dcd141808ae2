//! The fields of a hook's stdin, and what each event means.
//!
//! It runs on every tool call: the payload is split once, without reading what tools were given or gave back, and of
//! those only what the event needs is read.

use haltline_core::digest_hex;
use haltline_core::identity::{Action, Answer};
use haltline_core::loop_::{BatchEnd, Happening, Stream};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{HookEvent, ReadError, Reading, response};
use crate::{bypass, json};

/// A value of the payload that nobody has read yet.
type Unread<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    hook_event_name: Unread<'a>,
    transcript_path: Unread<'a>,
    cwd: Unread<'a>,
    prompt_id: Unread<'a>,
    agent_id: Unread<'a>,
    agent_type: Unread<'a>,
    agent_transcript_path: Unread<'a>,
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

/// One call of a batch.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_use_id: Unread<'a>,
    tool_response: Unread<'a>,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    r#type: Unread<'a>,
    status: Unread<'a>,
}

/// Reads what a hook of Claude Code got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(stdin);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return Err(ReadError::NotAnObject);
    }
    // What follows the object is not looked at: the client's newline, or nothing that concerns us.
    let payload = Payload::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| ReadError::Malformed { line: error.line(), column: error.column() })?;
    let session = json::name(payload.session_id).ok_or(ReadError::NoSession)?;
    let event = HookEvent::named(&json::owned_text(payload.hook_event_name).unwrap_or_default());
    // These two name the child itself, and are the parent's doing.
    let is_about_child = matches!(event, HookEvent::SubagentStart | HookEvent::SubagentStop);
    let agent = if is_about_child { None } else { json::name(payload.agent_id) };
    let stream = Stream { session, agent, root: None, client: "claude-code".to_owned(), is_batched: true };
    let folder = json::name(payload.cwd);
    let what = happening(&event, &payload, &stream, folder.as_deref());
    let is_config = event == HookEvent::ConfigChange;
    let is_failure = event == HookEvent::StopFailure;
    Ok(Reading {
        what,
        stream,
        folder,
        transcript: json::name(payload.transcript_path),
        agent_transcript: json::name(payload.agent_transcript_path),
        prompt_id: json::name(payload.prompt_id),
        config_file: if is_config { json::name(payload.file_path) } else { None },
        error: if is_failure { json::name(payload.error) } else { None },
        event,
    })
}

fn happening(event: &HookEvent, payload: &Payload<'_>, stream: &Stream, folder: Option<&str>) -> Option<Happening> {
    match event {
        HookEvent::SessionStart => Some(Happening::SessionStart {
            model: json::name(payload.model),
            resumed: matches!(json::name(payload.source).as_deref(), Some("resume" | "compact" | "fork")),
            is_nested: false,
        }),
        HookEvent::UserPromptSubmit => Some(prompt(payload)),
        HookEvent::PreToolUse => {
            let call = Call::of(payload);
            let tool = call.tool()?;
            let action = Box::new(call.action(&tool, folder));
            Some(Happening::ToolStart {
                call: call.name(&tool, stream),
                message: None,
                action,
                guarded: Vec::new(),
                touched: Vec::new(),
                tampering: None,
            })
        }
        HookEvent::PostToolUse => {
            let call = Call::of(payload);
            let tool = call.tool()?;
            Some(call.end(&tool, stream, folder, response::of_success(&tool, payload.tool_response)))
        }
        HookEvent::PostToolUseFailure => {
            let call = Call::of(payload);
            let tool = call.tool()?;
            let error = json::owned_text(payload.error).unwrap_or_default();
            let answer = response::of_failure(&error, json::is_true(payload.is_interrupt));
            Some(call.end(&tool, stream, folder, answer))
        }
        HookEvent::PostToolBatch => Some(batch(payload.tool_calls, stream, folder)),
        HookEvent::SubagentStart => Some(Happening::SpawnStart { child: json::name(payload.agent_id)?, depth: None }),
        HookEvent::SubagentStop => {
            // Compaction ends two sub-agents that never began; they have no type.
            json::name(payload.agent_type)?;
            Some(Happening::SpawnEnd { child: json::name(payload.agent_id)? })
        }
        HookEvent::Stop => Some(Happening::Stop {
            blocked: json::is_true(payload.stop_hook_active),
            running: payload.background_tasks.and_then(running),
        }),
        HookEvent::PreCompact => {
            Some(Happening::Compaction { trigger: json::owned_text(payload.trigger).unwrap_or_default() })
        }
        HookEvent::SessionEnd => {
            Some(Happening::SessionEnd { reason: json::owned_text(payload.reason).unwrap_or_default() })
        }
        HookEvent::StopFailure | HookEvent::ConfigChange | HookEvent::Other(_) => None,
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
    Happening::Prompt { by_user: !is_own, bypass: !is_own && bypass::is_asked_for(&text) }
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

impl<'a> Call<'a> {
    fn of(payload: &Payload<'a>) -> Self {
        Self {
            tool_name: payload.tool_name,
            tool_input: payload.tool_input,
            tool_use_id: payload.tool_use_id,
            tool_response: payload.tool_response,
        }
    }

    fn tool(&self) -> Option<String> {
        json::name(self.tool_name)
    }

    /// The client's name for the call; without one, a name that the same call gets before and after.
    fn name(&self, tool: &str, stream: &Stream) -> String {
        json::name(self.tool_use_id).unwrap_or_else(|| {
            let agent = stream.agent.as_deref().unwrap_or_default();
            digest_hex(&[stream.session.as_bytes(), agent.as_bytes(), tool.as_bytes(), self.input().as_bytes()], 8)
        })
    }

    fn input(&self) -> &'a str {
        self.tool_input.map_or("{}", RawValue::get)
    }

    fn action(&self, tool: &str, folder: Option<&str>) -> Action {
        Action::new(tool, self.input(), folder)
    }

    fn end(&self, tool: &str, stream: &Stream, folder: Option<&str>, answer: Answer) -> Happening {
        let action = Some(Box::new(self.action(tool, folder)));
        Happening::ToolEnd { call: self.name(tool, stream), action, answer: Box::new(answer) }
    }
}
