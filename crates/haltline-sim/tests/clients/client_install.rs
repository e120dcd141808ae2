//! From `init` to `uninstall` with a real Claude Code: what haltline's own commands set up is what the client runs (X2).

use haltline_agents::Client;
use haltline_sim::clients::drivers;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Script, ScriptStep, shell};

/// Settings as a person wrote them: unusual order, unusual spaces, and another hook.
const SETTINGS: &str = "{\n    \"env\" : { \"SOME\": \"1\" },\n\n    \"hooks\": { \"Stop\": [ { \"hooks\": [\n        \
    { \"type\": \"command\", \"command\": \"true\" } ] } ] },\n    \"cleanupPeriodDays\": 20\n}";

fn installed(option: &str, settings: &str) {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    // `uninstall` is an operator action; without a terminal it needs this setting.
    let sandbox = Sandbox::with_program(Client::Claude, runner, haltline, "[operator]\nunattended = true\n");
    sandbox.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    sandbox.write(settings, SETTINGS);
    let script = Script::repeating("again", vec![ScriptStep::Call(shell("./fail"))], 20);
    let command = |command: &str| Stage::Command(format!("haltline {command}"));
    let stages = [
        command(&format!("init --yes{option}")),
        command("doctor"),
        Stage::Clients(vec![Session::from_script(&script)]),
        command("doctor --json"),
        command(&format!("uninstall{option}")),
    ];
    let outcome = sandbox.run(&[script], &stages);
    for done in &outcome.commands {
        assert_eq!(done.exit, Some(0), "{}: {}", done.command, done.output);
    }
    let checkup: serde_json::Value = serde_json::from_str(&outcome.commands[2].output).expect("JSON");
    assert_eq!((&checkup["is_installed"], &checkup["is_fine"]), (&true.into(), &true.into()), "{checkup:#}");
    assert_eq!((outcome.requests("again").len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    let left = std::fs::read_to_string(sandbox.root().join(settings)).expect("the settings are there");
    assert_eq!(left, SETTINGS, "byte for byte");
}

#[test]
fn user_hooks_from_init_stop_a_loop_and_are_removed_again() {
    installed("", "home/.claude/settings.json");
}

#[test]
fn project_hooks_from_init_stop_a_loop_and_are_removed_again() {
    installed(" --project", "project/.claude/settings.json");
}

#[test]
fn a_prompt_to_haltline_is_answered_without_a_model_request() {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    let sandbox = Sandbox::with_program(Client::Claude, runner, haltline, "");
    std::os::unix::fs::symlink(drivers::installed(Client::Claude).path(), sandbox.root().join("programs/claude"))
        .expect("linked");
    let ask = |prompt: &str| {
        Stage::Loop(format!("claude -p '{prompt}' --model claude-sonnet-4-5 --output-format stream-json --verbose"))
    };
    let stages = [
        Stage::Command("haltline init --yes".to_owned()),
        ask("/haltline status"),
        ask("/circuit-status"),
        ask("/haltline why"),
    ];
    let outcome = sandbox.run(&[], &stages);
    let requests = outcome.exchanges.iter().filter(|exchange| !exchange.tools.is_empty()).count();
    assert_eq!(requests, 0, "{:#?}", outcome.commands);
    for (done, part) in outcome.commands.iter().skip(1).zip(["Sessions", "Sessions", "Nothing has tripped"]) {
        assert!(done.output.contains(part), "{}: {}", done.command, done.output);
    }
}
