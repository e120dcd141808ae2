//! What is peculiar to Cline, with the real client: what its hooks are told, and what it makes of their answers.
//! `.ci/clients cline` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::outcome::Report;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::scenarios::{Trial, one, told};
use haltline_sim::clients::script::{Call, Script, Step, shell, spawn};
use haltline_sim::clients::stand_in::{Answer, Noted};
use serde_json::{Value, json};

const RUNNER: &str = env!("CARGO_BIN_EXE_client-run");
const TRIAL: Trial<'static> =
    Trial { client: Client::Cline, runner: RUNNER, haltline: env!("CARGO_BIN_EXE_haltline-now") };

/// A call in the client's own words.
fn call(tool: &str, input: Value) -> Step {
    Step::Call(Call { tool: tool.to_owned(), input })
}

/// Why the client says it ended.
fn finish(session: &Report) -> &str {
    let result = session.lines.iter().rev().find(|line| line["type"] == "run_result");
    result.and_then(|line| line["finishReason"].as_str()).unwrap_or_default()
}

fn results(noted: &[Noted]) -> Vec<&Value> {
    let results = noted.iter().map(|note| &note.payload["tool_result"]);
    results.filter(|result| !result.is_null()).collect()
}

#[test]
fn every_kind_of_failure_is_told_but_that_of_a_tool_that_does_not_exist() {
    let place = Place::with_stand_in(Client::Cline, RUNNER, &[]);
    let missing = place.file("none.txt");
    let script = Script::new(
        "failures",
        vec![
            one("echo no; exit 3"),
            call("read_files", json!({ "files": [{ "path": missing }] })),
            call("editor", json!({ "path": place.file("count.txt"), "old_text": "not there", "new_text": "x" })),
            call("editor", json!({ "path": 7 })),
            call("no_such_tool", json!({ "a": 1 })),
            call("run_commands", json!({ "commands": ["true", "exit 4"] })),
        ],
    );
    let outcome = place.play(&[script]);
    assert_eq!(finish(outcome.session()), "completed", "{}", outcome.session().errors);
    let noted = place.noted();
    let read: Vec<(String, Option<i32>)> = noted
        .iter()
        .filter(|note| note.payload["hookName"] == "tool_result")
        .map(|note| {
            let reading = haltline_agents::cline::read(note.payload.to_string().as_bytes()).expect("readable");
            match reading.what {
                Some(haltline_core::loop_::Happening::ToolEnd { answer, .. }) => {
                    (format!("{:?}", answer.outcome), answer.exit)
                }
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let failed = |exit| ("Failed".to_owned(), exit);
    let expected = [failed(Some(3)), failed(None), failed(None), failed(None), failed(Some(4))];
    assert_eq!(read, expected, "{:#?}", results(&noted));
}

#[test]
fn a_call_without_arguments_does_nothing_whatever_tool_it_is() {
    let answer = json!({ "overrideInput": null, "contextModification": "HALTLINE HL-TEST-01: refused" });
    let lacking = Some("fine".to_owned());
    let refusing = Answer { event: "tool_call".to_owned(), lacking, answer: Some(answer), ..Answer::default() };
    let place = Place::with_stand_in(Client::Cline, RUNNER, &[refusing]);
    let count = place.file("count.txt");
    let script = Script::new(
        "refused",
        vec![
            one("echo ran >> ran.txt"),
            call("read_files", json!({ "files": [{ "path": count }] })),
            // The client ends a run after three responses in which every call was a mistake.
            one("echo fine 1"),
            call("editor", json!({ "path": count, "old_text": "count = 0", "new_text": "count = 1" })),
            call("search_codebase", json!({ "queries": ["count"] })),
            one("echo fine 3"),
            call("fetch_web_content", json!({ "requests": [{ "url": "http://127.0.0.1:9/", "prompt": "what" }] })),
            one("echo fine 2"),
            Step::Call(spawn("child")),
        ],
    );
    let child = Script::new("child", vec![one("echo child >> ran.txt")]);
    let outcome = place.play(&[script, child]);
    assert_eq!(finish(outcome.session()), "completed");
    assert_eq!((place.lines("ran.txt"), place.lines("count.txt")), (Vec::new(), vec!["count = 0".to_owned()]));
    assert_eq!(outcome.requests("child").len(), 0);
    let reasons: Vec<usize> = told(&outcome, "refused").iter().map(Vec::len).collect();
    assert_eq!(reasons, [0, 1, 1, 0, 1, 1, 0, 1, 0, 1], "the model reads why, each time");
}

#[test]
fn the_same_call_through_four_folders_is_one_call() {
    let place = TRIAL.place("");
    let script = place.root().join("home/.cline/hooks");
    for folder in ["home/Documents/Cline/Hooks", "project/.cline/hooks", "project/.clinerules/hooks"] {
        for file in std::fs::read_dir(&script).expect("hooks").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("a script");
            place.write(&format!("{folder}/{}", file.file_name().to_string_lossy()), &text);
        }
    }
    let outcome = TRIAL.play(&place, &[Script::repeating("again", vec![one("./fail")], 12)]);
    let counts: Vec<usize> = told(&outcome, "again").iter().map(Vec::len).collect();
    assert_eq!(place.lines("ran.txt").len(), 3, "refused at the fourth as ever");
    assert_eq!(counts, [0, 0, 0, 1, 1], "{:#?}", told(&outcome, "again"));
}

#[test]
fn a_sub_agent_is_stopped_alone_and_its_parent_goes_on() {
    let place = TRIAL.place("");
    let parent = Script::new("parent", vec![Step::Call(spawn("child")), one("echo parent >> after.txt")]);
    let child = Script::repeating("child", vec![one("./a"), one("./b")], 40);
    let outcome = TRIAL.play(&place, &[parent, child]);
    assert!(outcome.requests("child").len() < 20, "{}", outcome.requests("child").len());
    assert_eq!(place.lines("after.txt"), ["parent"]);
    assert_eq!(finish(outcome.session()), "completed");
}

#[test]
fn calls_of_one_response_share_their_answer() {
    let place = TRIAL.place("");
    let steps = vec![one("./fail"), one("./fail"), one("./fail"), Step::Calls(vec![shell("./fail"); 3]), one("true")];
    let outcome = TRIAL.play(&place, &[Script::new("batch", steps)]);
    assert_eq!(place.lines("ran.txt").len(), 3);
    let told = told(&outcome, "batch");
    assert!(told[4].iter().all(|text| !text.contains(": stopped")), "the rung rises once: {told:#?}");
    assert_eq!(finish(outcome.session()), "completed", "{told:#?}");
}

#[test]
fn what_a_command_prints_may_be_anything() {
    let place = TRIAL.place("");
    let steps = vec![
        one("head -c 3000000 /dev/zero | tr '\\0' 'x'"),
        one("printf 'a\\000b\\377\\n'; exit 1"),
        one("echo done >> ran.txt"),
    ];
    let outcome = TRIAL.play(&place, &[Script::new("odd", steps)]);
    assert_eq!((place.lines("ran.txt"), finish(outcome.session())), (vec!["done".to_owned()], "completed"));
}

#[test]
fn a_script_of_ones_own_stays_and_one_of_that_very_name_stops_the_installation() {
    let place = Place::with_program(Client::Cline, RUNNER, TRIAL.haltline, "[operator]\nunattended = true\n");
    let own = "#!/bin/sh\necho '{}'\n";
    place.write("home/.cline/hooks/PostToolUse.sh", own);
    place.write("home/.cline/hooks/PostToolUse.bash", own);
    let init = || Stage::Command("haltline init --client cline --yes".to_owned());
    let refused = place.run(&[], &[init()]);
    assert_eq!(refused.commands[0].exit, Some(1), "{}", refused.commands[0].output);
    assert!(
        refused.commands[0].output.contains("PostToolUse.bash: this is not haltline's"),
        "{}",
        refused.commands[0].output
    );
    let hooks = place.root().join("home/.cline/hooks");
    assert!(!hooks.join("PreToolUse.bash").exists(), "nothing was changed");
    std::fs::remove_file(hooks.join("PostToolUse.bash")).expect("it was there");
    let script = Script::new("work", vec![one("echo one >> ran.txt")]);
    let stages = [init(), Stage::Clients(vec![Session::of(&script)]), Stage::Command("haltline status".to_owned())];
    let outcome = place.run(&[script], &stages);
    assert_eq!(outcome.commands[0].exit, Some(0), "{}", outcome.commands[0].output);
    assert!(outcome.commands[1].output.contains("streams: 1 seen"), "it was heard: {}", outcome.commands[1].output);
    std::fs::remove_file(hooks.join("PostToolUse.bash")).expect("it was there");
    let doctor = place.run(&[], &[Stage::Command("haltline doctor".to_owned())]);
    assert!(doctor.commands[0].output.contains("no hook listens to PostToolUse"), "{}", doctor.commands[0].output);
    assert_eq!(std::fs::read_to_string(hooks.join("PostToolUse.sh")).expect("it stays"), own);
}
