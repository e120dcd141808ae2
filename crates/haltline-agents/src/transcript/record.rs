//! What the readers of all formats share: the records of a piece, who wrote them and when, the calls that have begun,
//! and results of which only the text and an exit code are known.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use haltline_core::Instant;
use haltline_core::identity::{Action, CallResult, Outcome};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Damaged, Entry};
use crate::json::{self, Unread};
use crate::price::{self, Price};

/// The number of calls without a result that are kept, and of ended calls that are remembered; the oldest are dropped.
const CALLS_MAX: usize = 1024;

/// Calls `handle` with every object of a piece: two concurrent writers may leave two objects on one line.
pub fn for_each_object<'a, T: Deserialize<'a>>(text: &'a str, mut handle: impl FnMut(T)) -> Result<(), Damaged> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<T>();
    loop {
        let rest = text.get(objects.byte_offset()..).unwrap_or_default().trim_start();
        if rest.is_empty() {
            return Ok(());
        }
        // serde also reads a struct from a list, but no record is a list.
        if !rest.starts_with('{') {
            return Err(Damaged);
        }
        match objects.next() {
            Some(Ok(object)) => handle(object),
            Some(Err(_)) | None => return Err(Damaged),
        }
    }
}

/// True when the value is this text, which must need no escapes.
pub fn is_text(value: Unread<'_>, expected: &str) -> bool {
    value.and_then(|value| value.get().strip_prefix('"')?.strip_suffix('"')).is_some_and(|text| text == expected)
}

/// A time as RFC 3339 text.
pub fn time(value: Unread<'_>) -> Option<Instant> {
    value.and_then(json::text).and_then(|text| Instant::parse(&text).ok())
}

/// A time in milliseconds since 1970.
pub fn millis(value: Unread<'_>) -> Option<Instant> {
    json::number(value).map(Instant::from_millis)
}

/// A number of tokens; 0 for anything that is not a number.
pub fn tokens(value: Unread<'_>) -> u64 {
    json::number(value).unwrap_or_default()
}

/// The elements of a list, parsed in one pass. One by one only if an element is of another kind, which is left out.
pub fn elements<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Vec<T> {
    json::list(value).unwrap_or_else(|| {
        let each: Vec<&RawValue> = json::list(value).unwrap_or_default();
        each.into_iter().filter_map(json::object).collect()
    })
}

/// The arguments of a call: an object as it is written, a text without its quotes.
pub fn input(value: Unread<'_>) -> Cow<'_, str> {
    let Some(value) = value else { return Cow::Borrowed("{}") };
    json::text(value).unwrap_or(Cow::Borrowed(value.get()))
}

/// The result of a call. `is_success` is what the client says, which often only means that the tool itself did not
/// break: the exit code and the text know better.
pub fn call_result(is_success: Option<bool>, exit: Option<i32>, text: &str) -> CallResult {
    let outcome = if is_success == Some(false) { Outcome::Failed } else { Outcome::Unknown };
    let result = CallResult::new(outcome, exit, text);
    if result.outcome == Outcome::Unknown && is_success == Some(true) {
        return CallResult::new(Outcome::Ok, exit, text);
    }
    result
}

/// The usage of a response and its cost by these prices.
pub fn usage_event(usage: Usage, model: Option<&str>, prices: &[Price], last_response: Option<String>) -> LoopEvent {
    let cost = model.and_then(|model| price::cost(model, &usage, prices));
    LoopEvent::Message { usage: Some(usage), cost, model: None, range: None, last_response, text: None }
}

/// When and where a record was written, and by which agent.
#[derive(Clone, Debug, Default)]
pub struct RecordContext {
    pub at: Option<Instant>,
    pub agent_ref: AgentRef,
    pub folder: Option<String>,
    /// Another record says the same.
    pub is_echo: bool,
}

impl RecordContext {
    /// A record of the main agent, at an unknown time.
    pub fn new(client: &str, session: &str) -> Self {
        let agent_ref = AgentRef { session: session.to_owned(), client: client.to_owned(), ..AgentRef::default() };
        Self { agent_ref, ..Self::default() }
    }

    pub fn entry(&self, event: LoopEvent) -> Entry {
        Entry { at: self.at, agent_ref: self.agent_ref.clone(), event, is_echo: self.is_echo }
    }
}

/// Calls that have begun, and the last of those that have ended.
///
/// Some clients and models number their calls from the start in every turn. An id that begins again after its end is
/// another call and gets a new name; the core identifies a call by its name and would take it for the earlier one.
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
    /// How often this id has begun, starting at 1.
    occurrence: u64,
    record: Option<u64>,
}

