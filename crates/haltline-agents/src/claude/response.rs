//! What came back from a call, as the model saw it.
//!
//! A success is reported as the tool's own object, the batch as the text for the model. Of the objects only the part
//! that a model would read is taken: an edit's answer holds the whole file, which says nothing about the edit.

use std::borrow::Cow;

use haltline_core::identity::{Answer, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json;

/// What the built-in tools answer with, as far as anybody asks.
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

/// What a shell, or a look into a file, answers with nearly always: read in one pass, for it may be long. Where one of
/// these is of another kind, [`Response`] looks at each by itself.
#[derive(Deserialize)]
struct Usual<'a> {
    #[serde(borrow)]
    stdout: Option<json::Text<'a>>,
    stderr: Option<json::Text<'a>>,
    interrupted: Option<bool>,
    file: Option<UsualFile<'a>>,
}

#[derive(Deserialize)]
struct UsualFile<'a> {
    #[serde(borrow)]
    content: json::Text<'a>,
}

/// The answer of a call that the client calls a success.
pub fn of_success(tool: &str, response: Option<&RawValue>) -> Answer {
    let Some(value) = response else { return Answer::new(Outcome::Ok, None, "") };
    if matches!(tool, "Bash" | "PowerShell" | "Read")
        && let Some(answer) = json::object::<Usual<'_>>(value).and_then(|usual| of_usual(tool, usual))
    {
        return answer;
    }
    let known = match tool {
        "Bash" | "PowerShell" | "Read" | "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "Agent" | "Task" => {
            json::object::<Response<'_>>(value)
        }
        _ => None,
    };
    let Some(known) = known else { return Answer::new(Outcome::Ok, None, &json::shown(value)) };
    match tool {
        "Bash" | "PowerShell" => {
            let outcome = if json::is_true(known.interrupted) { Outcome::Cancelled } else { Outcome::Ok };
            match printed(known.stdout.and_then(json::text), known.stderr.and_then(json::text)) {
                Some(text) => Answer::new(outcome, None, &text),
                None => Answer::new(outcome, None, &json::compact(value)),
            }
        }
        "Read" => {
            let content = known.file.and_then(|file| file.content).and_then(json::text);
            Answer::new(Outcome::Ok, None, &content.unwrap_or_else(|| json::compact(value)))
        }
        "Agent" | "Task" => {
            let status = json::owned_text(known.status).unwrap_or_default();
            let text = known.content.map_or(Cow::Borrowed(status.as_str()), json::shown);
            let mut answer = Answer::new(Outcome::Ok, None, &text);
            answer.child = json::name(known.agent_id);
            answer.is_running = answer.child.is_some() && status == "async_launched";
            answer
        }
        _ => {
            let path = known.file_path.or(known.notebook_path).and_then(json::text).unwrap_or_default();
            Answer::new(Outcome::Ok, None, &format!("{tool} {path}"))
        }
    }
}

/// `None` where it says nothing of what the tool answers with.
fn of_usual(tool: &str, usual: Usual<'_>) -> Option<Answer> {
    if tool == "Read" {
        return Some(Answer::new(Outcome::Ok, None, &usual.file?.content.0));
    }
    let outcome = if usual.interrupted == Some(true) { Outcome::Cancelled } else { Outcome::Ok };
    let text = printed(usual.stdout.map(|text| text.0), usual.stderr.map(|text| text.0))?;
    Some(Answer::new(outcome, None, &text))
}

/// The answer of one call in a batch: nothing but the text tells how it went.
pub fn of_batch(response: Option<&RawValue>) -> Answer {
    let Some(value) = response else { return Answer::new(Outcome::Unknown, None, "") };
    let text = json::shown(value);
    let exit = exit_code(&text);
    let is_failed = exit.is_some_and(|code| code != 0) || text.starts_with("<tool_use_error>");
    Answer::new(if is_failed { Outcome::Failed } else { Outcome::Ok }, exit, &text)
}

