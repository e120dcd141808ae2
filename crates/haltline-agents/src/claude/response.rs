//! Reads the result of a call, as the model saw it.
//!
//! After a success the client sends the tool's own object; a batch contains the text for the model. Of an object
//! haltline takes only the part that a model would read: an edit's result contains the whole file, which says nothing
//! about the edit.

use std::borrow::Cow;

use haltline_core::identity::{CallResult, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json;

/// The fields of the built-in tools' results that haltline needs.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    stdout: Option<&'a RawValue>,
    stderr: Option<&'a RawValue>,
    interrupted: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
    #[serde(rename = "agentId")]
    agent_id: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    file: Option<File<'a>>,
    #[serde(rename = "filePath")]
    file_path: Option<&'a RawValue>,
    notebook_path: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// What a shell or a file read nearly always returns. It is parsed in one pass because it may be long. If a field has
/// another type, [`Response`] parses each field separately.
#[derive(Deserialize)]
struct CommonResponse<'a> {
    #[serde(borrow)]
    stdout: Option<json::Text<'a>>,
    stderr: Option<json::Text<'a>>,
    interrupted: Option<bool>,
    file: Option<CommonFile<'a>>,
}

#[derive(Deserialize)]
struct CommonFile<'a> {
    #[serde(borrow)]
    content: json::Text<'a>,
}

/// The result of a call that the client reports as a success.
pub fn from_success(tool: &str, response: Option<&RawValue>) -> CallResult {
    let Some(value) = response else { return CallResult::new(Outcome::Ok, None, "") };
    if matches!(tool, "Bash" | "PowerShell" | "Read")
        && let Some(result) = json::object::<CommonResponse<'_>>(value).and_then(|common| from_common(tool, common))
    {
        return result;
    }
    let known = match tool {
        "Bash" | "PowerShell" | "Read" | "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "Agent" | "Task" => {
            json::object::<Response<'_>>(value)
        }
        _ => None,
    };
    let Some(known) = known else { return CallResult::new(Outcome::Ok, None, &json::text_for_model(value)) };
    match tool {
        "Bash" | "PowerShell" => {
            let outcome = if json::is_true(known.interrupted) { Outcome::Cancelled } else { Outcome::Ok };
            match printed(known.stdout.and_then(json::text), known.stderr.and_then(json::text)) {
                Some(text) => CallResult::new(outcome, None, &text),
                None => CallResult::new(outcome, None, &json::compact(value)),
            }
        }
        "Read" => {
            let content = known.file.and_then(|file| file.content).and_then(json::text);
            CallResult::new(Outcome::Ok, None, &content.unwrap_or_else(|| json::compact(value)))
        }
        "Agent" | "Task" => {
            let status = json::owned_text(known.status).unwrap_or_default();
            let text = known.content.map_or(Cow::Borrowed(status.as_str()), json::text_for_model);
            let mut result = CallResult::new(Outcome::Ok, None, &text);
            result.sub_agent = json::non_empty_text(known.agent_id);
            result.is_sub_agent_running = result.sub_agent.is_some() && status == "async_launched";
            result
        }
        _ => {
            let path = known.file_path.or(known.notebook_path).and_then(json::text).unwrap_or_default();
            CallResult::new(Outcome::Ok, None, &format!("{tool} {path}"))
        }
    }
}

/// `None` if the fields that this tool returns are missing.
fn from_common(tool: &str, common: CommonResponse<'_>) -> Option<CallResult> {
    if tool == "Read" {
        return Some(CallResult::new(Outcome::Ok, None, &common.file?.content.0));
    }
    let outcome = if common.interrupted == Some(true) { Outcome::Cancelled } else { Outcome::Ok };
    let text = printed(common.stdout.map(|text| text.0), common.stderr.map(|text| text.0))?;
    Some(CallResult::new(outcome, None, &text))
}

/// The result of one call in a batch: only its text tells how the call went.
pub fn from_batch(response: Option<&RawValue>) -> CallResult {
    let Some(value) = response else { return CallResult::new(Outcome::Unknown, None, "") };
    let text = json::text_for_model(value);
    let exit = exit_code(&text);
    let is_failed = exit.is_some_and(|code| code != 0) || text.starts_with("<tool_use_error>");
    CallResult::new(if is_failed { Outcome::Failed } else { Outcome::Ok }, exit, &text)
}

/// The result of a call that the client reports as a failure.
pub fn from_failure(error: &str, is_interrupt: bool) -> CallResult {
    let outcome = if is_interrupt { Outcome::Cancelled } else { Outcome::Failed };
    CallResult::new(outcome, exit_code(error), error)
}

