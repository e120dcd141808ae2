//! One call of Cline's own tools: the command lines of its shell, and what a result says of success.
//!
//! The shell takes a list of whole command lines, or programs with their arguments, or any of these without the list;
//! a result is one object for each, with `success`.

use std::borrow::Cow;

use haltline_core::identity::Outcome;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::Unread;
use crate::install::shell_word;
use crate::json;

/// The tool that runs command lines.
pub const SHELL: &str = "run_commands";

#[derive(Deserialize)]
struct Commands<'a> {
    #[serde(borrow)]
    commands: Unread<'a>,
    command: Unread<'a>,
    cmd: Unread<'a>,
    args: Unread<'a>,
}

/// All that the shell is asked to run, a line each; none where it would be asked for something else.
pub fn command_lines(input: &RawValue) -> Option<String> {
    if let Some(all) = json::list::<&RawValue>(input) {
        let lines: Option<Vec<Cow<'_, str>>> = all.into_iter().map(line).collect();
        return lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    }
    let said: Option<Commands<'_>> = json::object(input);
    match said.and_then(|said| said.commands) {
        // One level only: a list in a list is nothing the client takes.
        Some(commands) if commands.get().starts_with('[') => command_lines(commands),
        Some(commands) => line(commands).map(Cow::into_owned),
        None => line(input).map(Cow::into_owned),
    }
}

/// One command line, or a program with its arguments.
fn line(value: &RawValue) -> Option<Cow<'_, str>> {
    if let Some(text) = json::text(value) {
        return Some(text);
    }
    let said: Commands<'_> = json::object(value)?;
    let program = said.command.or(said.cmd).and_then(json::text)?;
    let Some(arguments) = said.args.and_then(json::list::<&RawValue>) else { return Some(program) };
    let arguments: Option<Vec<Cow<'_, str>>> = arguments.into_iter().map(json::text).collect();
    let words = std::iter::once(program).chain(arguments?);
    Some(Cow::Owned(words.map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")))
}

/// What a result comes to.
pub struct Output<'a> {
    pub outcome: Outcome,
    pub exit: Option<i32>,
    pub text: Cow<'a, str>,
}

/// One part of a result.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    success: Unread<'a>,
    result: Unread<'a>,
    error: Unread<'a>,
    text: Unread<'a>,
}

/// Reads what a call came back with.
pub fn output<'a>(tool: &str, output: Unread<'a>, error: Unread<'a>) -> Output<'a> {
    let parts: Vec<&'a RawValue> = output.and_then(json::list).unwrap_or_else(|| output.into_iter().collect());
    let read: Vec<Option<Part<'a>>> = parts.iter().map(|part| json::object(part)).collect();
    let is_failed = |part: &Option<Part<'_>>| part.as_ref().is_some_and(Part::is_failed);
    // A file that is missing among others that were read is no failure of the call; a command is.
    let parts_failed =
        if tool == SHELL { read.iter().any(is_failed) } else { !read.is_empty() && read.iter().all(is_failed) };
    let has_error = error.is_some_and(|error| json::name(Some(error)).is_some());
    let texts = parts.iter().zip(&read).map(|(&part, read)| match read {
        Some(read) => read.text().unwrap_or_else(|| json::shown(part)),
        None => json::shown(part),
    });
    let mut texts: Vec<Cow<'a, str>> = texts.collect();
    let text = if texts.len() == 1 { texts.remove(0) } else { Cow::Owned(texts.join("\n")) };
    let exit = read.iter().flatten().filter(|part| part.is_failed()).find_map(Part::exit);
    let outcome = if has_error || parts_failed { Outcome::Failed } else { Outcome::Ok };
    Output { outcome, exit, text }
}

impl<'a> Part<'a> {
    fn is_failed(&self) -> bool {
        let is_denied = self.success.is_some_and(|success| success.get() == "false");
        // A tool that throws says nothing of success.
        is_denied || (self.success.is_none() && json::name(self.error).is_some())
    }

    /// What it says beside the numbers, which differ from run to run.
    fn text(&self) -> Option<Cow<'a, str>> {
        let told = [self.result, self.text, self.error];
        told.into_iter().flatten().filter_map(json::text).find(|text| !text.is_empty())
    }

    fn exit(&self) -> Option<i32> {
        let error = self.error.and_then(json::text)?;
        error.strip_prefix("Command exited with code ")?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(source: &str) -> &RawValue {
        serde_json::from_str(source).expect("JSON")
    }

    #[test]
    fn a_command_is_the_same_in_every_form_the_client_takes() {
        for form in [
            r#"{"commands":["make test"]}"#,
            r#"{"commands":"make test"}"#,
            r#"{"commands":[{"command":"make","args":["test"]}]}"#,
            r#"{"commands":{"command":"make test"}}"#,
            r#"{"command":"make test"}"#,
            r#"{"command":"make","args":["test"]}"#,
            r#"{"cmd":"make test"}"#,
            r#"["make test"]"#,
            r#"[{"command":"make","args":["test"]}]"#,
            r#""make test""#,
        ] {
            assert_eq!(command_lines(raw(form)).as_deref(), Some("make test"), "{form}");
        }
        assert_eq!(command_lines(raw(r#"{"commands":["a","b; c"]}"#)).as_deref(), Some("a\nb; c"));
        for other in ["null", "7", "{}", "[]", "[7]", r#"{"commands":[["a"]]}"#, r#"{"command":"a","args":[1]}"#] {
            assert_eq!(command_lines(raw(other)), None, "{other}");
        }
    }

    #[test]
    fn a_result_says_of_each_part_whether_it_worked() {
        let read = |tool, source| {
            let Output { outcome, exit, text } = output(tool, Some(raw(source)), None);
            (outcome, exit, text.into_owned())
        };
        let mixed = r#"[{"query":"a","result":"fine","success":true},
            {"query":"b","result":"no","error":"Command exited with code 2","success":false}]"#;
        assert_eq!(read(SHELL, mixed), (Outcome::Failed, Some(2), "fine\nno".to_owned()));
        assert_eq!(read("read_files", mixed), (Outcome::Ok, Some(2), "fine\nno".to_owned()));
        let thrown = r#"{"error":"Invalid input"}"#;
        assert_eq!(read("editor", thrown), (Outcome::Failed, None, "Invalid input".to_owned()));
        assert_eq!(read("read_files", "[]"), (Outcome::Ok, None, String::new()));
        assert_eq!(read("spawn_agent", r#"{"text":"done","iterations":2}"#), (Outcome::Ok, None, "done".to_owned()));
        assert_eq!(read("x", r#"{"a": 1}"#).2, r#"{"a": 1}"#);
        assert_eq!(read("x", "\"text\"").2, "text");
    }
}
