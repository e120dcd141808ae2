//! What headless clients print, in the form that the real ones write.

mod plain;
mod reset;

use haltline_agents::headless::{Ending, HeadlessParser, HeadlessReport, OutputFormat, Reset, Spent};
use haltline_core::Instant;
use proptest::prelude::*;

fn report(output: &str) -> HeadlessReport {
    let mut headless = HeadlessParser::default();
    headless.push(output.as_bytes());
    headless.finish()
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"claude-sonnet-4-5","permissionMode":"default","tools":["Bash"]}"#;

fn text_response(id: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a text");
    response(id, &format!(r#"{{"type":"text","text":{text}}}"#), "null")
}

fn call_response(id: &str, tool: &str, input: &str) -> String {
    response(id, &format!(r#"{{"type":"tool_use","id":"t-{id}","name":"{tool}","input":{input}}}"#), "null")
}

fn response(id: &str, block: &str, parent: &str) -> String {
    let usage =
        r#"{"input_tokens":100,"output_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}"#;
    format!(
        r#"{{"type":"assistant","message":{{"id":"{id}","model":"claude-sonnet-4-5","content":[{block}],"usage":{usage}}},"parent_tool_use_id":{parent},"session_id":"s1"}}"#
    )
}

fn tool_result(id: &str, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a text");
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t-{id}","content":{text}}}]}},"session_id":"s1","tool_use_result":{text}}}"#
    )
}

fn result(fields: &str) -> String {
    format!(
        r#"{{"type":"result","session_id":"s1","total_cost_usd":0.5,"usage":{{"input_tokens":7,"output_tokens":3}},{fields}}}"#
    )
}

fn lines(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

#[test]
fn a_successful_run_has_the_agents_text_and_none_of_the_tools() {
    let output = lines(&[
        "npm warn something",
        INIT,
        &call_response("m1", "Bash", r#"{"command":"cat notes.md"}"#),
        &tool_result(
            "m1",
            "You've hit your limit · resets 3pm\n---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---",
        ),
        &response("m2", r#"{"type":"text","text":"a sub-agent speaks"}"#, r#""t-m1""#),
        &text_response("m3", "All done."),
        &result(
            r#""subtype":"success","is_error":false,"terminal_reason":"completed","permission_denials":[],"result":"All done.","model_usage_since_last_result":{"claude-sonnet-4-5":{"inputTokens":300,"outputTokens":30,"cacheReadInputTokens":5,"cacheCreationInputTokens":0,"costUSD":0.00135}}"#,
        ),
    ]);
    let expected = HeadlessReport {
        format: OutputFormat::ClaudeCode,
        session: Some("s1".to_owned()),
        text: "All done.\n".to_owned(),
        last_message: "All done.".to_owned(),
        spent: Spent { tokens: Some(335), cost_micros: Some(1350), estimated: false, whole_session: false },
        ending: Ending::Finished,
        tool_calls: 1,
        ..HeadlessReport::default()
    };
    assert_eq!(report(&output), expected);
}

#[test]
fn while_it_runs_each_response_counts_once_at_list_prices() {
    let mut headless = HeadlessParser::default();
    assert_eq!(headless.spent(), Spent::default());
    headless.push(lines(&[INIT]).as_bytes());
    assert_eq!(headless.spent(), Spent::default());
    headless.push(
        lines(&[&text_response("m1", "one"), &call_response("m1", "Read", "{}"), &text_response("m2", "two")])
            .as_bytes(),
    );
    let expected = Spent { tokens: Some(220), cost_micros: Some(900), estimated: true, whole_session: false };
    assert_eq!(headless.spent(), expected);
    // The cost of a model with an unknown price is unknown.
    headless.push((text_response("m3", "three").replace("claude-sonnet-4-5", "unheard-of") + "\n").as_bytes());
    assert_eq!(headless.spent(), Spent { tokens: Some(330), cost_micros: None, ..expected });
    // Killed: what it used until then is all there is.
    assert_eq!(headless.finish().spent.tokens, Some(330));
}

#[test]
fn a_result_alone_says_the_same() {
    let fields = r#""subtype":"success","is_error":false,"permission_denials":[{"tool_name":"Bash","tool_use_id":"x"}],"result":"Here.\nDone.""#;
    let plain = report(&result(fields));
    assert_eq!((plain.ending, plain.text.as_str(), plain.denials), (Ending::Finished, "Here.\nDone.\n", 1));
    assert_eq!(plain.spent, Spent { tokens: Some(10), cost_micros: Some(500_000), ..Spent::default() });
    // With --verbose the whole output is one list.
    let list = format!("[{INIT},{},{}]\n", text_response("m1", "Hello."), result(fields));
    let verbose = report(&list);
    assert_eq!((verbose.ending, verbose.text.as_str()), (Ending::Finished, "Hello.\nHere.\nDone.\n"));
}

#[test]
fn a_resumed_session_is_charged_for_this_run_only() {
    let share = r#"{"m":{"inputTokens":10,"outputTokens":1,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.25}}"#;
    let fields =
        format!(r#""subtype":"success","is_error":false,"result":"ok","model_usage_since_last_result":{share}"#);
    let once = report(&result(&fields));
    assert_eq!((once.spent.tokens, once.spent.cost_micros), (Some(11), Some(250_000)));
    // Several turns in one run add up.
    let twice = report(&lines(&[&result(&fields), &result(&fields)]));
    assert_eq!((twice.spent.tokens, twice.spent.cost_micros), (Some(22), Some(500_000)));
}

#[test]
fn a_hook_that_stopped_the_agent_is_reported_although_the_run_succeeded() {
    let rejected = r#"{"type":"user","message":{"role":"user","content":[]},"session_id":"s1","tool_result_meta":[{"id":"t-m1","permission_decision":{"decision":"reject","source":"hook"}}]}"#;
    let denied = r#""subtype":"success","is_error":false,"result":"","terminal_reason":"hook_stopped","permission_denials":[{"tool_use_id":"t-m1"},{"tool_use_id":"t-m0"}]"#;
    let stopped =
        report(&lines(&[INIT, &call_response("m1", "Bash", r#"{"command":"make"}"#), rejected, &result(denied)]));
    assert_eq!(stopped.ending, Ending::Hook { reason: None });
    assert_eq!((stopped.denials, stopped.hook_denials), (2, 1));

    // If the client prints what its hooks said, the report has the reason.
    let hook = r#"{"type":"system","subtype":"hook_response","session_id":"s1","hook_event":"PreToolUse","stdout":"{\"continue\":false,\"stopReason\":\"the breaker is open\"}\n"}"#;
    let with_reason = report(&lines(&[INIT, hook, &result(denied)]));
    assert_eq!(with_reason.ending, Ending::Hook { reason: Some("the breaker is open".to_owned()) });

    let at_the_end = report(&lines(&[
        INIT,
        &result(r#""subtype":"success","is_error":false,"result":"x","terminal_reason":"stop_hook_prevented""#),
    ]));
    assert_eq!(at_the_end.ending, Ending::Hook { reason: None });

    let prompt = r#"{"type":"system","subtype":"informational","session_id":"s1","content":"Operation stopped by hook: too late","prevent_continuation":true,"prompt_submit_outcome":{"kind":"stopped_by_hook","reason":"too late"}}"#;
    let before = report(&lines(&[
        prompt,
        &result(r#""subtype":"success","is_error":false,"result":"Operation stopped by hook: too late""#),
    ]));
    assert_eq!((before.ending, before.text.as_str()), (Ending::Hook { reason: Some("too late".to_owned()) }, ""));
}

fn fault(text: &str, status: &str, word: &str) -> String {
    let text = serde_json::to_string(text).expect("a text");
    format!(
        r#"{{"type":"assistant","message":{{"id":"x","model":"<synthetic>","content":[{{"type":"text","text":{text}}}],"usage":{{"input_tokens":0,"output_tokens":0}}}},"session_id":"s1","error":"{word}","is_api_error_message":true,"api_error_status":{status}}}"#
    )
}

#[test]
fn a_used_up_allowance_is_a_limit_with_its_end() {
    let notice = "You've hit your session limit · resets 3pm (Europe/Berlin)";
    let event = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1784079000,"rateLimitType":"five_hour"},"session_id":"s1"}"#;
    let fields = format!(
        r#""subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"{notice}""#
    );
    let output = [INIT, &fault(notice, "429", "rate_limit"), &result(&fields)].map(str::to_owned);
    let with = |extra: &[&str]| {
        let mut all: Vec<&str> = vec![&output[0]];
        all.extend(extra);
        all.extend([output[1].as_str(), output[2].as_str()]);
        report(&lines(&all))
    };
    let clock = Reset::Clock { hour: 15, minute: 0, zone: Some("Europe/Berlin".to_owned()) };
    let limited = with(&[]);
    assert_eq!(limited.ending, Ending::ApiLimit { resets: Some(clock), message: notice.to_owned() });
    assert_eq!((limited.text.as_str(), limited.last_message.as_str()), ("", ""));
    // `rate_limit_event` gives the time to the second.
    let exact = Some(Reset::At(Instant::from_millis(1_784_079_000_000)));
    assert_eq!(with(&[event]).ending, Ending::ApiLimit { resets: exact, message: notice.to_owned() });
    // An allowance beside the plan may be rejected without any request being rejected.
    let aside = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1784079000,"overageStatus":"rejected"},"session_id":"s1"}"#;
    let well = report(&lines(&[
        INIT,
        aside,
        &text_response("m", "ok"),
        &result(r#""subtype":"success","is_error":false,"result":"ok""#),
    ]));
    assert_eq!(well.ending, Ending::Finished);
    // An older client calls it a success.
    let older =
        report(&result(r#""subtype":"success","is_error":false,"result":"Claude AI usage limit reached|1749924000""#));
    assert!(matches!(older.ending, Ending::ApiLimit { resets: Some(Reset::At(_)), .. }), "{:?}", older.ending);
}

#[test]
fn an_agent_that_writes_about_limits_and_errors_has_met_none() {
    for words in [
        "I taught the parser that \"You've hit your usage limit\" means waiting.",
        "The server returned 529 overloaded twice in the test, as it should.",
        "\"is_error\": false is no error, and error_count stays 0.",
    ] {
        let fields = format!(
            r#""subtype":"success","is_error":false,"result":{}"#,
            serde_json::to_string(words).expect("a text")
        );
        assert_eq!(
            report(&lines(&[INIT, &text_response("m", words), &result(&fields)])).ending,
            Ending::Finished,
            "{words}"
        );
    }
}

#[test]
fn errors_of_the_service_are_infrastructure_and_others_keep_their_name() {
    let ending = |fields: &str| report(&lines(&[INIT, &result(fields)])).ending;
    let overloaded = ending(
        r#""subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: Repeated 529 Overloaded errors""#,
    );
    assert_eq!(overloaded, Ending::Infrastructure { message: "API Error: Repeated 529 Overloaded errors".to_owned() });
    assert_eq!(
        ending(r#""subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (2)"]"#),
        Ending::Turns
    );
    let failed = |kind: &str, message: &str| Ending::Failed { kind: kind.to_owned(), message: message.to_owned() };
    assert_eq!(
        ending(r#""subtype":"error_max_budget_usd","is_error":true,"errors":["Reached the budget"]"#),
        failed("max_budget_usd", "Reached the budget")
    );
    assert_eq!(
        ending(
            r#""subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","result":"Prompt is too long""#
        ),
        failed("prompt_too_long", "Prompt is too long")
    );
    assert_eq!(
        ending(r#""subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#),
        failed("aborted_tools", "")
    );
}

#[test]
fn a_run_that_was_cut_off_reports_what_it_was_doing() {
    let retry = |status: u16, word: &str| {
        format!(
            r#"{{"type":"system","subtype":"api_retry","attempt":7,"max_retries":10,"retry_delay_ms":38181,"error_status":{status},"error":"{word}","session_id":"s1"}}"#
        )
    };
    let cut = report(&lines(&[INIT, &retry(529, "overloaded")]));
    assert_eq!(cut.ending, Ending::Infrastructure { message: "still retrying after overloaded (529)".to_owned() });
    assert!(matches!(report(&lines(&[INIT, &retry(429, "rate_limit")])).ending, Ending::ApiLimit { resets: None, .. }));
    // The client recovered from the error.
    assert_eq!(report(&lines(&[INIT, &retry(529, "overloaded"), &text_response("m", "on it")])).ending, Ending::Silent);
    assert_eq!(report(&lines(&[INIT])).ending, Ending::Silent);
}

#[test]
fn plans_questions_and_writing_calls_are_reported() {
    let output = lines(&[
        &INIT.replace("default", "plan"),
        &call_response("m1", "Read", r#"{"file_path":"a.py"}"#),
        &call_response("m2", "Bash", r#"{"command":"ls -l | head"}"#),
        &call_response("m3", "AskUserQuestion", r#"{"questions":[{"question":"Which database?","options":[]}]}"#),
    ]);
    let planned = report(&output);
    assert_eq!((planned.tool_calls, planned.writing_calls, planned.is_planning), (3, 0, true));
    assert_eq!(planned.question.as_deref(), Some("Which database?"));
    let wrote = report(
        &(output
            + &lines(&[&call_response("m4", "Edit", r#"{"file_path":"a.py","old_string":"a","new_string":"b"}"#)])),
    );
    assert_eq!((wrote.writing_calls, wrote.question), (1, None));
}

const THREAD: &str = r#"{"type":"thread.started","thread_id":"th1"}"#;

#[test]
fn codex_reports_its_text_its_calls_and_its_tokens() {
    let output = lines(&[
        THREAD,
        r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"You've hit your usage limit in a notice"}}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"bash -lc 'cat x'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
        r#"{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"bash -lc 'cat x'","aggregated_output":"You've hit your usage limit. Try again in 3 hours.","exit_code":0,"status":"completed"}}"#,
        r#"{"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"a","kind":"update"}],"status":"completed"}}"#,
        r#"{"type":"item.completed","item":{"id":"item_3","type":"command_execution","command":"rm -rf /","aggregated_output":"","exit_code":null,"status":"declined"}}"#,
        r#"{"type":"item.completed","item":{"id":"item_4","type":"reasoning","text":"hm"}}"#,
        r#"{"type":"item.completed","item":{"id":"item_5","type":"agent_message","text":"Changed a."}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":1500,"output_tokens":100,"reasoning_output_tokens":40}}"#,
    ]);
    let expected = HeadlessReport {
        format: OutputFormat::Codex,
        session: Some("th1".to_owned()),
        text: "Changed a.\n".to_owned(),
        last_message: "Changed a.".to_owned(),
        spent: Spent { tokens: Some(2100), cost_micros: None, estimated: false, whole_session: true },
        ending: Ending::Finished,
        denials: 1,
        tool_calls: 3,
        writing_calls: 2,
        ..HeadlessReport::default()
    };
    assert_eq!(report(&output), expected);
}

#[test]
fn codex_failures_are_recognised_by_their_message() {
    let failing = |message: &str| {
        let message = serde_json::to_string(message).expect("a text");
        let retry = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
        let error = format!(r#"{{"type":"error","message":{message}}}"#);
        let failed = format!(r#"{{"type":"turn.failed","error":{{"message":{message}}}}}"#);
        report(&lines(&[THREAD, r#"{"type":"turn.started"}"#, retry, &error, &failed])).ending
    };
    let limit = "You've hit your usage limit. Visit the settings to purchase more credits or try again at 3:28 PM.";
    let resets = Some(Reset::Clock { hour: 15, minute: 28, zone: None });
    assert_eq!(failing(limit), Ending::ApiLimit { resets, message: limit.to_owned() });
    assert!(matches!(
        failing("exceeded retry limit, last status: 429 Too Many Requests"),
        Ending::ApiLimit { resets: None, .. }
    ));
    assert!(matches!(failing("unexpected status 401 Unauthorized: no"), Ending::Infrastructure { .. }));
    let odd = "{\"type\": \"error\", \"error\": {\"code\": 400, \"message\": \"bad request\"}}";
    assert_eq!(failing(odd), Ending::Failed { kind: "turn_failed".to_owned(), message: odd.to_owned() });
    let only_retrying =
        report(&lines(&[THREAD, r#"{"type":"turn.started"}"#, r#"{"type":"error","message":"Reconnecting... 1/5"}"#]));
    assert_eq!(only_retrying.ending, Ending::Silent);
}

#[test]
fn a_codex_turn_that_called_no_model_was_ended_by_a_hook() {
    let empty = r#"{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0}}"#;
    assert_eq!(report(&lines(&[THREAD, r#"{"type":"turn.started"}"#, empty])).ending, Ending::Hook { reason: None });
}

#[test]
fn plain_text_is_kept_without_colours() {
    let plain = report("\u{1b}[32mWorking\u{1b}[0m\r\n10 %\r100 %\nDone. Should I commit?\n");
    assert_eq!(plain.text, "Working\n100 %\nDone. Should I commit?\n");
    assert_eq!((plain.format, plain.ending, plain.spent), (OutputFormat::Plain, Ending::Silent, Spent::default()));
    // A program that prints a client's output after a while is not a client.
    let printed = report(&format!("{}{INIT}\n{}\n", "line\n".repeat(30), text_response("m", "hello")));
    assert_eq!(printed.format, OutputFormat::Plain);
    assert_eq!(report("{\"type\":\"other\",\"session_id\":\"s\"}\n{}\n[]\n").format, OutputFormat::Plain);
}

#[test]
fn long_lines_are_skipped_and_long_outputs_keep_their_end() {
    let long = format!("{INIT}\n{}\n{}\n", text_response("m1", &"x".repeat(2 << 20)), text_response("m2", "short"));
    assert_eq!(report(&long).text, "short\n");
    let many: String = (0..40_000).map(|number| format!("line {number} ü\n")).collect();
    let plain = report(&many);
    assert!(plain.text.len() <= 64 << 10 && plain.text.ends_with("line 39999 ü\n"), "{}", plain.text.len());
    assert!(plain.text.starts_with("line "), "{:?}", &plain.text[..20]);
    assert!(plain.last_message.len() <= 16 << 10);
    let unended = format!("{}\nend", "y".repeat(3 << 20));
    assert_eq!(report(&unended).text, "end\n");
}

fn outputs() -> Vec<String> {
    vec![
        lines(&[
            "hello",
            INIT,
            &text_response("m1", "ü and more"),
            &call_response("m1", "Edit", r#"{"file_path":"a"}"#),
            &tool_result("m1", "ok"),
            &fault("You've hit your limit · resets 3pm", "429", "rate_limit"),
            &result(r#""is_error":true,"subtype":"success","result":"You've hit your limit · resets 3pm""#),
        ]),
        lines(&[
            THREAD,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"hé"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}"#,
        ]),
        "plain ü\r\n\u{1b}[1mtext\u{1b}[0m\n5-hour limit reached ∙ resets 5am\n".to_owned(),
    ]
}

proptest! {
    #[test]
    fn it_does_not_matter_how_the_bytes_are_split(which in 0..3usize, cuts in proptest::collection::vec(1..60usize, 1..40)) {
        let output = &outputs()[which];
        let mut headless = HeadlessParser::default();
        let mut rest = output.as_bytes();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            let (piece, next) = rest.split_at((*cut).min(rest.len()));
            headless.push(piece);
            rest = next;
        }
        prop_assert_eq!(headless.finish(), report(output));
    }

    #[test]
    fn damaged_output_is_parsed_or_ignored(
        which in 0..3usize,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = outputs()[which].clone().into_bytes();
        for (index, byte) in hits {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        let mut headless = HeadlessParser::default();
        headless.push(&bytes);
        let running = headless.spent();
        prop_assert_eq!(headless.finish().spent.tokens.is_some(), running.tokens.is_some());
    }
}
