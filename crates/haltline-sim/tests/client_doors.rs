//! One call told through several configurations of a real client is one call (L4): each of them starts its own hook, all at
//! once, and the store sees the same names. Cline's part is in `client_cline.rs`.

use std::collections::BTreeMap;

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::scenarios::{Trial, one, told};
use haltline_sim::clients::script::{Script, Step, shell};
use haltline_sim::clients::settings;
use serde_json::{Value, json};

fn trial(client: Client) -> Trial<'static> {
    Trial { client, runner: env!("CARGO_BIN_EXE_client-run"), haltline: env!("CARGO_BIN_EXE_haltline-now") }
}

/// Another way to the same haltline, which writes down that it was taken; the client's settings that take it.
fn door(place: &Place, name: &str) -> String {
    let (root, haltline) = (place.root().display(), place.haltline());
    // The words of a configuration are its own: by them haltline knows who tells.
    let words = format!("\"$@\" --configuration {name}");
    let script = format!("#!/bin/sh\necho came >> {root}/{name}.txt\nexec {} {words}\n", haltline.display());
    place.write(&format!("programs/{name}"), &script);
    let own = haltline.display().to_string();
    place.haltline_settings().replace(&own, &format!("{root}/programs/{name}"))
}

/// How often a door was taken.
fn came(place: &Place, name: &str) -> usize {
    let text = std::fs::read_to_string(place.root().join(format!("{name}.txt"))).unwrap_or_default();
    text.lines().count()
}

/// Ten calls, four of them of one response, and some that fail; then what the journal has.
fn work(trial: &Trial<'_>, place: &Place, more: &[&str]) -> Vec<Value> {
    let mut steps: Vec<Step> = (1..=5).map(|number| one(&format!("echo {number} >> ran.txt"))).collect();
    steps.push(Step::Calls((6..=9).map(|number| shell(&format!("echo {number} >> ran.txt"))).collect()));
    steps.push(one("echo 10 >> ran.txt; exit 3"));
    let script = Script::new("work", steps);
    let session = trial.session(&script).with(more);
    let export = format!("HALTLINE_STATE_DIR={} haltline journal export", place.state().display());
    let outcome = place.run(&[script], &[Stage::Clients(vec![session]), Stage::Command(export)]);
    assert_eq!(place.lines("ran.txt").len(), 10, "{}", outcome.session().errors);
    assert_eq!(told(&outcome, "work").concat(), Vec::<String>::new());
    outcome.commands[0].output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How often each call stands in facts of one kind.
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

/// A loop through several doors is warned of and refused when it would be through one.
fn assert_ladder(trial: &Trial<'_>, place: &Place, more: &[&str]) -> Outcome {
    let script = Script::repeating("again", vec![one("./fail")], 12);
    let session = trial.session(&script).with(more);
    let outcome = place.run(&[script], &[Stage::Clients(vec![session])]);
    let told = told(&outcome, "again");
    assert_eq!(place.lines("ran.txt").len(), 3, "{told:#?}");
    // Each door speaks for itself, so the model may read the same twice; the rung is one.
    let is_stop = |text: &String| text.contains(": stopped");
    let is_heard: Vec<bool> = told.iter().map(|texts| !texts.is_empty()).collect();
    assert_eq!(is_heard, [false, false, false, true, true], "{told:#?}");
    assert!(!told[4].iter().any(is_stop), "the fourth is refused and not more: {told:#?}");
    assert!(!told[4].iter().any(|text| text.contains("times now")), "and for the first time: {told:#?}");
    outcome
}

/// The client's user, project and plugin settings, each with a way of its own.
fn three_doors() -> (Place, String) {
    let place = trial(Client::Claude).place("");
    place.settings(&door(&place, "first"));
    place.write("project/.claude/settings.json", &door(&place, "second"));
    place.write(
        "plugin/.claude-plugin/plugin.json",
        &json!({ "name": "watch", "version": "1.0.0", "description": "asks haltline" }).to_string(),
    );
    place.write("plugin/hooks/hooks.json", &door(&place, "third"));
    let plugin = place.root().join("plugin").display().to_string();
    (place, plugin)
}

fn assert_all_came(place: &Place, names: &[&str], least: usize) {
    for name in names {
        assert!(came(place, name) >= least, "{name}: {} times", came(place, name));
    }
}

/// User and project hooks; the project is trusted, as a person says when Codex asks.
fn two_doors() -> Place {
    let place = trial(Client::Codex).place("");
    place.settings(&door(&place, "first"));
    place.write("project/.codex/hooks.json", &door(&place, "second"));
    let path = place.root().join("home/.codex/config.toml");
    let config = std::fs::read_to_string(&path).expect("the driver's configuration");
    let trusted = format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", place.project().display());
    place.write("home/.codex/config.toml", &(config + &trusted));
    place
}

mod claude {
    use super::*;

    #[test]
    fn user_project_and_plugin_settings_tell_of_each_call_once() {
        let (place, plugin) = three_doors();
        let facts = work(&trial(Client::Claude), &place, &["--plugin-dir", &plugin]);
        assert_all_came(&place, &["first", "second", "third"], 20);
        assert_each_once(&facts);
    }

    #[test]
    fn three_doors_climb_one_ladder() {
        let (place, plugin) = three_doors();
        let outcome = assert_ladder(&trial(Client::Claude), &place, &["--plugin-dir", &plugin]);
        assert_all_came(&place, &["first", "second", "third"], 8);
        assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    }
}

mod codex {
    use super::*;

    #[test]
    fn user_and_project_hooks_tell_of_each_call_once() {
        let place = two_doors();
        let facts = work(&trial(Client::Codex), &place, &[]);
        assert_all_came(&place, &["first", "second"], 20);
        assert_each_once(&facts);
    }

    #[test]
    fn two_doors_climb_one_ladder() {
        let place = two_doors();
        assert_ladder(&trial(Client::Codex), &place, &[]);
        assert_all_came(&place, &["first", "second"], 8);
    }

    #[test]
    fn a_stop_hook_that_blocks_is_counted_once_for_both_doors() {
        let place = two_doors();
        let blocking = r#"echo '{"decision":"block","reason":"not yet"}'"#;
        place.settings(&settings::with_foreign(&door(&place, "first"), "Stop", blocking, true));
        let outcome = trial(Client::Codex).play(&place, &[Script::new("nothing", vec![])]);
        assert_all_came(&place, &["first", "second"], 6);
        // Five blocks open the circuit, and the sixth is ended: as through one door.
        assert_eq!(outcome.requests("nothing").len(), 7);
    }
}
