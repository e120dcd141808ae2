//! Sums the tokens of a session from the client's transcript: JSON lines, read on from where the previous read ended.
//!
//! One response takes several lines, one per part, each with the usage up to that part: the first lines report fewer
//! output tokens than the last. So haltline counts a response once and adds what a later line adds. When a sub-agent
//! replays a response, it has the same id and adds nothing.
//!
//! The format is internal to the client: haltline skips a line that it does not understand.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use haltline_core::identity::ModelText;
use haltline_core::loop_::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Unread};
use crate::transcript::claude::{Block, Line};
use crate::transcript::record;
use crate::transcript_reader::{TranscriptUsage, records, whole_lines};

/// Number of responses remembered from one read to the next. The lines of one response are adjacent, except for lines
/// of agents that work at the same time.
const RESPONSES_MAX: usize = 8;

/// The message of a response.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    id: Unread<'a>,
    model: Unread<'a>,
    usage: Unread<'a>,
    /// A text, or content blocks.
    pub content: Unread<'a>,
}

#[derive(Deserialize)]
struct TokenCounts<'a> {
    #[serde(borrow)]
    input_tokens: Unread<'a>,
    output_tokens: Unread<'a>,
    cache_read_input_tokens: Unread<'a>,
    cache_creation_input_tokens: Unread<'a>,
    cache_creation: Unread<'a>,
}

impl Message<'_> {
    /// True for a note of the client to itself that has the format of a response.
    pub fn is_synthetic(&self) -> bool {
        self.model.and_then(json::text).as_deref() == Some("<synthetic>")
    }
}

impl TokenCounts<'_> {
    fn usage(&self) -> Usage {
        Usage {
            input: record::tokens(self.input_tokens),
            output: record::tokens(self.output_tokens),
            cache_read: record::tokens(self.cache_read_input_tokens),
            cache_write: record::tokens(self.cache_creation_input_tokens),
        }
    }
}

/// One line of a response.
pub(crate) struct ResponsePart<'a> {
    /// The id of the response.
    pub id: Cow<'a, str>,
    pub model: Cow<'a, str>,
    /// The usage up to this line.
    pub usage: Usage,
    /// The part of `usage.cache_write` that is cached for an hour.
    pub cache_write_hour: u64,
}

/// The responses that were counted, so that none is counted twice.
#[derive(Debug)]
pub(crate) struct CountedResponses {
    outputs: BTreeMap<String, u64>,
    order: VecDeque<String>,
    responses_max: usize,
}

impl CountedResponses {
    /// Starts empty, and forgets the oldest of more than `responses_max` responses.
    pub fn new(responses_max: usize) -> Self {
        Self { outputs: BTreeMap::new(), order: VecDeque::new(), responses_max }
    }

