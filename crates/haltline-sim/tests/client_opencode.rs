//! What is peculiar to OpenCode: a plugin in its process, tools that throw, sub-agents that are sessions, dollars, and no
//! limit on how long a plugin may take. `.ci/clients opencode` installs the client and runs this; what it shares with
//! others is in `client_promises.rs`.

use haltline_agents::Client;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::scenarios::{Trial, assert_untouched, one, told};
use haltline_sim::clients::script::{Script, Step, read, shell, spawn};
use serde_json::Value;

const TRIAL: Trial<'static> = Trial {
    client: Client::OpenCode,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

/// What is refused stays so, however slow the machine is.
const LONG_COOLDOWN: &str = "[loop.tool_failure]\ncooldown_base_seconds = 3600\n";

/// A plugin in the project, in the other folder that the client looks into.
fn install_for_the_project(place: &Place, plugin: &str) {
    place.write("project/.opencode/plugin/haltline.js", plugin);
    for file in ["package-lock.json", "node_modules/.keep"] {
        let of_user = place.root().join("home/.config/opencode").join(file);
        let text = std::fs::read_to_string(of_user).expect("the driver wrote it");
        place.write(&format!("project/.opencode/{file}"), &text);
    }
}

#[test]
fn a_tool_that_throws_is_seen_on_the_bus_and_refused() {
    let place = TRIAL.place(LONG_COOLDOWN);
    let steps = vec![Step::Call(read(&place.file("nothing.txt")))];
    let outcome = TRIAL.play(&place, &[Script::repeating("look", steps, 12)]);
    let told = told(&outcome, "look");
    assert!(told.concat().iter().any(|text| text.contains("HL-FAIL-01: refused")), "{told:#?}");
    assert!(told.len() <= 6, "{} requests", told.len());
    assert_eq!(outcome.session().exit, Some(1), "a runner sees that it did not end well");
}

#[test]
fn installed_twice_it_counts_once_and_calls_of_one_response_share_their_answer() {
    let place = TRIAL.place(LONG_COOLDOWN);
    install_for_the_project(&place, &place.haltline_settings());
    let fail = || one("./fail");
    let steps = vec![fail(), fail(), fail(), Step::Calls(vec![shell("./fail"); 3]), fail(), fail()];
    let outcome = TRIAL.play(&place, &[Script::new("batch", steps)]);
    assert_eq!(place.lines("ran.txt").len(), 3);
    let told = told(&outcome, "batch");
    let counts: Vec<usize> = told.iter().map(Vec::len).collect();
    // The rung rises with the next response, which ends the session, and not with each call of one.
    assert_eq!(counts, [0, 0, 0, 1, 3], "{told:#?}");
    assert!(told[4].iter().all(|text| text.contains(": refused")), "{told:#?}");
}

#[test]
fn a_plugin_in_the_project_that_was_installed_elsewhere_silences_nobody() {
    let place = TRIAL.place(LONG_COOLDOWN);
    let here = place.haltline().display().to_string();
    install_for_the_project(&place, &place.haltline_settings().replace(&here, "/home/bo/bin/haltline"));
    TRIAL.play(&place, &[Script::repeating("again", vec![one("./fail")], 8)]);
    assert_eq!(place.lines("ran.txt").len(), 3);
}

#[test]
fn a_sub_agent_is_ended_alone_and_its_parent_hears_why() {
    let place = TRIAL.place(LONG_COOLDOWN);
    let parent = Script::new("parent", vec![Step::Call(spawn("child")), one("echo the parent goes on")]);
    let child = Script::repeating("child", vec![one("./fail")], 12);
    let outcome = TRIAL.play(&place, &[parent, child]);
    assert_eq!((place.lines("ran.txt").len(), outcome.session().exit), (3, Some(0)));
    assert_eq!(outcome.requests("child").len(), 5);
    let told = told(&outcome, "parent").concat();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].starts_with("the parent goes on\n") && told[0].contains("The sub-agent was ended: HALTLINE"),
        "{told:#?}"
    );
}

