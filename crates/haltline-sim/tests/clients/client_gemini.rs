//! What only Gemini CLI does, with the real client: calls without ids, big payloads, and a turn that starts again for every
//! hook that asks for it. `.ci/clients gemini` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::{ClientTest, assert_no_text_twice, haltline_texts, shell_step};
use haltline_sim::clients::script::{Script, ScriptStep, read, shell};
use serde_json::{Value, json};

const CLIENT_TEST: ClientTest<'static> = ClientTest {
    client: Client::Gemini,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

#[test]
fn equal_calls_of_one_response_are_distinguished_and_denied_together() {
    let sandbox = CLIENT_TEST.sandbox("");
    let two = || ScriptStep::Calls(vec![shell("./fail"); 2]);
    let mixed = ScriptStep::Calls(vec![shell("echo 3"), shell("./fail"), shell("./fail")]);
    let fail = || shell_step("./fail");
    // Another call between them: the client itself ends a turn at the fifth equal call in a row.
    let steps = vec![
        fail(),
        shell_step("echo 1"),
        fail(),
        shell_step("echo 2"),
        two(),
        mixed,
        shell_step("echo 4"),
        fail(),
        shell_step("echo 5"),
    ];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("batch", steps)]);
    let messages = haltline_texts(&outcome, "batch");
    assert_eq!(sandbox.lines("ran.txt").len(), 4, "no call is lost, and siblings are one failure: {messages:#?}");
    let denied = |texts: &[String]| texts.iter().filter(|text| text.contains(": denied")).count();
    assert_eq!(denied(&messages[6]), 2, "all calls of the response are denied: {messages:#?}");
    // haltline escalates with the next response, not with each call of one response.
    assert_eq!(messages.len(), 8, "and the next attempt ends the agent: {messages:#?}");
}

#[test]
fn an_output_of_megabytes_is_still_a_failure_and_a_loop() {
    let sandbox = CLIENT_TEST.sandbox("");
    let text = "#!/bin/sh\necho ran >> ran.txt\nyes 'a line of a very long log' | head -c 1300000\nexit 3\n";
    sandbox.write("project/big", text);
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("big", vec![shell_step("./big")], 12)]);
    let messages = haltline_texts(&outcome, "big");
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{messages:#?}");
    assert!(messages.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{messages:#?}");
}

#[test]
fn a_tool_that_keeps_failing_is_denied() {
    let sandbox = CLIENT_TEST.sandbox("");
    let missing = sandbox.file("missing.txt");
    let outcome =
        CLIENT_TEST.play(&sandbox, &[Script::repeating("missing", vec![ScriptStep::Call(read(&missing))], 12)]);
    let messages = haltline_texts(&outcome, "missing");
    assert!(messages.len() <= 6, "{} requests", messages.len());
    assert!(messages.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{messages:#?}");
    assert_no_text_twice(&messages.concat());
}

/// The settings with a second hook of haltline, under another name, after each hook.
fn with_another(settings: &str) -> String {
    let mut settings: Value = serde_json::from_str(settings).expect("JSON");
    for groups in settings["hooks"].as_object_mut().expect("hooks").values_mut() {
        let another = groups.to_string().replace("/programs/haltline ", "/programs/another ");
        let another: Vec<Value> = serde_json::from_str(&another).expect("JSON");
        groups.as_array_mut().expect("groups").extend(another);
    }
    settings.to_string()
}

#[test]
fn a_call_from_two_hook_sources_counts_once() {
    let sandbox = CLIENT_TEST.sandbox("");
    sandbox.copy(&sandbox.haltline().display().to_string(), "another");
    let settings = with_another(&sandbox.haltline_settings());
    assert_eq!(settings.matches("/programs/another ").count(), 7);
    sandbox.settings(&settings);
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], 12)]);
    let messages = haltline_texts(&outcome, "again");
    let counts: Vec<usize> = messages.iter().take(5).map(Vec::len).collect();
    assert_eq!((sandbox.lines("ran.txt").len(), counts), (3, vec![0, 0, 0, 1, 1]), "{messages:#?}");
    assert!(!messages.concat().iter().any(|text| text.contains("2 times now")), "{messages:#?}");
}

/// The sandbox's settings with a foreign command as one more hook.
fn settings_with(sandbox: &Sandbox, event: &str, command: &str) -> String {
    let mut settings: Value = serde_json::from_str(&sandbox.haltline_settings()).expect("JSON");
    let group = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5_000 }] });
    settings["hooks"][event].as_array_mut().expect("groups").insert(0, group);
    settings.to_string()
}

#[test]
fn a_foreign_hook_that_always_continues_is_stopped() {
    let sandbox = CLIENT_TEST.sandbox("");
    sandbox.settings(&settings_with(&sandbox, "AfterAgent", r#"echo '{"decision":"deny","reason":"not yet"}'"#));
    // The client itself has no limit on this.
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("nothing", vec![])]);
    assert!(outcome.exchanges.len() <= 12, "{} requests", outcome.exchanges.len());
}

#[test]
fn calls_that_another_hook_always_denies_end_in_a_denial_of_haltline() {
    let sandbox = CLIENT_TEST.sandbox("");
    sandbox.settings(&settings_with(&sandbox, "BeforeTool", r#"echo '{"decision":"deny","reason":"not here"}'"#));
    // The client runs no hook after such a call.
    let steps = (1..=12).map(|number| shell_step(&format!("touch {number}"))).collect();
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("refused", steps)]);
    assert!(outcome.exchanges.len() <= 7, "{:#?}", haltline_texts(&outcome, "refused"));
}

#[test]
fn a_call_that_another_hook_rewrites_is_one_call() {
    let sandbox = CLIENT_TEST.sandbox("");
    let rewrite =
        r#"echo '{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"timeout 60 ./fail"}}}'"#;
    sandbox.settings(&settings_with(&sandbox, "BeforeTool", rewrite));
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], 12)]);
    let messages = haltline_texts(&outcome, "again");
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{messages:#?}");
    assert!(messages.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{messages:#?}");
}
