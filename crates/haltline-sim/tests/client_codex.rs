//! haltline with a real Codex and a model that misbehaves by script. `.ci/clients codex` installs the client and runs this.

use haltline_agents::Client;
use haltline_agents::codex::trust;
use haltline_sim::clients::exchange::VOICE;
use haltline_sim::clients::outcome::Report;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::scenarios::{Trial, assert_untouched, one, put_programs, told};
use haltline_sim::clients::script::{Call, Script, Step, shell, spawn};
use haltline_sim::clients::settings;
use serde_json::{Value, json};

const TRIAL: Trial<'static> = Trial {
    client: Client::Codex,
    runner: env!("CARGO_BIN_EXE_client-run"),
    haltline: env!("CARGO_BIN_EXE_haltline-now"),
};

/// Whether the client came to the end of its turn by itself.
fn is_completed(session: &Report) -> bool {
    session.lines.iter().any(|line| line["type"] == "turn.completed")
}

#[test]
fn a_failing_command_again_and_again_is_warned_of_then_refused_then_the_client_is_interrupted() {
    let place = TRIAL.place("");
    let outcome = TRIAL.play(&place, &[Script::repeating("again", vec![one("./fail")], 20)]);
    let told = told(&outcome, "again");
    assert_eq!(place.lines("ran.txt").len(), 3);
    assert_eq!(told.len(), 5, "the fifth call is the last that was asked for: {told:#?}");
    let counts: Vec<usize> = told.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 0, 0, 1, 1], "{told:#?}");
    // That it failed stands in no payload: the transcript told it.
    let refusal =
        "Command blocked by PreToolUse hook: HALTLINE HL-FAIL-01: refused. Circuit breaker tripped: `./fail` failed";
    assert!(told[4][0].starts_with(refusal), "{told:#?}");
    assert!(!is_completed(outcome.session()), "{:#?}", outcome.session().lines);
    assert_ne!(outcome.session().exit, Some(0), "a runner sees that it did not end well");
}

#[test]
fn who_wants_no_interruption_gets_refusals_and_nothing_runs() {
    let place = TRIAL.place("[loop]\ninterrupt = false\n");
    let outcome = TRIAL.play(&place, &[Script::repeating("again", vec![one("./fail")], 12)]);
    assert!(is_completed(outcome.session()));
    assert_eq!((place.lines("ran.txt").len(), outcome.session().exit), (3, Some(0)));
    let told = told(&outcome, "again");
    assert!(told[4..].iter().all(|texts| texts.len() == 1 && texts[0].contains(VOICE)), "{told:#?}");
}

#[test]
fn several_calls_in_one_response_share_their_answer() {
    let place = TRIAL.place("[loop]\ninterrupt = false\n");
    let steps = vec![one("./fail"), one("./fail"), one("./fail"), Step::Calls(vec![shell("./fail"); 3]), one("./fail")];
    let outcome = TRIAL.play(&place, &[Script::new("batch", steps)]);
    assert_eq!(place.lines("ran.txt").len(), 3);
    let told = told(&outcome, "batch");
    assert_eq!(told[4].len(), 3, "all of the response are refused: {told:#?}");
    // The rung rises with the next response, not with each call of one.
    let is_stop = |text: &String| text.contains(": stopped");
    assert_eq!((told[4].iter().any(is_stop), told[5].iter().any(is_stop)), (false, true), "{told:#?}");
}

/// A call of one of the client's own tools.
fn own(tool: &str, input: Value) -> Step {
    Step::Call(Call { tool: tool.to_owned(), input })
}

#[test]
fn a_parent_may_wait_for_a_child_that_works() {
    let place = TRIAL.place("");
    // Less than ten seconds the client does not wait; each of these comes back without an answer but the last.
    let wait = || own("wait_agent", json!({ "timeout_ms": 10_000 }));
    let parent = vec![Step::Call(spawn("child")), wait(), wait(), wait(), wait(), one("touch done"), wait()];
    let until_done = |number: u32| {
        let command = format!("timeout 25 sh -c 'until [ -e done ]; do sleep 0.1; done'; echo {number}");
        own("exec_command", json!({ "cmd": command, "yield_time_ms": 30_000 }))
    };
    let child = (1..=3).map(until_done).collect();
    let outcome = TRIAL.play(&place, &[Script::new("parent", parent), Script::new("child", child)]);
    assert_untouched(&outcome, "parent", 7);
    assert!(is_completed(outcome.session()), "{:#?}", outcome.session().lines);
}

#[test]
fn patches_through_the_shell_are_good_work_until_one_fails_again_and_again() {
    let place = TRIAL.place("");
    let patch = |file: &str, change: &str| {
        one(&format!("apply_patch <<'EOF'\n*** Begin Patch\n*** {change} File: {file}\n+x = 1\n*** End Patch\nEOF\n"))
    };
    let turns = 16;
    let steps = (0..turns).map(|number| patch(&format!("f{number}.py"), "Add")).collect();
    let outcome = TRIAL.play(&place, &[Script::new("good", steps)]);
    assert_untouched(&outcome, "good", turns);
    let outcome = TRIAL.play(&place, &[Script::repeating("bad", vec![patch("missing.py", "Update")], 12)]);
    let texts = told(&outcome, "bad").concat();
    assert!(texts.iter().any(|text| text.contains("HL-FAIL-01")), "{texts:#?}");
}

