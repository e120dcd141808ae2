//! The skeleton that the clients' payloads share: the names of fields, and what each event usually means.
//!
//! A client's own file says which names its events have, copies fields that it spells differently to the shared ones,
//! and reads what only this client sends. A field that is missing or of the wrong type counts as unknown.
//!
//! This runs on every tool call: the payload is split once, without parsing tool arguments and results, and of those
//! only what the event needs is parsed.

use haltline_core::identity::CallResult;
use haltline_core::loop_::{AgentRef, LoopEvent, TurnEnd};

use crate::call::Call;
use crate::hook::{EventSet, HookCall, HookEvent, ParsedHook, ReadError};
use crate::{Client, PromptCommand, bypass, json};

/// The names of a client's events. Any other name means [`HookEvent::Other`].
pub type EventNames = &'static [(&'static str, HookEvent)];

pub fn event_named(names: EventNames, name: &str) -> HookEvent {
    names.iter().find(|(known, _)| *known == name).map_or(HookEvent::Other, |(_, event)| *event)
}

/// The start and the end of a sub-agent carry its id, but are events of its parent.
pub const ABOUT_SUB_AGENT: EventSet = EventSet::of(&[HookEvent::SpawnStart, HookEvent::SpawnEnd]);

json::unread! {
    /// The fields that haltline reads from the payload of any client. A client leaves most of them out.
    #[derive(Clone, Copy, Default)]
    pub struct Fields {
        // What several clients send.
        session_id, hook_event_name, timestamp, transcript_path, cwd, model, agent_id, tool_name, tool_input,
        tool_use_id, tool_response, error, is_interrupt, prompt, source, stop_hook_active, trigger, reason,
        // Claude Code.
        agent_type, tool_calls, background_tasks, file_path, error_details, last_assistant_message,
        // Codex.
        agent_transcript_path,
        // Gemini CLI.
        llm_request,
        // Copilot CLI. The start of a sub-agent comes with camelCase keys and without an event name.
        #[serde(rename = "sessionId")] parent_session, #[serde(rename = "agentName")] agent_name, parent_agent_id,
        tool_result,
        // Cursor.
        conversation_id, parent_conversation_id, generation_id, workspace_roots, tool_output, error_message,
        failure_type, subagent_id, loop_count,
    }
}

impl<'a> Fields<'a> {
    /// The event's name, as the client spells it.
    pub fn event_name(&self) -> String {
        json::owned_text(self.hook_event_name).unwrap_or_default()
    }

    pub fn session(&self) -> Result<String, ReadError> {
        json::non_empty_text(self.session_id).ok_or(ReadError::NoSession)
    }

    pub fn sub_agent(&self, event: HookEvent) -> Option<String> {
        if ABOUT_SUB_AGENT.contains(event) { None } else { json::non_empty_text(self.agent_id) }
    }

    pub fn call(&self) -> Call<'a> {
        Call {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_use_id: self.tool_use_id,
            tool_response: self.tool_response,
        }
    }
}

/// The agent that an event of this client belongs to, before the client adds what only it knows.
pub fn agent_of(client: Client, session: String) -> AgentRef {
    AgentRef { session, client: client.name().to_owned(), ..AgentRef::default() }
}

/// The payload of one hook, with the agent and the event that haltline found in it.
pub struct Payload<'a> {
    pub fields: Fields<'a>,
    pub hook: HookCall,
    /// The folder the agent works in now.
    pub folder: Option<String>,
}

impl<'a> Payload<'a> {
    pub fn new(fields: Fields<'a>, hook: HookCall) -> Self {
        Self { fields, hook, folder: json::non_empty_text(fields.cwd) }
    }

    /// What the event means for most clients. `None` for the end of a call, because each client reports differently how
    /// a call went, and for events about which there is nothing to decide.
    ///
    /// `is_nested` of a session's start stays false: only the process tree shows whether an agent started the client.
    pub fn usual_event(&self) -> Option<LoopEvent> {
        let fields = &self.fields;
        match self.hook.event {
            HookEvent::SessionStart => Some(self.session_start(&["resume"])),
            // The prompt of a sub-agent comes from its parent agent.
            HookEvent::Prompt => Some(bypass::prompt_event(fields.prompt, self.hook.agent.sub_agent.is_none())),
            HookEvent::ModelStart => Some(LoopEvent::ModelStart),
            HookEvent::ToolStart => self.call_start(),
            HookEvent::SpawnStart => {
                Some(LoopEvent::SpawnStart { sub_agent: json::non_empty_text(fields.agent_id)?, depth: None })
            }
            HookEvent::SpawnEnd => {
                Some(LoopEvent::SpawnEnd { sub_agent: Some(json::non_empty_text(fields.agent_id)?) })
            }
            HookEvent::Stop => Some(LoopEvent::Stop {
                blocked: json::is_true(fields.stop_hook_active),
                running: None,
                end: TurnEnd::Idle,
            }),
            HookEvent::Compaction => Some(LoopEvent::Compaction {
                trigger: json::owned_text(fields.trigger).unwrap_or_default(),
                has_shrunk: None,
            }),
            HookEvent::SessionEnd => {
                Some(LoopEvent::SessionEnd { reason: json::owned_text(fields.reason).unwrap_or_default() })
            }
            HookEvent::ToolEnd
            | HookEvent::ToolFailed
            | HookEvent::Batch
            | HookEvent::StopFailed
            | HookEvent::Interrupted
            | HookEvent::SettingsChanged
            | HookEvent::Other => None,
        }
    }

    /// The start of a session, which resumes an earlier one if its source is one of these.
    pub fn session_start(&self, resuming_sources: &[&str]) -> LoopEvent {
        let source = json::non_empty_text(self.fields.source).unwrap_or_default();
        LoopEvent::SessionStart {
            model: json::non_empty_text(self.fields.model),
            resumed: resuming_sources.contains(&source.as_str()),
            is_nested: false,
        }
    }

    pub fn call_start(&self) -> Option<LoopEvent> {
        let call = self.fields.call();
        Some(call.start(&call.tool()?, &self.hook.agent, self.folder.as_deref()))
    }

    /// The end of a call; the function gets the name of the tool.
    pub fn call_end(&self, result: impl FnOnce(&str) -> CallResult) -> Option<LoopEvent> {
        let call = self.fields.call();
        let tool = call.tool()?;
        Some(call.end(&tool, &self.hook.agent, self.folder.as_deref(), result(&tool)))
    }

    /// The transcript, if it is read at this event.
    pub fn transcript_path(&self, events: EventSet) -> Option<String> {
        if events.contains(self.hook.event) { json::non_empty_text(self.fields.transcript_path) } else { None }
    }

    /// The result of reading the payload, without what only some clients know.
    pub fn into_parsed(self, loop_event: Option<LoopEvent>) -> ParsedHook {
        let prompt_command = match &loop_event {
            Some(LoopEvent::Prompt { by_user: true, .. }) => {
                self.fields.prompt.and_then(json::text).and_then(|text| PromptCommand::parse(&text))
            }
            Some(_) | None => None,
        };
        ParsedHook { prompt_command, ..ParsedHook::new(self.hook, self.folder, loop_event) }
    }
}

/// The start or the end of a call with another call id. Any other event stays as it is.
pub fn with_call_id(event: Option<LoopEvent>, call_id: impl FnOnce(&str) -> String) -> Option<LoopEvent> {
    let mut event = event?;
    if let LoopEvent::ToolStart { call, .. } | LoopEvent::ToolEnd { call, .. } = &mut event {
        *call = call_id(call);
    }
    Some(event)
}
