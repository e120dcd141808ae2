//! What hooks read from a session's transcript, which the client calls its rollout: JSON lines, read on from where the
//! previous read ended.
//!
//! Three things are in the transcript and in no payload:
//! - how a command ended (`item_completed`, written before the hook runs);
//! - the tokens of a response (`token_usage_record`, with the id of the response);
//! - which calls belong to one response: those between two results.
//!
//! The transcript also has a result where no hook reports the end of a call: a call that failed inside the client, a
//! command line that only applies a patch, and a command that still runs (a hook reports its end later).

use haltline_core::identity::{CallResult, ModelText, Outcome, is_still_running};
use serde::Deserialize;

use crate::json::{self, Block, Unread};
use crate::transcript::codex::{Item, Line, usage as tokens};
use crate::transcript::record;
use crate::transcript_reader::{CountedIds, EndedCall, Ending, ReadContext, TranscriptUsage, records, whole_lines};

/// Number of calls remembered of one response; no model makes more at once.
const CALLS_MAX: usize = 64;

/// The call that an `item_completed` is about.
#[derive(Deserialize)]
struct CompletedItem<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    status: Unread<'a>,
    exit_code: Unread<'a>,
}

/// What one read hands to the next, written as `NUMBER+ @call @call response response …`. The plus means that a call of
/// the response has a result.
#[derive(Debug, Default)]
struct ResumeState {
    response: u64,
    has_result: bool,
    calls: Vec<String>,
    counted: CountedIds,
}

impl ResumeState {
    fn parse(text: Option<&str>) -> Self {
        let mut fields = text.unwrap_or_default().split(' ');
        let first = fields.next().unwrap_or_default();
        let response = first.trim_end_matches('+').parse().unwrap_or_default();
        let mut state = Self { response, has_result: first.ends_with('+'), ..Self::default() };
        for field in fields.filter(|field| !field.is_empty()) {
            if let Some(call) = field.strip_prefix('@') {
                state.calls.push(call.to_owned());
            } else {
                state.counted.insert(field.to_owned());
            }
        }
        state
    }

    fn to_text(&self) -> String {
        let mut text = format!("{}{}", self.response, if self.has_result { "+" } else { "" });
        for call in &self.calls {
            text.push_str(" @");
            text.push_str(call);
        }
        for response in self.counted.recent() {
            text.push(' ');
            text.push_str(response);
        }
        text
    }

    /// Records a call; the first one after a result begins the next response.
    fn add_call(&mut self, name: Option<String>) {
        if std::mem::take(&mut self.has_result) {
            self.response = self.response.saturating_add(1);
            self.calls.clear();
        }
        if self.calls.len() < CALLS_MAX {
            self.calls.extend(name.filter(|name| !name.contains(char::is_whitespace)));
        }
    }

    /// The response of a call that is about to run. The call may already be in the transcript, even after results of
    /// other calls of its response, or it may be written later.
    fn response_of(&self, call: &str) -> String {
        let is_next = self.has_result && !self.calls.iter().any(|known| known == call);
        format!("response-{}", self.response.saturating_add(u64::from(is_next)))
    }
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], context: ReadContext<'_>) -> TranscriptUsage {
    let whole = whole_lines(text);
    let mut state = ResumeState::parse(context.resume_state);
    let mut sum = TranscriptUsage { consumed: whole.len() as u64, ..TranscriptUsage::default() };
    let mut endings = Vec::new();
    for line in records::<Line<'_>>(whole) {
        let Some(payload) = line.payload.and_then(json::object::<Item<'_>>) else { continue };
        if record::is_text(line.r#type, "token_usage_record") {
            count_usage(&payload, context.model.unwrap_or_default(), &mut state, &mut sum);
        } else if record::is_text(line.r#type, "event_msg") {
            endings.extend(completed(&payload));
        } else if record::is_text(line.r#type, "response_item") {
            read_item(&payload, &mut state, &endings, &mut sum);
        }
    }
    sum.response = context.call.map(|call| state.response_of(call));
    sum.resume_state = Some(state.to_text());
    sum
}

/// Counts each response once, even if its record appears twice.
fn count_usage(payload: &Item<'_>, model: &str, state: &mut ResumeState, sum: &mut TranscriptUsage) {
    // Ids with a space, or that look like a call, would not survive `resume_state`.
    let is_plain = |id: &String| !id.contains(char::is_whitespace) && !id.starts_with('@');
    let Some(id) = json::non_empty_text(payload.response_id).filter(is_plain) else { return };
    let Some(usage) = payload.usage.and_then(tokens) else { return };
    if state.counted.insert(id) {
        sum.count_response(model, &usage);
    }
}