/// The exit code in a text that begins with `Exit code N`.
fn exit_code(text: &str) -> Option<i32> {
    let rest = text.strip_prefix("Exit code ")?;
    let end = rest.find(|letter: char| letter.is_whitespace()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// What a shell command printed, stderr last.
fn printed<'a>(stdout: Option<Cow<'a, str>>, stderr: Option<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    match (stdout, stderr.filter(|text| !text.is_empty())) {
        (Some(out), None) => Some(out),
        (Some(out), Some(err)) if !out.is_empty() => Some(Cow::Owned(format!("{out}\n{err}"))),
        (_, Some(err)) => Some(err),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(source: &str) -> &RawValue {
        serde_json::from_str(source).expect("valid JSON")
    }

    fn success(tool: &str, source: &str) -> CallResult {
        from_success(tool, Some(raw(source)))
    }

    #[test]
    fn the_result_of_a_shell_is_what_it_printed() {
        let ok = |text: &str| CallResult::new(Outcome::Ok, None, text);
        assert_eq!(success("Bash", r#"{"stdout":"a","stderr":"","interrupted":false}"#), ok("a"));
        assert_eq!(success("Bash", r#"{"stdout":"a","stderr":"b"}"#), ok("a\nb"));
        assert_eq!(success("Bash", r#"{"stdout":"","stderr":"b"}"#), ok("b"));
        assert_eq!(success("Bash", r#"{"stdout":7}"#), ok(r#"{"stdout":7}"#));
        assert_eq!(success("Bash", r#"{"stdout":7,"stderr":"b"}"#), ok("b"));
        assert_eq!(success("Bash", r#"{"stdout":"a","interrupted":"true","file":{}}"#), ok("a"));
        assert_eq!(success("Bash", r#"{"stdout":"cut \ud83d"}"#), ok("cut \u{fffd}\u{fffd}\u{fffd}"));
        assert_eq!(success("Bash", r#""text""#), ok("text"));
        let interrupted = success("Bash", r#"{"stdout":"a","stderr":"","interrupted":true}"#);
        assert_eq!(interrupted, CallResult::new(Outcome::Cancelled, None, "a"));
    }

    #[test]
    fn a_read_returns_the_content_and_an_edit_the_file_name() {
        let ok = |text: &str| CallResult::new(Outcome::Ok, None, text);
        assert_eq!(success("Read", r#"{"type":"text","file":{"content":"x\n","numLines":2}}"#), ok("x\n"));
        assert_eq!(success("Read", r#"{"type":"image"}"#), ok(r#"{"type":"image"}"#));
        assert_eq!(success("Read", r#"{"file":7}"#), ok(r#"{"file":7}"#));
        let first = success("Edit", r#"{"filePath":"/p/a.py","originalFile":"one"}"#);
        assert_eq!(first, ok("Edit /p/a.py"));
        assert_eq!(first, success("Edit", r#"{"filePath":"/p/a.py","originalFile":"two"}"#));
        assert_eq!(success("Write", r#"{"type":"create","filePath":"/p/b","content":"x"}"#), ok("Write /p/b"));
        assert_eq!(success("TaskUpdate", "{ \"success\": true }"), ok(r#"{"success":true}"#));
    }

    #[test]
    fn a_background_agent_still_runs_and_another_has_ended() {
        let launched = success("Agent", r#"{"status":"async_launched","agentId":"a1","outputFile":"/tmp/a1"}"#);
        assert_eq!((launched.sub_agent.as_deref(), launched.is_sub_agent_running), (Some("a1"), true));
        let again = success("Agent", r#"{"status":"async_launched","agentId":"a2","outputFile":"/tmp/a2"}"#);
        assert_eq!(launched.raw, again.raw, "a new id is no new answer");
        let done = success("Task", r#"{"status":"completed","agentId":"a1","content":[{"type":"text","text":"hi"}]}"#);
        assert_eq!((done.sub_agent.as_deref(), done.is_sub_agent_running), (Some("a1"), false));
        assert_eq!(done.raw, CallResult::new(Outcome::Ok, None, "hi").raw);
    }

    #[test]
    fn a_failure_in_a_batch_is_recognised_by_its_first_words() {
        for (source, outcome, exit) in [
            (r#""Exit code 127\nno such command""#, Outcome::Failed, Some(127)),
            (r#""Exit code 1""#, Outcome::Failed, Some(1)),
            (r#""Exit code one""#, Outcome::Ok, None),
            (r#""<tool_use_error>No such tool</tool_use_error>""#, Outcome::Failed, None),
            (r#"[{"type":"text","text":"Exit code 2"}]"#, Outcome::Failed, Some(2)),
            (r#""fine""#, Outcome::Ok, None),
            ("7", Outcome::Ok, None),
        ] {
            let result = from_batch(Some(raw(source)));
            assert_eq!((result.outcome, result.exit), (outcome, exit), "{source}");
        }
        assert_eq!(from_batch(None).outcome, Outcome::Unknown);
    }
}
