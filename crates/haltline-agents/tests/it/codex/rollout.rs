//! Tests of `codex/rollout.rs`.

use haltline_agents::codex::rollout::{outcome, usage};
use haltline_agents::transcript_reader::ReadContext;
use haltline_core::identity::Outcome;
use haltline_core::loop_::Usage;

fn call(id: &str) -> String {
    format!(r#"{{"type":"response_item","payload":{{"type":"function_call","call_id":"{id}"}}}}"#) + "\n"
}

fn output(id: &str, text: &str) -> String {
    let payload = format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#);
    format!(r#"{{"type":"response_item","payload":{payload}}}"#) + "\n"
}

fn usage_record(id: &str) -> String {
    let usage = r#"{"input_tokens":100,"cached_input_tokens":40,"output_tokens":5}"#;
    format!(r#"{{"type":"token_usage_record","payload":{{"response_id":"{id}","usage":{usage}}}}}"#) + "\n"
}

fn context<'a>(last: Option<&'a str>, call: &'a str) -> ReadContext<'a> {
    ReadContext { resume_state: last, model: Some("m"), call: Some(call), ..ReadContext::default() }
}

#[test]
fn calls_between_two_results_are_one_response_wherever_a_read_ends() {
    let text =
        [call("a"), call("b"), usage_record("r1"), output("a", "x"), output("b", "x"), call("c"), usage_record("r2")];
    let whole = usage(text.concat().as_bytes(), context(None, "c"));
    assert_eq!(whole.response.as_deref(), Some("response-1"));
    assert_eq!(whole.usage, Usage { input: 120, output: 10, cache_read: 80, cache_write: 0 });
    let mut last: Option<String> = None;
    let mut responses = Vec::new();
    for line in &text {
        let reads = ["b", "c"].map(|call| usage(line.as_bytes(), context(last.as_deref(), call)));
        responses.push(reads.each_ref().map(|read| read.response.clone().unwrap_or_default()).join(" "));
        last = reads[0].resume_state.clone();
    }
    let numbers: Vec<String> = responses.iter().map(|both| both.replace("response-", "")).collect();
    // The second call stays with the first although that one has a result; the next call belongs to the next
    // response, even before it is written here.
    assert_eq!(numbers, ["0 0", "0 0", "0 0", "0 1", "0 1", "1 1", "1 1"]);
    assert_eq!(last, whole.resume_state);
    assert_eq!(usage(usage_record("r2").as_bytes(), context(last.as_deref(), "c")).messages, 0, "counted before");
}

fn item(id: &str, rest: &str) -> String {
    let item = format!(r#"{{"type":"CommandExecution","id":"{id}",{rest}}}"#);
    format!(r#"{{"type":"event_msg","payload":{{"type":"item_completed","item":{item}}}}}"#) + "\n"
}

#[test]
fn the_end_of_a_command_is_found_by_its_id_and_a_running_one_has_none() {
    let text = [
        "half a line about c1\n".to_owned(),
        item("c1", r#""status":"failed","exit_code":1"#),
        item("c2", r#""status":"completed","exit_code":0"#),
        item("c3", r#""status":"in_progress","exit_code":null"#),
        item("c4", r#""status":"declined","exit_code":null"#),
        output("c1", "quotes c2"),
    ]
    .concat();
    let ending_of = |call: &str| outcome(text.as_bytes(), call);
    assert_eq!(ending_of("c1"), Some((Outcome::Failed, Some(1))));
    assert_eq!(ending_of("c2"), Some((Outcome::Ok, Some(0))));
    assert_eq!((ending_of("c3"), ending_of("c5")), (None, None));
    assert_eq!(ending_of("c4"), Some((Outcome::Denied, None)));
}

#[test]
fn a_result_without_a_hook_is_a_failure_unless_the_client_or_a_command_says_otherwise() {
    let text = [
        output("p", "apply_patch verification failed: no such file"),
        output("e", r"Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\nfine"),
        output("s", r"Wall time: 0.0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."),
        item("f", r#""status":"completed""#),
        output("f", "Success."),
        item("n", r#""status":"failed""#),
        output("n", "Success."),
        item("d", r#""status":"declined""#),
        output("d", "no"),
    ]
    .concat();
    let ended = usage(text.as_bytes(), ReadContext::default()).ended;
    let found: Vec<_> = ended.iter().map(|end| (end.call.as_str(), end.result.outcome, end.result.exit)).collect();
    let (ok, failed) = (Outcome::Ok, Outcome::Failed);
    let patches = [("s", ok, Some(0)), ("f", ok, None), ("n", failed, None), ("d", Outcome::Denied, None)];
    assert_eq!(found, [&[("p", failed, None), ("e", ok, Some(0))], &patches[..]].concat());
}

#[test]
fn a_command_that_still_runs_has_not_ended() {
    let text = output("c", r"Chunk ID: 1\nWall time: 0.2 seconds\nProcess running with session ID 7\nOutput:\n");
    assert_eq!(usage(text.as_bytes(), ReadContext::default()).ended, []);
}
