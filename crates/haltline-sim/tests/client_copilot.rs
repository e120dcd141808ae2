//! What is peculiar to Copilot CLI, with the real client and a model that misbehaves by script: any end of a hook but 0 is a
//! refusal to it, and it runs the hooks of Claude Code's project settings beside its own.

use std::fs;
use std::path::Path;

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::scenarios::{Trial, one, told};
use haltline_sim::clients::script::{Script, Step, shell, spawn};
use haltline_sim::clients::settings;

const TRIAL: Trial<'static> = Trial {
    client: Client::Copilot,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

/// The client runs a project's hooks without a person only where somebody said so.
const REPO_HOOKS: &str = "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS";

fn play_in_repository(place: &Place, script: &Script) -> Outcome {
    let session = TRIAL.session(script).setting(REPO_HOOKS, "true");
    let outcome = place.run(std::slice::from_ref(script), &[Stage::Clients(vec![session])]);
    assert!(!outcome.session().is_overdue, "{}", outcome.session().errors);
    outcome
}

/// haltline's hooks for another client, as this one's shell line or as that client has them.
fn hooks_of(place: &Place, client: Client) -> String {
    let words = ["hook", client.word(), "--state", &place.state().display().to_string(), "--config"];
    let mut arguments: Vec<String> = words.map(str::to_owned).into();
    arguments.push(place.config().display().to_string());
    settings::hooks(client, &place.haltline(), &arguments)
}

/// Claude Code's settings with haltline's hooks spelled as one line each, which this client runs as they are.
fn claude_settings(place: &Place) -> String {
    let mut settings: serde_json::Value = serde_json::from_str(&hooks_of(place, Client::Claude)).expect("JSON");
    for groups in settings["hooks"].as_object_mut().expect("events").values_mut() {
        let handler = &mut groups[0]["hooks"][0];
        let words = handler["args"].as_array().cloned().unwrap_or_default();
        let mut line = handler["command"].as_str().unwrap_or_default().to_owned();
        for word in words {
            line = format!("{line} '{}'", word.as_str().unwrap_or_default());
        }
        *handler = serde_json::json!({ "type": "command", "command": line, "timeout": 10 });
    }
    settings.to_string()
}

fn again() -> Script {
    Script::repeating("again", vec![one("./fail")], 12)
}

#[test]
fn a_call_told_through_three_configurations_counts_once() {
    let place = TRIAL.place("");
    // The user's own, which the place has, the project's, and Claude Code's of the project.
    place.write("project/.github/hooks/haltline.json", &hooks_of(&place, Client::Copilot));
    place.write("project/.claude/settings.json", &claude_settings(&place));
    let outcome = play_in_repository(&place, &again());
    assert_eq!(place.lines("ran.txt").len(), 3, "{:#?}", told(&outcome, "again"));
    let told = told(&outcome, "again");
    let counts: Vec<usize> = told.iter().map(Vec::len).collect();
    assert_eq!(counts[..5], [0, 0, 0, 1, 1], "warned of once, then refused");
    assert!(told[4][0].contains(": refused. "), "the first refusal is no stop, and is the first: {told:#?}");
    let after: Vec<&String> = told[5..].iter().flatten().collect();
    assert!(after.len() <= 1 && after.iter().all(|text| text.contains(": stopped (2 times now). ")), "{after:#?}");
}

#[test]
fn claudes_settings_alone_protect_it_as_well() {
    let place = TRIAL.place("");
    remove_own(&place);
    place.write("project/.claude/settings.json", &claude_settings(&place));
    let outcome = play_in_repository(&place, &again());
    assert_eq!(place.lines("ran.txt").len(), 3, "{:#?}", told(&outcome, "again"));
}

#[test]
fn claudes_settings_as_init_writes_them_are_in_nobodys_way() {
    let place = TRIAL.place("");
    remove_own(&place);
    // The client leaves out the arguments: what it starts is haltline alone.
    place.write("project/.claude/settings.json", &hooks_of(&place, Client::Claude));
    let script = Script::new("work", vec![one("echo 1 >> ran.txt"), one("./fail"), one("echo 2 >> ran.txt")]);
    play_in_repository(&place, &script);
    assert_eq!(place.lines("ran.txt"), ["1", "ran", "2"]);
}

