//! What hooks read of a client's transcript: what responses took, what was said, how a call went.

use haltline_core::identity::{Answer, Outcome, Said};
use haltline_core::loop_::Usage;

use crate::price::{self, Price};

/// How a client's transcript is read on from where the last reading ended.
#[derive(Clone, Copy, Debug)]
pub struct Feed {
    /// What whole lines took.
    pub usage: fn(text: &[u8], known: Known<'_>) -> TranscriptUse,
    /// What the last response in these lines said.
    pub said: fn(text: &[u8]) -> Option<Said>,
    /// How a call went, where these lines say it.
    pub outcome: fn(text: &[u8], call: &str) -> Option<Ending>,
    /// A person's prompts stand in it, and the words of a hook that look like one do not.
    pub tells_askers: bool,
    /// All agents of a session write into one transcript. It is read on for all of them together: who ended has no hook left
    /// to read its last lines.
    pub is_shared: bool,
}

/// What is known before a reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// What the reading before returned.
    pub last: Option<&'a str>,
    /// The session.
    pub session: &'a str,
    /// Whose call it is, where the lines of several agents stand in one transcript; `None` is the main one's.
    pub agent: Option<&'a str>,
    /// The model the hook was told of.
    pub model: Option<&'a str>,
    /// The call the hook is asked about.
    pub call: Option<&'a str>,
}

/// How a call ended, and with which exit code.
pub type Ending = (Outcome, Option<i32>);

/// What a part of a transcript took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptUse {
    /// How many bytes were read: whole lines only.
    pub consumed: u64,
    /// How many responses began in them.
    pub messages: u32,
    /// What they took, and what was added to those before.
    pub usage: Usage,
    /// The same by model, in the order the models first appear.
    pub by_model: Vec<ModelUse>,
    /// What the next reading must know of the last responses; it stays as it was where none came.
    pub last: Option<String>,
    /// The response that the call asked about belongs to, where the transcript tells them apart.
    pub response: Option<String>,
    /// The last prompt of a person, where the transcript tells them from others: whether it lifts the spawn limits.
    pub prompt: Option<bool>,
    /// Calls that are over, in order; some of them no hook was told of.
    pub ended: Vec<Ended>,
}

/// A call that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its name.
    pub call: String,
    /// What came back.
    pub answer: Answer,
}

/// What one model took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelUse {
    /// The model, as the service calls it.
    pub model: String,
    /// What it took.
    pub usage: Usage,
    /// The part of `usage.cache_write` that is kept for an hour, which is dearer.
    pub cache_write_hour: u64,
}

impl TranscriptUse {
    /// What it cost in millionths of a dollar; unknown as soon as one model's price is.
    pub fn cost(&self, extra: &[Price]) -> Option<u64> {
        let costs = self.by_model.iter();
        costs.map(|part| price::cost_with_hour(&part.model, &part.usage, part.cache_write_hour, extra)).sum()
    }

    /// Adds what a response of this model took.
    pub(crate) fn take(&mut self, model: &str, usage: &Usage, cache_write_hour: u64) {
        add(&mut self.usage, usage);
        let place = self.by_model.iter().position(|part| part.model == model).unwrap_or_else(|| {
            self.by_model.push(ModelUse { model: model.to_owned(), ..ModelUse::default() });
            self.by_model.len() - 1
        });
        let part = &mut self.by_model[place];
        add(&mut part.usage, usage);
        part.cache_write_hour = part.cache_write_hour.saturating_add(cache_write_hour);
    }
}

/// Adds to a sum.
pub(crate) fn add(sum: &mut Usage, more: &Usage) {
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
    sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
}

/// The whole lines at the start of a text.
pub(crate) fn whole_lines(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)]
}
