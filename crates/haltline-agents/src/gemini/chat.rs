//! Reads from Gemini CLI's chat file what payloads lack: tokens, and calls that were kept from running.
//!
//! The client writes a message of the model again, under the same id, whenever one of its calls makes progress, so
//! haltline counts it once by that id. Sub-agents write to separate files, which no payload names: haltline does not
//! see their usage.

use haltline_core::identity::ModelText;
use haltline_core::loop_::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call;
use crate::json;
use crate::transcript::gemini::{self, Record};
use crate::transcript::record;
use crate::transcript_reader::{CountedIds, EndedCall, ReadContext, TranscriptUsage, records, whole_lines};

/// The usage that one line reports for a response.
pub(crate) struct ResponseUsage {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], context: ReadContext<'_>) -> TranscriptUsage {
    let mut ended = Vec::new();
    let used = sum_usage(text, context, |line| {
        let line = response(line)?;
        ended.extend(line.tool_calls.map(|calls| failed_calls(calls, context.session)).unwrap_or_default());
        Some(ResponseUsage {
            usage: gemini::usage(line.tokens?)?,
            id: json::non_empty_text(line.id),
            model: json::non_empty_text(line.model),
        })
    });
    TranscriptUsage { ended, ..used }
}

/// The calls that failed. The client runs no hook after a call that its own rules, a person or another hook kept from
/// running, nor after a tool that broke.
fn failed_calls(calls: &RawValue, session: &str) -> Vec<EndedCall> {
    let calls: Vec<gemini::Call<'_>> = record::elements(calls);
    let ended = calls.iter().filter(|call| !record::is_text(call.status, "success")).filter_map(|call| {
        let name = call::derived_call_id(session, None, &json::non_empty_text(call.name)?, call.args);
        Some(EndedCall { call: name, result: gemini::call_result(call)? })
    });
    ended.collect()
}

/// The usage in the whole lines of `text`, counting each message once.
pub(crate) fn sum_usage<'a, T: Deserialize<'a>>(
    text: &'a [u8],
    context: ReadContext<'_>,
    read: impl FnMut(T) -> Option<ResponseUsage>,
) -> TranscriptUsage {
    let whole = whole_lines(text);
    let mut sum = TranscriptUsage { consumed: whole.len() as u64, ..TranscriptUsage::default() };
    let mut counted = CountedIds::default();
    for id in context.resume_state.unwrap_or_default().split(' ').filter(|id| !id.is_empty()) {
        counted.insert(id.to_owned());
    }
    for response in records(whole).filter_map(read) {
        // A message without an id is always new.
        if response.id.filter(|id| !id.contains(' ')).is_none_or(|id| counted.insert(id)) {
            sum.count_response(response.model.as_deref().or(context.model).unwrap_or_default(), &response.usage);
        }
    }
    sum.resume_state = Some(counted.recent().join(" "));
    sum
}

pub fn last_text(text: &[u8]) -> Option<ModelText> {
    let mut responses = records(text).rev().filter_map(response);
    responses.find_map(|line| ModelText::from_text(&json::text_for_model(line.content?)))
}

fn response(line: Record<'_>) -> Option<Record<'_>> {
    record::is_text(line.r#type, "gemini").then_some(line)
}

#[cfg(test)]
mod tests {
    use haltline_core::identity::Outcome;
    use haltline_core::loop_::LoopEvent;

    use super::*;

    #[test]
    fn a_call_that_was_kept_from_running_ends_under_the_id_of_its_start() {
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
        let ended = usage(format!("{line}\n").as_bytes(), ReadContext { session: "s", ..ReadContext::default() }).ended;
        let start = crate::gemini::read(
            br#"{"session_id":"s","hook_event_name":"BeforeTool","tool_name":"run_shell_command",
            "tool_input":{"command":"rm -r x"}}"#,
        );
        let Some(LoopEvent::ToolStart { call, .. }) = start.expect("readable").loop_event else { panic!("no start") };
        let [only] = ended.as_slice() else { panic!("{ended:#?}") };
        assert_eq!((&only.call, only.result.outcome), (&call, Outcome::Denied));
    }

    #[test]
    fn a_message_that_is_written_twice_is_counted_once() {
        let line = |id: &str| {
            format!(
                r#"{{"id":"{id}","type":"gemini","content":"on it","model":"m","tokens":{{"input":900,"output":90,"cached":100,"thoughts":10,"tool":0,"total":1000}}}}"#
            )
        };
        let text = format!("{}\n{}\nno JSON\n{}\n{{\"cut", line("a"), line("a"), line("b"));
        let first = usage(text.as_bytes(), ReadContext::default());
        assert_eq!((first.messages, first.resume_state.as_deref()), (2, Some("a b")));
        assert_eq!(first.usage, Usage { input: 1_600, output: 200, cache_read: 200, cache_write: 0 });
        assert_eq!(first.consumed as usize, text.len() - "{\"cut".len());
        let again = usage(
            format!("{}\n", line("b")).as_bytes(),
            ReadContext { resume_state: Some("a b"), ..ReadContext::default() },
        );
        assert_eq!((again.messages, again.usage), (0, Usage::default()));
        assert_eq!(last_text(text.as_bytes()), ModelText::from_text("on it"));
    }
}