fn remove_own(place: &Place) {
    let file = place.root().join("home/.copilot/hooks/haltline.json");
    fs::remove_file(file).expect("it was there");
}

#[test]
fn several_calls_in_one_response_share_their_answer() {
    let place = TRIAL.place("[loop]\ninterrupt = false\n");
    let steps = vec![one("./fail"), one("./fail"), one("./fail"), Step::Calls(vec![shell("./fail"); 3]), one("./fail")];
    let outcome = TRIAL.play(&place, &[Script::new("batch", steps)]);
    let told = told(&outcome, "batch");
    assert_eq!(place.lines("ran.txt").len(), 3, "{told:#?}");
    assert_eq!(told[4].len(), 3, "all of the response are refused: {told:#?}");
}

#[test]
fn who_wants_no_interruption_gets_refusals_and_nothing_runs() {
    let place = TRIAL.place("[loop]\ninterrupt = false\n");
    let outcome = TRIAL.play(&place, &[again()]);
    assert_eq!((place.lines("ran.txt").len(), outcome.session().exit), (3, Some(0)));
    let told = told(&outcome, "again");
    assert_eq!(told.len(), 13, "it came to its own end");
    assert!(told[4..].iter().all(|texts| texts.len() == 1), "{told:#?}");
}

#[test]
fn a_long_output_that_fails_is_a_failure() {
    let place = TRIAL.place("");
    place.write("project/long", "#!/bin/sh\necho ran >> ran.txt\nseq 200000\nexit 1\n");
    let outcome = TRIAL.play(&place, &[Script::repeating("long", vec![one("./long")], 12)]);
    let texts = told(&outcome, "long").concat();
    assert!(texts.iter().any(|text| text.contains("HL-FAIL-01")), "{texts:#?}");
    assert!(place.lines("ran.txt").len() <= 4);
}

#[test]
fn what_sub_agents_take_is_counted_whoever_has_the_next_hook() {
    let tellers = ["north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"];
    let mut scripts = vec![Script::new("parent", tellers.map(|name| Step::Call(spawn(name))).to_vec())];
    scripts.extend(tellers.map(|name| Script::new(name, vec![])));
    let scripts: Vec<Script> = scripts.into_iter().map(|script| script.using(900, 100)).collect();
    let (responses, tokens) = TRIAL.spent(&scripts);
    assert_eq!(responses, 9 + 8);
    // The record comes late, the later the busier the machine is, so the last responses may be missing. Without the
    // sub-agents' there would be 9,000, and not one counts twice.
    assert!((9_001..=17_000).contains(&tokens), "{tokens}");
}

#[test]
fn a_stop_hook_of_someone_else_that_always_blocks_is_ended() {
    let place = TRIAL.place("");
    let other = r#"{"version":1,"hooks":{"Stop":[{"type":"command","bash":"echo '{\"decision\":\"block\",\"reason\":\"not yet\"}'"}]}}"#;
    place.write("home/.copilot/hooks/other.json", other);
    let outcome = TRIAL.play(&place, &[Script::new("nothing", vec![])]);
    // The client itself has a limit on this.
    assert!(outcome.requests("nothing").len() <= 10, "{} requests", outcome.requests("nothing").len());
}

#[test]
fn a_store_that_cannot_be_kept_and_a_folder_that_is_gone_refuse_nothing() {
    let place = TRIAL.place("");
    place.write("state/state.db", "this is no database");
    place.write("config.toml", "this is = [no configuration");
    let steps =
        vec![one("echo 1 >> ran.txt"), one("mkdir -p gone && cd gone && rmdir ../gone"), one("echo 2 >> ran.txt")];
    TRIAL.play(&place, &[Script::new("broken", steps)]);
    assert_eq!(place.lines("ran.txt"), ["1", "2"]);
    assert!(Path::new(&place.file("count.txt")).exists());
}
