//! The fields of a hook's stdin, and what each event means.
//!
//! A sub-agent has a session of its own there, and names the one above it: it is read as an agent of that one. How a command
//! ended stands as a last line in its output. Where a long output was cut with it, the client's record of the session has it.

use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::{Happening, Naming, Stream};
use serde::Deserialize;

use crate::call::{self, Call, Unread};
use crate::hook::{Asked, HookEvent, ReadError, Reading, Unsettled};
use crate::{Client, bypass, json};

// Hooks are written down under Claude Code's names of events, and the client then speaks so.
pub use crate::claude::event;

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    session_id: Unread<'a>,
    /// The start of a sub-agent is told in the client's other spelling, and without a name.
    #[serde(rename = "sessionId")]
    parent_session: Unread<'a>,
    #[serde(rename = "agentName")]
    agent_name: Unread<'a>,
    hook_event_name: Unread<'a>,
    timestamp: Unread<'a>,
    cwd: Unread<'a>,
    agent_id: Unread<'a>,
    parent_agent_id: Unread<'a>,
    tool_name: Unread<'a>,
    tool_input: Unread<'a>,
    tool_result: Unread<'a>,
    error: Unread<'a>,
    prompt: Unread<'a>,
    source: Unread<'a>,
    stop_hook_active: Unread<'a>,
    trigger: Unread<'a>,
    reason: Unread<'a>,
}

/// What came back from a call.
#[derive(Deserialize)]
struct Came<'a> {
    #[serde(borrow)]
    result_type: Unread<'a>,
    text_result_for_llm: Unread<'a>,
}

/// Reads what a hook of Copilot CLI got on stdin.
///
/// `is_nested` of a session's start is left false: the payload does not say it, the process tree does.
pub fn read(stdin: &[u8]) -> Result<Reading, ReadError> {
    read_for(Client::Copilot, &json::mended(stdin))
}

/// The same for whoever was called: the client also runs hooks that stand in Claude Code's settings of a project.
pub(crate) fn read_for(client: Client, text: &str) -> Result<Reading, ReadError> {
    let payload: Payload<'_> = json::payload(text)?;
    let own = json::name(payload.session_id).or_else(|| json::name(payload.parent_session));
    let own = own.ok_or(ReadError::NoSession)?;
    let is_start_of_child = payload.agent_name.is_some() && payload.agent_id.is_some();
    let unnamed = if is_start_of_child { "SubagentStart" } else { "" };
    let name = json::owned_text(payload.hook_event_name).unwrap_or_else(|| unnamed.to_owned());
    let event = event(&name);
    // These two name the child itself, and are the parent's doing.
    let is_about_child = matches!(event, HookEvent::SpawnStart | HookEvent::SpawnEnd);
    let agent = if is_about_child { None } else { json::name(payload.agent_id) };
    let session = agent.as_ref().and_then(|_| json::name(payload.parent_agent_id)).unwrap_or(own);
    let stream =
        Stream { session, agent, client: client.name().to_owned(), naming: Naming::Begun, ..Stream::default() };
    let folder = json::name(payload.cwd);
    let (what, unsettled) = happening(event, &payload, &stream, folder.as_deref());
    let is_own = client == Client::Copilot;
    Ok(Reading {
        what,
        folder,
        model: None,
        feed: if is_own && is_told(event, unsettled.is_some()) { record(&stream.session) } else { None },
        unsettled: unsettled.filter(|_| is_own),
        config_file: None,
        asked: Asked { client, event, name, stream },
    })
}

/// The client's record of a session, below its own folder. The name comes from outside, and must be no path.
fn record(session: &str) -> Option<String> {
    let is_plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_plain.then(|| format!("~/session-state/{session}/events.jsonl"))
}

/// Whether the record says something now that matters to this event.
fn is_told(event: HookEvent, is_unsettled: bool) -> bool {
    match event {
        HookEvent::ToolStart | HookEvent::Prompt | HookEvent::SpawnEnd | HookEvent::Stop | HookEvent::SessionEnd => {
            true
        }
        HookEvent::ToolEnd => is_unsettled,
        HookEvent::SessionStart
        | HookEvent::ModelStart
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SettingsChanged
        | HookEvent::Other => false,
    }
}

