//! What is peculiar to a real Qwen Code: only a request that is refused ends it. `.ci/clients qwen` installs the client and
//! runs this.

use haltline_agents::Client;
use haltline_sim::clients::scenarios::{Trial, assert_no_text_twice, one, told};
use haltline_sim::clients::script::{Script, Step, read, shell};

const TRIAL: Trial<'static> = Trial {
    client: Client::Qwen,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

#[test]
fn calls_of_one_response_are_refused_together_and_the_request_after_a_stop_is_not_made() {
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
fn a_tool_that_fails_again_and_again_is_refused() {
    let place = TRIAL.place("");
    let missing = place.file("missing.txt");
    let outcome = TRIAL.play(&place, &[Script::repeating("missing", vec![Step::Call(read(&missing))], 12)]);
    let told = told(&outcome, "missing");
    assert!(told.len() <= 6, "{} requests", told.len());
    assert!(told.concat().iter().any(|text| text.contains("HL-FAIL-01")), "{told:#?}");
    assert_no_text_twice(&told.concat());
}
