//! What hooks read of a session's transcript, which the client calls its rollout: JSON lines, read on from where the last
//! reading ended.
//!
//! Three things stand there and in no payload: how a command ended (`item_completed`, there before the hook runs), what a
//! response took (`token_usage_record`, each with the response's name), and which calls came in one response: those
//! between two answers. A call has an answer there also where no hook is told its end: where it failed inside the client,
//! where a command line only applies a patch, and where a command goes on, whose end is told later.

use haltline_core::identity::{Answer, Outcome, Said, still_runs};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::feed::{Ended, Ending, Known, TranscriptUse, whole_lines};
use crate::json;
use crate::transcript::codex::usage as tokens;
use crate::transcript::record::{self, Unread};

/// How many responses are remembered from one reading to the next.
const RESPONSES_MAX: usize = 8;
/// How many calls of one response are; no model asks for more at once.
const CALLS_MAX: usize = 64;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    payload: Unread<'a>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    role: Unread<'a>,
    content: Unread<'a>,
    call_id: Unread<'a>,
    output: Unread<'a>,
    item: Unread<'a>,
    response_id: Unread<'a>,
    usage: Unread<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    status: Unread<'a>,
    exit_code: Unread<'a>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Unread<'a>,
}

/// What one reading hands to the next: `NUMBER+ @call @call response response …`, the plus where a call of the response
/// has been answered.
#[derive(Debug, Default)]
struct Place {
    response: u64,
    is_answered: bool,
    calls: Vec<String>,
    counted: Vec<String>,
}

impl Place {
    fn read(last: Option<&str>) -> Self {
        let mut words = last.unwrap_or_default().split(' ');
        let first = words.next().unwrap_or_default();
        let response = first.trim_end_matches('+').parse().unwrap_or_default();
        let mut place = Self { response, is_answered: first.ends_with('+'), ..Self::default() };
        for word in words.filter(|word| !word.is_empty()) {
            match word.strip_prefix('@') {
                Some(call) => place.calls.push(call.to_owned()),
                None => place.counted.push(word.to_owned()),
            }
        }
        place
    }

    fn write(&self) -> String {
        let mut text = format!("{}{}", self.response, if self.is_answered { "+" } else { "" });
        for call in &self.calls {
            text.push_str(" @");
            text.push_str(call);
        }
        for response in &self.counted[self.counted.len().saturating_sub(RESPONSES_MAX)..] {
            text.push(' ');
            text.push_str(response);
        }
        text
    }

    /// A call stands here: the first after an answer begins the next response.
    fn call(&mut self, name: Option<String>) {
        if std::mem::take(&mut self.is_answered) {
            self.response = self.response.saturating_add(1);
            self.calls.clear();
        }
        if self.calls.len() < CALLS_MAX {
            self.calls.extend(name.filter(|name| !name.contains(char::is_whitespace)));
        }
    }

    /// The response of a call that is asked for now. It may stand here, and be answered in part already, or be about to.
    fn of(&self, call: &str) -> String {
        let is_next = self.is_answered && !self.calls.iter().any(|known| known == call);
        format!("response-{}", self.response.saturating_add(u64::from(is_next)))
    }
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], known: Known<'_>) -> TranscriptUse {
    let whole = whole_lines(text);
    let mut place = Place::read(known.last);
    let mut sum = TranscriptUse { consumed: whole.len() as u64, ..TranscriptUse::default() };
    let mut endings = Vec::new();
    for line in whole.split(|&byte| byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { continue };
        let Some(payload) = line.payload.and_then(json::object::<Payload<'_>>) else { continue };
        if record::is_word(line.r#type, "token_usage_record") {
            count(&payload, known.model.unwrap_or_default(), &mut place, &mut sum);
        } else if record::is_word(line.r#type, "event_msg") {
            endings.extend(completed(&payload));
        } else if record::is_word(line.r#type, "response_item") {
            item(&payload, &mut place, &endings, &mut sum);
        }
    }
    sum.response = known.call.map(|call| place.of(call));
    sum.last = Some(place.write());
    sum
}

