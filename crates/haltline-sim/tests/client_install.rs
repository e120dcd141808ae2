//! From `init` to `uninstall` with a real Claude Code: what haltline's own commands set up is what the client runs (X2).

use haltline_agents::Client;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::script::{Script, Step, shell};

/// Settings as a person left them: their own order, their own spaces, a hook of their own.
const SETTINGS: &str = "{\n    \"env\" : { \"SOME\": \"1\" },\n\n    \"hooks\": { \"Stop\": [ { \"hooks\": [\n        \
    { \"type\": \"command\", \"command\": \"true\" } ] } ] },\n    \"cleanupPeriodDays\": 20\n}";

fn installed(option: &str, settings: &str) {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    // `uninstall` is for people; there is no terminal here to ask one at.
    let place = Place::with_program(Client::Claude, runner, haltline, "[operator]\nunattended = true\n");
    place.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    place.write(settings, SETTINGS);
    let script = Script::repeating("again", vec![Step::Call(shell("./fail"))], 20);
    let command = |command: &str| Stage::Command(format!("haltline {command}"));
    let stages = [
        command(&format!("init --yes{option}")),
        command("doctor"),
        Stage::Clients(vec![Session::of(&script)]),
        command("doctor --json"),
        command(&format!("uninstall{option}")),
    ];
    let outcome = place.run(&[script], &stages);
    for done in &outcome.commands {
        assert_eq!(done.exit, Some(0), "{}: {}", done.command, done.output);
    }
    let checkup: serde_json::Value = serde_json::from_str(&outcome.commands[2].output).expect("JSON");
    assert_eq!((&checkup["is_installed"], &checkup["is_fine"]), (&true.into(), &true.into()), "{checkup:#}");
    assert_eq!((outcome.requests("again").len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
    assert_eq!(place.lines("ran.txt").len(), 3);
    let left = std::fs::read_to_string(place.root().join(settings)).expect("the settings are there");
    assert_eq!(left, SETTINGS, "byte for byte");
}

#[test]
fn hooks_of_the_user_that_init_wrote_stop_a_loop_and_are_taken_out_again() {
    installed("", "home/.claude/settings.json");
}

#[test]
fn hooks_of_a_project_that_init_wrote_stop_a_loop_and_are_taken_out_again() {
    installed(" --project", "project/.claude/settings.json");
}
