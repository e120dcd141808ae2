//! The scope of a slice with a real Claude Code (A5, A7): haltline denies an edit outside it and shows the form; the same
//! edit with a justification passes and is in the report; haltline reports writes of a shell command afterwards; a new
//! session gets the earlier attempts.

use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Call, Script, ScriptStep, shell, write};

const FORM: &str = "File: lib/shared.sh\nFailing test: adds\nReason: add() is defined there and nowhere else\nRelationship: the slice's only function calls it\n";

/// A project in which only `src/` belongs to the slice.
fn sandbox() -> Sandbox {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    let sandbox =
        Sandbox::with_program(haltline_agents::Client::Claude, runner, haltline, "[operator]\nunattended = true\n");
    sandbox.write("project/src/add.sh", "add() { echo 0; }\n");
    sandbox.write("project/lib/shared.sh", "shared() { :; }\n");
    sandbox.write("project/test", "#!/bin/sh\necho 1..1\necho 'not ok 1 - adds'\nexit 1\n");
    sandbox.write("home/form.txt", FORM);
    sandbox
}

fn begin() -> Vec<Stage> {
    ["haltline init --yes", "haltline attempt begin --slice S-1 --in-scope src/"]
        .map(|command| Stage::Command(command.to_owned()))
        .to_vec()
}

fn run(sandbox: &Sandbox, scripts: &[Script], stages: Vec<Stage>) -> Outcome {
    let outcome = sandbox.run(scripts, &[begin(), stages].concat());
    for done in &outcome.commands {
        assert!(matches!(done.exit, Some(0 | 1 | 77)), "{}: {}", done.command, done.output);
    }
    outcome
}

fn clients(script: &Script) -> Stage {
    Stage::Clients(vec![Session::from_script(script)])
}

fn command(command: &str) -> Stage {
    Stage::Command(command.to_owned())
}

fn steps(calls: Vec<Call>) -> Vec<ScriptStep> {
    calls.into_iter().map(ScriptStep::Call).collect()
}

#[test]
fn an_edit_outside_the_scope_is_denied_with_the_form_and_passes_with_a_justification() {
    let sandbox = sandbox();
    let outside = sandbox.file("lib/new.sh");
    let script = Script::new(
        "scope",
        steps(vec![
            write(&sandbox.file("src/more.sh"), "in scope\n"),
            write(&outside, "out of scope\n"),
            shell("haltline attempt scope --slice S-1 lib/new.sh --justify ~/form.txt; true"),
            shell(
                "sed s/shared.sh/new.sh/ ~/form.txt > /tmp/form && haltline attempt scope --slice S-1 lib/new.sh --justify /tmp/form",
            ),
            write(&outside, "justified\n"),
        ]),
    );
    let stages = vec![
        clients(&script),
        command("haltline attempt record --slice S-1 --test adds --result fail --strategy 'write it'"),
        command("haltline attempt report --slice S-1"),
        command("haltline attempt status --slice S-1"),
    ];
    let outcome = run(&sandbox, &[script], stages);
    let requests = outcome.requests("scope");
    assert_eq!(requests[1].haltline_texts(), Vec::<String>::new(), "src/ is the slice's");
    let denied = requests[2].haltline_texts().join("\n");
    for phrase in [
        "HL-ATTEMPT-04",
        "lib/new.sh is outside the scope of slice S-1",
        "File: lib/new.sh",
        "Failing test:",
        "Reason:",
        "Relationship:",
    ] {
        assert!(denied.contains(phrase), "{phrase} is missing: {denied}");
    }
    assert!(
        requests[3].new_texts().join("\n").contains("names \"lib/shared.sh\""),
        "a form about another file is none"
    );
    assert_eq!(sandbox.lines("lib/new.sh"), ["justified"]);
    assert_eq!(outcome.session().terminal_reason(), "completed");
    let report = &outcome.commands[3].output;
    assert!(report.contains("lib/new.sh") && report.contains("add() is defined there and nowhere else"), "{report}");
}