/// Each response is counted once, whatever stands there twice.
fn count(payload: &Payload<'_>, model: &str, place: &mut Place, sum: &mut TranscriptUse) {
    // A space would not come back from the next reading, nor would what looks like a call.
    let is_plain = |id: &String| !id.contains(char::is_whitespace) && !id.starts_with('@');
    let Some(id) = json::name(payload.response_id).filter(is_plain) else { return };
    let Some(usage) = payload.usage.and_then(tokens) else { return };
    if place.counted.contains(&id) {
        return;
    }
    // Within one reading there may be many; only the last matter to the next.
    if place.counted.len() >= 4 * RESPONSES_MAX {
        place.counted.drain(..3 * RESPONSES_MAX);
    }
    place.counted.push(id);
    sum.messages = sum.messages.saturating_add(1);
    sum.take(model, &usage, 0);
}

fn item(payload: &Payload<'_>, place: &mut Place, endings: &[(String, Ending)], sum: &mut TranscriptUse) {
    let Some(kind) = payload.r#type.and_then(json::text) else { return };
    match kind.as_ref() {
        "function_call" | "custom_tool_call" | "local_shell_call" => place.call(json::name(payload.call_id)),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            place.is_answered = true;
            if let Some(call) = json::name(payload.call_id) {
                let text = payload.output.map(json::shown).unwrap_or_default();
                let ending = endings.iter().rev().find(|(ended, _)| *ended == call).map(|(_, ending)| *ending);
                sum.ended.extend(unheard(&text, ending).map(|answer| Ended { call, answer }));
            }
        }
        "message" if record::is_word(payload.role, "user") => place.is_answered = true,
        _other => {}
    }
}

/// The answer of a call whose end no hook was told: how the client says it went, or the text does. Where neither speaks
/// it failed: then the client runs no hook. A command that goes on has no answer yet; a hook tells of it at its end.
fn unheard(text: &str, ending: Option<Ending>) -> Option<Answer> {
    if ending.is_none() && still_runs(text) {
        return None;
    }
    let (outcome, exit) = ending.unwrap_or_else(|| match Answer::new(Outcome::Unknown, None, text).exit {
        Some(0) => (Outcome::Ok, Some(0)),
        exit => (Outcome::Failed, exit),
    });
    Some(Answer::new(outcome, exit, text))
}

