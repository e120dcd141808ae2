//! What only OpenCode does: a plugin in its process, tools that throw, sub-agents that are sessions, dollars, and no
//! limit on the time a plugin takes. `.ci/clients opencode` installs the client and runs this; what it shares with
//! others is in `client_promises.rs`.

use haltline_agents::Client;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::{ClientTest, assert_untouched, haltline_texts, shell_step};
use haltline_sim::clients::script::{Script, ScriptStep, read, shell, spawn};
use serde_json::Value;

const CLIENT_TEST: ClientTest<'static> = ClientTest {
    client: Client::OpenCode,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

/// A long cooldown: a circuit stays OPEN however slow the machine is.
const LONG_COOLDOWN: &str = "[loop.tool_failure]\ncooldown_base_seconds = 3600\n";

/// Writes a plugin of the project, in the second folder that the client reads.
fn install_for_the_project(sandbox: &Sandbox, plugin: &str) {
    sandbox.write("project/.opencode/plugin/haltline.js", plugin);
    for file in ["package-lock.json", "node_modules/.keep"] {
        let of_user = sandbox.root().join("home/.config/opencode").join(file);
        let text = std::fs::read_to_string(of_user).expect("the driver wrote it");
        sandbox.write(&format!("project/.opencode/{file}"), &text);
    }
}

#[test]
fn a_tool_that_throws_is_seen_on_the_bus_and_denied() {
    let sandbox = CLIENT_TEST.sandbox(LONG_COOLDOWN);
    let steps = vec![ScriptStep::Call(read(&sandbox.file("nothing.txt")))];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("look", steps, 12)]);
    let messages = haltline_texts(&outcome, "look");
    assert!(messages.concat().iter().any(|text| text.contains("HL-FAIL-01: denied")), "{messages:#?}");
    assert!(messages.len() <= 6, "{} requests", messages.len());
    assert_eq!(outcome.session().exit, Some(1), "a runner sees that it did not end well");
}

#[test]
fn installed_twice_it_counts_once_and_calls_of_one_response_get_the_same_verdict() {
    let sandbox = CLIENT_TEST.sandbox(LONG_COOLDOWN);
    install_for_the_project(&sandbox, &sandbox.haltline_settings());
    let fail = || shell_step("./fail");
    let steps = vec![fail(), fail(), fail(), ScriptStep::Calls(vec![shell("./fail"); 3]), fail(), fail()];
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("batch", steps)]);
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    let messages = haltline_texts(&outcome, "batch");
    let counts: Vec<usize> = messages.iter().map(Vec::len).collect();
    // haltline escalates with the next response, which ends the session, and not with each call of a response.
    assert_eq!(counts, [0, 0, 0, 1, 3], "{messages:#?}");
    assert!(messages[4].iter().all(|text| text.contains(": denied")), "{messages:#?}");
}

#[test]
fn a_plugin_in_the_project_that_was_installed_elsewhere_silences_nobody() {
    let sandbox = CLIENT_TEST.sandbox(LONG_COOLDOWN);
    let here = sandbox.haltline().display().to_string();
    install_for_the_project(&sandbox, &sandbox.haltline_settings().replace(&here, "/home/bo/bin/haltline"));
    CLIENT_TEST.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], 8)]);
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
}

#[test]
fn only_the_sub_agent_is_ended_and_its_parent_gets_the_reason() {
    let sandbox = CLIENT_TEST.sandbox(LONG_COOLDOWN);
    let parent = Script::new("parent", vec![ScriptStep::Call(spawn("child")), shell_step("echo the parent goes on")]);
    let child = Script::repeating("child", vec![shell_step("./fail")], 12);
    let outcome = CLIENT_TEST.play(&sandbox, &[parent, child]);
    assert_eq!((sandbox.lines("ran.txt").len(), outcome.session().exit), (3, Some(0)));
    assert_eq!(outcome.requests("child").len(), 5);
    let messages = haltline_texts(&outcome, "parent").concat();
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert!(
        messages[0].starts_with("the parent goes on\n") && messages[0].contains("The sub-agent was ended: HALTLINE"),
        "{messages:#?}"
    );
}

