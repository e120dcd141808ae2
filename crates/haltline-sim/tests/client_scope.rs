//! The scope lock of a slice with a real Claude Code (A5, A7): an edit outside it is refused with the form, the same edit
//! with an honest justification passes and stands in the report; what a shell command writes is told afterwards; a new
//! session is told what was tried.

use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::script::{Call, Script, Step, shell, write};

const FORM: &str = "File: lib/shared.sh\nFailing test: adds\nReason: add() is defined there and nowhere else\nRelationship: the slice's only function calls it\n";

/// A project in which only `src/` belongs to the slice.
fn place() -> Place {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    let place =
        Place::with_program(haltline_agents::Client::Claude, runner, haltline, "[operator]\nunattended = true\n");
    place.write("project/src/add.sh", "add() { echo 0; }\n");
    place.write("project/lib/shared.sh", "shared() { :; }\n");
    place.write("project/test", "#!/bin/sh\necho 1..1\necho 'not ok 1 - adds'\nexit 1\n");
    place.write("home/form.txt", FORM);
    place
}

fn begin() -> Vec<Stage> {
    ["haltline init --yes", "haltline attempt begin --slice S-1 --in-scope src/"]
        .map(|command| Stage::Command(command.to_owned()))
        .to_vec()
}

fn run(place: &Place, scripts: &[Script], stages: Vec<Stage>) -> Outcome {
    let outcome = place.run(scripts, &[begin(), stages].concat());
    for done in &outcome.commands {
        assert!(matches!(done.exit, Some(0 | 1 | 77)), "{}: {}", done.command, done.output);
    }
    outcome
}

fn clients(script: &Script) -> Stage {
    Stage::Clients(vec![Session::of(script)])
}

fn command(command: &str) -> Stage {
    Stage::Command(command.to_owned())
}

fn steps(calls: Vec<Call>) -> Vec<Step> {
    calls.into_iter().map(Step::Call).collect()
}

#[test]
fn an_edit_outside_the_scope_is_refused_with_the_form_and_passes_with_an_honest_justification() {
    let place = place();
    let outside = place.file("lib/new.sh");
    let script = Script::new(
        "scope",
        steps(vec![
            write(&place.file("src/more.sh"), "in scope\n"),
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
    let outcome = run(&place, &[script], stages);
    let requests = outcome.requests("scope");
    assert_eq!(requests[1].told(), Vec::<String>::new(), "src/ is the slice's");
    let refused = requests[2].told().join("\n");
    for words in [
        "HL-ATTEMPT-04",
        "lib/new.sh is outside the scope of slice S-1",
        "File: lib/new.sh",
        "Failing test:",
        "Reason:",
        "Relationship:",
    ] {
        assert!(refused.contains(words), "{words} is missing: {refused}");
    }
    assert!(
        requests[3].new_texts().join("\n").contains("names \"lib/shared.sh\""),
        "a form about another file is none"
    );
    assert_eq!(place.lines("lib/new.sh"), ["justified"]);
    assert_eq!(outcome.session().terminal_reason(), "completed");
    let report = &outcome.commands[3].output;
    assert!(report.contains("lib/new.sh") && report.contains("add() is defined there and nowhere else"), "{report}");
}

#[test]
fn the_same_edit_again_without_a_justification_is_an_architectural_stop() {
    let place = place();
    let outside = place.file("lib/new.sh");
    let script = Script::repeating("again", steps(vec![write(&outside, "out of scope\n")]), 6);
    let outcome = run(
        &place,
        std::slice::from_ref(&script),
        vec![clients(&script), command("haltline attempt status --slice S-1")],
    );
    assert_eq!(outcome.requests("again").len(), 2, "refused once, then the turn ends");
    assert_eq!(outcome.session().terminal_reason(), "hook_stopped");
    assert!(!place.project().join("lib/new.sh").exists());
    let status = &outcome.commands[2].output;
    assert!(status.contains("CIRCUIT BREAK -- Slice S-1") && status.contains("ARCH-STOP"), "{status}");
}

#[test]
fn two_edits_of_one_response_are_refused_together_and_nobody_is_stopped() {
    let place = place();
    let outside = place.file("lib/new.sh");
    let both = Step::Calls(vec![write(&outside, "a\n"), write(&outside, "b\n")]);
    let script = Script::new("both", vec![both]);
    let outcome = run(
        &place,
        std::slice::from_ref(&script),
        vec![clients(&script), command("haltline attempt status --slice S-1")],
    );
    assert_eq!(outcome.session().terminal_reason(), "completed");
    assert!(outcome.commands[2].output.contains("State:      CLOSED"), "{}", outcome.commands[2].output);
}

#[test]
fn what_a_command_writes_outside_the_scope_is_told_afterwards() {
    let place = place();
    place.git(&["init", "-q"]);
    place.write("project/.gitignore", "built/\n");
    let script = Script::new(
        "shell",
        steps(vec![
            shell("mkdir -p built && echo 1 > built/x && echo 2 > src/y"),
            shell("echo 3 > lib/z"),
            shell("echo 4 > src/y"),
        ]),
    );
    let outcome = run(&place, std::slice::from_ref(&script), vec![clients(&script)]);
    let requests = outcome.requests("shell");
    assert_eq!(requests[1].told(), Vec::<String>::new(), "what git ignores is nobody's work");
    let told = requests[2].told().join("\n");
    assert!(told.contains("HL-ATTEMPT-07") && told.contains("lib/z"), "{told}");
    assert_eq!(requests[3].told(), Vec::<String>::new(), "once");
}

#[test]
fn a_new_session_is_told_what_was_tried_and_edits_of_a_halted_slice_are_refused() {
    let place = place();
    let halted = Script::repeating("halted", steps(vec![write(&place.file("src/more.sh"), "more\n")]), 6);
    let fresh = Script::new("fresh", steps(vec![shell("true")]));
    let later = Script::new("later", steps(vec![shell("true")]));
    let attempt = "haltline attempt run --test adds --strategy 'guess {n}' -- ./test";
    let mut stages: Vec<Stage> = (1..=3).map(|n| command(&attempt.replace("{n}", &n.to_string()))).collect();
    stages.push(clients(&halted));
    stages.push(command("haltline attempt reset --slice S-1 --guidance 'count on your fingers'"));
    stages.push(clients(&fresh));
    stages.push(clients(&later));
    let outcome = run(&place, &[halted, fresh, later], stages);
    assert_eq!(outcome.sessions[0].terminal_reason(), "hook_stopped");
    assert!(outcome.requests("halted")[1].told().join("\n").contains("CIRCUIT BREAK"));
    let first = outcome.requests("fresh")[0].texts().join("\n");
    for words in ["<prior_attempts>", "guess 1", "guess 3", "count on your fingers"] {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert!(!outcome.requests("later")[0].texts().join("\n").contains("<prior_attempts>"), "told once");
    assert!(!place.project().join("src/more.sh").exists());
}
