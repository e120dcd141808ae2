//! What hooks read of a session's record, `events.jsonl`: JSON lines, read on from where the last reading ended. The lines of
//! sub-agents stand among the others, with the agent's name; whoever reads takes what all of them took, for what stands
//! there of an agent's last response comes after its last hook.
//!
//! What each response took stands there (`session.usage_record`), and which calls came in one (`assistant.message`). The
//! client writes it down a little later than it happens: a response of which nothing is open, or of which as many calls were
//! asked for as it has, is an earlier one and says nothing about a call that is asked for now.

use haltline_core::Instant;
use haltline_core::identity::{Outcome, Said};
use haltline_core::loop_::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::feed::{Ending, Known, TranscriptUse, whole_lines};
use crate::json;
use crate::transcript::record::{self, Unread};

/// How many responses are remembered from one reading to the next.
const RESPONSES_MAX: usize = 8;
/// How many calls of one response are; no model asks for more at once.
const CALLS_MAX: usize = 64;
/// How many sub-agents with a response under way are.
const AGENTS_MAX: usize = 64;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Unread<'a>,
    data: Unread<'a>,
    #[serde(rename = "agentId")]
    agent: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    #[serde(borrow)]
    usage: Unread<'a>,
    message_id: Unread<'a>,
    content: Unread<'a>,
    tool_requests: Unread<'a>,
    tool_call_id: Unread<'a>,
    hook_type: Unread<'a>,
    input: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    tool_call_id: Unread<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taken<'a> {
    #[serde(borrow)]
    model: Unread<'a>,
    input_tokens: Unread<'a>,
    output_tokens: Unread<'a>,
    cache_read_tokens: Unread<'a>,
    cache_write_tokens: Unread<'a>,
    api_call_id: Unread<'a>,
}

/// What one reading hands to the next: `RESPONSE #ASKED/CALLS @call @call counted counted …`, the calls being those not over;
/// then the same for each sub-agent whose response is under way, after `>AGENT`.
#[derive(Debug, Default)]
struct Place {
    /// The main agent's first.
    last: Vec<Response>,
    counted: Vec<String>,
}

/// The last response of one agent.
#[derive(Debug, Default)]
struct Response {
    agent: Option<String>,
    name: String,
    /// How many of its calls were asked for, and how many it has.
    asked: usize,
    calls: usize,
    open: Vec<String>,
}

impl Response {
    /// Whether a call that is asked for now may be one of its calls.
    fn is_under_way(&self) -> bool {
        !self.open.is_empty() && !self.name.is_empty() && self.asked < self.calls
    }

    fn write(&self, text: &mut String) {
        text.push_str(&format!("{} #{}/{}", self.name, self.asked, self.calls));
        for call in &self.open {
            text.push_str(" @");
            text.push_str(call);
        }
    }
}

/// Whether a name comes back from the next reading as it was.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace) && !name.starts_with(['@', '#', '>'])
}

impl Place {
    fn read(last: Option<&str>) -> Self {
        let mut words = last.unwrap_or_default().split(' ');
        let mut response = Response { name: words.next().unwrap_or_default().to_owned(), ..Response::default() };
        let mut place = Self::default();
        for word in words.filter(|word| !word.is_empty()) {
            if let Some(agent) = word.strip_prefix('>') {
                let next = Response { agent: Some(agent.to_owned()), ..Response::default() };
                place.last.push(std::mem::replace(&mut response, next));
            } else if let Some(call) = word.strip_prefix('@') {
                response.open.push(call.to_owned());
            } else if let Some((asked, calls)) = word.strip_prefix('#').and_then(|numbers| numbers.split_once('/')) {
                (response.asked, response.calls) =
                    (asked.parse().unwrap_or_default(), calls.parse().unwrap_or_default());
            } else if response.agent.is_some() {
                word.clone_into(&mut response.name);
            } else {
                place.counted.push(word.to_owned());
            }
        }
        place.last.push(response);
        place
    }

    fn write(&self) -> String {
        let mut text = String::new();
        self.last[0].write(&mut text);
        for response in &self.counted[self.counted.len().saturating_sub(RESPONSES_MAX)..] {
            text.push(' ');
            text.push_str(response);
        }
        for response in self.last[1..].iter().filter(|response| response.is_under_way()).take(AGENTS_MAX) {
            text.push_str(&format!(" >{} ", response.agent.as_deref().unwrap_or_default()));
            response.write(&mut text);
        }
        text
    }

