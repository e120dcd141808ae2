//! What came back from a call, live or recorded: the exit code of a command, the child that a task started.

use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::Unread;
use crate::json;
use crate::transcript::record;

/// The error of a question that the person would not answer: nothing failed.
const DISMISSED: &str = "The user dismissed this question";

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    exit: Unread<'a>,
    #[serde(rename = "sessionId")]
    session_id: Unread<'a>,
    background: Unread<'a>,
    interrupted: Unread<'a>,
}

/// What a call answered. The client calls everything that its tool did not throw a success: the exit code knows better.
pub fn answer(tool: &str, is_success: bool, metadata: Unread<'_>, text: &str) -> Answer {
    let metadata = metadata.and_then(json::object::<Metadata<'_>>);
    let exit = metadata.as_ref().and_then(|metadata| metadata.exit?.get().parse().ok());
    let flag = |of: fn(&Metadata<'_>) -> bool| metadata.as_ref().is_some_and(of);
    if flag(|metadata| json::is_true(metadata.interrupted)) {
        return Answer::new(Outcome::Cancelled, exit, text);
    }
    if !is_success && text == DISMISSED {
        return Answer::new(Outcome::Rejected, exit, text);
    }
    let cut_off = if exit.is_none() { cut_off(text) } else { None };
    // A call that fits no tool is made by the client into one of this name, which always answers.
    let is_success = is_success && tool != "invalid";
    let mut answer = cut_off
        .map_or_else(|| record::answer(Some(is_success), exit, text), |outcome| Answer::new(outcome, exit, text));
    answer.is_running = flag(|metadata| json::is_true(metadata.background));
    answer.child = metadata.and_then(|metadata| json::name(metadata.session_id));
    answer
}

/// What became of a command that did not come to its end: the client adds a note to what it printed, and no exit code.
fn cut_off(text: &str) -> Option<Outcome> {
    let text = text.trim_end().strip_suffix("</shell_metadata>")?;
    let note = &text[text.rfind("<shell_metadata>")?..];
    if note.contains("User aborted the command") {
        Some(Outcome::Cancelled)
    } else {
        note.contains("exceeding timeout").then_some(Outcome::Failed)
    }
}

#[derive(Deserialize)]
struct Tokens<'a> {
    #[serde(borrow)]
    input: Unread<'a>,
    output: Unread<'a>,
    reasoning: Unread<'a>,
    cache: Unread<'a>,
}

#[derive(Deserialize)]
struct Cache<'a> {
    #[serde(borrow)]
    read: Unread<'a>,
    write: Unread<'a>,
}

/// The tokens of a response.
pub fn usage(tokens: &RawValue) -> Option<Usage> {
    let tokens: Tokens<'_> = json::object(tokens)?;
    let cache = tokens.cache.and_then(json::object::<Cache<'_>>);
    let (cache_read, cache_write) =
        cache.map_or((0, 0), |cache| (record::tokens(cache.read), record::tokens(cache.write)));
    let output = record::tokens(tokens.output).saturating_add(record::tokens(tokens.reasoning));
    Some(Usage { input: record::tokens(tokens.input), output, cache_read, cache_write })
}