/// The answer of a call that the client calls a failure.
pub fn of_failure(error: &str, is_interrupt: bool) -> Answer {
    let outcome = if is_interrupt { Outcome::Cancelled } else { Outcome::Failed };
    Answer::new(outcome, exit_code(error), error)
}

/// The code of a text that begins with `Exit code N`.
fn exit_code(text: &str) -> Option<i32> {
    let rest = text.strip_prefix("Exit code ")?;
    let end = rest.find(|letter: char| letter.is_whitespace()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// What a shell printed, errors last.
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

    fn success(tool: &str, source: &str) -> Answer {
        of_success(tool, Some(raw(source)))
    }

    #[test]
    fn a_shell_answers_with_what_it_printed() {
        let ok = |text: &str| Answer::new(Outcome::Ok, None, text);
        assert_eq!(success("Bash", r#"{"stdout":"a","stderr":"","interrupted":false}"#), ok("a"));
        assert_eq!(success("Bash", r#"{"stdout":"a","stderr":"b"}"#), ok("a\nb"));
        assert_eq!(success("Bash", r#"{"stdout":"","stderr":"b"}"#), ok("b"));
        assert_eq!(success("Bash", r#"{"stdout":7}"#), ok(r#"{"stdout":7}"#));
        assert_eq!(success("Bash", r#"{"stdout":7,"stderr":"b"}"#), ok("b"));
        assert_eq!(success("Bash", r#"{"stdout":"a","interrupted":"true","file":{}}"#), ok("a"));
        assert_eq!(success("Bash", r#"{"stdout":"cut \ud83d"}"#), ok("cut \u{fffd}\u{fffd}\u{fffd}"));
        assert_eq!(success("Bash", r#""text""#), ok("text"));
        let interrupted = success("Bash", r#"{"stdout":"a","stderr":"","interrupted":true}"#);
        assert_eq!(interrupted, Answer::new(Outcome::Cancelled, None, "a"));
    }

    #[test]
    fn files_answer_with_their_content_and_edits_with_their_name() {
        let ok = |text: &str| Answer::new(Outcome::Ok, None, text);
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
    fn an_agent_in_the_background_goes_on_and_another_has_ended() {
        let launched = success("Agent", r#"{"status":"async_launched","agentId":"a1","outputFile":"/tmp/a1"}"#);
        assert_eq!((launched.child.as_deref(), launched.is_running), (Some("a1"), true));
        let again = success("Agent", r#"{"status":"async_launched","agentId":"a2","outputFile":"/tmp/a2"}"#);
        assert_eq!(launched.raw, again.raw, "a new id is no new answer");
        let done = success("Task", r#"{"status":"completed","agentId":"a1","content":[{"type":"text","text":"hi"}]}"#);
        assert_eq!((done.child.as_deref(), done.is_running), (Some("a1"), false));
        assert_eq!(done.raw, Answer::new(Outcome::Ok, None, "hi").raw);
    }

    #[test]
    fn a_batch_tells_failures_by_their_first_words() {
        for (source, outcome, exit) in [
            (r#""Exit code 127\nno such command""#, Outcome::Failed, Some(127)),
            (r#""Exit code 1""#, Outcome::Failed, Some(1)),
            (r#""Exit code one""#, Outcome::Ok, None),
            (r#""<tool_use_error>No such tool</tool_use_error>""#, Outcome::Failed, None),
            (r#"[{"type":"text","text":"Exit code 2"}]"#, Outcome::Failed, Some(2)),
            (r#""fine""#, Outcome::Ok, None),
            ("7", Outcome::Ok, None),
        ] {
            let answer = of_batch(Some(raw(source)));
            assert_eq!((answer.outcome, answer.exit), (outcome, exit), "{source}");
        }
        assert_eq!(of_batch(None).outcome, Outcome::Unknown);
    }
}
