//! Parses the payload of a hook and translates each event.

use haltline_core::loop_::{AgentRef, BatchEnd, LoopEvent, TurnEnd};
use serde_json::value::RawValue;

use super::response;
use crate::call::Call;
use crate::hook::{EventSet, HookCall, HookEvent, ParsedHook, ReadError};
use crate::json::{self, Unread};
use crate::payload::{self, EventNames, Fields, Payload};
use crate::provider::StatedFault;
use crate::transcript::record;
use crate::{Client, bypass, copilot};

const EVENTS: EventNames = &[
    ("SessionStart", HookEvent::SessionStart),
    ("UserPromptSubmit", HookEvent::Prompt),
    ("PreToolUse", HookEvent::ToolStart),
    ("PostToolUse", HookEvent::ToolEnd),
    ("PostToolUseFailure", HookEvent::ToolFailed),
    ("PostToolBatch", HookEvent::Batch),
    ("SubagentStart", HookEvent::SpawnStart),
    ("SubagentStop", HookEvent::SpawnEnd),
    ("Stop", HookEvent::Stop),
    ("StopFailure", HookEvent::StopFailed),
    ("PreCompact", HookEvent::Compaction),
    ("SessionEnd", HookEvent::SessionEnd),
    ("ConfigChange", HookEvent::SettingsChanged),
];

/// At these events a response is complete in the agent's transcript.
const READ_TRANSCRIPT: EventSet =
    EventSet::of(&[HookEvent::Batch, HookEvent::Stop, HookEvent::Prompt, HookEvent::SessionEnd]);

/// The sources of a session's start that resume an earlier session.
pub(crate) const RESUMING_SOURCES: &[&str] = &["resume", "compact", "fork"];

pub fn event(name: &str) -> HookEvent {
    payload::event_named(EVENTS, name)
}

/// Reads what a hook of Claude Code gets on stdin.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(stdin);
    let fields: Fields<'_> = json::payload(&text)?;
    if is_from_copilot(&fields) {
        return copilot::read_for(Client::Claude, &text);
    }
    let name = fields.event_name();
    let event = event(&name);
    let agent = payload::agent_of(Client::Claude, fields.session()?);
    let agent = AgentRef { sub_agent: fields.sub_agent(event), marks_batches: true, ..agent };
    let payload = Payload::new(fields, HookCall { client: Client::Claude, event, name, agent });
    let loop_event = loop_event(&payload);
    let stated_fault = if event == HookEvent::StopFailed { stated_fault(&payload.fields) } else { None };
    let is_config = event == HookEvent::SettingsChanged;
    Ok(ParsedHook {
        transcript_path: transcript_path(&payload),
        config_file: if is_config { json::non_empty_text(fields.file_path) } else { None },
        stated_fault,
        ..payload.into_parsed(loop_event)
    })
}

/// What the service answered when it ended the turn: the client's name for it, and the text that the person sees.
fn stated_fault(fields: &Fields<'_>) -> Option<StatedFault> {
    let error = json::non_empty_text(fields.error);
    let texts = [fields.last_assistant_message, fields.error_details].map(json::owned_text);
    let message = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    StatedFault::from_message(&message, error.as_deref())
}

/// Copilot CLI also runs the hooks in a project's Claude settings, next to its own, and a call must get the same id
/// through both. Its payloads have a `timestamp`, which Claude Code does not send, and none of Claude Code's fields of a
/// call.
fn is_from_copilot(fields: &Fields<'_>) -> bool {
    let claude_fields = [fields.tool_use_id, fields.tool_response, fields.tool_calls];
    fields.timestamp.is_some() && claude_fields.iter().all(Option::is_none)
}

fn transcript_path(payload: &Payload<'_>) -> Option<String> {
    let session = payload.transcript_path(READ_TRANSCRIPT)?;
    match &payload.hook.agent.sub_agent {
        None => Some(session),
        // Sub-agents' transcripts are in a folder named after the session's transcript.
        Some(agent) => Some(format!("{}/subagents/agent-{agent}.jsonl", session.strip_suffix(".jsonl")?)),
    }
}

fn loop_event(payload: &Payload<'_>) -> Option<LoopEvent> {
    let fields = &payload.fields;
    match payload.hook.event {
        HookEvent::SessionStart => Some(payload.session_start(RESUMING_SOURCES)),
        HookEvent::Prompt => Some(prompt(fields)),
        HookEvent::ToolEnd => payload.call_end(|tool| response::from_success(tool, fields.tool_response)),
        HookEvent::ToolFailed => payload.call_end(|_tool| {
            let error = json::owned_text(fields.error).unwrap_or_default();
            response::from_failure(&error, json::is_true(fields.is_interrupt))
        }),
        HookEvent::Batch => Some(batch(fields.tool_calls, &payload.hook.agent, payload.folder.as_deref())),
        // Compaction ends two sub-agents that never started; they have no type.
        HookEvent::SpawnEnd => json::non_empty_text(fields.agent_type).and_then(|_type| payload.usual_event()),
        HookEvent::Stop => Some(LoopEvent::Stop {
            blocked: json::is_true(fields.stop_hook_active),
            running: fields.background_tasks.and_then(running_sub_agents),
            end: if fields.background_tasks.is_some_and(runs_anything) { TurnEnd::Waiting } else { TurnEnd::Idle },
        }),
        _usual => payload.usual_event(),
    }
}

/// A prompt counts as a person's unless the payload shows that the client wrote it.
fn prompt(fields: &Fields<'_>) -> LoopEvent {
    let text = fields.prompt.and_then(json::text).unwrap_or_default();
    let is_from_client = text.trim_start().starts_with("<task-notification>")
        || matches!(
            json::non_empty_text(fields.source).as_deref(),
            Some("system" | "loop_wakeup" | "schedule_wakeup" | "poll_event")
        );
    bypass::prompt_event(fields.prompt, !is_from_client)
}

/// True if any background task runs, such as a command.
fn runs_anything(tasks: &RawValue) -> bool {
    let tasks: Vec<&RawValue> = json::list(tasks).unwrap_or_default();
    tasks.into_iter().any(|task| json::member_text(Some(task), "status").as_deref() == Some("running"))
}

fn running_sub_agents(tasks: &RawValue) -> Option<Vec<String>> {
    let has = |task, name, value| json::member_text(task, name).as_deref() == Some(value);
    let tasks: Vec<&RawValue> = json::list(tasks)?;
    let tasks = tasks.into_iter().map(Some);
    let running = tasks.filter(|task| has(*task, "type", "subagent") && has(*task, "status", "running"));
    Some(running.filter_map(|task| json::member_text(task, "id")).collect())
}

fn batch(calls: Unread<'_>, agent: &AgentRef, folder: Option<&str>) -> LoopEvent {
    let calls: Vec<Call<'_>> = calls.map(record::elements).unwrap_or_default();
    let ends = calls.iter().filter_map(|call| {
        let tool = call.tool()?;
        Some(BatchEnd {
            call: call.id(&tool, agent),
            action: call.action(&tool, folder),
            result: response::from_batch(call.tool_response),
        })
    });
    LoopEvent::Batch { ends: ends.collect() }
}
