//! A Claude Code that something continues turn after turn: a Ralph loop of productive rounds is never touched, and rounds
//! that bring nothing end. `.ci/clients` installs the client and runs this.

use haltline_agents::Client;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Call, Script, ScriptStep, shell, write};
use haltline_sim::clients::settings;
use serde_json::json;

/// A Stop hook of the kind that Ralph loops use: it keeps its round in the front matter of a file, looks for a promise in
/// the last text of the transcript, and otherwise blocks with the prompt, once more.
const RALPH: &str = r#"#!/bin/sh
state=ralph.md
[ -f "$state" ] || exit 0
transcript=$(sed -n 's/.*"transcript_path":"\([^"]*\)".*/\1/p')
round=$(sed -n 's/^iteration: *//p' "$state")
most=$(sed -n 's/^max_iterations: *//p' "$state")
if [ "$round" -ge "$most" ] || grep '"role":"assistant"' "$transcript" | tail -n 1 | grep -q '<promise>DONE</promise>'
then rm "$state"; exit 0
fi
sed "s/^iteration: .*/iteration: $((round + 1))/" "$state" > "$state.new" && mv "$state.new" "$state"
printf '{"decision":"block","reason":"Follow PLAN.md, one step at a time.","systemMessage":"round %s"}\n' "$((round + 1))"
"#;

fn sandbox(rounds_max: usize) -> Sandbox {
    let sandbox = Sandbox::with_haltline(
        Client::Claude,
        env!("CARGO_BIN_EXE_client-run"),
        env!("CARGO_BIN_EXE_haltline-now"),
        "",
    );
    sandbox.write("programs/ralph", RALPH);
    let state = format!("---\niteration: 1\nmax_iterations: {rounds_max}\ncompletion_promise: \"DONE\"\n---\n");
    sandbox.write("project/ralph.md", &state);
    let hook = sandbox.root().join("programs/ralph").display().to_string();
    let settings = settings::with_foreign(&sandbox.haltline_settings(), "Stop", &hook, true);
    sandbox.settings(&settings);
    sandbox
}

/// A session in which only haltline can end the rounds: the client's own limit of eight blocks is off.
fn session(script: &Script) -> Session {
    Session::from_script(script).with_variable("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0")
}

#[test]
fn twelve_short_rounds_of_a_ralph_loop_that_each_change_a_file_are_never_touched() {
    let sandbox = sandbox(50);
    let round = |number: usize| {
        let call = match number % 2 {
            0 => write(&sandbox.file(&format!("part{number}.txt")), &format!("part {number}\n")),
            _ => shell(&format!("echo part {number} > part{number}.txt")),
        };
        [ScriptStep::Call(call), ScriptStep::Say(format!("Part {number} is written."))]
    };
    let mut steps: Vec<ScriptStep> = (1..=12).flat_map(round).collect();
    steps.push(ScriptStep::Say("<promise>DONE</promise>".to_owned()));
    let script = Script::new("ralph", steps);
    let outcome = sandbox.run(std::slice::from_ref(&script), &[Stage::Clients(vec![session(&script)])]);
    assert_eq!(outcome.session().terminal_reason(), "completed");
    assert_eq!(outcome.session().haltline_notices(), Vec::<&str>::new());
    assert_eq!(outcome.requests("ralph").len(), 25, "twelve rounds of two, and the promise");
    assert_eq!(sandbox.lines("part12.txt"), ["part 12"]);
    assert_eq!(sandbox.lines("ralph.md"), Vec::<String>::new(), "the loop ended by itself");
}

#[test]
fn rounds_of_a_ralph_loop_in_which_nothing_is_left_to_do_end_at_the_fourth() {
    let sandbox = sandbox(50);
    let text = vec![ScriptStep::Say("There is nothing left to do.".to_owned())];
    let script = Script::repeating("idle", text, 40);
    let outcome = sandbox.run(std::slice::from_ref(&script), &[Stage::Clients(vec![session(&script)])]);
    assert_eq!(outcome.session().terminal_reason(), "stop_hook_prevented");
    assert_eq!(outcome.requests("idle").len(), 5, "the answer and four rounds");
    let notices = outcome.session().haltline_notices();
    assert!(notices.iter().any(|notice| notice.contains("HL-IDLE-01")), "{notices:?}");
}

#[test]
fn writing_down_a_plan_is_never_denied_and_is_no_progress() {
    let sandbox = sandbox(50);
    let todo = |content: &str| {
        let input = json!({ "todos": [{ "content": content, "status": "pending", "activeForm": content }] });
        ScriptStep::Call(Call { tool: "TodoWrite".to_owned(), input })
    };
    let rounds = vec![todo("wait for the review"), ScriptStep::Say("I wait for the review.".to_owned())];
    let script = Script::repeating("plan", rounds, 60);
    let outcome = sandbox.run(std::slice::from_ref(&script), &[Stage::Clients(vec![session(&script)])]);
    assert_eq!(outcome.session().terminal_reason(), "stop_hook_prevented");
    assert_eq!(outcome.requests("plan").len(), 10, "five rounds of two");
    for request in outcome.requests("plan") {
        assert!(
            request.haltline_texts().iter().all(|text| !text.contains("refused")),
            "{:?}",
            request.haltline_texts()
        );
    }
}

#[test]
fn with_every_limit_reached_an_agent_can_still_ask_and_save_its_plan() {
    let sandbox = Sandbox::with_haltline(
        Client::Claude,
        env!("CARGO_BIN_EXE_client-run"),
        env!("CARGO_BIN_EXE_haltline-now"),
        "[budget]\nturns_hard = 2\nsaving_calls = 0\n",
    );
    let todo = json!({ "todos": [{ "content": "what is left", "status": "pending", "activeForm": "leaving" }] });
    let steps = vec![
        ScriptStep::Call(shell("echo one > one.txt")),
        ScriptStep::Call(shell("echo two > two.txt")),
        ScriptStep::Call(Call { tool: "TodoWrite".to_owned(), input: todo }),
        ScriptStep::Call(shell("echo three > three.txt")),
        ScriptStep::Say("Two of three are written.".to_owned()),
    ];
    let outcome = sandbox.play(&[Script::new("spent", steps)]);
    let requests = outcome.requests("spent");
    let denied: Vec<usize> = requests
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| {
            pair[0].calls().iter().any(|call| {
                pair[1].result_of(call).is_some_and(|(failed, text)| failed && text.contains("HALTLINE HL-"))
            })
        })
        .map(|(index, _)| index + 1)
        .collect();
    assert_eq!(denied, [4], "the plan is saved, the next command is denied");
    assert!(sandbox.lines("three.txt").is_empty());
}
