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

use crate::json::{self, Block};
use crate::transcript::codex::{Item, Line, usage as tokens};
use crate::transcript::record;
use crate::transcript_reader::{CountedIds, EndedCall, Ending, ReadContext, TranscriptUsage, records, whole_lines};

/// Number of calls remembered of one response; no model makes more at once.
const CALLS_MAX: usize = 64;

json::unread! {
    /// The call that an `item_completed` is about.
    struct CompletedItem { id, status, exit_code }
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