fn read_item(payload: &Item<'_>, state: &mut ResumeState, endings: &[(String, Ending)], sum: &mut TranscriptUsage) {
    let Some(kind) = payload.r#type.and_then(json::text) else { return };
    match kind.as_ref() {
        "function_call" | "custom_tool_call" | "local_shell_call" => {
            state.add_call(json::non_empty_text(payload.call_id))
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            state.has_result = true;
            if let Some(call) = json::non_empty_text(payload.call_id) {
                let text = payload.output.map(json::text_for_model).unwrap_or_default();
                let ending = endings.iter().rev().find(|(ended, _)| *ended == call).map(|(_, ending)| *ending);
                sum.ended.extend(result_without_hook(&text, ending).map(|result| EndedCall { call, result }));
            }
        }
        "message" if record::is_text(payload.role, "user") => state.has_result = true,
        _other => {}
    }
}

/// The result of a call whose end no hook reported: as the client's item or the text says. If neither does, the call
/// failed, because the client runs no hook in that case. A command that still runs has no result yet; a hook reports
/// its end.
fn result_without_hook(text: &str, ending: Option<Ending>) -> Option<CallResult> {
    if ending.is_none() && is_still_running(text) {
        return None;
    }
    let (outcome, exit) = ending.unwrap_or_else(|| match CallResult::new(Outcome::Unknown, None, text).exit {
        Some(0) => (Outcome::Ok, Some(0)),
        exit => (Outcome::Failed, exit),
    });
    Some(CallResult::new(outcome, exit, text))
}