/// What is kept of an ended call: enough to distinguish the next call with its id from a copy of the same record.
#[derive(Debug)]
struct Ended {
    key: u64,
    occurrence: u64,
    record: Option<u64>,
}

impl Calls {
    /// Begins a call of this record's agent; `None` if it has begun already or is a copy.
    pub fn start(
        &mut self,
        context: &RecordContext,
        id: &str,
        tool: &str,
        input: &str,
        response: Option<String>,
    ) -> Option<Entry> {
        let call = self.begin(context.agent_ref.sub_agent.as_deref(), id, tool, context.at, input)?;
        let action = Box::new(Action::new(tool, input, context.folder.as_deref()));
        Some(context.entry(LoopEvent::ToolStart { call, response, action, context: CallContext::Missing }))
    }

    /// Ends a call of this record's agent, if it has begun. The function gets the name of the tool.
    pub fn finish(
        &mut self,
        context: &RecordContext,
        id: &str,
        result: impl FnOnce(&str) -> CallResult,
    ) -> Option<Entry> {
        let (call, tool) = self.end(context.agent_ref.sub_agent.as_deref(), id)?;
        Some(context.entry(LoopEvent::ToolEnd { call, action: None, result: Box::new(result(&tool)) }))
    }

    /// Begins a call and returns its name; `None` if it has begun already, or is a copy of one that has ended: the same
    /// id, arguments and time.
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
        // Without a time, a copy cannot be distinguished from the same call made again.
        let record = at.map(|at| hash(&(at.as_millis(), tool, input)));
        let last = self.last(agent, id);
        if last.is_some_and(|last| last.record.is_some() && last.record == record) {
            return None;
        }
        let occurrence = last.map_or(1, |last| last.occurrence + 1);
        if self.open.len() == CALLS_MAX {
            self.open.remove(0);
        }
        let (agent, tool) = (agent.map(str::to_owned), tool.to_owned());
        self.open.push(Call { agent, id: id.to_owned(), tool, occurrence, record });
        Some(call_name(id, occurrence))
    }

    /// Ends a call and returns its name and its tool, if it has begun.
    pub fn end(&mut self, agent: Option<&str>, id: &str) -> Option<(String, String)> {
        let Call { tool, occurrence, record, .. } = self.open.remove(self.find(agent, id)?);
        let key = hash(&(agent, id));
        self.ended.retain(|ended| ended.key != key);
        if self.ended.len() == CALLS_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { key, occurrence, record });
        Some((call_name(id, occurrence), tool))
    }

    /// The name of the last ended call with this id.
    pub fn ended(&self, agent: Option<&str>, id: &str) -> Option<String> {
        self.last(agent, id).map(|last| call_name(id, last.occurrence))
    }

    fn find(&self, agent: Option<&str>, id: &str) -> Option<usize> {
        self.open.iter().position(|call| call.id == id && call.agent.as_deref() == agent)
    }

    fn last(&self, agent: Option<&str>, id: &str) -> Option<&Ended> {
        let key = hash(&(agent, id));
        self.ended.iter().find(|ended| ended.key == key)
    }
}

fn call_name(id: &str, occurrence: u64) -> String {
    if occurrence == 1 { id.to_owned() } else { format!("{id}#{occurrence}") }
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
    fn a_repeated_record_of_a_call_is_not_another_call() {
        let mut calls = Calls::default();
        assert!(calls.begin(None, "c", "bash", at(1), "ls").is_some());
        assert!(calls.end(None, "c").is_some());
        assert_eq!(calls.begin(None, "c", "bash", at(1), "ls"), None);
        assert_eq!(calls.begin(None, "c", "bash", at(1), "pwd").as_deref(), Some("c#2"));
    }

    #[test]
    fn only_the_last_ended_calls_are_remembered() {
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
