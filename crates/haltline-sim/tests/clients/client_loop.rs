//! `haltline run --loop` around a real Claude Code, with haltline's own hooks inside it and a scripted model behind it
//! (P8). `.ci/clients` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::drivers;
use haltline_sim::clients::plan::Stage;
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Script, ScriptStep, shell, write};
use serde_json::Value;

/// Each iteration is a separate session that follows the script of its number.
const CLIENT: &str = r#"sh -c 'exec claude -p "Please do the task. [[script:round-$HALTLINE_ITERATION]]" --model claude-sonnet-4-5 --allowedTools Bash,Read,Edit,Write --output-format stream-json --verbose'"#;

const DONE: &str =
    "All of it works.\n\n---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---";

#[test]
fn a_loop_sees_progress_a_stop_by_its_own_hook_and_the_end_of_the_work() {
    let sandbox = Sandbox::with_haltline(
        Client::Claude,
        env!("CARGO_BIN_EXE_client-run"),
        env!("CARGO_BIN_EXE_haltline-now"),
        "",
    );
    std::os::unix::fs::symlink(drivers::installed(Client::Claude).path(), sandbox.root().join("programs/claude"))
        .expect("linked");
    sandbox.write("project/fail", "#!/bin/sh\necho no such table: users\nexit 1\n");
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message=a program that fails"]);
    let scripts = [
        Script::new("round-1", vec![ScriptStep::Call(write(&sandbox.file("made.txt"), "new\n"))]),
        Script::repeating("round-2", vec![ScriptStep::Call(shell("./fail"))], 20),
        Script::new("round-3", vec![ScriptStep::Say(DONE.to_owned())]),
    ];
    let (state, config, report) = (sandbox.state(), sandbox.config(), sandbox.root().join("report.json"));
    let command = format!(
        "HALTLINE_STATE_DIR={} HALTLINE_CONFIG={} haltline run --loop --max-iterations 5 --max-time 3m --report {} -- {CLIENT}",
        state.display(),
        config.display(),
        report.display()
    );
    let outcome = sandbox.run(&scripts, &[Stage::Loop(command)]);
    let run = &outcome.commands[0];
    assert_eq!(run.exit, Some(0), "{}", run.output);
    let last = run.output.lines().last().unwrap_or_default();
    assert!(last.starts_with("haltline: completed after 3 iterations ("), "{last}");
    assert!(last.ends_with(": EXIT_SIGNAL: true"), "{last}");

    let report = std::fs::read_to_string(report).expect("a report is written");
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["end"], "completed");
    let iterations = report["iterations"].as_array().expect("iterations are reported");
    let judged: Vec<&str> = iterations.iter().filter_map(|iteration| iteration["judged"].as_str()).collect();
    assert_eq!(judged, ["progress", "no_progress", "progress"], "{report:#}");
    assert_eq!(
        (&iterations[0]["signs"][0]["source"], &iterations[0]["changed"][0]),
        (&"untracked".into(), &"made.txt".into())
    );
    // The client calls it a success.
    let stopped = &iterations[1];
    assert_eq!((&stopped["command"]["exit_code"], outcome.requests("round-2").len()), (&0.into(), 5), "{stopped:#}");
    assert!(stopped["error"].as_str().is_some_and(|error| error.starts_with("hook: ")), "{stopped:#}");
    assert!(stopped["command"]["client"].as_str().is_some_and(|reason| reason.starts_with("stopped by a hook")));
    let line = run.output.lines().find(|line| line.starts_with("haltline: iteration 2: ")).unwrap_or_default();
    assert!(line.contains("hook stopped the agent"), "{line}");
    assert!(line.contains(", $"), "the cost of the iteration: {line}");
    assert_eq!(iterations[2]["command"]["client"], "finished");

    // The loop counts the tokens that the model reports for each response.
    let tokens: u64 =
        outcome.exchanges.iter().map(|exchange| if exchange.tools.is_empty() { 101 } else { 1_100 }).sum();
    let spent = &report["course"]["spent"];
    assert_eq!(spent["tokens"].as_u64(), Some(tokens), "{spent:#}");
    assert!(spent["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{spent:#}");
}