/// The call of an `item_completed` and how it ended, if the record says so.
fn completed(payload: &Item<'_>) -> Option<(String, Ending)> {
    let item: CompletedItem<'_> =
        payload.item.filter(|_| record::is_text(payload.r#type, "item_completed")).and_then(json::object)?;
    Some((json::non_empty_text(item.id)?, item_ending(&item)?))
}

/// The text of the last response in these lines.
pub fn last_text(text: &[u8]) -> Option<ModelText> {
    records(text).rev().find_map(|line: Line<'_>| {
        let payload: Item<'_> = json::object(line.payload?)?;
        let is_model_text = record::is_text(line.r#type, "response_item") && record::is_text(payload.role, "assistant");
        let blocks: Vec<Block<'_>> = payload.content.filter(|_| is_model_text).and_then(json::list)?;
        blocks.iter().rev().find_map(|block| ModelText::from_text(&json::text(block.text?)?))
    })
}

/// How a command ended, if these lines say so; the first line may be incomplete.
pub fn outcome(text: &[u8], call: &str) -> Option<Ending> {
    let mut lines = text.split(|&byte| byte == b'\n').rev();
    lines.find_map(|line| {
        let line = std::str::from_utf8(line).ok().filter(|line| line.contains(call))?;
        let line: Line<'_> = serde_json::from_str(line).ok()?;
        let payload: Item<'_> = json::object(line.payload?)?;
        completed(&payload).filter(|(ended, _)| ended == call).map(|(_, ending)| ending)
    })
}

fn item_ending(item: &CompletedItem<'_>) -> Option<Ending> {
    let exit: Option<i32> = json::number(item.exit_code);
    match (exit, json::non_empty_text(item.status).as_deref()) {
        (_, Some("declined")) => Some((Outcome::Denied, None)),
        (Some(0), _) => Some((Outcome::Ok, exit)),
        (Some(_), _) => Some((Outcome::Failed, exit)),
        (None, Some("failed")) => Some((Outcome::Failed, None)),
        (None, Some("completed")) => Some((Outcome::Ok, None)),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use haltline_core::loop_::Usage;

    use super::*;

    fn call(id: &str) -> String {
        format!(r#"{{"type":"response_item","payload":{{"type":"function_call","call_id":"{id}"}}}}"#) + "\n"
    }

    fn output(id: &str, text: &str) -> String {
        let payload = format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#);
        format!(r#"{{"type":"response_item","payload":{payload}}}"#) + "\n"
    }

    fn usage_record(id: &str) -> String {
        let usage = r#"{"input_tokens":100,"cached_input_tokens":40,"output_tokens":5}"#;
        format!(r#"{{"type":"token_usage_record","payload":{{"response_id":"{id}","usage":{usage}}}}}"#) + "\n"
    }

    fn context<'a>(last: Option<&'a str>, call: &'a str) -> ReadContext<'a> {
        ReadContext { resume_state: last, model: Some("m"), call: Some(call), ..ReadContext::default() }
    }

    #[test]
    fn calls_between_two_results_are_one_response_wherever_a_read_ends() {
        let text = [
            call("a"),
            call("b"),
            usage_record("r1"),
            output("a", "x"),
            output("b", "x"),
            call("c"),
            usage_record("r2"),
        ];
        let whole = usage(text.concat().as_bytes(), context(None, "c"));
        assert_eq!(whole.response.as_deref(), Some("response-1"));
        assert_eq!(whole.usage, Usage { input: 120, output: 10, cache_read: 80, cache_write: 0 });
        let mut last: Option<String> = None;
        let mut responses = Vec::new();
        for line in &text {
            let reads = ["b", "c"].map(|call| usage(line.as_bytes(), context(last.as_deref(), call)));
            responses.push(reads.each_ref().map(|read| read.response.clone().unwrap_or_default()).join(" "));
            last = reads[0].resume_state.clone();
        }
        let numbers: Vec<String> = responses.iter().map(|both| both.replace("response-", "")).collect();
        // The second call stays with the first although that one has a result; the next call belongs to the next
        // response, even before it is written here.
        assert_eq!(numbers, ["0 0", "0 0", "0 0", "0 1", "0 1", "1 1", "1 1"]);
        assert_eq!(last, whole.resume_state);
        assert_eq!(usage(usage_record("r2").as_bytes(), context(last.as_deref(), "c")).messages, 0, "counted before");
    }

    fn item(id: &str, rest: &str) -> String {
        let item = format!(r#"{{"type":"CommandExecution","id":"{id}",{rest}}}"#);
        format!(r#"{{"type":"event_msg","payload":{{"type":"item_completed","item":{item}}}}}"#) + "\n"
    }

    #[test]
    fn the_end_of_a_command_is_found_by_its_id_and_a_running_one_has_none() {
        let text = [
            "half a line about c1\n".to_owned(),
            item("c1", r#""status":"failed","exit_code":1"#),
            item("c2", r#""status":"completed","exit_code":0"#),
            item("c3", r#""status":"in_progress","exit_code":null"#),
            item("c4", r#""status":"declined","exit_code":null"#),
            output("c1", "quotes c2"),
        ]
        .concat();
        let ending_of = |call: &str| outcome(text.as_bytes(), call);
        assert_eq!(ending_of("c1"), Some((Outcome::Failed, Some(1))));
        assert_eq!(ending_of("c2"), Some((Outcome::Ok, Some(0))));
        assert_eq!((ending_of("c3"), ending_of("c5")), (None, None));
        assert_eq!(ending_of("c4"), Some((Outcome::Denied, None)));
    }

    #[test]
    fn a_result_without_a_hook_is_a_failure_unless_the_client_or_a_command_says_otherwise() {
        let text = [
            output("p", "apply_patch verification failed: no such file"),
            output("e", r"Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\nfine"),
            output("s", r"Wall time: 0.0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."),
            item("f", r#""status":"completed""#),
            output("f", "Success."),
            item("n", r#""status":"failed""#),
            output("n", "Success."),
            item("d", r#""status":"declined""#),
            output("d", "no"),
        ]
        .concat();
        let ended = usage(text.as_bytes(), ReadContext::default()).ended;
        let found: Vec<_> = ended.iter().map(|end| (end.call.as_str(), end.result.outcome, end.result.exit)).collect();
        let (ok, failed) = (Outcome::Ok, Outcome::Failed);
        let patches = [("s", ok, Some(0)), ("f", ok, None), ("n", failed, None), ("d", Outcome::Denied, None)];
        assert_eq!(found, [&[("p", failed, None), ("e", ok, Some(0))], &patches[..]].concat());
    }

    #[test]
    fn a_command_that_still_runs_has_not_ended() {
        let text = output("c", r"Chunk ID: 1\nWall time: 0.2 seconds\nProcess running with session ID 7\nOutput:\n");
        assert_eq!(usage(text.as_bytes(), ReadContext::default()).ended, []);
    }
}
