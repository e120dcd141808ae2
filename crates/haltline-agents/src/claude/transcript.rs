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
use serde_json::value::RawValue;

use crate::json::{self, Unread};
use crate::transcript::claude::{Block, Line};
use crate::transcript::record;
use crate::transcript_reader::{TranscriptUsage, records, whole_lines};

/// Number of responses remembered from one read to the next. The lines of one response are adjacent, except for lines
/// of agents that work at the same time.
const RESPONSES_MAX: usize = 8;

json::unread! {
    pub(crate) struct Message {
        id, model, usage,
        /// A text, or content blocks.
        content,
    }

    struct TokenCounts {
        input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation,
    }
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

pub(crate) struct ResponsePart<'a> {
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
