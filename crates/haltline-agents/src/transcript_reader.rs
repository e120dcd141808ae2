//! What hooks read from a client's transcript: token usage, the model's text, and the outcome of calls.

use haltline_core::identity::{CallResult, ModelText, Outcome};
use haltline_core::loop_::Usage;
use serde::Deserialize;

use crate::price::{self, Price};

/// How haltline reads a client's transcript, each time from where the previous read ended.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptReader {
    /// Sums the token usage of the whole lines in `text`.
    pub usage: fn(text: &[u8], known: ReadContext<'_>) -> TranscriptUsage,
    /// Returns the text of the last response in these lines.
    pub last_text: fn(text: &[u8]) -> Option<ModelText>,
    /// Returns how a call went, if these lines say so.
    pub outcome: fn(text: &[u8], call: &str) -> Option<Ending>,
    /// True if the transcript records a person's prompts, and does not record a hook's text as one.
    pub records_user_prompts: bool,
    /// True if all agents of a session write into one transcript. haltline then reads on for all of them together,
    /// because a sub-agent that ended has no hook left that could read its last lines.
    pub is_shared: bool,
}

impl TranscriptReader {
    /// A reader of a transcript that holds no outcomes of calls, and is one agent's.
    pub(crate) const fn new(
        usage: fn(&[u8], ReadContext<'_>) -> TranscriptUsage,
        last_text: fn(&[u8]) -> Option<ModelText>,
    ) -> Self {
        Self { usage, last_text, outcome: |_text, _call| None, records_user_prompts: false, is_shared: false }
    }
}

/// What the reader knows before it starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadContext<'a> {
    /// The `resume_state` that the previous read returned.
    pub resume_state: Option<&'a str>,
    pub session: &'a str,
    /// The sub-agent that makes the call, if several agents write into one transcript; `None` is the main agent.
    pub sub_agent: Option<&'a str>,
    /// The model that the hook's payload named.
    pub model: Option<&'a str>,
    /// The call that the hook waits to decide.
    pub call: Option<&'a str>,
}

/// The outcome of a call, and its exit code.
pub type Ending = (Outcome, Option<i32>);

/// The token usage of one part of a transcript, and what else haltline learned from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptUsage {
    /// Number of bytes read, in whole lines.
    pub consumed: u64,
    /// Number of responses that began in these lines.
    pub messages: u32,
    /// Tokens of these responses, and tokens added to earlier responses.
    pub usage: Usage,
    /// The same tokens by model, in the order in which the models first appear.
    pub by_model: Vec<ModelUsage>,
    /// What the next read must know about the last responses. Unchanged if there was no response.
    pub resume_state: Option<String>,
    /// The response that the pending call belongs to, if the transcript says so.
    pub response: Option<String>,
    /// Set if the lines contain a prompt that a person wrote: true if the last such prompt lifts the spawn limits.
    pub prompt: Option<bool>,
    /// Completed calls, in order. Hooks did not report some of them.
    pub ended: Vec<EndedCall>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedCall {
    pub call: String,
    pub result: CallResult,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// The model's name, as the service spells it.
    pub model: String,
    pub usage: Usage,
    /// The part of `usage.cache_write` that is cached for an hour, which costs more.
    pub cache_write_hour: u64,
}

impl TranscriptUsage {
    /// The cost in millionths of a dollar; `None` if the price of any model is unknown.
    pub fn cost(&self, extra: &[Price]) -> Option<u64> {
        let costs = self.by_model.iter();
        costs.map(|part| price::cost_with_hour(&part.model, &part.usage, part.cache_write_hour, extra)).sum()
    }

    pub(crate) fn count_response(&mut self, model: &str, usage: &Usage) {
        self.messages = self.messages.saturating_add(1);
        self.add_response(model, usage, 0);
    }

    pub(crate) fn add_response(&mut self, model: &str, usage: &Usage, cache_write_hour: u64) {
        add(&mut self.usage, usage);
        let index = self.by_model.iter().position(|part| part.model == model).unwrap_or_else(|| {
            self.by_model.push(ModelUsage { model: model.to_owned(), ..ModelUsage::default() });
            self.by_model.len() - 1
        });
        let part = &mut self.by_model[index];
        add(&mut part.usage, usage);
        part.cache_write_hour = part.cache_write_hour.saturating_add(cache_write_hour);
    }
}

pub(crate) fn add(sum: &mut Usage, more: &Usage) {
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
    sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
}

/// The ids of the responses that were counted, so that none is counted twice.
#[derive(Debug, Default)]
pub(crate) struct CountedIds(Vec<String>);

impl CountedIds {
    /// Number of ids that the next read must know.
    const RECENT_MAX: usize = 8;

    /// True if the response has not been counted yet; from then on it has.
    pub fn insert(&mut self, id: String) -> bool {
        if self.0.contains(&id) {
            return false;
        }
        // One read may see many responses; only the last ones matter to the next read.
        if self.0.len() >= 4 * Self::RECENT_MAX {
            self.0.drain(..3 * Self::RECENT_MAX);
        }
        self.0.push(id);
        true
    }

    /// What the next read must know, oldest first.
    pub fn recent(&self) -> &[String] {
        &self.0[self.0.len().saturating_sub(Self::RECENT_MAX)..]
    }
}

/// The records in these lines, without lines of another form.
pub(crate) fn records<'a, T: Deserialize<'a>>(lines: &'a [u8]) -> impl DoubleEndedIterator<Item = T> {
    lines.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The leading part of the text that consists of whole lines.
pub(crate) fn whole_lines(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)]
}