    /// The last response of an agent.
    fn of(&mut self, agent: Option<&str>) -> &mut Response {
        let place = self.last.iter().position(|response| response.agent.as_deref() == agent).unwrap_or_else(|| {
            self.last.push(Response { agent: agent.map(str::to_owned), ..Response::default() });
            self.last.len() - 1
        });
        &mut self.last[place]
    }
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], known: Known<'_>) -> TranscriptUse {
    let whole = whole_lines(text);
    let mut place = Place::read(known.last);
    let mut sum = TranscriptUse { consumed: whole.len() as u64, ..TranscriptUse::default() };
    for line in whole.split(|&byte| byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { continue };
        let Some(kind) = line.r#type.and_then(json::text) else { continue };
        if !matches!(kind.as_ref(), "session.usage_record" | "assistant.message" | "tool.execution_complete") {
            continue;
        }
        let Some(told) = line.data.and_then(json::object::<Told<'_>>) else { continue };
        match kind.as_ref() {
            "session.usage_record" => count(&told, &mut place, &mut sum),
            kind => {
                let agent = json::name(line.agent);
                if agent.as_deref().is_some_and(|agent| !is_plain(agent)) {
                    continue;
                }
                let response = place.of(agent.as_deref());
                if kind == "assistant.message" {
                    respond(&told, response);
                } else {
                    let call = json::name(told.tool_call_id);
                    response.open.retain(|open| Some(open) != call.as_ref());
                }
            }
        }
    }
    let response = place.of(known.agent);
    if known.call.is_some() && response.is_under_way() {
        response.asked += 1;
        sum.response = Some(response.name.clone());
    }
    sum.last = Some(place.write());
    sum
}

