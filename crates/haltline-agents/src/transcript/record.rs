//! What the readers of all formats share: records out of a piece, times, the calls that have begun, and answers that
//! nothing but their text and an exit code explain.

use std::borrow::Cow;

use haltline_core::Instant;
use haltline_core::identity::{Answer, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Damaged;
use crate::json;

/// More calls than this never wait for their answers; the oldest are given up.
const CALLS_MAX: usize = 1024;

/// A value that nobody has read yet.
pub type Unread<'a> = Option<&'a RawValue>;

/// Reads every object of a piece: two writers at a time leave two of them on one line.
pub fn each<'a, T: Deserialize<'a>>(text: &'a str, mut take: impl FnMut(T)) -> Result<(), Damaged> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<T>();
    loop {
        let rest = text.get(objects.byte_offset()..).unwrap_or_default().trim_start();
        if rest.is_empty() {
            return Ok(());
        }
        // A struct is also read from a list, which no record is.
        if !rest.starts_with('{') {
            return Err(Damaged);
        }
        match objects.next() {
            Some(Ok(object)) => take(object),
            Some(Err(_)) | None => return Err(Damaged),
        }
    }
}

/// Whether the value is this text, which needs no escapes.
pub fn is_word(value: Unread<'_>, word: &str) -> bool {
    value.and_then(|value| value.get().strip_prefix('"')?.strip_suffix('"')).is_some_and(|text| text == word)
}

/// A time in words, as RFC 3339 has it.
pub fn time(value: Unread<'_>) -> Option<Instant> {
    value.and_then(json::text).and_then(|text| Instant::parse(&text).ok())
}

/// A time in milliseconds since 1970.
pub fn millis(value: Unread<'_>) -> Option<Instant> {
    value.and_then(|value| value.get().parse().ok()).map(Instant::from_millis)
}

/// A number of tokens; what is none counts nothing.
pub fn tokens(value: Unread<'_>) -> u64 {
    value.and_then(|value| value.get().parse().ok()).unwrap_or_default()
}

/// The elements one by one: what is of another kind is left out.
pub fn elements<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Vec<T> {
    json::list(value).unwrap_or_else(|| {
        let each: Vec<&RawValue> = json::list(value).unwrap_or_default();
        each.into_iter().filter_map(json::object).collect()
    })
}

/// What a call was given: an object as it stands, a text without its quotes.
pub fn input(value: Unread<'_>) -> Cow<'_, str> {
    let Some(value) = value else { return Cow::Borrowed("{}") };
    json::text(value).unwrap_or(Cow::Borrowed(value.get()))
}

/// The answer of a call. `is_success` is the client's word, which often says only that the tool itself did not break:
/// the exit code and the text know better.
pub fn answer(is_success: Option<bool>, exit: Option<i32>, text: &str) -> Answer {
    let outcome = if is_success == Some(false) { Outcome::Failed } else { Outcome::Unknown };
    let told = Answer::new(outcome, exit, text);
    if told.outcome == Outcome::Unknown && is_success == Some(true) {
        return Answer::new(Outcome::Ok, exit, text);
    }
    told
}

/// Calls that have begun and not ended.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    agent: Option<String>,
    name: String,
    tool: String,
}

impl Calls {
    /// Takes a call that begins; `false` where it has begun before.
    pub fn begin(&mut self, agent: Option<&str>, name: &str, tool: &str) -> bool {
        if self.find(agent, name).is_some() {
            return false;
        }
        if self.open.len() == CALLS_MAX {
            self.open.remove(0);
        }
        self.open.push(Call { agent: agent.map(str::to_owned), name: name.to_owned(), tool: tool.to_owned() });
        true
    }

    /// Takes a call's end; yields its tool, where it has begun.
    pub fn end(&mut self, agent: Option<&str>, name: &str) -> Option<String> {
        let place = self.find(agent, name)?;
        Some(self.open.remove(place).tool)
    }

    fn find(&self, agent: Option<&str>, name: &str) -> Option<usize> {
        self.open.iter().position(|call| call.name == name && call.agent.as_deref() == agent)
    }
}
