//! haltline with a real Codex and a model that misbehaves by script. `.ci/clients codex` installs the client and runs this.

use haltline_agents::Client;
use haltline_agents::codex::trust;
use haltline_sim::clients::exchange::MESSAGE_PREFIX;
use haltline_sim::clients::outcome::SessionReport;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::scenarios::{ClientTest, assert_untouched, haltline_texts, put_programs, shell_step};
use haltline_sim::clients::script::{Call, Script, ScriptStep, shell, spawn};
use haltline_sim::clients::settings;
use serde_json::{Value, json};

const CLIENT_TEST: ClientTest<'static> = ClientTest {
    client: Client::Codex,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

/// True if the client reached the end of its turn by itself.
fn is_completed(session: &SessionReport) -> bool {
    session.lines.iter().any(|line| line["type"] == "turn.completed")
}

#[test]
fn a_command_that_keeps_failing_is_warned_then_denied_then_the_client_is_interrupted() {
    let sandbox = CLIENT_TEST.sandbox("");
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], 20)]);
    let messages = haltline_texts(&outcome, "again");
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    assert_eq!(messages.len(), 5, "the fifth call is the last: {messages:#?}");
    let counts: Vec<usize> = messages.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 0, 0, 1, 1], "{messages:#?}");
    // No payload has the failure; haltline read it from the transcript.
    let denial =
        "Command blocked by PreToolUse hook: HALTLINE HL-FAIL-01: denied. Circuit breaker tripped: `./fail` failed";
    assert!(messages[4][0].starts_with(denial), "{messages:#?}");
    assert!(!is_completed(outcome.session()), "{:#?}", outcome.session().lines);
    assert_ne!(outcome.session().exit, Some(0), "a runner sees that it did not end well");
}

#[test]
fn without_interruption_every_further_call_is_denied() {
    let sandbox = CLIENT_TEST.sandbox("[loop]\ninterrupt = false\n");
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("again", vec![shell_step("./fail")], 12)]);
    assert!(is_completed(outcome.session()));
    assert_eq!((sandbox.lines("ran.txt").len(), outcome.session().exit), (3, Some(0)));
    let messages = haltline_texts(&outcome, "again");
    assert!(messages[4..].iter().all(|texts| texts.len() == 1 && texts[0].contains(MESSAGE_PREFIX)), "{messages:#?}");
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
    assert_eq!(sandbox.lines("ran.txt").len(), 3);
    let messages = haltline_texts(&outcome, "batch");
    assert_eq!(messages[4].len(), 3, "all calls of the response are denied: {messages:#?}");
    // haltline escalates with the next response, not with each call of one response.
    let is_stop = |text: &String| text.contains(": stopped");
    assert_eq!((messages[4].iter().any(is_stop), messages[5].iter().any(is_stop)), (false, true), "{messages:#?}");
}

/// A call of one of the client's own tools.
fn own(tool: &str, input: Value) -> ScriptStep {
    ScriptStep::Call(Call { tool: tool.to_owned(), input })
}

#[test]
fn a_parent_may_wait_for_a_sub_agent_that_works() {
    let sandbox = CLIENT_TEST.sandbox("");
    // The client waits at least ten seconds; only the last of these calls gets a result.
    let wait = || own("wait_agent", json!({ "timeout_ms": 10_000 }));
    let parent =
        vec![ScriptStep::Call(spawn("child")), wait(), wait(), wait(), wait(), shell_step("touch done"), wait()];
    let until_done = |number: u32| {
        let command = format!("timeout 25 sh -c 'until [ -e done ]; do sleep 0.1; done'; echo {number}");
        own("exec_command", json!({ "cmd": command, "yield_time_ms": 30_000 }))
    };
    let sub_agent = (1..=3).map(until_done).collect();
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("parent", parent), Script::new("child", sub_agent)]);
    assert_untouched(&outcome, "parent", 7);
    assert!(is_completed(outcome.session()), "{:#?}", outcome.session().lines);
}

#[test]
fn patches_through_the_shell_pass_until_one_keeps_failing() {
    let sandbox = CLIENT_TEST.sandbox("");
    let patch = |file: &str, change: &str| {
        shell_step(&format!(
            "apply_patch <<'EOF'\n*** Begin Patch\n*** {change} File: {file}\n+x = 1\n*** End Patch\nEOF\n"
        ))
    };
    let turns = 16;
    let steps = (0..turns).map(|number| patch(&format!("f{number}.py"), "Add")).collect();
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("good", steps)]);
    assert_untouched(&outcome, "good", turns);
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::repeating("bad", vec![patch("missing.py", "Update")], 12)]);
    let texts = haltline_texts(&outcome, "bad").concat();
    assert!(texts.iter().any(|text| text.contains("HL-FAIL-01")), "{texts:#?}");
}

