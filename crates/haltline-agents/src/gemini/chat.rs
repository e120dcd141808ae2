//! What Gemini CLI's chat file says of tokens, and of calls that were kept from running: payloads do not.
//!
//! A message of the model is written again, under its id, whenever one of its calls gets further, so it is counted once by
//! that id. Sub-agents write files of their own, which no payload names: what they took is not seen.

use haltline_core::identity::Said;
use haltline_core::loop_::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{self, Unread};
use crate::feed::{Ended, Known, TranscriptUse, whole_lines};
use crate::json;
use crate::transcript::{gemini, record};

/// So many messages are known by their ids; earlier ones are not written again.
const MESSAGES_MAX: usize = 8;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    r#type: Unread<'a>,
    content: Unread<'a>,
    tool_calls: Unread<'a>,
    tokens: Unread<'a>,
    model: Unread<'a>,
}

/// What one line says that a response took.
pub(crate) struct Took {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], known: Known<'_>) -> TranscriptUse {
    let mut ended = Vec::new();
    let used = sum(text, known, |line| {
        let line = response(line)?;
        ended.extend(line.tool_calls.map(|calls| unsuccessful(calls, known.session)).unwrap_or_default());
        Some(Took { usage: gemini::usage(line.tokens?)?, id: json::name(line.id), model: json::name(line.model) })
    });
    TranscriptUse { ended, ..used }
}

/// The calls that failed. The client runs no hook after a call that its own rules, a person or another hook kept from
/// running, nor after a tool that broke.
fn unsuccessful(calls: &RawValue, session: &str) -> Vec<Ended> {
    let calls: Vec<gemini::Call<'_>> = record::elements(calls);
    let ended = calls.iter().filter(|call| !record::is_word(call.status, "success")).filter_map(|call| {
        let name = call::unnamed(session, None, &json::name(call.name)?, call.args);
        Some(Ended { call: name, answer: gemini::answer(call)? })
    });
    ended.collect()
}

/// What the whole lines of `text` took, each message once.
pub(crate) fn sum(text: &[u8], known: Known<'_>, read: impl FnMut(&[u8]) -> Option<Took>) -> TranscriptUse {
    let whole = whole_lines(text);
    let mut sum = TranscriptUse { consumed: whole.len() as u64, ..TranscriptUse::default() };
    let mut counted = Counted::read(known.last);
    for took in whole.split(|&byte| byte == b'\n').filter_map(read) {
        if counted.is_new(took.id) {
            sum.messages = sum.messages.saturating_add(1);
            sum.take(took.model.as_deref().or(known.model).unwrap_or_default(), &took.usage, 0);
        }
    }
    sum.last = Some(counted.write());
    sum
}

/// What the last response said.
pub fn said(text: &[u8]) -> Option<Said> {
    let lines = text.split(|&byte| byte == b'\n').rev();
    lines.filter_map(response).find_map(|line| Said::of(&json::shown(line.content?)))
}

fn response(line: &[u8]) -> Option<Line<'_>> {
    let line = serde_json::from_slice::<Line<'_>>(line).ok()?;
    record::is_word(line.r#type, "gemini").then_some(line)
}

/// The ids of the last messages that were counted.
struct Counted(Vec<String>);

impl Counted {
    fn read(last: Option<&str>) -> Self {
        Self(last.unwrap_or_default().split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect())
    }

    /// Whether a message is counted now; one without an id always is.
    fn is_new(&mut self, id: Option<String>) -> bool {
        let Some(id) = id.filter(|id| !id.contains(' ')) else { return true };
        if self.0.contains(&id) {
            return false;
        }
        self.0.push(id);
        let excess = self.0.len().saturating_sub(MESSAGES_MAX);
        self.0.drain(..excess);
        true
    }

    fn write(&self) -> String {
        self.0.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use haltline_core::identity::Outcome;
    use haltline_core::loop_::Happening;

    use super::*;

    #[test]
    fn a_call_that_was_kept_from_running_ends_under_the_name_that_its_start_had() {
        let call = |command: &str, status: &str, result: &str| {
            format!(
                r#"{{"id":"c","name":"run_shell_command","args":{{"command":"{command}"}},"status":"{status}",
                "result":[{{"functionResponse":{{"id":"c","response":{{{result}}}}}}}]}}"#
            )
        };
        let calls = [
            call("rm -r x", "error", r#""error":"Tool execution denied by policy.""#),
            call("make", "success", r#""output":"Output: done""#),
            call("make doc", "executing", ""),
        ];
        let line = format!(r#"{{"id":"a","type":"gemini","toolCalls":[{}]}}"#, calls.join(",")).replace('\n', "");
        let ended = usage(format!("{line}\n").as_bytes(), Known { session: "s", ..Known::default() }).ended;
        let start = crate::gemini::read(
            br#"{"session_id":"s","hook_event_name":"BeforeTool","tool_name":"run_shell_command",
            "tool_input":{"command":"rm -r x"}}"#,
        );
        let Some(Happening::ToolStart { call, .. }) = start.expect("readable").what else { panic!("no start") };
        let [only] = ended.as_slice() else { panic!("{ended:#?}") };
        assert_eq!((&only.call, only.answer.outcome), (&call, Outcome::Denied));
    }

    #[test]
    fn a_message_that_is_written_again_is_counted_once() {
        let line = |id: &str| {
            format!(
                r#"{{"id":"{id}","type":"gemini","content":"on it","model":"m","tokens":{{"input":900,"output":90,"cached":100,"thoughts":10,"tool":0,"total":1000}}}}"#
            )
        };
        let text = format!("{}\n{}\nno JSON\n{}\n{{\"cut", line("a"), line("a"), line("b"));
        let first = usage(text.as_bytes(), Known::default());
        assert_eq!((first.messages, first.last.as_deref()), (2, Some("a b")));
        assert_eq!(first.usage, Usage { input: 1_600, output: 200, cache_read: 200, cache_write: 0 });
        assert_eq!(first.consumed as usize, text.len() - "{\"cut".len());
        let again = usage(format!("{}\n", line("b")).as_bytes(), Known { last: Some("a b"), ..Known::default() });
        assert_eq!((again.messages, again.usage), (0, Usage::default()));
        assert_eq!(said(text.as_bytes()), Said::of("on it"));
    }
}
