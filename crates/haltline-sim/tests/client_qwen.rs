//! What is peculiar to a real Qwen Code: only a request that is refused ends it, and a hook's words look like a prompt.
//! `.ci/clients qwen` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::scenarios::{Trial, assert_no_text_twice, one, told};
use haltline_sim::clients::script::{Script, Step, read, shell};
use serde_json::{Value, json};

const TRIAL: Trial<'static> = Trial {
    client: Client::Qwen,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

#[test]
fn calls_of_one_response_are_refused_once_one_of_them_failed_and_the_request_after_a_stop_is_not_made() {
    let place = TRIAL.place("");
    let two = || Step::Calls(vec![shell("./fail"); 2]);
    let fail = || one("./fail");
    let steps = vec![fail(), one("echo 1"), fail(), one("echo 2"), two(), two(), one("echo 3"), one("echo 4")];
    let outcome = TRIAL.play(&place, &[Script::new("batch", steps)]);
    let told = told(&outcome, "batch");
    // The client runs the calls of a response one after the other.
    assert_eq!(place.lines("ran.txt").len(), 3, "{told:#?}");
    let refused = |texts: &[String]| texts.iter().filter(|text| text.contains(": refused")).count();
    assert_eq!(refused(&told[5]), 1, "{told:#?}");
    assert_eq!(told.len(), 6, "the next attempt is refused, and what it came to is never sent: {told:#?}");
}

#[test]
fn a_tool_that_fails_again_and_again_is_refused() {
    let place = TRIAL.place("");
    let missing = place.file("missing.txt");
    let outcome = TRIAL.play(&place, &[Script::repeating("missing", vec![Step::Call(read(&missing))], 12)]);
    let told = told(&outcome, "missing");
    assert!(told.len() <= 6, "{} requests", told.len());
    assert!(told.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{told:#?}");
    assert_no_text_twice(&told.concat());
}

#[test]
fn a_hook_of_someone_else_that_always_wants_more_is_ended() {
    let place = TRIAL.place("");
    let mut settings: Value = serde_json::from_str(&place.haltline_settings()).expect("JSON");
    let command = r#"echo '{"decision":"block","reason":"not yet"}'"#;
    let group = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5_000 }] });
    settings["hooks"]["Stop"].as_array_mut().expect("groups").insert(0, group);
    place.settings(&settings.to_string());
    let outcome = TRIAL.play(&place, &[Script::new("nothing", vec![])]);
    assert!((3..=12).contains(&outcome.exchanges.len()), "{} requests", outcome.exchanges.len());
}
