//! What only Copilot CLI does, with the real client and a model that misbehaves by script: it takes every exit code of a
//! hook except 0 as a denial, and it runs the hooks of Claude Code's project settings as well as its own.

use std::fs;
use std::path::Path;

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::{ClientTest, haltline_texts, shell_step};
use haltline_sim::clients::script::{Script, ScriptStep, shell, spawn};
use haltline_sim::clients::settings;

const CLIENT_TEST: ClientTest<'static> = ClientTest {
    client: Client::Copilot,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

/// The client runs a project's hooks without a person only where a setting allows it.
const REPO_HOOKS: &str = "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS";

fn play_in_repository(sandbox: &Sandbox, script: &Script) -> Outcome {
    let session = CLIENT_TEST.session(script).with_variable(REPO_HOOKS, "true");
    let outcome = sandbox.run(std::slice::from_ref(script), &[Stage::Clients(vec![session])]);
    assert!(!outcome.session().is_overdue, "{}", outcome.session().errors);
    outcome
}

/// haltline's hooks for another client, as a shell line for this client or as that client has them.
fn hooks_of(sandbox: &Sandbox, client: Client) -> String {
    let fixed = ["hook", client.cli_name(), "--state", &sandbox.state().display().to_string(), "--config"];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
    arguments.push(sandbox.config().display().to_string());
    settings::hooks(client, &sandbox.haltline(), &arguments)
}

/// Claude Code's settings with each of haltline's hooks as one shell line, which this client runs unchanged.
fn claude_settings(sandbox: &Sandbox) -> String {
    let mut settings: serde_json::Value = serde_json::from_str(&hooks_of(sandbox, Client::Claude)).expect("JSON");
    for groups in settings["hooks"].as_object_mut().expect("events").values_mut() {
        let handler = &mut groups[0]["hooks"][0];
        let arguments = handler["args"].as_array().cloned().unwrap_or_default();
        let mut line = handler["command"].as_str().unwrap_or_default().to_owned();
        for argument in arguments {
            line = format!("{line} '{}'", argument.as_str().unwrap_or_default());
        }
        *handler = serde_json::json!({ "type": "command", "command": line, "timeout": 10 });
    }
    settings.to_string()
}

fn again() -> Script {
    Script::repeating("again", vec![shell_step("./fail")], 12)
}

