//! Parses an event of the plugin and translates it. The plugin passes on what the client sent, with three things that
//! only the plugin knows: the root session, the response that a call belongs to, and the current model.

use haltline_core::loop_::{AgentRef, LoopEvent};

use super::response;
use crate::hook::{HookCall, HookEvent, ParsedHook, ReadError};
use crate::json::{self, Unread};
use crate::payload::{self, Fields, Payload};
use crate::transcript::opencode::Part;
use crate::transcript::record;
use crate::{Client, bypass};

json::unread! {
    /// Every field of any event that haltline reads.
    struct PluginEvent {
        event, session, agent, folder, model, child, resumed, parts, tool, call, message, input, output, error,
        #[serde(rename = "isError")] is_error, metadata, tokens, cost,
    }
}

/// The event with this name; some are about a sub-agent if the event names one.
pub fn event(name: &str, names_sub_agent: bool) -> HookEvent {
    match (name, names_sub_agent) {
        ("session.created", false) => HookEvent::SessionStart,
        ("session.created", true) => HookEvent::SpawnStart,
        ("chat.message", _) => HookEvent::Prompt,
        ("tool.execute.before", _) => HookEvent::ToolStart,
        ("tool.execute.after", _) => HookEvent::ToolEnd,
        ("tool.failed", _) => HookEvent::ToolFailed,
        // A response is over when its calls are.
        ("step-finish", _) => HookEvent::Batch,
        ("session.idle", false) => HookEvent::Stop,
        ("session.idle" | "session.deleted", true) => HookEvent::SpawnEnd,
        ("session.compacted", _) => HookEvent::Compaction,
        ("session.deleted" | "session.ended", false) => HookEvent::SessionEnd,
        _other => HookEvent::Other,
    }
}

pub fn read(line: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(line);
    let event: PluginEvent<'_> = json::payload(&text)?;
    let fields = event.fields();
    let name = fields.event_name();
    let agent = payload::agent_of(Client::OpenCode, fields.session()?);
    let agent = AgentRef { sub_agent: json::non_empty_text(event.agent), ..agent };
    let kind = self::event(&name, json::non_empty_text(event.child).is_some());
    let payload = Payload::new(fields, HookCall { client: Client::OpenCode, event: kind, name, agent });
    let response = json::non_empty_text(event.message);
    // Some model services start counting calls again in each response, so the id includes the response.
    let loop_event = payload::with_call_id(loop_event(&event, &payload), |call| match &response {
        Some(response) => format!("{response}/{call}"),
        None => call.to_owned(),
    });
    Ok(ParsedHook { model: json::non_empty_text(event.model), ..payload.into_parsed(loop_event) })
}

impl<'a> PluginEvent<'a> {
    /// The fields under the names that other clients use.
    fn fields(&self) -> Fields<'a> {
        Fields {
            session_id: self.session,
            hook_event_name: self.event,
            cwd: self.folder,
            model: self.model,
            agent_id: self.child,
            tool_name: self.tool,
            tool_input: self.input,
            tool_use_id: self.call,
            tool_response: self.output,
            ..Fields::default()
        }
    }
}

fn loop_event(event: &PluginEvent<'_>, payload: &Payload<'_>) -> Option<LoopEvent> {
    match payload.hook.event {
        HookEvent::SessionStart => Some(LoopEvent::SessionStart {
            model: json::non_empty_text(event.model),
            resumed: json::is_true(event.resumed),
            is_nested: false,
        }),
        HookEvent::Prompt => Some(prompt(event.parts, &payload.hook.agent)),
        HookEvent::ToolStart => {
            let mut start = payload.call_start()?;
            if let LoopEvent::ToolStart { response, .. } = &mut start {
                *response = json::non_empty_text(event.message);
            }
            Some(start)
        }
        HookEvent::ToolEnd => payload.call_end(|tool| {
            let text = event.output.map(json::text_for_model).unwrap_or_default();
            response::call_result(tool, !json::is_true(event.is_error), event.metadata, &text)
        }),
        HookEvent::ToolFailed => payload.call_end(|tool| {
            let text = event.error.map(json::text_for_model).unwrap_or_default();
            response::call_result(tool, false, event.metadata, &text)
        }),
        HookEvent::Batch => {
            let (model, response) = (json::non_empty_text(event.model), json::non_empty_text(event.message));
            response::message(event.tokens, event.cost, model.as_deref(), &[], response)
        }
        HookEvent::SessionEnd => Some(LoopEvent::SessionEnd { reason: payload.hook.name.clone() }),
        _usual => payload.usual_event(),
    }
}

/// The client marks the texts that it adds; a message that has only such texts does not come from a person.
fn prompt(parts: Unread<'_>, agent: &AgentRef) -> LoopEvent {
    let mut typed: Vec<Part<'_>> = parts.map(record::elements).unwrap_or_default();
    typed.retain(|part| !part.is_by_client() && json::non_empty_text(part.r#type).is_some());
    // The prompt of a sub-agent comes from its parent agent.
    let by_user = agent.sub_agent.is_none() && !typed.is_empty();
    let mut texts = typed.iter().filter_map(|part| part.text.and_then(json::text));
    LoopEvent::Prompt { by_user, bypass: by_user && texts.any(|text| bypass::is_requested(&text)) }
}