/// How the call of an `item_completed` ended, where it says so.
fn completed(payload: &Payload<'_>) -> Option<(String, Ending)> {
    let item: Item<'_> =
        payload.item.filter(|_| record::is_word(payload.r#type, "item_completed")).and_then(json::object)?;
    Some((json::name(item.id)?, ended(&item)?))
}

/// What the last response in these lines said.
pub fn said(text: &[u8]) -> Option<Said> {
    text.split(|&byte| byte == b'\n').rev().find_map(said_in)
}

fn said_in(line: &[u8]) -> Option<Said> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let payload: Payload<'_> = json::object(line.payload?)?;
    let is_said = record::is_word(line.r#type, "response_item") && record::is_word(payload.role, "assistant");
    let blocks: Vec<Block<'_>> = payload.content.filter(|_| is_said).and_then(json::list)?;
    blocks.iter().rev().find_map(|block| Said::of(&json::text(block.text?)?))
}

/// How a command ended, where these lines say it; the first line may be half a one.
pub fn outcome(text: &[u8], call: &str) -> Option<Ending> {
    let mut lines = text.split(|&byte| byte == b'\n').rev();
    lines.find_map(|line| {
        let line = std::str::from_utf8(line).ok().filter(|line| line.contains(call))?;
        let line: Line<'_> = serde_json::from_str(line).ok()?;
        let payload: Payload<'_> = json::object(line.payload?)?;
        completed(&payload).filter(|(ended, _)| ended == call).map(|(_, ending)| ending)
    })
}

fn ended(item: &Item<'_>) -> Option<Ending> {
    let exit: Option<i32> = item.exit_code.map(RawValue::get).and_then(|code| code.parse().ok());
    match (exit, json::name(item.status).as_deref()) {
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

    fn taken(id: &str) -> String {
        let usage = r#"{"input_tokens":100,"cached_input_tokens":40,"output_tokens":5}"#;
        format!(r#"{{"type":"token_usage_record","payload":{{"response_id":"{id}","usage":{usage}}}}}"#) + "\n"
    }

    fn knowing<'a>(last: Option<&'a str>, call: &'a str) -> Known<'a> {
        Known { last, model: Some("m"), call: Some(call), ..Known::default() }
    }

    #[test]
    fn calls_between_two_answers_are_one_response_wherever_a_reading_ends() {
        let text = [call("a"), call("b"), taken("r1"), output("a", "x"), output("b", "x"), call("c"), taken("r2")];
        let whole = usage(text.concat().as_bytes(), knowing(None, "c"));
        assert_eq!(whole.response.as_deref(), Some("response-1"));
        assert_eq!(whole.usage, Usage { input: 120, output: 10, cache_read: 80, cache_write: 0 });
        let mut last: Option<String> = None;
        let mut responses = Vec::new();
        for line in &text {
            let asked = ["b", "c"].map(|call| usage(line.as_bytes(), knowing(last.as_deref(), call)));
            responses.push(asked.each_ref().map(|read| read.response.clone().unwrap_or_default()).join(" "));
            last = asked[0].last.clone();
        }
        let numbers: Vec<String> = responses.iter().map(|both| both.replace("response-", "")).collect();
        // The second call stays with the first though that one is answered; the next belongs to the next response, also
        // while it does not stand here yet.
        assert_eq!(numbers, ["0 0", "0 0", "0 0", "0 1", "0 1", "1 1", "1 1"]);
        assert_eq!(last, whole.last);
        assert_eq!(usage(taken("r2").as_bytes(), knowing(last.as_deref(), "c")).messages, 0, "counted before");
    }

    fn item(id: &str, rest: &str) -> String {
        let item = format!(r#"{{"type":"CommandExecution","id":"{id}",{rest}}}"#);
        format!(r#"{{"type":"event_msg","payload":{{"type":"item_completed","item":{item}}}}}"#) + "\n"
    }

    #[test]
    fn a_command_s_end_is_found_by_its_name_and_a_running_one_has_none() {
        let text = [
            "half a line about c1\n".to_owned(),
            item("c1", r#""status":"failed","exit_code":1"#),
            item("c2", r#""status":"completed","exit_code":0"#),
            item("c3", r#""status":"in_progress","exit_code":null"#),
            item("c4", r#""status":"declined","exit_code":null"#),
            output("c1", "quotes c2"),
        ]
        .concat();
        let of = |call: &str| outcome(text.as_bytes(), call);
        assert_eq!(of("c1"), Some((Outcome::Failed, Some(1))));
        assert_eq!(of("c2"), Some((Outcome::Ok, Some(0))));
        assert_eq!((of("c3"), of("c5")), (None, None));
        assert_eq!(of("c4"), Some((Outcome::Denied, None)));
    }

    #[test]
    fn an_answer_no_hook_was_told_of_is_a_failure_unless_the_client_or_a_command_says_otherwise() {
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
        let ended = usage(text.as_bytes(), Known::default()).ended;
        let told: Vec<_> = ended.iter().map(|end| (end.call.as_str(), end.answer.outcome, end.answer.exit)).collect();
        let (ok, failed) = (Outcome::Ok, Outcome::Failed);
        let patches = [("s", ok, Some(0)), ("f", ok, None), ("n", failed, None), ("d", Outcome::Denied, None)];
        assert_eq!(told, [&[("p", failed, None), ("e", ok, Some(0))], &patches[..]].concat());
    }

    #[test]
    fn a_command_that_goes_on_has_not_ended() {
        let text = output("c", r"Chunk ID: 1\nWall time: 0.2 seconds\nProcess running with session ID 7\nOutput:\n");
        assert_eq!(usage(text.as_bytes(), Known::default()).ended, []);
    }
}