/// Each response is counted once, whatever stands there twice.
fn count(told: &Told<'_>, place: &mut Place, sum: &mut TranscriptUse) {
    let Some(taken) = told.usage.and_then(json::object::<Taken<'_>>) else { return };
    let Some(id) = json::name(taken.api_call_id).filter(|name| is_plain(name)) else { return };
    if place.counted.contains(&id) {
        return;
    }
    // Within one reading there may be many; only the last matter to the next.
    if place.counted.len() >= 4 * RESPONSES_MAX {
        place.counted.drain(..3 * RESPONSES_MAX);
    }
    place.counted.push(id);
    let cache_read = record::tokens(taken.cache_read_tokens);
    let cache_write = record::tokens(taken.cache_write_tokens);
    // The input counts what came from the cache too.
    let input = record::tokens(taken.input_tokens).saturating_sub(cache_read.saturating_add(cache_write));
    let usage = Usage { input, output: record::tokens(taken.output_tokens), cache_read, cache_write };
    sum.messages = sum.messages.saturating_add(1);
    sum.take(&json::name(taken.model).unwrap_or_default(), &usage, 0);
}

fn respond(told: &Told<'_>, response: &mut Response) {
    let requests: Vec<Request<'_>> = told.tool_requests.map(record::elements).unwrap_or_default();
    let calls = requests.iter().filter_map(|request| json::name(request.tool_call_id)).filter(|name| is_plain(name));
    response.open = calls.take(CALLS_MAX).collect();
    (response.asked, response.calls) = (0, response.open.len());
    response.name = json::name(told.message_id).filter(|name| is_plain(name)).unwrap_or_default();
}

/// What the last response in these lines said.
pub fn said(text: &[u8]) -> Option<Said> {
    text.split(|&byte| byte == b'\n').rev().find_map(|line| {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let told = line.data.filter(|_| record::is_word(line.r#type, "assistant.message"));
        Said::of(&json::text(told.and_then(json::object::<Told<'_>>)?.content?)?)
    })
}

/// How the command ended whose hook was told at this moment, `MOMENT ARGUMENTS`, where these lines say it: in what the client
/// told its hooks, which has more than they are given. The same command may stand there from before, and have ended
/// otherwise. The first line may be half a one.
pub fn outcome(text: &[u8], call: &str) -> Option<Ending> {
    let (moment, arguments) = call.split_once(' ')?;
    let asked: Value = serde_json::from_str(arguments).ok()?;
    let moment = Instant::parse(moment).ok()?.as_millis();
    let mut lines = text.split(|&byte| byte == b'\n').rev();
    let input = lines.find_map(|line| {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let told = line.data.filter(|_| record::is_word(line.r#type, "hook.start"));
        let told = told.and_then(json::object::<Told<'_>>)?;
        let input = told.input.filter(|_| record::is_word(told.hook_type, "postToolUse"))?;
        let input: Value = serde_json::from_str(input.get()).ok()?;
        (input["timestamp"].as_i64() == Some(moment) && input["toolArgs"] == asked).then_some(input)
    })?;
    // The code stands there as a fraction, and only where it is not 0.
    let exit = input["toolResult"]["toolTelemetry"]["metrics"]["exit_code"].as_f64();
    #[expect(clippy::cast_possible_truncation, reason = "a float that is no exit code becomes some other failure")]
    let exit = exit.map(|code| code as i32);
    Some(match exit {
        Some(0) | None => (Outcome::Ok, Some(0)),
        Some(code) => (Outcome::Failed, Some(code)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, calls: &[&str]) -> String {
        let requests: Vec<String> = calls.iter().map(|call| format!(r#"{{"toolCallId":"{call}"}}"#)).collect();
        let data = format!(r#"{{"messageId":"{id}","content":"so","toolRequests":[{}]}}"#, requests.join(","));
        format!(r#"{{"type":"assistant.message","data":{data}}}"#) + "\n"
    }

    fn complete(call: &str) -> String {
        format!(r#"{{"type":"tool.execution_complete","data":{{"toolCallId":"{call}","success":true}}}}"#) + "\n"
    }

    fn taken(id: &str, agent: &str) -> String {
        let usage =
            format!(r#"{{"model":"m","inputTokens":100,"cacheReadTokens":40,"outputTokens":5,"apiCallId":"{id}"}}"#);
        format!(r#"{{"type":"session.usage_record","data":{{"usage":{usage}}}{agent}}}"#) + "\n"
    }

    fn knowing(last: Option<&str>) -> Known<'_> {
        Known { last, call: Some("c"), ..Known::default() }
    }

    #[test]
    fn a_response_is_under_way_while_one_of_its_calls_is_open_wherever_a_reading_ends() {
        let text = [message("m1", &["a", "b"]), complete("a"), complete("b"), message("m2", &["a"])];
        let mut last: Option<String> = None;
        let mut responses = Vec::new();
        for line in &text {
            let read = usage(line.as_bytes(), knowing(last.as_deref()));
            responses.push(read.response.unwrap_or_default());
            last = read.last;
        }
        assert_eq!(responses, ["m1", "m1", "", "m2"]);
        assert_eq!(usage(text.concat().as_bytes(), knowing(None)).last, last);
        let late = usage(b"", knowing(last.as_deref()));
        assert_eq!(late.response, None, "the one call it has was asked for: this is one of the next response");
    }

    #[test]
    fn whoever_reads_takes_what_all_agents_took_and_counts_it_once() {
        let text = taken("r1", "") + &taken("r2", r#","agentId":"a1""#) + &taken("r1", "");
        let wanted = Usage { input: 120, output: 10, cache_read: 80, cache_write: 0 };
        for agent in [None, Some("a1")] {
            let read = usage(text.as_bytes(), Known { agent, ..Known::default() });
            assert_eq!((read.messages, read.usage), (2, wanted));
            let again = usage(text.as_bytes(), Known { last: read.last.as_deref(), agent, ..Known::default() });
            assert_eq!(again.messages, 0, "counted before");
        }
    }

    #[test]
    fn each_agent_s_calls_belong_to_its_own_response_whoever_reads() {
        let child = |line: String| line.replacen('{', r#"{"agentId":"a1","#, 1);
        let text = [message("m1", &["a"]), child(message("k1", &["b", "c"])), child(complete("b")), taken("r1", "")];
        let read = usage(text.concat().as_bytes(), Known::default());
        assert_eq!(read.last.as_deref(), Some("m1 #0/1 @a r1 >a1 k1 #0/2 @c"));
        let of = |last: Option<&str>, agent| usage(b"", Known { last, agent, call: Some("x"), ..Known::default() });
        let asked = of(read.last.as_deref(), Some("a1"));
        assert_eq!(
            (asked.response.as_deref(), asked.last.as_deref()),
            (Some("k1"), Some("m1 #0/1 @a r1 >a1 k1 #1/2 @c"))
        );
        assert_eq!(of(asked.last.as_deref(), None).response.as_deref(), Some("m1"));
        assert_eq!(of(asked.last.as_deref(), Some("a2")).response, None);
        // What is over is not handed on.
        let over = usage(child(complete("c")).as_bytes(), Known { last: asked.last.as_deref(), ..Known::default() });
        assert_eq!(over.last.as_deref(), Some("m1 #0/1 @a r1"));
    }

    #[test]
    fn how_a_long_output_ended_is_found_by_the_command_and_its_moment() {
        let line = |millis: u32, command: &str, metrics: &str| {
            let result = format!(r#"{{"toolTelemetry":{{"metrics":{{{metrics}}}}}}}"#);
            let arguments = format!(r#"{{"description":"d","command":"{command}"}}"#);
            let input = format!(r#"{{"timestamp":{millis},"toolArgs":{arguments},"toolResult":{result}}}"#);
            format!(r#"{{"type":"hook.start","data":{{"hookType":"postToolUse","input":{input}}}}}"#) + "\n"
        };
        let text =
            "half a line\n".to_owned() + &line(1250, "make", r#""exit_code":2.0"#) + &line(2000, "ls", r#""other":1"#);
        let of = |moment: &str, command: &str| {
            let call = format!(r#"1970-01-01T00:00:{moment}Z {{"command":"{command}","description":"d"}}"#);
            outcome(text.as_bytes(), &call)
        };
        assert_eq!(of("01.250", "make"), Some((Outcome::Failed, Some(2))));
        assert_eq!(of("02.000", "ls"), Some((Outcome::Ok, Some(0))));
        assert_eq!(of("03.000", "make"), None, "that one ended before");
        assert_eq!((of("01.250", "other"), outcome(text.as_bytes(), "no JSON")), (None, None));
    }
}
