//! What only Cline does, with the real client: which payloads its hooks get, and what it does with their output.
//! `.ci/clients cline` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::outcome::SessionReport;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::{ClientTest, haltline_texts, shell_step};
use haltline_sim::clients::script::{Call, Script, ScriptStep, shell, spawn};
use haltline_sim::clients::stand_in::{CannedAnswer, HookNote};
use serde_json::{Value, json};

const RUNNER: &str = env!("CARGO_BIN_EXE_client-run");
const CLIENT_TEST: ClientTest<'static> =
    ClientTest { client: Client::Cline, runner: RUNNER, haltline: env!("CARGO_BIN_EXE_haltline-now") };

/// A call of one of the client's own tools.
fn call(tool: &str, input: Value) -> ScriptStep {
    ScriptStep::Call(Call { tool: tool.to_owned(), input })
}

/// The client's own reason for its end.
fn finish(session: &SessionReport) -> &str {
    let result = session.lines.iter().rev().find(|line| line["type"] == "run_result");
    result.and_then(|line| line["finishReason"].as_str()).unwrap_or_default()
}

fn results(noted: &[HookNote]) -> Vec<&Value> {
    let results = noted.iter().map(|note| &note.payload["tool_result"]);
    results.filter(|result| !result.is_null()).collect()
}

#[test]
fn every_kind_of_failure_reaches_the_hooks_except_an_unknown_tool() {
    let sandbox = Sandbox::with_stand_in(Client::Cline, RUNNER, &[]);
    let missing = sandbox.file("none.txt");
    let script = Script::new(
        "failures",
        vec![
            shell_step("echo no; exit 3"),
            call("read_files", json!({ "files": [{ "path": missing }] })),
            call("editor", json!({ "path": sandbox.file("count.txt"), "old_text": "not there", "new_text": "x" })),
            call("editor", json!({ "path": 7 })),
            call("no_such_tool", json!({ "a": 1 })),
            call("run_commands", json!({ "commands": ["true", "exit 4"] })),
        ],
    );
    let outcome = sandbox.play(&[script]);
    assert_eq!(finish(outcome.session()), "completed", "{}", outcome.session().errors);
    let noted = sandbox.hook_notes();
    let read: Vec<(String, Option<i32>)> = noted
        .iter()
        .filter(|note| note.payload["hookName"] == "tool_result")
        .map(|note| {
            let reading = haltline_agents::cline::read(note.payload.to_string().as_bytes()).expect("readable");
            match reading.loop_event {
                Some(haltline_core::loop_::LoopEvent::ToolEnd { result, .. }) => {
                    (format!("{:?}", result.outcome), result.exit)
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
    let answer = json!({ "overrideInput": null, "contextModification": "HALTLINE HL-TEST-01: denied" });
    let lacking = Some("fine".to_owned());
    let refusing =
        CannedAnswer { event: "tool_call".to_owned(), lacking, answer: Some(answer), ..CannedAnswer::default() };
    let sandbox = Sandbox::with_stand_in(Client::Cline, RUNNER, &[refusing]);
    let count = sandbox.file("count.txt");
    let script = Script::new(
        "refused",
        vec![
            shell_step("echo ran >> ran.txt"),
            call("read_files", json!({ "files": [{ "path": count }] })),
            // The client ends a run after three responses in which every call was invalid.
            shell_step("echo fine 1"),
            call("editor", json!({ "path": count, "old_text": "count = 0", "new_text": "count = 1" })),
            call("search_codebase", json!({ "queries": ["count"] })),
            shell_step("echo fine 3"),
            call("fetch_web_content", json!({ "requests": [{ "url": "http://127.0.0.1:9/", "prompt": "what" }] })),
            shell_step("echo fine 2"),
            ScriptStep::Call(spawn("child")),
        ],
    );
    let child = Script::new("child", vec![shell_step("echo child >> ran.txt")]);
    let outcome = sandbox.play(&[script, child]);
    assert_eq!(finish(outcome.session()), "completed");
    assert_eq!((sandbox.lines("ran.txt"), sandbox.lines("count.txt")), (Vec::new(), vec!["count = 0".to_owned()]));
    assert_eq!(outcome.requests("child").len(), 0);
    let reasons: Vec<usize> = haltline_texts(&outcome, "refused").iter().map(Vec::len).collect();
    assert_eq!(reasons, [0, 1, 1, 0, 1, 1, 0, 1, 0, 1], "the model reads why, each time");
}

#[test]
fn the_same_call_through_four_folders_is_one_call() {
    let sandbox = CLIENT_TEST.sandbox("");
    let script = sandbox.root().join("home/.cline/hooks");
    for folder in ["home/Documents/Cline/Hooks", "project/.cline/hooks", "project/.clinerules/hooks"] {
        for file in std::fs::read_dir(&script).expect("hooks").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("a script");
            sandbox.write(&format!("{folder}/{}", file.file_name().to_string_lossy()), &text);
        }
    }
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], 12)]);
    let counts: Vec<usize> = haltline_texts(&outcome, "again").iter().map(Vec::len).collect();
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "the fourth is denied as usual");
    assert_eq!(counts, [0, 0, 0, 1, 1], "{:#?}", haltline_texts(&outcome, "again"));
}

