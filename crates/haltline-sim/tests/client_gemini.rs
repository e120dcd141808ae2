//! What is peculiar to a real Gemini CLI: calls without names, big payloads, a client that starts the turn again for every
//! hook that wants it. `.ci/clients gemini` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::scenarios::{Trial, assert_no_text_twice, one, told};
use haltline_sim::clients::script::{Script, Step, read, shell};
use serde_json::{Value, json};

const TRIAL: Trial<'static> = Trial {
    client: Client::Gemini,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

#[test]
fn equal_calls_of_one_response_are_told_apart_and_refused_together() {
    let place = TRIAL.place("");
    let two = || Step::Calls(vec![shell("./fail"); 2]);
    let mixed = Step::Calls(vec![shell("echo 3"), shell("./fail"), shell("./fail")]);
    let fail = || one("./fail");
    // Something else between them: the client ends a turn itself at the fifth equal call in a row.
    let steps = vec![fail(), one("echo 1"), fail(), one("echo 2"), two(), mixed, one("echo 4"), fail(), one("echo 5")];
    let outcome = TRIAL.play(&place, &[Script::new("batch", steps)]);
    let told = told(&outcome, "batch");
    assert_eq!(place.lines("ran.txt").len(), 4, "no call is lost, and siblings are one failure: {told:#?}");
    let refused = |texts: &[String]| texts.iter().filter(|text| text.contains(": refused")).count();
    assert_eq!(refused(&told[6]), 2, "all of the response are refused alike: {told:#?}");
    // The rung rises with the next response, not with each call of one.
    assert_eq!(told.len(), 8, "and the next attempt ends the agent: {told:#?}");
}

#[test]
fn an_output_of_megabytes_is_still_a_failure_and_a_loop() {
    let place = TRIAL.place("");
    let text = "#!/bin/sh\necho ran >> ran.txt\nyes 'a line of a very long log' | head -c 1300000\nexit 3\n";
    place.write("project/big", text);
    let outcome = TRIAL.play(&place, &[Script::repeating("big", vec![one("./big")], 12)]);
    let told = told(&outcome, "big");
    assert_eq!(place.lines("ran.txt").len(), 3, "{told:#?}");
    assert!(told.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{told:#?}");
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

/// The settings with a second haltline beside each hook, under another name.
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
fn what_two_configurations_tell_is_counted_once() {
    let place = TRIAL.place("");
    place.copy(&place.haltline().display().to_string(), "another");
    let settings = with_another(&place.haltline_settings());
    assert_eq!(settings.matches("/programs/another ").count(), 7);
    place.settings(&settings);
    let outcome = TRIAL.play(&place, &[Script::repeating("again", vec![one("./fail")], 12)]);
    let told = told(&outcome, "again");
    let counts: Vec<usize> = told.iter().take(5).map(Vec::len).collect();
    assert_eq!((place.lines("ran.txt").len(), counts), (3, vec![0, 0, 0, 1, 1]), "{told:#?}");
    assert!(!told.concat().iter().any(|text| text.contains("2 times now")), "{told:#?}");
}

/// The place's settings with a command of someone else as one more hook.
fn settings_with(place: &Place, event: &str, command: &str) -> String {
    let mut settings: Value = serde_json::from_str(&place.haltline_settings()).expect("JSON");
    let group = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5_000 }] });
    settings["hooks"][event].as_array_mut().expect("groups").insert(0, group);
    settings.to_string()
}

#[test]
fn a_hook_of_someone_else_that_always_wants_more_is_ended() {
    let place = TRIAL.place("");
    place.settings(&settings_with(&place, "AfterAgent", r#"echo '{"decision":"deny","reason":"not yet"}'"#));
    // The client itself has no limit on this.
    let outcome = TRIAL.play(&place, &[Script::new("nothing", vec![])]);
    assert!(outcome.exchanges.len() <= 12, "{} requests", outcome.exchanges.len());
}

#[test]
fn calls_that_someone_else_always_refuses_are_refused_for_good() {
    let place = TRIAL.place("");
    place.settings(&settings_with(&place, "BeforeTool", r#"echo '{"decision":"deny","reason":"not here"}'"#));
    // Of such a call no hook is told after it was asked.
    let steps = (1..=12).map(|number| one(&format!("touch {number}"))).collect();
    let outcome = TRIAL.play(&place, &[Script::new("refused", steps)]);
    assert!(outcome.exchanges.len() <= 7, "{:#?}", told(&outcome, "refused"));
}

#[test]
fn a_call_that_someone_else_puts_in_other_words_is_one_call() {
    let place = TRIAL.place("");
    let words =
        r#"echo '{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"timeout 60 ./fail"}}}'"#;
    place.settings(&settings_with(&place, "BeforeTool", words));
    let outcome = TRIAL.play(&place, &[Script::repeating("again", vec![one("./fail")], 12)]);
    let told = told(&outcome, "again");
    assert_eq!(place.lines("ran.txt").len(), 3, "{told:#?}");
    assert!(told.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{told:#?}");
}
