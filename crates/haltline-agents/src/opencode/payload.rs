//! What the plugin says, in the words of the core. The plugin passes on what the client told it, with three things that
//! it alone knows: the session at the top, the response a call belongs to, and the model that works.

use haltline_core::identity::Answer;
use haltline_core::loop_::{Happening, Stream, Usage};
use serde::Deserialize;

use super::response;
use crate::call::{Call, Unread};
use crate::hook::{Asked, HookEvent, ReadError, Reading};
use crate::{Client, bypass, json, price};

/// Everything any event carries that haltline reads.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    event: Unread<'a>,
    session: Unread<'a>,
    agent: Unread<'a>,
    folder: Unread<'a>,
    model: Unread<'a>,
    child: Unread<'a>,
    resumed: Unread<'a>,
    parts: Unread<'a>,
    tool: Unread<'a>,
    call: Unread<'a>,
    message: Unread<'a>,
    input: Unread<'a>,
    output: Unread<'a>,
    error: Unread<'a>,
    #[serde(rename = "isError")]
    is_error: Unread<'a>,
    metadata: Unread<'a>,
    tokens: Unread<'a>,
    cost: Unread<'a>,
}

/// A part of a prompt.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    text: Unread<'a>,
    synthetic: Unread<'a>,
    ignored: Unread<'a>,
}

/// The event of this name; some are about a child where one is named.
pub fn event(name: &str, has_child: bool) -> HookEvent {
    match (name, has_child) {
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

/// Reads one event of the plugin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(line: &[u8]) -> Result<Reading, ReadError> {
    let text = json::mended(line);
    let payload: Payload<'_> = json::payload(&text)?;
    let session = json::name(payload.session).ok_or(ReadError::NoSession)?;
    let name = json::owned_text(payload.event).unwrap_or_default();
    let event = event(&name, json::name(payload.child).is_some());
    let client = Client::OpenCode;
    let agent = json::name(payload.agent);
    let stream = Stream { session, agent, client: client.name().to_owned(), ..Stream::default() };
    let folder = json::name(payload.folder);
    Ok(Reading {
        what: happening(event, &name, &payload, &stream, folder.as_deref()),
        folder,
        model: json::name(payload.model),
        feed: None,
        unsettled: None,
        config_file: None,
        asked: Asked { client, event, name, stream },
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
        HookEvent::SessionStart => Some(Happening::SessionStart {
            model: json::name(payload.model),
            resumed: json::is_true(payload.resumed),
            is_nested: false,
        }),
        HookEvent::Prompt => prompt(payload, stream),
        HookEvent::ToolStart => {
            let tool = json::name(payload.tool)?;
            let call = payload.as_call();
            Some(Happening::ToolStart {
                call: payload.call_name(&call, &tool, stream),
                message: json::name(payload.message),
                action: Box::new(call.action(&tool, folder)),
                guarded: Vec::new(),
                touched: Vec::new(),
                tampering: None,
            })
        }
        HookEvent::ToolEnd => {
            let text = payload.output.map(json::shown).unwrap_or_default();
            payload.end(stream, folder, |tool| {
                response::answer(tool, !json::is_true(payload.is_error), payload.metadata, &text)
            })
        }
        HookEvent::ToolFailed => {
            let text = payload.error.map(json::shown).unwrap_or_default();
            payload.end(stream, folder, |tool| response::answer(tool, false, payload.metadata, &text))
        }
        HookEvent::Batch => {
            let usage = payload.tokens.and_then(response::usage).filter(|usage| *usage != Usage::default());
            let listed = || price::cost(&json::name(payload.model)?, usage.as_ref()?, &[]);
            // The client says 0 where it does not know the price.
            let said: Option<f64> = payload.cost.and_then(|cost| cost.get().parse().ok());
            let cost = said.filter(|dollars| *dollars > 0.0).and_then(price::millionths).or_else(listed);
            let is_known = usage.is_some() || cost.is_some();
            let last = json::name(payload.message);
            is_known.then_some(Happening::Message { usage, cost, offset: None, last, said: None })
        }
        HookEvent::SpawnStart => Some(Happening::SpawnStart { child: json::name(payload.child)?, depth: None }),
        HookEvent::SpawnEnd => Some(Happening::SpawnEnd { child: Some(json::name(payload.child)?) }),
        HookEvent::Stop => Some(Happening::Stop { blocked: false, running: None }),
        HookEvent::Compaction => Some(Happening::Compaction { trigger: String::new() }),
        HookEvent::SessionEnd => Some(Happening::SessionEnd { reason: name.to_owned() }),
        HookEvent::ModelStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::SettingsChanged
        | HookEvent::Other => None,
    }
}

/// The texts that the client adds are marked; a message of nothing else is nobody's question.
fn prompt(payload: &Payload<'_>, stream: &Stream) -> Option<Happening> {
    let parts: Vec<&serde_json::value::RawValue> = payload.parts.and_then(json::list).unwrap_or_default();
    let parts = parts.into_iter().filter_map(json::object::<Part<'_>>);
    let typed: Vec<Part<'_>> = parts
        .filter(|part| {
            !json::is_true(part.synthetic) && !json::is_true(part.ignored) && json::name(part.r#type).is_some()
        })
        .collect();
    // A sub-agent is asked by the agent above it.
    let by_user = stream.agent.is_none() && !typed.is_empty();
    let mut texts = typed.iter().filter_map(|part| part.text.and_then(json::text));
    Some(Happening::Prompt { by_user, bypass: by_user && texts.any(|text| bypass::is_asked_for(&text)) })
}

impl<'a> Payload<'a> {
    fn as_call(&self) -> Call<'a> {
        Call { tool_name: self.tool, tool_input: self.input, tool_use_id: self.call, tool_response: self.output }
    }

    /// Some services count their calls anew in every response: there the response makes them different.
    fn call_name(&self, call: &Call<'_>, tool: &str, stream: &Stream) -> String {
        let name = call.name(tool, stream);
        json::name(self.message).map_or_else(|| name.clone(), |message| format!("{message}/{name}"))
    }

    fn end(&self, stream: &Stream, folder: Option<&str>, answer: impl FnOnce(&str) -> Answer) -> Option<Happening> {
        let tool = json::name(self.tool)?;
        let call = self.as_call();
        let action = Some(Box::new(call.action(&tool, folder)));
        let name = self.call_name(&call, &tool, stream);
        Some(Happening::ToolEnd { call: name, action, answer: Box::new(answer(&tool)) })
    }
}