#[test]
fn a_haltline_that_never_answers_holds_nobody_up() {
    let place = TRIAL.place("");
    place.write("programs/haltline", "#!/bin/sh\nexec sleep 600\n");
    let outcome = TRIAL.play(&place, &[Script::new("work", vec![one("echo 1 >> ran.txt"), one("echo 2 >> ran.txt")])]);
    assert_untouched(&outcome, "work", 2);
    assert_eq!(place.lines("ran.txt"), ["1", "2"]);
}

#[test]
fn a_budget_counts_the_dollars_that_the_client_tells() {
    // 1,000 tokens in at 3 dollars a million and 100 out at 15 are 0.0045 dollars.
    let place = TRIAL.place("[budget]\nusd_hard = 0.02\n");
    let steps = (1..=20).map(|number| one(&format!("echo {number} >> ran.txt"))).collect();
    TRIAL.play(&place, &[Script::new("spend", steps)]);
    let ran = place.lines("ran.txt").len();
    assert!((4..=6).contains(&ran), "{ran} calls ran");
}

#[test]
fn a_fork_pays_for_itself_alone() {
    // Four responses of 0.0045 dollars before it, and four of its own.
    let place = TRIAL.place("[budget]\nusd_hard = 0.02\n");
    let spend = |name: &str| Script::new(name, vec![one(&format!("echo {name} >> ran.txt")); 3]);
    let (first, second) = (spend("first"), spend("second"));
    let fork = TRIAL.session(&second).with(&["--continue", "--fork"]);
    let stages = [Stage::Clients(vec![TRIAL.session(&first)]), Stage::Clients(vec![fork])];
    place.run(&[first, second], &stages);
    assert_eq!(place.lines("ran.txt"), ["first", "first", "first", "second", "second", "second"]);
}

#[test]
fn calls_that_find_the_store_busy_together_are_all_counted() {
    let place = TRIAL.place("");
    let lock = place.state().join("state.lock");
    let hold = "touch held; until [ $(wc -l < ran.txt) -ge 8 ]; do sleep 0.1; done";
    let held = format!("flock {} sh -c '{hold}' < /dev/null > /dev/null 2>&1 &", lock.display());
    place.write("project/hold", &format!("#!/bin/sh\ntouch ran.txt\n{held}\nuntil [ -e held ]; do sleep 0.1; done\n"));
    let eight = Step::Calls((1..=8).map(|number| shell(&format!("echo {number} >> ran.txt"))).collect());
    let script = Script::new("together", vec![one("./hold"), eight, one("echo 9 >> ran.txt")]);
    let export = format!("HALTLINE_STATE_DIR={} haltline journal export", place.state().display());
    let stages = [Stage::Clients(vec![TRIAL.session(&script)]), Stage::Command(export)];
    let outcome = place.run(&[script], &stages);
    assert_eq!(place.lines("ran.txt").len(), 9);
    let facts = outcome.commands[0].output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let started = facts.filter(|fact| !fact["fact"]["lane"]["started"].is_null()).count();
    assert_eq!(started, 10, "the one that held it, the eight, and the one after them");
}

#[test]
fn a_haltline_that_is_replaced_while_a_session_runs_is_the_one_that_is_asked_from_then_on() {
    let place = TRIAL.place(LONG_COOLDOWN);
    place.copy(TRIAL.haltline, "new-haltline");
    let programs = place.root().join("programs");
    let new = format!("#!/bin/sh\necho started >> started.txt\nexec {}/new-haltline \"$@\"\n", programs.display());
    place.write("programs/new", &new);
    let replace = format!("#!/bin/sh\nmv {0}/new {0}/haltline\n", programs.display());
    place.write("project/replace", &replace);
    let mut steps = vec![one("./fail"), one("./replace")];
    steps.extend(vec![one("./fail"); 8]);
    TRIAL.play(&place, &[Script::new("replaced", steps)]);
    assert_eq!((place.lines("started.txt").len(), place.lines("ran.txt").len()), (1, 3));
}
