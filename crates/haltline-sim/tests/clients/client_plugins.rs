//! The plugins, installed by the real clients from a local folder: a loop ends, with the plugin alone and with the hooks of
//! `init` beside it; without the program, the agent works on.

use std::path::Path;

use haltline_agents::Client;
use haltline_sim::clients::drivers;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::haltline_texts;
use haltline_sim::clients::script::{Script, ScriptStep, shell};

fn plugin(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/plugins").join(name);
    folder.canonicalize().expect("there").display().to_string()
}

/// A home in which the program lies where a person's script put it, if at all.
fn sandbox(client: Client, has_program: bool) -> Sandbox {
    let sandbox = Sandbox::new(client, env!("CARGO_BIN_EXE_client-run"));
    sandbox.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    let name = drivers::installed(client).program;
    let program = drivers::installed(client).path();
    std::os::unix::fs::symlink(program, sandbox.root().join("programs").join(name)).expect("linked");
    if has_program {
        sandbox.write("home/.local/bin/README", "");
        sandbox.copy(env!("CARGO_BIN_EXE_haltline-now"), "../home/.local/bin/haltline");
    }
    sandbox
}

/// Installs the plugin with these commands, then lets the agent repeat a failing call.
fn play(sandbox: &Sandbox, install: &[String]) -> Outcome {
    let script = Script::repeating("again", vec![ScriptStep::Call(shell("./fail"))], 12);
    let mut stages: Vec<Stage> = install.iter().map(|command| Stage::Loop(command.clone())).collect();
    stages.push(Stage::Clients(vec![Session::from_script(&script)]));
    let outcome = sandbox.run(&[script], &stages);
    for done in &outcome.commands {
        assert_eq!(done.exit, Some(0), "{}: {}", done.command, done.output);
    }
    outcome
}

fn claude_plugin() -> Vec<String> {
    let folder = plugin("claude");
    vec![
        format!("claude plugin validate {folder}"),
        format!("claude plugin marketplace add {folder}"),
        "claude plugin install haltline@haltline".to_owned(),
    ]
}

#[test]
fn claude_stops_a_loop_with_the_plugin_alone() {
    let sandbox = sandbox(Client::Claude, true);
    let outcome = play(&sandbox, &claude_plugin());
    assert_eq!((outcome.requests("again").len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
}

#[test]
fn claude_counts_each_call_once_with_the_plugin_and_the_hooks_of_init() {
    let sandbox = sandbox(Client::Claude, true);
    let mut install = claude_plugin();
    install.push("~/.local/bin/haltline init --client claude --yes".to_owned());
    let outcome = play(&sandbox, &install);
    assert_eq!((outcome.requests("again").len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
}

#[test]
fn claude_works_on_if_the_plugin_finds_no_program() {
    let sandbox = sandbox(Client::Claude, false);
    let outcome = play(&sandbox, &claude_plugin());
    assert_eq!(sandbox.lines("ran.txt").len(), 12, "{:?}", outcome.session());
}

fn gemini_extension() -> Vec<String> {
    // Gemini CLI asks whether the folder is trusted.
    vec![format!("yes | gemini extensions install --consent {}", plugin("gemini"))]
}

#[test]
fn gemini_stops_a_loop_with_the_extension_alone() {
    let sandbox = sandbox(Client::Gemini, true);
    let outcome = play(&sandbox, &gemini_extension());
    let texts = haltline_texts(&outcome, "again").concat();
    // Gemini CLI itself ends a run that repeats a call four times; haltline's own words tell the two apart.
    assert!(texts.iter().any(|text| text.contains("HL-FAIL-01: denied")), "{texts:#?}");
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
}

#[test]
fn gemini_works_on_if_the_extension_finds_no_program() {
    let sandbox = sandbox(Client::Gemini, false);
    let outcome = play(&sandbox, &gemini_extension());
    assert!(haltline_texts(&outcome, "again").concat().is_empty());
    // As often as without hooks: then Gemini CLI's own check of loops ends the run.
    assert_eq!(sandbox.lines("ran.txt").len(), 4);
}
