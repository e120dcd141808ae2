//! What only Qwen Code does, with the real client: only a blocked request ends it, and a hook's text looks like a prompt.
//! `.ci/clients qwen` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::scenarios::{ClientTest, assert_no_text_twice, haltline_texts, shell_step};
use haltline_sim::clients::script::{Script, ScriptStep, read, shell};
use serde_json::{Value, json};

const CLIENT_TEST: ClientTest<'static> = ClientTest {
    client: Client::Qwen,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

#[test]
fn calls_after_a_failed_one_of_the_same_response_are_denied_and_no_request_follows_a_stop() {
    let sandbox = CLIENT_TEST.sandbox("");
    let two = || ScriptStep::Calls(vec![shell("./fail"); 2]);
    let fail = || shell_step("./fail");
    let steps = vec![
        fail(),
        shell_step("echo 1"),
        fail(),
        shell_step("echo 2"),
        two(),
        two(),
        shell_step("echo 3"),
        shell_step("echo 4"),
    ];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("batch", steps)]);
    let messages = haltline_texts(&outcome, "batch");
    // The client runs the calls of a response one after the other.
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{messages:#?}");
    let denied = |texts: &[String]| texts.iter().filter(|text| text.contains(": denied")).count();
    assert_eq!(denied(&messages[5]), 1, "{messages:#?}");
    assert_eq!(messages.len(), 6, "the next attempt is denied, and the client never sends its result: {messages:#?}");
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

#[test]
fn a_foreign_hook_that_always_continues_is_stopped() {
    let sandbox = CLIENT_TEST.sandbox("");
    let mut settings: Value = serde_json::from_str(&sandbox.haltline_settings()).expect("JSON");
    let command = r#"echo '{"decision":"block","reason":"not yet"}'"#;
    let group = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5_000 }] });
    settings["hooks"]["Stop"].as_array_mut().expect("groups").insert(0, group);
    sandbox.settings(&settings.to_string());
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("nothing", vec![])]);
    assert!((3..=12).contains(&outcome.exchanges.len()), "{} requests", outcome.exchanges.len());
}
