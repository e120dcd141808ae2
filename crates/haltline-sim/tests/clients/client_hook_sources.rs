//! One call that several hook sources of a real client deliver is one call (L4): each source starts its own hook, all at
//! once, with the same call id. Cline's part is in `client_cline.rs`.

use std::collections::BTreeMap;

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::{ClientTest, haltline_texts, shell_step};
use haltline_sim::clients::script::{Script, ScriptStep, shell};
use haltline_sim::clients::settings;
use serde_json::{Value, json};

fn client_test(client: Client) -> ClientTest<'static> {
    ClientTest { client, runner: env!("CARGO_BIN_EXE_client-run"), haltline: env!("CARGO_BIN_EXE_haltline-now") }
}

/// Writes a program that counts its starts and runs haltline, and returns the client's settings that use it.
fn hook_source(sandbox: &Sandbox, name: &str) -> String {
    let (root, haltline) = (sandbox.root().display(), sandbox.haltline());
    // haltline distinguishes hook sources by their arguments.
    let arguments = format!("\"$@\" --configuration {name}");
    let script = format!("#!/bin/sh\necho came >> {root}/{name}.txt\nexec {} {arguments}\n", haltline.display());
    sandbox.write(&format!("programs/{name}"), &script);
    let own = haltline.display().to_string();
    sandbox.haltline_settings().replace(&own, &format!("{root}/programs/{name}"))
}

/// How often a hook source started its hook.
fn starts(sandbox: &Sandbox, name: &str) -> usize {
    let text = std::fs::read_to_string(sandbox.root().join(format!("{name}.txt"))).unwrap_or_default();
    text.lines().count()
}

/// Plays ten calls, four of them in one response and one that fails; returns the journal.
fn work(client_test: &ClientTest<'_>, sandbox: &Sandbox, more: &[&str]) -> Vec<Value> {
    let mut steps: Vec<ScriptStep> = (1..=5).map(|number| shell_step(&format!("echo {number} >> ran.txt"))).collect();
    steps.push(ScriptStep::Calls((6..=9).map(|number| shell(&format!("echo {number} >> ran.txt"))).collect()));
    steps.push(shell_step("echo 10 >> ran.txt; exit 3"));
    let script = Script::new("work", steps);
    let session = client_test.session(&script).with_arguments(more);
    let export = format!("HALTLINE_STATE_DIR={} haltline journal export", sandbox.state().display());
    let outcome = sandbox.run(&[script], &[Stage::Clients(vec![session]), Stage::Command(export)]);
    assert_eq!(sandbox.lines("ran.txt").len(), 10, "{}", outcome.session().errors);
    assert_eq!(haltline_texts(&outcome, "work").concat(), Vec::<String>::new());
    outcome.commands[0].output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How often each call occurs in facts of one kind.
fn counted(facts: &[Value], path: &str) -> Vec<usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for call in facts.iter().filter_map(|fact| fact["fact"].pointer(path)) {
        *counts.entry(call.to_string()).or_default() += 1;
    }
    counts.into_values().collect()
}

fn assert_each_once(facts: &[Value]) {
    for path in ["/lane/started/flight/call", "/lane/ended/call"] {
        assert_eq!(counted(facts, path), [1; 10], "{path}: ten calls, each once");
    }
}

/// Plays a loop and fails unless haltline warns and denies at the same calls as with one hook source.
fn assert_one_escalation(client_test: &ClientTest<'_>, sandbox: &Sandbox, more: &[&str]) -> Outcome {
    let script = Script::repeating("again", vec![shell_step("./fail")], 12);
    let session = client_test.session(&script).with_arguments(more);
    let outcome = sandbox.run(&[script], &[Stage::Clients(vec![session])]);
    let messages = haltline_texts(&outcome, "again");
    assert_eq!(sandbox.lines("ran.txt").len(), 3, "{messages:#?}");
    // Each hook source prints its own message, so the model may read it twice; the escalation is one.
    let is_stop = |text: &String| text.contains(": stopped");
    let has_messages: Vec<bool> = messages.iter().map(|texts| !texts.is_empty()).collect();
    assert_eq!(has_messages, [false, false, false, true, true], "{messages:#?}");
    assert!(!messages[4].iter().any(is_stop), "the fourth is denied, not stopped: {messages:#?}");
    assert!(!messages[4].iter().any(|text| text.contains("times now")), "as the first denial: {messages:#?}");
    outcome
}