#[test]
fn a_command_that_outlives_its_time_counts_when_it_ends() {
    let place = TRIAL.place("[loop]\ninterrupt = false\n");
    place.write("project/suite", "#!/bin/sh\nread word < gate\necho all tests passed, $word\n");
    place.write("project/broken", "#!/bin/sh\nread word < gate\necho no such table: users\nexit 1\n");
    let run = |command: &str, word: &str| {
        let begin = own("exec_command", json!({ "cmd": command, "yield_time_ms": 250 }));
        // It ends when it is let through, and the agent looks after it. Nobody waits where it was refused.
        [begin, one(&format!("echo {word} 1<> gate")), own("write_stdin", json!({}))]
    };
    let words = ["alpha", "beta", "gamma", "delta", "epsilon"];
    let suite = words.iter().flat_map(|word| run("./suite", word));
    let steps: Vec<Step> = std::iter::once(one("mkfifo gate")).chain(suite).collect();
    let turns = steps.len();
    let outcome = TRIAL.play(&place, &[Script::new("good", steps)]);
    assert_untouched(&outcome, "good", turns);
    let outcome =
        TRIAL.play(&place, &[Script::new("bad", words.iter().flat_map(|word| run("./broken", word)).collect())]);
    let texts = told(&outcome, "bad").concat();
    // What lets it through is a write, so it is found as a failure that edits do not mend.
    assert!(texts.iter().any(|text| text.contains("HL-LOOP-06: `./broken` failed")), "{texts:#?}");
}

#[test]
fn what_sub_agents_take_is_counted_to_the_last_response() {
    let wait = || own("wait_agent", json!({ "timeout_ms": 60_000 }));
    let parent = vec![Step::Call(spawn("teller")), wait(), Step::Call(spawn("worker")), wait()];
    let (teller, worker) = (Script::new("teller", vec![]), Script::new("worker", vec![one("echo 1"), one("echo 2")]));
    let (responses, tokens) =
        TRIAL.spent(&[Script::new("parent", parent).using(900, 100), teller.using(900, 100), worker.using(900, 100)]);
    assert_eq!((responses, tokens), (5 + 1 + 3, 9_000));
}

#[test]
fn a_stop_hook_of_someone_else_that_always_blocks_is_ended() {
    let place = TRIAL.place("");
    let hooks = place.haltline_settings();
    let hooks = settings::with_foreign(&hooks, "Stop", r#"echo '{"decision":"block","reason":"not yet"}'"#, true);
    place.settings(&hooks);
    // The client itself has no limit on this.
    let outcome = TRIAL.play(&place, &[Script::new("nothing", vec![])]);
    assert!(outcome.requests("nothing").len() <= 8, "{} requests", outcome.requests("nothing").len());
    assert!(is_completed(outcome.session()));
}

/// Hooks and configuration as a person left them.
const HOOKS: &str = "{\n    \"description\" : \"mine\",\n    \"hooks\": { \"Stop\": [ { \"hooks\": [\n        \
    { \"type\": \"command\", \"command\": \"true\" } ] } ] }\n}";

#[test]
fn what_init_wrote_runs_once_it_is_trusted_and_is_taken_out_again_byte_for_byte() {
    // `uninstall` is for people; there is no terminal here to ask one at.
    let place = Place::with_program(TRIAL.client, TRIAL.runner, TRIAL.haltline, "[operator]\nunattended = true\n");
    put_programs(&place);
    place.write("home/.codex/hooks.json", HOOKS);
    let script = Script::repeating("again", vec![one("./fail")], 8);
    let command = |command: &str| Stage::Command(format!("haltline {command}"));
    let session = || Stage::Clients(vec![Session::of(&script)]);
    let stages = [command("init --client codex --yes"), command("doctor --json"), session()];
    let before = place.run(std::slice::from_ref(&script), &stages);
    assert_eq!(before.commands[0].exit, Some(0), "{}", before.commands[0].output);
    assert!(before.commands[0].output.contains("/hooks"), "{}", before.commands[0].output);
    let trust_of = |output: &str| -> (bool, String) {
        let view: Value = serde_json::from_str(output).expect("JSON");
        let checks = view["checks"].as_array().expect("checks").clone();
        let check = checks.into_iter().find(|check| check["name"] == "trust").expect("a line on trust");
        (check["is_fine"] == true, check["says"].as_str().unwrap_or_default().to_owned())
    };
    let (is_fine, says) = trust_of(&before.commands[1].output);
    assert!(!is_fine && says.contains("nobody has trusted them"), "{says}");
    assert_eq!(place.lines("ran.txt").len(), 8, "the client skips them silently, as it promises");

    // What a person does with `/hooks`.
    let path = place.root().join("home/.codex/hooks.json").display().to_string();
    let installed = std::fs::read_to_string(&path).expect("hooks");
    let config = std::fs::read_to_string(place.root().join("home/.codex/config.toml")).expect("config");
    let own = place.haltline().display().to_string();
    let trusted: String = trust::hooks(&installed, &path, &config, &own)
        .iter()
        .map(|hook| format!("\n[hooks.state.\"{}\"]\ntrusted_hash = \"{}\"\n", hook.key, hook.hash))
        .collect();
    place.write("home/.codex/config.toml", &(config + &trusted));
    place.write("project/ran.txt", "");
    let stages = [command("doctor"), session(), command("doctor --json"), command("uninstall --client codex")];
    let after = place.run(std::slice::from_ref(&script), &stages);
    for done in &after.commands {
        assert_eq!(done.exit, Some(0), "{}: {}", done.command, done.output);
    }
    assert!(trust_of(&after.commands[1].output).0, "{}", after.commands[1].output);
    assert_eq!((place.lines("ran.txt").len(), after.requests("again").len()), (3, 5), "now they run");
    let left = std::fs::read_to_string(&path).expect("the hooks are there");
    assert_eq!(left, HOOKS, "byte for byte");
}
