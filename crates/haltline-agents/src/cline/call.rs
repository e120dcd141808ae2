//! Parses a call of Cline's own tools: the command lines of its shell, and whether the call succeeded.
//!
//! The shell takes a list of command lines, or of programs with arguments, or one of these without the list. A result
//! has one object for each, with `success`.

use std::borrow::Cow;

use haltline_core::identity::Outcome;
use serde_json::value::RawValue;

use crate::install::shell_word;
use crate::json;
use crate::json::Unread;

/// The tool that runs command lines.
pub const SHELL: &str = "run_commands";

json::unread! {
    struct Commands { commands, command, cmd, args }
}

/// Everything that the shell would run, one line each; `None` if the arguments have another form.
pub fn parse_command_lines(input: &RawValue) -> Option<String> {
    if let Some(all) = json::list::<&RawValue>(input) {
        let lines: Option<Vec<Cow<'_, str>>> = all.into_iter().map(parse_command_line).collect();
        return lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    }
    let parsed: Option<Commands<'_>> = json::object(input);
    match parsed.and_then(|parsed| parsed.commands) {
        // One level only: the client does not accept a list in a list.
        Some(commands) if commands.get().starts_with('[') => parse_command_lines(commands),
        Some(commands) => parse_command_line(commands).map(Cow::into_owned),
        None => parse_command_line(input).map(Cow::into_owned),
    }
}

/// One command line, or a program with its arguments as a command line.
fn parse_command_line(value: &RawValue) -> Option<Cow<'_, str>> {
    if let Some(text) = json::text(value) {
        return Some(text);
    }
    let parsed: Commands<'_> = json::object(value)?;
    let program = parsed.command.or(parsed.cmd).and_then(json::text)?;
    let Some(arguments) = parsed.args.and_then(json::list::<&RawValue>) else { return Some(program) };
    let arguments: Option<Vec<Cow<'_, str>>> = arguments.into_iter().map(json::text).collect();
    let words = std::iter::once(program).chain(arguments?);
    Some(Cow::Owned(words.map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")))
}

pub struct Output<'a> {
    pub outcome: Outcome,
    pub exit: Option<i32>,
    pub text: Cow<'a, str>,
}

json::unread! {
    struct Part { success, result, error, text }
}

/// Reads the result of a call.
pub fn parse_output<'a>(tool: &str, output: Unread<'a>, error: Unread<'a>) -> Output<'a> {
    let parts: Vec<&'a RawValue> = output.and_then(json::list).unwrap_or_else(|| output.into_iter().collect());
    let read: Vec<Option<Part<'a>>> = parts.iter().map(|part| json::object(part)).collect();
    let is_failed = |part: &Option<Part<'_>>| part.as_ref().is_some_and(Part::is_failed);
    // A call that reads some files and misses others has not failed; a call with a failed command has.
    let parts_failed =
        if tool == SHELL { read.iter().any(is_failed) } else { !read.is_empty() && read.iter().all(is_failed) };
    let has_error = error.is_some_and(|error| json::non_empty_text(Some(error)).is_some());
    let texts = parts.iter().zip(&read).map(|(&part, read)| match read {
        Some(read) => read.text().unwrap_or_else(|| json::text_for_model(part)),
        None => json::text_for_model(part),
    });
    let mut texts: Vec<Cow<'a, str>> = texts.collect();
    let text = if texts.len() == 1 { texts.remove(0) } else { Cow::Owned(texts.join("\n")) };
    let exit = read.iter().flatten().filter(|part| part.is_failed()).find_map(Part::exit);
    let outcome = if has_error || parts_failed { Outcome::Failed } else { Outcome::Ok };
    Output { outcome, exit, text }
}

impl<'a> Part<'a> {
    fn is_failed(&self) -> bool {
        let is_unsuccessful = self.success.is_some_and(|success| success.get() == "false");
        // A tool that throws an error sends no `success`.
        is_unsuccessful || (self.success.is_none() && json::non_empty_text(self.error).is_some())
    }

    /// Its text, without numbers that differ from run to run.
    fn text(&self) -> Option<Cow<'a, str>> {
        let texts = [self.result, self.text, self.error];
        texts.into_iter().flatten().filter_map(json::text).find(|text| !text.is_empty())
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
    fn every_form_of_a_command_is_parsed_to_the_same_line() {
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
            assert_eq!(parse_command_lines(raw(form)).as_deref(), Some("make test"), "{form}");
        }
        assert_eq!(parse_command_lines(raw(r#"{"commands":["a","b; c"]}"#)).as_deref(), Some("a\nb; c"));
        for other in ["null", "7", "{}", "[]", "[7]", r#"{"commands":[["a"]]}"#, r#"{"command":"a","args":[1]}"#] {
            assert_eq!(parse_command_lines(raw(other)), None, "{other}");
        }
    }

    #[test]
    fn the_outcome_of_a_result_follows_from_its_parts() {
        let read = |tool, source| {
            let Output { outcome, exit, text } = parse_output(tool, Some(raw(source)), None);
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