#[test]
fn a_call_from_three_hook_sources_counts_once() {
    let sandbox = CLIENT_TEST.sandbox("");
    // The user's hooks, which the sandbox has, the project's, and Claude Code's of the project.
    sandbox.write("project/.github/hooks/haltline.json", &hooks_of(&sandbox, Client::Copilot));
    sandbox.write("project/.claude/settings.json", &claude_settings(&sandbox));
    let outcome = play_in_repository(&sandbox, &again());
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{:#?}", haltline_texts(&outcome, "again"));
    let messages = haltline_texts(&outcome, "again");
    let counts: Vec<usize> = messages.iter().map(Vec::len).collect();
    assert_eq!(counts[..5], [0, 0, 0, 1, 1], "one warning, then a denial");
    assert!(messages[4][0].contains(": denied. "), "the first denial is not a stop: {messages:#?}");
    let after: Vec<&String> = messages[5..].iter().flatten().collect();
    assert!(after.len() <= 1 && after.iter().all(|text| text.contains(": stopped (2 times now). ")), "{after:#?}");
}

#[test]
fn claudes_settings_alone_protect_it_as_well() {
    let sandbox = CLIENT_TEST.sandbox("");
    remove_own(&sandbox);
    sandbox.write("project/.claude/settings.json", &claude_settings(&sandbox));
    let outcome = play_in_repository(&sandbox, &again());
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{:#?}", haltline_texts(&outcome, "again"));
}

#[test]
fn claudes_settings_as_init_writes_them_are_in_nobodys_way() {
    let sandbox = CLIENT_TEST.sandbox("");
    remove_own(&sandbox);
    // The client drops the arguments and starts haltline without any.
    sandbox.write("project/.claude/settings.json", &hooks_of(&sandbox, Client::Claude));
    let script = Script::new(
        "work",
        vec![shell_step("echo 1 >> ran.txt"), shell_step("./fail"), shell_step("echo 2 >> ran.txt")],
    );
    play_in_repository(&sandbox, &script);
    assert_eq!(sandbox.lines("ran.txt"), ["1", "ran", "2"]);
}

fn remove_own(sandbox: &Sandbox) {
    let file = sandbox.root().join("home/.copilot/hooks/haltline.json");
    fs::remove_file(file).expect("it was there");
}

#[test]
fn calls_of_one_response_get_the_same_verdict() {
    let sandbox = CLIENT_TEST.sandbox("[loop]\ninterrupt = false\n");
    let steps = vec![
        shell_step("./fail"),
        shell_step("./fail"),
        shell_step("./fail"),
        ScriptStep::Calls(vec![shell("./fail"); 3]),
        shell_step("./fail"),
    ];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("batch", steps)]);
    let messages = haltline_texts(&outcome, "batch");
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{messages:#?}");
    assert_eq!(messages[4].len(), 3, "all calls of the response are denied: {messages:#?}");
}

#[test]
fn without_interruption_every_further_call_is_denied() {
    let sandbox = CLIENT_TEST.sandbox("[loop]\ninterrupt = false\n");
    let outcome = CLIENT_TEST.play(&sandbox, &[again()]);
    assert_eq!((sandbox.lines("ran.txt").len(), outcome.session().exit), (3, Some(0)));
    let messages = haltline_texts(&outcome, "again");
    assert_eq!(messages.len(), 13, "it came to its own end");
    assert!(messages[4..].iter().all(|texts| texts.len() == 1), "{messages:#?}");
}

#[test]
fn a_long_output_that_fails_is_a_failure() {
    let sandbox = CLIENT_TEST.sandbox("");
    sandbox.write("project/long", "#!/bin/sh\necho ran >> ran.txt\nseq 200000\nexit 1\n");
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("long", vec![shell_step("./long")], 12)]);
    let texts = haltline_texts(&outcome, "long").concat();
    assert!(texts.iter().any(|text| text.contains("HL-FAIL-01")), "{texts:#?}");
    assert!(sandbox.lines("ran.txt").len() <= 4);
}

#[test]
fn tokens_of_sub_agents_count_at_the_next_hook_of_any_agent() {
    let tellers = ["north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"];
    let mut scripts = vec![Script::new("parent", tellers.map(|name| ScriptStep::Call(spawn(name))).to_vec())];
    scripts.extend(tellers.map(|name| Script::new(name, vec![])));
    let scripts: Vec<Script> = scripts.into_iter().map(|script| script.using(900, 100)).collect();
    let (responses, tokens) = CLIENT_TEST.spent(&scripts);
    assert_eq!(responses, 9 + 8);
    // The client writes its record late, later on a busy machine, so the last responses may be missing. Without the
    // sub-agents there would be 9,000 tokens, and no response counts twice.
    assert!((9_001..=17_000).contains(&tokens), "{tokens}");
}

#[test]
fn a_foreign_stop_hook_that_always_blocks_is_stopped() {
    let sandbox = CLIENT_TEST.sandbox("");
    let other = r#"{"version":1,"hooks":{"Stop":[{"type":"command","bash":"echo '{\"decision\":\"block\",\"reason\":\"not yet\"}'"}]}}"#;
    sandbox.write("home/.copilot/hooks/other.json", other);
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("nothing", vec![])]);
    // The client itself has a limit on blocked stops.
    assert!(outcome.requests("nothing").len() <= 10, "{} requests", outcome.requests("nothing").len());
}

#[test]
fn an_unwritable_store_and_a_missing_folder_deny_nothing() {
    let sandbox = CLIENT_TEST.sandbox("");
    sandbox.write("state/state.db", "this is no database");
    sandbox.write("config.toml", "this is = [no configuration");
    let steps = vec![
        shell_step("echo 1 >> ran.txt"),
        shell_step("mkdir -p gone && cd gone && rmdir ../gone"),
        shell_step("echo 2 >> ran.txt"),
    ];
    CLIENT_TEST.play(&sandbox, &[Script::new("broken", steps)]);
    assert_eq!(sandbox.lines("ran.txt"), ["1", "2"]);
    assert!(Path::new(&sandbox.file("count.txt")).exists());
}