#[test]
fn a_haltline_that_hangs_delays_no_call() {
    let sandbox = CLIENT_TEST.sandbox("");
    sandbox.write("programs/haltline", "#!/bin/sh\nexec sleep 600\n");
    let outcome = CLIENT_TEST
        .play(&sandbox, &[Script::new("work", vec![shell_step("echo 1 >> ran.txt"), shell_step("echo 2 >> ran.txt")])]);
    assert_untouched(&outcome, "work", 2);
    assert_eq!(sandbox.lines("ran.txt"), ["1", "2"]);
}

#[test]
fn a_budget_counts_the_dollars_that_the_client_reports() {
    // 1,000 tokens in at 3 dollars a million and 100 out at 15 are 0.0045 dollars.
    let sandbox = CLIENT_TEST.sandbox("[budget]\nusd_hard = 0.02\n");
    let steps = (1..=20).map(|number| shell_step(&format!("echo {number} >> ran.txt"))).collect();
    CLIENT_TEST.play(&sandbox, &[Script::new("spend", steps)]);
    let ran = sandbox.lines("ran.txt").len();
    assert!((4..=6).contains(&ran), "{ran} calls ran");
}

#[test]
fn a_fork_pays_for_itself_alone() {
    // Four responses of 0.0045 dollars before the sub-agent, and four of the sub-agent.
    let sandbox = CLIENT_TEST.sandbox("[budget]\nusd_hard = 0.02\n");
    let spend = |name: &str| Script::new(name, vec![shell_step(&format!("echo {name} >> ran.txt")); 3]);
    let (first, second) = (spend("first"), spend("second"));
    let fork = CLIENT_TEST.session(&second).with_arguments(&["--continue", "--fork"]);
    let stages = [Stage::Clients(vec![CLIENT_TEST.session(&first)]), Stage::Clients(vec![fork])];
    sandbox.run(&[first, second], &stages);
    assert_eq!(sandbox.lines("ran.txt"), ["first", "first", "first", "second", "second", "second"]);
}

#[test]
fn calls_that_find_the_store_busy_together_are_all_counted() {
    let sandbox = CLIENT_TEST.sandbox("");
    let lock = sandbox.state().join("state.lock");
    let hold = "touch held; until [ $(wc -l < ran.txt) -ge 8 ]; do sleep 0.1; done";
    let locking = format!("flock {} sh -c '{hold}' < /dev/null > /dev/null 2>&1 &", lock.display());
    sandbox.write(
        "project/hold",
        &format!("#!/bin/sh\ntouch ran.txt\n{locking}\nuntil [ -e held ]; do sleep 0.1; done\n"),
    );
    let eight = ScriptStep::Calls((1..=8).map(|number| shell(&format!("echo {number} >> ran.txt"))).collect());
    let script = Script::new("together", vec![shell_step("./hold"), eight, shell_step("echo 9 >> ran.txt")]);
    let export = format!("HALTLINE_STATE_DIR={} haltline journal export", sandbox.state().display());
    let stages = [Stage::Clients(vec![CLIENT_TEST.session(&script)]), Stage::Command(export)];
    let outcome = sandbox.run(&[script], &stages);
    assert_eq!(sandbox.lines("ran.txt").len(), 9);
    let facts = outcome.commands[0].output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let started = facts.filter(|fact| !fact["fact"]["lane"]["started"].is_null()).count();
    assert_eq!(started, 10, "the one with the lock, the eight, and the one after them");
}

#[test]
fn a_haltline_replaced_during_a_session_is_used_from_then_on() {
    let sandbox = CLIENT_TEST.sandbox(LONG_COOLDOWN);
    sandbox.copy(CLIENT_TEST.haltline, "new-haltline");
    let programs = sandbox.root().join("programs");
    let new = format!("#!/bin/sh\necho started >> started.txt\nexec {}/new-haltline \"$@\"\n", programs.display());
    sandbox.write("programs/new", &new);
    let replace = format!("#!/bin/sh\nmv {0}/new {0}/haltline\n", programs.display());
    sandbox.write("project/replace", &replace);
    let mut steps = vec![shell_step("./fail"), shell_step("./replace")];
    steps.extend(vec![shell_step("./fail"); 8]);
    CLIENT_TEST.play(&sandbox, &[Script::new("replaced", steps)]);
    assert_eq!((sandbox.lines("started.txt").len(), sandbox.lines("ran.txt").len()), (1, 3));
}