/// The client's user, project and plugin settings, each as a separate hook source.
fn three_hook_sources() -> (Sandbox, String) {
    let sandbox = client_test(Client::Claude).sandbox("");
    sandbox.settings(&hook_source(&sandbox, "first"));
    sandbox.write("project/.claude/settings.json", &hook_source(&sandbox, "second"));
    sandbox.write(
        "plugin/.claude-plugin/plugin.json",
        &json!({ "name": "watch", "version": "1.0.0", "description": "asks haltline" }).to_string(),
    );
    sandbox.write("plugin/hooks/hooks.json", &hook_source(&sandbox, "third"));
    let plugin = sandbox.root().join("plugin").display().to_string();
    (sandbox, plugin)
}

fn assert_all_started(sandbox: &Sandbox, names: &[&str], least: usize) {
    for name in names {
        assert!(starts(sandbox, name) >= least, "{name}: {} times", starts(sandbox, name));
    }
}

/// User and project hooks; the project is trusted, as after a person confirmed Codex's prompt.
fn two_hook_sources() -> Sandbox {
    let sandbox = client_test(Client::Codex).sandbox("");
    sandbox.settings(&hook_source(&sandbox, "first"));
    sandbox.write("project/.codex/hooks.json", &hook_source(&sandbox, "second"));
    let path = sandbox.root().join("home/.codex/config.toml");
    let config = std::fs::read_to_string(&path).expect("the driver's configuration");
    let trusted = format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", sandbox.project().display());
    sandbox.write("home/.codex/config.toml", &(config + &trusted));
    sandbox
}

mod claude {
    use super::*;

    #[test]
    fn a_call_from_user_project_and_plugin_settings_counts_once() {
        let (sandbox, plugin) = three_hook_sources();
        let facts = work(&client_test(Client::Claude), &sandbox, &["--plugin-dir", &plugin]);
        assert_all_started(&sandbox, &["first", "second", "third"], 20);
        assert_each_once(&facts);
    }

    #[test]
    fn three_hook_sources_share_one_escalation() {
        let (sandbox, plugin) = three_hook_sources();
        let outcome = assert_one_escalation(&client_test(Client::Claude), &sandbox, &["--plugin-dir", &plugin]);
        assert_all_started(&sandbox, &["first", "second", "third"], 8);
        assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    }
}

mod codex {
    use super::*;

    #[test]
    fn a_call_from_user_and_project_hooks_counts_once() {
        let sandbox = two_hook_sources();
        let facts = work(&client_test(Client::Codex), &sandbox, &[]);
        assert_all_started(&sandbox, &["first", "second"], 20);
        assert_each_once(&facts);
    }

    #[test]
    fn two_hook_sources_share_one_escalation() {
        let sandbox = two_hook_sources();
        assert_one_escalation(&client_test(Client::Codex), &sandbox, &[]);
        assert_all_started(&sandbox, &["first", "second"], 8);
    }

    #[test]
    fn a_stop_hook_that_blocks_counts_once_for_both_hook_sources() {
        let sandbox = two_hook_sources();
        let blocking = r#"echo '{"decision":"block","reason":"not yet"}'"#;
        sandbox.settings(&settings::with_foreign(&hook_source(&sandbox, "first"), "Stop", blocking, true));
        let outcome = client_test(Client::Codex).play(&sandbox, &[Script::new("nothing", vec![])]);
        assert_all_started(&sandbox, &["first", "second"], 6);
        // The first turn and four that it is made to continue without progress (HL-IDLE-01);
        // counted twice, they would be fewer.
        assert_eq!(outcome.requests("nothing").len(), 5);
    }
}