#[test]
fn a_command_that_outlives_its_timeout_counts_when_it_ends() {
    let sandbox = CLIENT_TEST.sandbox("[loop]\ninterrupt = false\n");
    sandbox.write("project/suite", "#!/bin/sh\nread word < gate\necho all tests passed, $word\n");
    sandbox.write("project/broken", "#!/bin/sh\nread word < gate\necho no such table: users\nexit 1\n");
    let run = |command: &str, label: &str| {
        let begin = own("exec_command", json!({ "cmd": command, "yield_time_ms": 250 }));
        // The command ends after this write, and the agent then reads its output. After a denial no process waits at the gate.
        [begin, shell_step(&format!("echo {label} 1<> gate")), own("write_stdin", json!({}))]
    };
    let labels = ["alpha", "beta", "gamma", "delta", "epsilon"];
    let suite = labels.iter().flat_map(|label| run("./suite", label));
    let steps: Vec<ScriptStep> = std::iter::once(shell_step("mkfifo gate")).chain(suite).collect();
    let turns = steps.len();
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("good", steps)]);
    assert_untouched(&outcome, "good", turns);
    let outcome = CLIENT_TEST
        .play(&sandbox, &[Script::new("bad", labels.iter().flat_map(|label| run("./broken", label)).collect())]);
    let texts = haltline_texts(&outcome, "bad").concat();
    // The write to the gate counts as an edit, so the pattern is a failure that edits do not fix.
    assert!(texts.iter().any(|text| text.contains("HL-LOOP-06: `./broken` failed")), "{texts:#?}");
}

#[test]
fn tokens_of_sub_agents_count_up_to_the_last_response() {
    let wait = || own("wait_agent", json!({ "timeout_ms": 60_000 }));
    let parent = vec![ScriptStep::Call(spawn("teller")), wait(), ScriptStep::Call(spawn("worker")), wait()];
    let (teller, worker) =
        (Script::new("teller", vec![]), Script::new("worker", vec![shell_step("echo 1"), shell_step("echo 2")]));
    let (responses, tokens) = CLIENT_TEST.spent(&[
        Script::new("parent", parent).using(900, 100),
        teller.using(900, 100),
        worker.using(900, 100),
    ]);
    assert_eq!((responses, tokens), (5 + 1 + 3, 9_000));
}

#[test]
fn a_foreign_stop_hook_that_always_blocks_is_stopped() {
    let sandbox = CLIENT_TEST.sandbox("");
    let hooks = sandbox.haltline_settings();
    let hooks = settings::with_foreign(&hooks, "Stop", r#"echo '{"decision":"block","reason":"not yet"}'"#, true);
    sandbox.settings(&hooks);
    // The client itself has no limit on blocked stops.
    let outcome = CLIENT_TEST.play(&sandbox, &[Script::new("nothing", vec![])]);
    assert!(outcome.requests("nothing").len() <= 8, "{} requests", outcome.requests("nothing").len());
    assert!(is_completed(outcome.session()));
}

/// Hooks and configuration as a person wrote them.
const HOOKS: &str = "{\n    \"description\" : \"mine\",\n    \"hooks\": { \"Stop\": [ { \"hooks\": [\n        \
    { \"type\": \"command\", \"command\": \"true\" } ] } ] }\n}";

#[test]
fn hooks_from_init_run_once_trusted_and_uninstall_restores_every_byte() {
    // `uninstall` is an operator action; without a terminal it needs this setting.
    let sandbox = Sandbox::with_program(
        CLIENT_TEST.client,
        CLIENT_TEST.runner,
        CLIENT_TEST.haltline,
        "[operator]\nunattended = true\n",
    );
    put_programs(&sandbox);
    sandbox.write("home/.codex/hooks.json", HOOKS);
    let script = Script::repeating("again", vec![shell_step("./fail")], 8);
    let command = |command: &str| Stage::Command(format!("haltline {command}"));
    let session = || Stage::Clients(vec![Session::from_script(&script)]);
    let stages = [command("init --client codex --yes"), command("doctor --json"), session()];
    let before = sandbox.run(std::slice::from_ref(&script), &stages);
    assert_eq!(before.commands[0].exit, Some(0), "{}", before.commands[0].output);
    assert!(before.commands[0].output.contains("/hooks"), "{}", before.commands[0].output);
    let trust_of = |output: &str| -> (bool, String) {
        let view: Value = serde_json::from_str(output).expect("JSON");
        let checks = view["checks"].as_array().expect("checks").clone();
        let check = checks.into_iter().find(|check| check["name"] == "trust").expect("a line on trust");
        (check["is_fine"] == true, check["says"].as_str().unwrap_or_default().to_owned())
    };
    let (is_fine, says) = trust_of(&before.commands[1].output);
    assert!(!is_fine && says.contains("you have not trusted them yet"), "{says}");
    assert_eq!(sandbox.lines("ran.txt").len(), 8, "the client skips them silently, as it promises");

    // A person does this with `/hooks`.
    let path = sandbox.root().join("home/.codex/hooks.json").display().to_string();
    let installed = std::fs::read_to_string(&path).expect("hooks");
    let config = std::fs::read_to_string(sandbox.root().join("home/.codex/config.toml")).expect("config");
    let own = sandbox.haltline().display().to_string();
    let trusted: String = trust::hooks(&installed, &path, &config, &own)
        .iter()
        .map(|hook| format!("\n[hooks.state.\"{}\"]\ntrusted_hash = \"{}\"\n", hook.key, hook.hash))
        .collect();
    sandbox.write("home/.codex/config.toml", &(config + &trusted));
    sandbox.write("project/ran.txt", "");
    let stages = [command("doctor"), session(), command("doctor --json"), command("uninstall --client codex")];
    let after = sandbox.run(std::slice::from_ref(&script), &stages);
    for done in &after.commands {
        assert_eq!(done.exit, Some(0), "{}: {}", done.command, done.output);
    }
    assert!(trust_of(&after.commands[1].output).0, "{}", after.commands[1].output);
    assert_eq!((sandbox.lines("ran.txt").len(), after.requests("again").len()), (3, 5), "now they run");
    let left = std::fs::read_to_string(&path).expect("the hooks are there");
    assert_eq!(left, HOOKS, "byte for byte");
}
