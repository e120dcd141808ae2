//! A loop completes when the agent, or a command of the user, reports completion in a form that counts.

use crate::run_loop::site::Site;

fn block(name: &str, lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("say {line}\n")).collect();
    format!("say ---{name}---\n{}say ---END_{name}---", lines.concat())
}

/// A status block as a JSON string.
fn written(name: &str, lines: &[&str]) -> String {
    format!("All of it works.\\n---{name}---\\n{}\\n---END_{name}---", lines.join("\\n"))
}

const DONE: [&str; 2] = ["STATUS: COMPLETE", "EXIT_SIGNAL: true"];

/// Claude Code's output: the result of a tool, and then a text of the agent.
fn claude(text: &str, tool_result: &str) -> String {
    format!(
        r#"say {{"type":"system","subtype":"init","session_id":"s-{{run}}"}}
say {{"type":"user","session_id":"s-{{run}}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{tool_result}"}}]}}}}
say {{"type":"assistant","session_id":"s-{{run}}","message":{{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":5,"output_tokens":5}}}}}}
say {{"type":"result","subtype":"success","session_id":"s-{{run}}","is_error":false,"terminal_reason":"completed","result":"{text}"}}"#
    )
}

/// The same as Codex's output.
fn codex(text: &str, tool_result: &str) -> String {
    format!(
        r#"say {{"type":"thread.started","thread_id":"t-{{run}}"}}
say {{"type":"turn.started"}}
say {{"type":"item.completed","item":{{"type":"command_execution","command":"cat notes","aggregated_output":"{tool_result}","status":"completed"}}}}
say {{"type":"item.completed","item":{{"type":"agent_message","text":"{text}"}}}}
say {{"type":"turn.completed","usage":{{"input_tokens":100,"output_tokens":10}}}}"#
    )
}

#[test]
fn an_exit_signal_ends_the_loop_in_every_form_and_stream() {
    for name in ["RALPH_STATUS", "PRP_PHASE_STATUS"] {
        let scripts = [block(name, &DONE), claude(&written(name, &DONE), "none"), codex(&written(name, &DONE), "none")];
        for script in scripts {
            let site = Site::new(&format!("[run 1]\nfile made.txt new\n[run 2]\n{script}"));
            let outcome = site.run(&["--max-iterations", "9"]);
            outcome.assert(0, "completed after 2 iterations: EXIT_SIGNAL: true");
            assert_eq!(outcome.judged(), ["progress"; 2], "{script}");
            assert_eq!(outcome.signs()[1], "caller 1 weighs 2", "work that is done needs no other sign");
            assert_eq!(outcome.report["course"]["finish"], "completed");
            assert_eq!(outcome.report["course"]["state"], "OVER");
        }
    }
}

#[test]
fn a_new_loop_begins_after_one_that_is_done() {
    let site = Site::new(&block("RALPH_STATUS", &DONE));
    site.run(&[]).assert(0, "completed after 1 iteration: EXIT_SIGNAL: true");
    site.run(&[]).assert(0, "completed after 1 iteration: EXIT_SIGNAL: true");
    site.run(&["--resume"]).assert(0, "completed after 1 iteration: EXIT_SIGNAL: true");
    assert_eq!(site.starts(), 3);
}

#[test]
fn a_block_that_a_tool_answered_or_the_agent_quotes_ends_nothing() {
    let quoted = written("RALPH_STATUS", &DONE);
    let scripts = [
        claude("I read the notes.", &quoted),
        codex("I read the notes.", &quoted),
        // The agent explains the form first; its own block comes last.
        format!(
            "{}\n{}",
            block("RALPH_STATUS", &DONE),
            block("RALPH_STATUS", &["STATUS: IN_PROGRESS", "EXIT_SIGNAL: false"])
        ),
        // A truncated block does not count.
        "say ---RALPH_STATUS---\nsay STATUS: COMPLETE\nsay EXIT_SIGNAL: true".to_owned(),
    ];
    for script in scripts {
        let outcome = Site::new(&format!("file made-{{run}}.txt new\n{script}")).run(&["--max-iterations", "2"]);
        outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
        assert_eq!(outcome.judged(), ["progress"; 2], "{script}");
    }
}

#[test]
fn a_status_without_its_signal_counts_and_a_signal_weighs_more() {
    let script = block("PRP_PHASE_STATUS", &["PHASE: GREEN", "STATUS: COMPLETE", "EXIT_SIGNAL: false"]);
    let outcome = Site::new(&format!("file made-{{run}}.txt new\n{script}")).run(&["--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    let script = block("RALPH_STATUS", &["STATUS: COMPLETE"]);
    Site::new(&script).run(&[]).assert(0, "completed after 1 iteration: STATUS: COMPLETE");
}

#[test]
fn a_text_of_the_users_choice_ends_the_loop_on_a_line_of_its_own() {
    let script = "file made-{run}.txt new\nsay I shall say ALL DONE at the end.\n[run 3]\nsay ALL DONE";
    let outcome = Site::new(script).run(&["--done-text", "ALL DONE", "--max-iterations", "9"]);
    outcome.assert(0, "completed after 3 iterations: the agent said \"ALL DONE\"");
}

#[test]
fn a_command_of_the_users_choice_ends_the_loop() {
    let script = "file made-{run}.txt new";
    let outcome = Site::new(script).run(&["--done-if", "test -e made-2.txt", "--max-iterations", "9"]);
    outcome.assert(0, "completed after 2 iterations: `test -e made-2.txt` succeeded");
    assert_eq!(outcome.judged(), ["progress"; 2]);
}

#[test]
fn work_that_is_done_in_the_iteration_that_would_trip_is_done() {
    let script = format!("[run 3]\n{}", block("RALPH_STATUS", &DONE));
    let outcome = Site::new(&script).run(&[]);
    outcome.assert(0, "completed after 3 iterations: EXIT_SIGNAL: true");
    assert_eq!(outcome.report["course"]["totals"]["trips"], 0, "no trip is reported");
}

#[test]
fn claiming_completion_does_not_avoid_a_trip() {
    let script = format!(
        "file made-{{run}}.txt new\n[run 5]\n{}\n[run 1-]\ncomplain no such table\nexit 1",
        block("RALPH_STATUS", &DONE)
    );
    let site = Site::new(&script);
    site.run(&[]).assert(77, "tripped after 5 iterations: Same error repeated 5 times (haltline why …)");
    site.run(&[]).assert(77, "tripped after 5 iterations: Same error repeated 5 times (haltline why …)");
    assert_eq!(site.starts(), 5);
}
