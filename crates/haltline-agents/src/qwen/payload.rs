//! Parses the payload of a hook and translates each event.

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::LoopEvent;

use crate::gemini::shell_text;
use crate::hook::{EventSet, HookCall, HookEvent, ParsedHook, ReadError};
use crate::json::Unread;
use crate::payload::{self, Fields, Payload};
use crate::{Client, claude, json};

/// At these events the transcript contains something that matters.
const READ_TRANSCRIPT: EventSet = EventSet::of(&[
    HookEvent::ToolStart,
    HookEvent::ToolEnd,
    HookEvent::ToolFailed,
    HookEvent::ModelStart,
    HookEvent::Prompt,
    HookEvent::Stop,
    HookEvent::SessionEnd,
]);

/// True if somebody wrote a prompt. Before any other request it is empty, or holds only text that other hooks have
/// added.
fn has_prompt_text(prompt: &str) -> bool {
    !prompt.trim().is_empty() && !prompt.starts_with("\n\n")
}

/// The part of an output that the client shows when the output was too large. The rest of the text names a file, a new
/// one each time.
pub(crate) fn visible_output(text: &str) -> &str {
    const HEAD: &str = "Tool output was too large and has been truncated.\n";
    let rest = text.strip_prefix(HEAD).and_then(|rest| rest.split_once("\nTruncated part of the output:\n"));
    rest.map_or(text, |(_, shown)| shown)
}

/// The event with this name: those of Claude Code, except that a prompt without text is a request to the model.
pub fn event(name: &str, has_prompt: bool) -> HookEvent {
    match claude::event(name) {
        HookEvent::Prompt if !has_prompt => HookEvent::ModelStart,
        event => event,
    }
}

/// Reads what a hook of Qwen Code gets on stdin.
pub fn read(stdin: &[u8]) -> Result<ParsedHook, ReadError> {
    let text = json::decode_lossy(stdin);
    // `stop_hook_active` is true at every end, whether or not a hook kept the agent going.
    let fields = Fields { stop_hook_active: None, ..json::payload(&text)? };
    let name = fields.event_name();
    let has_prompt = json::non_empty_text(fields.prompt).is_some_and(|prompt| has_prompt_text(&prompt));
    let event = event(&name, has_prompt);
    let agent = payload::agent_of(Client::Qwen, fields.session()?);
    let payload = Payload::new(fields, HookCall { client: Client::Qwen, event, name, agent });
    let loop_event = loop_event(&payload);
    Ok(ParsedHook {
        model: json::non_empty_text(fields.model),
        transcript_path: payload.transcript_path(READ_TRANSCRIPT),
        ..payload.into_parsed(loop_event)
    })
}

fn loop_event(payload: &Payload<'_>) -> Option<LoopEvent> {
    let fields = &payload.fields;
    match payload.hook.event {
        HookEvent::ToolEnd => payload.call_end(|tool| call_result(tool, fields.tool_response)),
        HookEvent::ToolFailed => payload.call_end(|_tool| {
            let is_cancelled = json::is_true(fields.is_interrupt);
            let outcome = if is_cancelled { Outcome::Cancelled } else { Outcome::Failed };
            CallResult::new(outcome, None, &fields.error.map(json::text_for_model).unwrap_or_default())
        }),
        // The text of a hook that keeps the agent going also arrives as a prompt, and looks the same.
        _usual => payload.usual_event(),
    }
}

fn call_result(tool: &str, response: Unread<'_>) -> CallResult {
    let Some(raw) = response else { return CallResult::new(Outcome::Unknown, None, "") };
    let text = json::text_for_model(json::member(response, "llmContent").unwrap_or(raw));
    let text = visible_output(&text);
    match tool {
        "run_shell_command" => shell_text::parse_result(text),
        _other => CallResult::new(Outcome::Ok, None, text),
    }
}
