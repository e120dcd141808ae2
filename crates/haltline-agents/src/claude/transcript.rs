//! What a session took, from the client's transcript: JSON lines, read on from where the last reading ended.
//!
//! One response stands there as several lines, one per part of it, each with what the whole had taken by then: the
//! first lines know less of the output than the last. So a response is counted once, and what a later line of it
//! adds is added. A replay of a response by a sub-agent has the same id and adds nothing.
//!
//! The client calls the format its own affair: a line that is not understood is passed over.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use haltline_core::identity::Said;
use haltline_core::loop_::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::feed::{TranscriptUse, whole_lines};
use crate::json;

/// How many responses are remembered from one reading to the next. Lines of one response stand together; between
/// them come at most those of the agents that work at the same time.
const RESPONSES_MAX: usize = 8;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Option<&'a RawValue>,
    #[serde(rename = "requestId")]
    request_id: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

/// What a response says of itself, and what is in it.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    /// A text, or blocks.
    pub content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Taken<'a> {
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    output_tokens: Option<&'a RawValue>,
    cache_read_input_tokens: Option<&'a RawValue>,
    cache_creation_input_tokens: Option<&'a RawValue>,
    cache_creation: Option<&'a RawValue>,
}

impl Message<'_> {
    /// The client's own note to itself, written in the shape of a response.
    pub fn is_synthetic(&self) -> bool {
        self.model.and_then(json::text).as_deref() == Some("<synthetic>")
    }
}

impl Taken<'_> {
    fn usage(&self) -> Usage {
        Usage {
            input: count(self.input_tokens),
            output: count(self.output_tokens),
            cache_read: count(self.cache_read_input_tokens),
            cache_write: count(self.cache_creation_input_tokens),
        }
    }
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    ephemeral_1h_input_tokens: Option<&'a RawValue>,
}

/// One line of a response.
pub(crate) struct Part<'a> {
    /// The response.
    pub id: Cow<'a, str>,
    /// The model that gave it.
    pub model: Cow<'a, str>,
    /// What it had taken by this line.
    pub usage: Usage,
    /// The part of `usage.cache_write` that is kept for an hour.
    pub cache_write_hour: u64,
}

/// The responses that were counted, so that none is counted twice.
#[derive(Debug)]
pub(crate) struct Counted {
    outputs: BTreeMap<String, u64>,
    order: VecDeque<String>,
    responses_max: usize,
}

impl Counted {
    /// None yet; of more than `responses_max` the oldest are forgotten.
    pub fn new(responses_max: usize) -> Self {
        Self { outputs: BTreeMap::new(), order: VecDeque::new(), responses_max }
    }

    /// What a line adds to those before it, and whether its response is new; `None` where it adds nothing.
    pub fn take(&mut self, part: &Part<'_>) -> Option<(Usage, u64, bool)> {
        if let Some(output) = self.outputs.get_mut(part.id.as_ref()) {
            let more = part.usage.output.saturating_sub(*output);
            *output += more;
            return (more > 0).then(|| (Usage { output: more, ..Usage::default() }, 0, false));
        }
        self.insert(part.id.clone().into_owned(), part.usage.output);
        Some((part.usage, part.cache_write_hour, true))
    }

    fn insert(&mut self, id: String, output: u64) {
        if self.outputs.insert(id.clone(), output).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > self.responses_max
            && let Some(oldest) = self.order.pop_front()
        {
            self.outputs.remove(&oldest);
        }
    }
}

/// Reads the whole lines of `text`, which follows what was read before; `last` is what that reading returned.
pub fn usage(text: &[u8], last: Option<&str>) -> TranscriptUse {
    let whole = whole_lines(text);
    let mut counted = Counted::new(usize::MAX);
    for (id, output) in remembered(last) {
        counted.insert(id, output);
    }
    let mut sum = TranscriptUse { consumed: whole.len() as u64, ..TranscriptUse::default() };
    for line in whole.split(|&byte| byte == b'\n') {
        let Some(part) = part(line) else { continue };
        if let Some((usage, cache_write_hour, is_new)) = counted.take(&part) {
            sum.messages = sum.messages.saturating_add(u32::from(is_new));
            sum.take(&part.model, &usage, cache_write_hour);
        }
    }
    let Counted { outputs, order, .. } = counted;
    let recent = order.range(order.len().saturating_sub(RESPONSES_MAX)..);
    let recent: Vec<String> = recent.map(|id| format!("{id}={}", outputs[id])).collect();
    sum.last = if recent.is_empty() { None } else { Some(recent.join(" ")) };
    sum
}

/// What the last response in these lines said.
pub fn said(text: &[u8]) -> Option<Said> {
    let lines = text.split(|&byte| byte == b'\n').rev();
    lines.filter_map(said_in).next()
}

fn said_in(line: &[u8]) -> Option<Said> {
    let (message, _) = response(line)?;
    let blocks: Vec<TextBlock<'_>> = serde_json::from_str(message.content?.get()).ok()?;
    blocks.iter().rev().find_map(|block| Said::of(&json::text(block.text?)?))
}

/// A block of a response, as far as it is heard.
#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// `id=output id=output …`, oldest first.
fn remembered(last: Option<&str>) -> Vec<(String, u64)> {
    let each = last.unwrap_or_default().split(' ').filter_map(|entry| entry.rsplit_once('='));
    each.filter_map(|(id, output)| Some((id.to_owned(), output.parse().ok()?))).collect()
}

