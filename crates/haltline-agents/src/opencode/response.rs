//! Reads the result of a call, live or recorded: the exit code of a command, the sub-agent that a task started.

use haltline_core::identity::{CallResult, Outcome};
use haltline_core::loop_::{LoopEvent, Usage};
use serde_json::value::RawValue;

use crate::json::{self, Unread};
use crate::price::{self, Price};
use crate::transcript::record;

/// The error when the person dismissed a question of the agent: nothing failed.
const DISMISSED: &str = "The user dismissed this question";

json::unread! {
    struct Metadata { exit, #[serde(rename = "sessionId")] session_id, background, interrupted }
}

/// The result of a call. The client reports success unless its tool threw an error; the exit code is more reliable.
pub fn call_result(tool: &str, is_success: bool, metadata: Unread<'_>, text: &str) -> CallResult {
    let metadata = metadata.and_then(json::object::<Metadata<'_>>);
    let exit = metadata.as_ref().and_then(|metadata| json::number(metadata.exit));
    let flag = |is_set: fn(&Metadata<'_>) -> bool| metadata.as_ref().is_some_and(is_set);
    if flag(|metadata| json::is_true(metadata.interrupted)) {
        return CallResult::new(Outcome::Cancelled, exit, text);
    }
    if !is_success && text == DISMISSED {
        return CallResult::new(Outcome::Rejected, exit, text);
    }
    let cut_off = if exit.is_none() { cut_off_outcome(text) } else { None };
    // The client turns a call that fits no tool into one with this name, which always succeeds.
    let is_success = is_success && tool != "invalid";
    let mut result = cut_off.map_or_else(
        || record::call_result(Some(is_success), exit, text),
        |outcome| CallResult::new(outcome, exit, text),
    );
    result.is_sub_agent_running = flag(|metadata| json::is_true(metadata.background));
    result.sub_agent = metadata.and_then(|metadata| json::non_empty_text(metadata.session_id));
    result
}

/// The outcome of a command that was cut off: the client adds a note to the output and sends no exit code.
fn cut_off_outcome(text: &str) -> Option<Outcome> {
    let text = text.trim_end().strip_suffix("</shell_metadata>")?;
    let note = &text[text.rfind("<shell_metadata>")?..];
    if note.contains("User aborted the command") {
        Some(Outcome::Cancelled)
    } else {
        note.contains("exceeding timeout").then_some(Outcome::Failed)
    }
}

json::unread! {
    struct Tokens { input, output, reasoning, cache }
}

fn usage(tokens: &RawValue) -> Option<Usage> {
    let tokens: Tokens<'_> = json::object(tokens)?;
    Some(Usage {
        input: record::tokens(tokens.input),
        output: record::tokens(tokens.output).saturating_add(record::tokens(tokens.reasoning)),
        cache_read: record::tokens(json::member(tokens.cache, "read")),
        cache_write: record::tokens(json::member(tokens.cache, "write")),
    })
}

/// The usage and the cost of a response, if the client knows either.
pub fn message(
    tokens: Unread<'_>,
    reported_cost: Unread<'_>,
    model: Option<&str>,
    prices: &[Price],
    last_response: Option<String>,
) -> Option<LoopEvent> {
    let usage = tokens.and_then(usage).filter(|usage| *usage != Usage::default());
    let listed = || price::cost(model?, usage.as_ref()?, prices);
    // The client reports 0 if it does not know the price.
    let reported = json::number(reported_cost).filter(|dollars: &f64| *dollars > 0.0);
    let cost = reported.and_then(price::millionths).or_else(listed);
    let is_known = usage.is_some() || cost.is_some();
    is_known.then_some(LoopEvent::Message { usage, cost, model: None, range: None, last_response, text: None })
}