#[test]
fn the_same_edit_again_without_a_justification_is_an_architectural_stop() {
    let sandbox = sandbox();
    let outside = sandbox.file("lib/new.sh");
    let script = Script::repeating("again", steps(vec![write(&outside, "out of scope\n")]), 6);
    let outcome = run(
        &sandbox,
        std::slice::from_ref(&script),
        vec![clients(&script), command("haltline attempt status --slice S-1")],
    );
    assert_eq!(outcome.requests("again").len(), 2, "denied once, then the turn ends");
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    assert!(!sandbox.project().join("lib/new.sh").exists());
    let status = &outcome.commands[2].output;
    assert!(status.contains("CIRCUIT BREAK -- Slice S-1") && status.contains("ARCH-STOP"), "{status}");
}

#[test]
fn two_edits_of_one_response_are_denied_together_and_no_agent_is_stopped() {
    let sandbox = sandbox();
    let outside = sandbox.file("lib/new.sh");
    let both = ScriptStep::Calls(vec![write(&outside, "a\n"), write(&outside, "b\n")]);
    let script = Script::new("both", vec![both]);
    let outcome = run(
        &sandbox,
        std::slice::from_ref(&script),
        vec![clients(&script), command("haltline attempt status --slice S-1")],
    );
    assert_eq!(outcome.session().terminal_reason(), "completed");
    assert!(outcome.commands[2].output.contains("State:      CLOSED"), "{}", outcome.commands[2].output);
}

#[test]
fn a_write_of_a_command_outside_the_scope_is_reported_afterwards() {
    let sandbox = sandbox();
    sandbox.git(&["init", "-q"]);
    sandbox.write("project/.gitignore", "built/\n");
    let script = Script::new(
        "shell",
        steps(vec![
            shell("mkdir -p built && echo 1 > built/x && echo 2 > src/y"),
            shell("echo 3 > lib/z"),
            shell("echo 4 > src/y"),
        ]),
    );
    let outcome = run(&sandbox, std::slice::from_ref(&script), vec![clients(&script)]);
    let requests = outcome.requests("shell");
    assert_eq!(requests[1].haltline_texts(), Vec::<String>::new(), "what git ignores is nobody's work");
    let message = requests[2].haltline_texts().join("\n");
    assert!(message.contains("HL-ATTEMPT-07") && message.contains("lib/z"), "{message}");
    assert_eq!(requests[3].haltline_texts(), Vec::<String>::new(), "once");
}

#[test]
fn a_new_session_gets_the_earlier_attempts_and_edits_of_a_halted_slice_are_denied() {
    let sandbox = sandbox();
    let halted = Script::repeating("halted", steps(vec![write(&sandbox.file("src/more.sh"), "more\n")]), 6);
    let fresh = Script::new("fresh", steps(vec![shell("true")]));
    let later = Script::new("later", steps(vec![shell("true")]));
    let attempt = "haltline attempt run --test adds --strategy 'guess {n}' -- ./test";
    let mut stages: Vec<Stage> = (1..=3).map(|n| command(&attempt.replace("{n}", &n.to_string()))).collect();
    stages.push(clients(&halted));
    stages.push(command("haltline attempt reset --slice S-1 --guidance 'count on your fingers'"));
    stages.push(clients(&fresh));
    stages.push(clients(&later));
    let outcome = run(&sandbox, &[halted, fresh, later], stages);
    assert_eq!(outcome.sessions[0].terminal_reason(), "hook_stopped");
    assert!(outcome.requests("halted")[1].haltline_texts().join("\n").contains("CIRCUIT BREAK"));
    let first = outcome.requests("fresh")[0].texts().join("\n");
    for phrase in ["<prior_attempts>", "guess 1", "guess 3", "count on your fingers"] {
        assert!(first.contains(phrase), "{phrase}: {first}");
    }
    assert!(!outcome.requests("later")[0].texts().join("\n").contains("<prior_attempts>"), "only once");
    assert!(!sandbox.project().join("src/more.sh").exists());
}