    /// What a line adds to the lines before it (tokens, hour-long cache writes), and whether its response is new;
    /// `None` if it adds nothing.
    pub fn count_part(&mut self, part: &ResponsePart<'_>) -> Option<(Usage, u64, bool)> {
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

/// Reads the whole lines of `text`, which follows what was read before; `resume_state` is what that read returned.
pub fn usage(text: &[u8], resume_state: Option<&str>) -> TranscriptUsage {
    let whole = whole_lines(text);
    let mut counted = CountedResponses::new(usize::MAX);
    for (id, output) in parse_resume_state(resume_state) {
        counted.insert(id, output);
    }
    let mut sum = TranscriptUsage { consumed: whole.len() as u64, ..TranscriptUsage::default() };
    for (message, request_id) in records(whole).filter_map(response) {
        let Some(part) = response_part(&message, request_id) else { continue };
        if let Some((usage, cache_write_hour, is_new)) = counted.count_part(&part) {
            sum.messages = sum.messages.saturating_add(u32::from(is_new));
            sum.add_response(&part.model, &usage, cache_write_hour);
        }
    }
    let CountedResponses { outputs, order, .. } = counted;
    let recent = order.range(order.len().saturating_sub(RESPONSES_MAX)..);
    let recent: Vec<String> = recent.map(|id| format!("{id}={}", outputs[id])).collect();
    sum.resume_state = if recent.is_empty() { None } else { Some(recent.join(" ")) };
    sum
}

/// The text of the last response in these lines.
pub fn last_text(text: &[u8]) -> Option<ModelText> {
    records(text).rev().filter_map(response).find_map(|(message, _)| {
        let blocks: Vec<Block<'_>> = serde_json::from_str(message.content?.get()).ok()?;
        blocks.iter().rev().find_map(|block| ModelText::from_text(&json::text(block.text?)?))
    })
}

/// Parses `id=output id=output …`, oldest first.
fn parse_resume_state(resume_state: Option<&str>) -> Vec<(String, u64)> {
    let each = resume_state.unwrap_or_default().split(' ').filter_map(|entry| entry.rsplit_once('='));
    each.filter_map(|(id, output)| Some((id.to_owned(), output.parse().ok()?))).collect()
}

/// The message of a record of type `assistant`, and the id of its request.
fn response(line: Line<'_>) -> Option<(Message<'_>, Unread<'_>)> {
    if line.r#type.and_then(json::text).as_deref() != Some("assistant") {
        return None;
    }
    Some((json::object(line.message?)?, line.request_id))
}

/// The response that a record of type `assistant` is a part of.
pub(crate) fn response_part<'a>(message: &Message<'a>, request_id: Unread<'a>) -> Option<ResponsePart<'a>> {
    if message.is_synthetic() {
        return None;
    }
    let model = message.model.and_then(json::text).unwrap_or_default();
    let id = message.id.and_then(json::text).or_else(|| request_id.and_then(json::text))?;
    // An id with a space, or an empty one, would not survive `resume_state`.
    if id.is_empty() || id.contains(char::is_whitespace) {
        return None;
    }
    let counts: TokenCounts<'_> = json::object(message.usage?)?;
    let usage = counts.usage();
    let cache_write_hour = record::tokens(json::member(counts.cache_creation, "ephemeral_1h_input_tokens"));
    Some(ResponsePart { id, model, usage, cache_write_hour: cache_write_hour.min(usage.cache_write) })
}

/// The tokens in a usage object of the model service.
pub(crate) fn usage_of(value: &RawValue) -> Option<Usage> {
    json::object::<TokenCounts<'_>>(value).map(|counts| counts.usage())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript_reader::{ModelUsage, add};

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
        assert_eq!(found.by_model, [ModelUsage { model: "claude-x".to_owned(), usage: whole, cache_write_hour: 0 }]);
        assert_eq!(found.resume_state.as_deref(), Some("m1=30 m2=5"));
    }

    #[test]
    fn resumed_reads_count_no_response_and_no_byte_twice() {
        let text: String = (0..20).map(|n| line(&format!("m{n}"), "a", 1) + &line(&format!("m{n}"), "a", 7)).collect();
        let whole = usage(text.as_bytes(), None);
        for step in [1, 50, 333, 1000] {
            let (mut start, mut end, mut last) = (0, 0, None);
            let (mut sum, mut messages) = (Usage::default(), 0);
            while start < text.len() {
                end = (end + step).min(text.len());
                let part = usage(&text.as_bytes()[start..end], last.as_deref());
                add(&mut sum, &part.usage);
                (start, last) = (start + usize::try_from(part.consumed).expect("small"), part.resume_state);
                messages += part.messages;
            }
            assert_eq!((sum, messages, last), (whole.usage, whole.messages, whole.resume_state.clone()), "step {step}");
        }
    }

    #[test]
    fn lines_that_are_not_responses_are_skipped() {
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
        assert_eq!((found.consumed, found.resume_state.as_deref()), (text.len() as u64 + 1, Some("m0=3 w=0")));
        assert_eq!(usage(b"", Some("m0=3")).resume_state.as_deref(), Some("m0=3"));
    }

    #[test]
    fn the_cost_includes_hour_long_cache_writes_and_is_unknown_with_an_unknown_model() {
        let text = r#"{"type":"assistant","message":{"id":"m","model":"claude-opus-4-5-20251101","usage":{"input_tokens":0,"cache_creation_input_tokens":2000000,"cache_creation":{"ephemeral_1h_input_tokens":1000000}}}}"#;
        let known = usage(format!("{text}\n").as_bytes(), None);
        assert_eq!(known.cost(&[]), Some(16_250_000));
        let both = usage(format!("{text}\n{}", line("n", "unheard-of", 1)).as_bytes(), None);
        assert_eq!(both.cost(&[]), None);
    }
}