#[test]
fn a_sub_agent_is_stopped_alone_and_its_parent_goes_on() {
    let sandbox = CLIENT_TEST.sandbox("");
    let parent = Script::new("parent", vec![ScriptStep::Call(spawn("child")), shell_step("echo parent >> after.txt")]);
    let child = Script::repeating("child", vec![shell_step("./a"), shell_step("./b")], 40);
    let outcome = CLIENT_TEST.play(&sandbox, &[parent, child]);
    assert!(outcome.requests("child").len() < 20, "{}", outcome.requests("child").len());
    assert_eq!(sandbox.lines("after.txt"), ["parent"]);
    assert_eq!(finish(outcome.session()), "completed");
}

#[test]
fn calls_of_one_response_get_the_same_verdict() {
    let sandbox = CLIENT_TEST.sandbox("");
    let steps = vec![
        shell_step("./fail"),
        shell_step("./fail"),
        shell_step("./fail"),
        ScriptStep::Calls(vec![shell("./fail"); 3]),
        shell_step("true"),
    ];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("batch", steps)]);
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    let messages = haltline_texts(&outcome, "batch");
    assert!(messages[4].iter().all(|text| !text.contains(": stopped")), "one escalation: {messages:#?}");
    assert_eq!(finish(outcome.session()), "completed", "{messages:#?}");
}

#[test]
fn a_command_may_print_any_bytes() {
    let sandbox = CLIENT_TEST.sandbox("");
    let steps = vec![
        shell_step("head -c 3000000 /dev/zero | tr '\\0' 'x'"),
        shell_step("printf 'a\\000b\\377\\n'; exit 1"),
        shell_step("echo done >> ran.txt"),
    ];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("odd", steps)]);
    assert_eq!((sandbox.lines("ran.txt"), finish(outcome.session())), (vec!["done".to_owned()], "completed"));
}

#[test]
fn a_foreign_script_stays_and_one_of_the_same_name_stops_the_installation() {
    let sandbox = Sandbox::with_program(Client::Cline, RUNNER, CLIENT_TEST.haltline, "[operator]\nunattended = true\n");
    let own = "#!/bin/sh\necho '{}'\n";
    sandbox.write("home/.cline/hooks/PostToolUse.sh", own);
    sandbox.write("home/.cline/hooks/PostToolUse.bash", own);
    let init = || Stage::Command("haltline init --client cline --yes".to_owned());
    let denied = sandbox.run(&[], &[init()]);
    assert_eq!(denied.commands[0].exit, Some(1), "{}", denied.commands[0].output);
    assert!(
        denied.commands[0].output.contains("PostToolUse.bash: this is not haltline's"),
        "{}",
        denied.commands[0].output
    );
    let hooks = sandbox.root().join("home/.cline/hooks");
    assert!(!hooks.join("PreToolUse.bash").exists(), "nothing was changed");
    std::fs::remove_file(hooks.join("PostToolUse.bash")).expect("it was there");
    let script = Script::new("work", vec![shell_step("echo one >> ran.txt")]);
    let stages =
        [init(), Stage::Clients(vec![Session::from_script(&script)]), Stage::Command("haltline status".to_owned())];
    let outcome = sandbox.run(&[script], &stages);
    assert_eq!(outcome.commands[0].exit, Some(0), "{}", outcome.commands[0].output);
    assert!(outcome.commands[1].output.contains("1 agent "), "it was heard: {}", outcome.commands[1].output);
    std::fs::remove_file(hooks.join("PostToolUse.bash")).expect("it was there");
    let doctor = sandbox.run(&[], &[Stage::Command("haltline doctor".to_owned())]);
    assert!(doctor.commands[0].output.contains("no hook listens to PostToolUse"), "{}", doctor.commands[0].output);
    assert_eq!(std::fs::read_to_string(hooks.join("PostToolUse.sh")).expect("it stays"), own);
}
