//! Tests of `copilot/events.rs`.

use haltline_agents::copilot::events::{outcome, usage};
use haltline_agents::transcript_reader::ReadContext;
use haltline_core::identity::Outcome;
use haltline_core::loop_::Usage;

fn message(id: &str, calls: &[&str]) -> String {
    let requests: Vec<String> = calls.iter().map(|call| format!(r#"{{"toolCallId":"{call}"}}"#)).collect();
    let data = format!(r#"{{"messageId":"{id}","content":"so","toolRequests":[{}]}}"#, requests.join(","));
    format!(r#"{{"type":"assistant.message","data":{data}}}"#) + "\n"
}

fn complete(call: &str) -> String {
    format!(r#"{{"type":"tool.execution_complete","data":{{"toolCallId":"{call}","success":true}}}}"#) + "\n"
}

fn usage_record(id: &str, agent: &str) -> String {
    let usage =
        format!(r#"{{"model":"m","inputTokens":100,"cacheReadTokens":40,"outputTokens":5,"apiCallId":"{id}"}}"#);
    format!(r#"{{"type":"session.usage_record","data":{{"usage":{usage}}}{agent}}}"#) + "\n"
}

fn context(last: Option<&str>) -> ReadContext<'_> {
    ReadContext { resume_state: last, call: Some("c"), ..ReadContext::default() }
}

#[test]
fn a_response_is_in_progress_while_one_of_its_calls_is_open_wherever_a_read_ends() {
    let text = [message("m1", &["a", "b"]), complete("a"), complete("b"), message("m2", &["a"])];
    let mut last: Option<String> = None;
    let mut responses = Vec::new();
    for line in &text {
        let read = usage(line.as_bytes(), context(last.as_deref()));
        responses.push(read.response.unwrap_or_default());
        last = read.resume_state;
    }
    assert_eq!(responses, ["m1", "m1", "", "m2"]);
    assert_eq!(usage(text.concat().as_bytes(), context(None)).resume_state, last);
    let late = usage(b"", context(last.as_deref()));
    assert_eq!(late.response, None, "the one call it has was asked for: this is one of the next response");
}

#[test]
fn every_read_sums_the_usage_of_all_agents_and_counts_it_once() {
    let text = usage_record("r1", "") + &usage_record("r2", r#","agentId":"a1""#) + &usage_record("r1", "");
    let wanted = Usage { input: 120, output: 10, cache_read: 80, cache_write: 0 };
    for agent in [None, Some("a1")] {
        let read = usage(text.as_bytes(), ReadContext { sub_agent: agent, ..ReadContext::default() });
        assert_eq!((read.messages, read.usage), (2, wanted));
        let again = usage(
            text.as_bytes(),
            ReadContext { resume_state: read.resume_state.as_deref(), sub_agent: agent, ..ReadContext::default() },
        );
        assert_eq!(again.messages, 0, "counted before");
    }
}

#[test]
fn the_calls_of_each_agent_belong_to_its_own_response() {
    let of_sub_agent = |line: String| line.replacen('{', r#"{"agentId":"a1","#, 1);
    let text = [
        message("m1", &["a"]),
        of_sub_agent(message("k1", &["b", "c"])),
        of_sub_agent(complete("b")),
        usage_record("r1", ""),
    ];
    let read = usage(text.concat().as_bytes(), ReadContext::default());
    assert_eq!(read.resume_state.as_deref(), Some("m1 #0/1 @a r1 >a1 k1 #0/2 @c"));
    let read_for = |last: Option<&str>, agent| {
        usage(b"", ReadContext { resume_state: last, sub_agent: agent, call: Some("x"), ..ReadContext::default() })
    };
    let first_read = read_for(read.resume_state.as_deref(), Some("a1"));
    assert_eq!(
        (first_read.response.as_deref(), first_read.resume_state.as_deref()),
        (Some("k1"), Some("m1 #0/1 @a r1 >a1 k1 #1/2 @c"))
    );
    assert_eq!(read_for(first_read.resume_state.as_deref(), None).response.as_deref(), Some("m1"));
    assert_eq!(read_for(first_read.resume_state.as_deref(), Some("a2")).response, None);
    // What has ended is not handed on.
    let over = usage(
        of_sub_agent(complete("c")).as_bytes(),
        ReadContext { resume_state: first_read.resume_state.as_deref(), ..ReadContext::default() },
    );
    assert_eq!(over.resume_state.as_deref(), Some("m1 #0/1 @a r1"));
}

#[test]
fn the_end_of_a_long_output_is_found_by_its_command_and_timestamp() {
    let line = |millis: u32, command: &str, metrics: &str| {
        let result = format!(r#"{{"toolTelemetry":{{"metrics":{{{metrics}}}}}}}"#);
        let arguments = format!(r#"{{"description":"d","command":"{command}"}}"#);
        let input = format!(r#"{{"timestamp":{millis},"toolArgs":{arguments},"toolResult":{result}}}"#);
        format!(r#"{{"type":"hook.start","data":{{"hookType":"postToolUse","input":{input}}}}}"#) + "\n"
    };
    let text =
        "half a line\n".to_owned() + &line(1250, "make", r#""exit_code":2.0"#) + &line(2000, "ls", r#""other":1"#);
    let ending_of = |moment: &str, command: &str| {
        let call = format!(r#"1970-01-01T00:00:{moment}Z {{"command":"{command}","description":"d"}}"#);
        outcome(text.as_bytes(), &call)
    };
    assert_eq!(ending_of("01.250", "make"), Some((Outcome::Failed, Some(2))));
    assert_eq!(ending_of("02.000", "ls"), Some((Outcome::Ok, Some(0))));
    assert_eq!(ending_of("03.000", "make"), None, "that one ended before");
    assert_eq!((ending_of("01.250", "other"), outcome(text.as_bytes(), "no JSON")), (None, None));
}