fn part(line: &[u8]) -> Option<Part<'_>> {
    let (message, request_id) = response(line)?;
    part_of(&message, request_id)
}

/// The message of a record of type `assistant`, and the request it answered.
fn response(line: &[u8]) -> Option<(Message<'_>, Option<&RawValue>)> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    if line.r#type.and_then(json::text).as_deref() != Some("assistant") {
        return None;
    }
    Some((json::object(line.message?)?, line.request_id))
}

/// The response that a record of type `assistant` is a part of.
pub(crate) fn part_of<'a>(message: &Message<'a>, request_id: Option<&'a RawValue>) -> Option<Part<'a>> {
    if message.is_synthetic() {
        return None;
    }
    let model = message.model.and_then(json::text).unwrap_or_default();
    let id = message.id.and_then(json::text).or_else(|| request_id.and_then(json::text))?;
    // A space or nothing would not come back from the next reading.
    if id.is_empty() || id.contains(char::is_whitespace) {
        return None;
    }
    let taken: Taken<'_> = json::object(message.usage?)?;
    let usage = taken.usage();
    let written: Option<Written<'_>> = taken.cache_creation.and_then(json::object);
    let hour = count(written.and_then(|written| written.ephemeral_1h_input_tokens)).min(usage.cache_write);
    Some(Part { id, model, usage, cache_write_hour: hour })
}

/// What an object in the service's words says was taken.
pub(crate) fn usage_of(value: &RawValue) -> Option<Usage> {
    json::object::<Taken<'_>>(value).map(|taken| taken.usage())
}

fn count(value: Option<&RawValue>) -> u64 {
    value.and_then(|value| value.get().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{ModelUse, add};

    fn line(id: &str, model: &str, output: u64) -> String {
        let usage = format!(r#"{{"input_tokens":10,"output_tokens":{output},"cache_creation_input_tokens":4}}"#);
        format!(
            r#"{{"type":"assistant","requestId":"r{id}","message":{{"id":"{id}","model":"{model}","usage":{usage}}}}}"#
        ) + "\n"
    }

    #[test]
    fn a_response_of_several_lines_counts_once_with_its_last_figures() {
        let text = line("m1", "claude-x", 1) + &line("m1", "claude-x", 30) + &line("m2", "claude-x", 5);
        let found = usage(text.as_bytes(), None);
        let whole = Usage { input: 20, output: 35, cache_read: 0, cache_write: 8 };
        assert_eq!((found.messages, found.usage, found.consumed), (2, whole, text.len() as u64));
        assert_eq!(found.by_model, [ModelUse { model: "claude-x".to_owned(), usage: whole, cache_write_hour: 0 }]);
        assert_eq!(found.last.as_deref(), Some("m1=30 m2=5"));
    }

    #[test]
    fn reading_on_counts_neither_a_response_nor_a_byte_twice() {
        let text: String = (0..20).map(|n| line(&format!("m{n}"), "a", 1) + &line(&format!("m{n}"), "a", 7)).collect();
        let whole = usage(text.as_bytes(), None);
        for step in [1, 50, 333, 1000] {
            let (mut start, mut end, mut last) = (0, 0, None);
            let (mut sum, mut messages) = (Usage::default(), 0);
            while start < text.len() {
                end = (end + step).min(text.len());
                let part = usage(&text.as_bytes()[start..end], last.as_deref());
                add(&mut sum, &part.usage);
                (start, last) = (start + usize::try_from(part.consumed).expect("small"), part.last);
                messages += part.messages;
            }
            assert_eq!((sum, messages, last), (whole.usage, whole.messages, whole.last.clone()), "step {step}");
        }
    }

    #[test]
    fn what_is_no_response_is_passed_over() {
        let text = [
            "not json".to_owned(),
            r#"{"type":"user","message":{"id":"u","model":"a","usage":{"input_tokens":9}}}"#.to_owned(),
            r#"{"type":"progress","data":{"message":{"id":"p","usage":{"input_tokens":9}}}}"#.to_owned(),
            line("s", "<synthetic>", 9),
            r#"{"type":"assistant","message":{"id":"n","model":"a"}}"#.to_owned(),
            r#"{"type":"assistant","message":[]}"#.to_owned(),
            r#"{"type":"assistant","message":{"id":"w","usage":{"input_tokens":"many","output_tokens":-4}}}"#
                .to_owned(),
        ]
        .join("\n");
        let found = usage((text.clone() + "\n" + &line("half", "a", 9).replace('\n', "")).as_bytes(), Some("m0=3"));
        assert_eq!((found.messages, found.usage), (1, Usage::default()));
        assert_eq!((found.consumed, found.last.as_deref()), (text.len() as u64 + 1, Some("m0=3 w=0")));
        assert_eq!(usage(b"", Some("m0=3")).last.as_deref(), Some("m0=3"));
    }

    #[test]
    fn the_cost_knows_the_dearer_writes_and_is_unknown_with_one_unknown_model() {
        let text = r#"{"type":"assistant","message":{"id":"m","model":"claude-opus-4-5-20251101","usage":{"input_tokens":0,"cache_creation_input_tokens":2000000,"cache_creation":{"ephemeral_1h_input_tokens":1000000}}}}"#;
        let known = usage(format!("{text}\n").as_bytes(), None);
        assert_eq!(known.cost(&[]), Some(16_250_000));
        let both = usage(format!("{text}\n{}", line("n", "unheard-of", 1)).as_bytes(), None);
        assert_eq!(both.cost(&[]), None);
    }
}
