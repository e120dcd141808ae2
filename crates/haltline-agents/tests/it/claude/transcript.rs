//! Tests of `claude/transcript.rs`.

use haltline_agents::claude::transcript::usage;
use haltline_agents::transcript_reader::ModelUsage;
use haltline_core::loop_::Usage;

fn line(id: &str, model: &str, output: u64) -> String {
    let usage = format!(r#"{{"input_tokens":10,"output_tokens":{output},"cache_creation_input_tokens":4}}"#);
    format!(r#"{{"type":"assistant","requestId":"r{id}","message":{{"id":"{id}","model":"{model}","usage":{usage}}}}}"#)
        + "\n"
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
            sum.input += part.usage.input;
            sum.output += part.usage.output;
            sum.cache_write += part.usage.cache_write;
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
        r#"{"type":"assistant","message":{"id":"w","usage":{"input_tokens":"many","output_tokens":-4}}}"#.to_owned(),
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
