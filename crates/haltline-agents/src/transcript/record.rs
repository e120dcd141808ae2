//! What the readers of all formats share: records out of a piece, times, the calls that have begun, and answers that
//! nothing but their text and an exit code explain.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use haltline_core::Instant;
use haltline_core::identity::{Answer, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Damaged;
use crate::json;

/// More calls than this never wait for their answers, nor are more remembered after them; the oldest are given up.
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

/// Calls that have begun, and the last of those that have ended.
///
/// Some clients and models count their calls anew in every turn. An id that begins again after its end is another call
/// and gets a name of its own; to the core, which knows a call by its name, it would be the one it has seen.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<Call>,
    ended: VecDeque<Ended>,
}

#[derive(Debug)]
struct Call {
    agent: Option<String>,
    id: String,
    tool: String,
    /// The how manieth call of this id.
    round: u64,
    record: Option<u64>,
}

/// What is left of a call: enough to tell the next one of its id from the same one written again.
#[derive(Debug)]
struct Ended {
    key: u64,
    round: u64,
    record: Option<u64>,
}

impl Calls {
    /// Takes a call that begins and yields its name; `None` where it has begun before, or is a copy of one that has
    /// ended: the same id, input and time.
    pub fn begin(
        &mut self,
        agent: Option<&str>,
        id: &str,
        tool: &str,
        at: Option<Instant>,
        input: &str,
    ) -> Option<String> {
        if self.find(agent, id).is_some() {
            return None;
        }
        // Without a time nobody can tell a copy from the same call made again.
        let record = at.map(|at| hash(&(at.as_millis(), tool, input)));
        let last = self.last(agent, id);
        if last.is_some_and(|last| last.record.is_some() && last.record == record) {
            return None;
        }
        let round = last.map_or(1, |last| last.round + 1);
        if self.open.len() == CALLS_MAX {
            self.open.remove(0);
        }
        let (agent, tool) = (agent.map(str::to_owned), tool.to_owned());
        self.open.push(Call { agent, id: id.to_owned(), tool, round, record });
        Some(named(id, round))
    }

    /// Takes a call's end; yields its name and its tool, where it has begun.
    pub fn end(&mut self, agent: Option<&str>, id: &str) -> Option<(String, String)> {
        let Call { tool, round, record, .. } = self.open.remove(self.find(agent, id)?);
        let key = hash(&(agent, id));
        self.ended.retain(|ended| ended.key != key);
        if self.ended.len() == CALLS_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { key, round, record });
        Some((named(id, round), tool))
    }

    /// The name of the last call of this id that has ended.
    pub fn ended(&self, agent: Option<&str>, id: &str) -> Option<String> {
        self.last(agent, id).map(|last| named(id, last.round))
    }

    fn find(&self, agent: Option<&str>, id: &str) -> Option<usize> {
        self.open.iter().position(|call| call.id == id && call.agent.as_deref() == agent)
    }

    fn last(&self, agent: Option<&str>, id: &str) -> Option<&Ended> {
        let key = hash(&(agent, id));
        self.ended.iter().find(|ended| ended.key == key)
    }
}

fn named(id: &str, round: u64) -> String {
    if round == 1 { id.to_owned() } else { format!("{id}#{round}") }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Option<Instant> {
        Some(Instant::from_millis(millis))
    }

    #[test]
    fn an_id_that_begins_again_after_its_end_is_another_call() {
        let mut calls = Calls::default();
        for (millis, name) in [(1, "c"), (2, "c#2"), (3, "c#3")] {
            assert_eq!(calls.begin(None, "c", "bash", at(millis), "ls").as_deref(), Some(name));
            assert_eq!(calls.begin(None, "c", "bash", at(millis), "ls"), None, "it is open");
            assert_eq!(calls.end(None, "c"), Some((name.to_owned(), "bash".to_owned())));
            assert_eq!(calls.end(None, "c"), None);
        }
        assert_eq!(calls.begin(Some("other"), "c", "bash", at(3), "ls").as_deref(), Some("c"));
    }

    #[test]
    fn a_call_that_is_written_again_as_it_was_is_no_other_call() {
        let mut calls = Calls::default();
        assert!(calls.begin(None, "c", "bash", at(1), "ls").is_some());
        assert!(calls.end(None, "c").is_some());
        assert_eq!(calls.begin(None, "c", "bash", at(1), "ls"), None);
        assert_eq!(calls.begin(None, "c", "bash", at(1), "pwd").as_deref(), Some("c#2"));
    }

    #[test]
    fn what_has_ended_is_forgotten_in_the_end() {
        let mut calls = Calls::default();
        for number in 0..=CALLS_MAX {
            assert!(calls.begin(None, &number.to_string(), "bash", None, "ls").is_some());
            assert!(calls.end(None, &number.to_string()).is_some());
        }
        assert_eq!(calls.ended.len(), CALLS_MAX);
        assert_eq!(calls.begin(None, "0", "bash", None, "ls").as_deref(), Some("0"));
        assert_eq!(calls.begin(None, "1", "bash", None, "ls").as_deref(), Some("1#2"));
    }
}