fn happening(
    event: HookEvent,
    payload: &Payload<'_>,
    stream: &Stream,
    folder: Option<&str>,
) -> (Option<Happening>, Option<Unsettled>) {
    let call = payload.call();
    let what = match event {
        HookEvent::SessionStart => Some(Happening::SessionStart {
            model: None,
            resumed: json::name(payload.source).as_deref() == Some("resume"),
            is_nested: false,
        }),
        HookEvent::Prompt => {
            // A sub-agent is asked by the agent above it.
            Some(bypass::prompt(payload.prompt, stream.agent.is_none()))
        }
        HookEvent::ToolStart => call.tool().map(|tool| payload.dated(call.start(&tool, stream, folder))),
        HookEvent::ToolEnd => return end(payload, stream, folder).unwrap_or_default(),
        HookEvent::ToolFailed => call.tool().map(|tool| {
            let error = payload.error.map(json::shown).unwrap_or_default();
            payload.dated(call.end(&tool, stream, folder, Answer::new(Outcome::Failed, None, &error)))
        }),
        HookEvent::SpawnStart => json::name(payload.agent_id).map(|child| Happening::SpawnStart { child, depth: None }),
        HookEvent::SpawnEnd => json::name(payload.agent_id).map(|child| Happening::SpawnEnd { child: Some(child) }),
        HookEvent::Stop => Some(Happening::Stop { blocked: json::is_true(payload.stop_hook_active), running: None }),
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
    };
    (what, None)
}

fn end(payload: &Payload<'_>, stream: &Stream, folder: Option<&str>) -> Option<(Option<Happening>, Option<Unsettled>)> {
    let call = payload.call();
    let tool = call.tool()?;
    let result = payload.tool_result.and_then(json::object::<Came<'_>>);
    let text = match &result {
        Some(result) => result.text_result_for_llm.map(json::shown),
        None => payload.tool_result.map(json::shown),
    };
    let text = text.unwrap_or_default();
    let kind = result.and_then(|result| json::name(result.result_type));
    let outcome = match kind.as_deref() {
        Some("success") | None => Outcome::Ok,
        Some("rejected") => Outcome::Rejected,
        Some("denied") => Outcome::Denied,
        Some(_failure) => Outcome::Failed,
    };
    let is_shell = matches!(tool.as_str(), "Bash" | "bash" | "PowerShell" | "powershell");
    if !is_shell || outcome != Outcome::Ok {
        let what = call.end(&tool, stream, folder, Answer::new(outcome, None, &text));
        return Some((Some(payload.dated(what)), None));
    }
    let (said, exit) = ended(&text);
    let is_cut = exit.is_none() && is_too_long(&text);
    let outcome = match exit {
        None if is_cut => Outcome::Unknown,
        Some(0) | None => Outcome::Ok,
        Some(_) => Outcome::Failed,
    };
    let answer = Answer::new(outcome, exit, said);
    let unsettled = is_cut.then(|| {
        let input = payload.tool_input.map(json::compact).unwrap_or_default();
        let moment = json::owned_text(payload.timestamp).unwrap_or_default();
        Unsettled { call: format!("{moment} {input}"), text: text.to_string() }
    });
    Some((Some(payload.dated(call.end(&tool, stream, folder, answer))), unsettled))
}

/// What a command said, without the last line in which the client says how it ended.
fn ended(text: &str) -> (&str, Option<i32>) {
    const BEFORE: &str = "completed with exit code ";
    let whole = text.trim_end();
    let (said, last) = whole.rsplit_once('\n').unwrap_or(("", whole));
    let exit = last.strip_prefix("<shellId: ").and_then(|rest| rest.strip_suffix('>'));
    let exit = exit.and_then(|rest| rest.split_once(BEFORE)).and_then(|(_, code)| code.trim().parse().ok());
    if exit.is_some() { (said, exit) } else { (text, None) }
}

/// Whether the client put the output into a file, and perhaps with it how the command ended.
fn is_too_long(text: &str) -> bool {
    text.starts_with("Output too large")
}

impl<'a> Payload<'a> {
    /// The start or the end of a call, named by its moment.
    fn dated(&self, mut what: Happening) -> Happening {
        if let Happening::ToolStart { call, .. } | Happening::ToolEnd { call, .. } = &mut what {
            *call = call::at(call, &json::owned_text(self.timestamp).unwrap_or_default());
        }
        what
    }

    fn call(&self) -> Call<'a> {
        Call {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_use_id: None,
            tool_response: self.tool_result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_s_end_stands_in_its_last_line_and_nowhere_else() {
        assert_eq!(ended("one\n<shellId: 0 completed with exit code 1>"), ("one", Some(1)));
        assert_eq!(ended("<shellId: 12 completed with exit code 0>\n"), ("", Some(0)));
        assert_eq!(ended("one\n<shellId: 0 completed with exit code -9>"), ("one", Some(-9)));
        for other in ["", "one", "<shellId: 0 completed with exit code x>", "<shellId: 0 is still running>"] {
            assert_eq!(ended(other), (other, None), "{other}");
        }
        let quoted = "<shellId: 0 completed with exit code 1>\nmore";
        assert_eq!(ended(quoted), (quoted, None));
    }

    #[test]
    fn a_session_s_name_leads_nowhere_else() {
        assert_eq!(record("1facdf79-b0f3").as_deref(), Some("~/session-state/1facdf79-b0f3/events.jsonl"));
        for name in ["../x", "a/b", "a\0b", "a b"] {
            assert_eq!(record(name), None, "{name}");
        }
    }
}
