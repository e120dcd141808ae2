//! Killed runners, concurrent runners, and what the next runner resumes with.

use crate::run_loop::site::Site;

/// The result of a run of Claude Code that used this many tokens.
fn result_with_usage(tokens: u64) -> String {
    format!(
        r#"say {{"type":"system","subtype":"init","session_id":"s-{{run}}"}}
say {{"type":"assistant","session_id":"s-{{run}}","message":{{"id":"m-{{run}}","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"One more."}}],"usage":{{"input_tokens":{tokens},"output_tokens":0}}}}}}
say {{"type":"result","subtype":"success","session_id":"s-{{run}}","is_error":false,"terminal_reason":"completed","result":"One more."}}"#
    )
}

/// The first iteration is complete; in the second the runner is killed while a child that ignores SIGTERM and a daemon live.
fn cut_off() -> Site {
    let site = Site::new(&format!(
        "show HALTLINE_ITERATION\n[run 1]\nfile made.txt new\n{}\n[run 2]\nignore TERM\nstart deaf\ndetach deaf\nwait-for ../deaf\nfile ../ready yes\nforever\n[run 3-]\nfile made-{{run}}.txt new\n{}\n[block deaf]\nignore TERM\nignore HUP\nfile ../deaf yes\nforever",
        result_with_usage(600),
        result_with_usage(600)
    ));
    let running = site.start(&[]);
    site.wait_for("ready");
    running.kill();
    assert!(site.survivors().len() >= 3, "what was started lives on: {:?}", site.survivors());
    site
}

#[test]
fn after_a_killed_runner_the_next_resumes_and_clears_up() {
    let site = cut_off();
    let phase_run = site.phase_run();
    assert_eq!((&phase_run["iteration"], phase_run["underway_since"].is_string()), (&2.into(), true), "{phase_run:#}");
    let outcome = site.run(&["--resume", "--grace", "1s", "--max-tokens", "1000"]);
    outcome.assert(75, "budget after 3 iterations: reached --max-tokens 1000 (1200 used)");
    site.assert_nothing_is_left();
    assert_eq!(outcome.out.lines().next(), Some("HALTLINE_ITERATION=3"));
    assert_eq!(outcome.judged(), ["progress"]);
    let lines = outcome.lines();
    assert!(lines.iter().any(|line| line.starts_with("a killed runner left stand-in-agent (")), "{lines:?}");
    assert!(lines.contains(&"resumed after 2 iterations; iteration 2 was interrupted"), "{lines:?}");
    assert_eq!(outcome.report["course"]["totals"]["unfinished"], 1);
}

#[test]
fn after_a_killed_runner_a_new_loop_starts_at_zero_and_clears_up() {
    let site = cut_off();
    let outcome = site.run(&["--grace", "1s", "--max-iterations", "1"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-iterations 1");
    site.assert_nothing_is_left();
}

#[test]
fn counts_go_on_over_a_killed_runner() {
    let site = Site::new("say hm\n[run 3]\nfile ../ready yes\nforever");
    let running = site.start(&[]);
    site.wait_for("ready");
    running.kill();
    let outcome = site.run(&["--resume"]);
    outcome.assert(77, "tripped after 4 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.judged(), ["no_progress"], "two were counted before");
}

#[test]
fn undone_work_is_known_over_a_resumption() {
    let site = Site::new("[run 1]\nfile a.txt one\n[run 2]\nfile a.txt two\n[run 3]\nfile a.txt one");
    site.run(&["--max-iterations", "2"]).assert(75, "budget after 2 iterations: reached --max-iterations 2");
    let outcome = site.run(&["--resume", "--max-iterations", "3"]);
    outcome.assert(75, "budget after 3 iterations: reached --max-iterations 3");
    assert_eq!(outcome.judged(), ["no_progress"]);
}

#[test]
fn nothing_to_resume_is_a_beginning() {
    let outcome = Site::new("file made-{run}.txt new").run(&["--resume", "--max-iterations", "1"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-iterations 1");
}

#[test]
fn a_second_runner_of_the_same_name_is_rejected_and_disturbs_nothing() {
    let site = Site::new("file made-{run}.txt new\n[run 1]\nfile ../ready yes\nwait-for ../go");
    let running = site.start(&["--max-iterations", "2"]);
    site.wait_for("ready");
    for options in [&["run", "--loop", "--", "true"][..], &["run", "--loop", "--resume", "--", "true"]] {
        let second = site.ask(options);
        let expected = format!("is running in this work tree (process {})", running.pid());
        assert!(second.code == Some(1) && second.err.contains(&expected), "{second:?}");
    }
    site.write("go", "yes\n");
    let outcome = running.finish();
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!(outcome.judged(), ["progress"; 2]);
}

#[test]
fn loops_of_two_names_are_independent() {
    let site = Site::new("[run 1]\nfile ../ready yes\nwait-for ../go\nfile made.txt new");
    let first = site.start(&["--name", "first", "--max-iterations", "1"]);
    site.wait_for("ready");
    // While the first one waits, the second stalls and trips.
    let report = site.path("second-report");
    let report = report.to_str().expect("text");
    let second = site.ask(&["run", "--loop", "--name", "second", "--report", report, "--", "true"]);
    assert_eq!(second.code, Some(77), "{second:?}");
    assert!(second.err.lines().last().is_some_and(|line| line.contains("stopped after 3 iterations")), "{second:?}");
    assert!(site.read("second-report").contains("\"end\": \"tripped\""));
    site.write("go", "yes\n");
    let outcome = first.finish();
    outcome.assert(75, "budget after 1 iteration: reached --max-iterations 1");
    assert_eq!(outcome.judged(), ["progress"]);
    let state = |name: &str| {
        let run = format!("--run={name}");
        site.ask(&["phase", "status", &run, "--json"]).well().json()["state"].clone()
    };
    assert_eq!((state("first"), state("second")), ("CLOSED".into(), "OPEN".into()));
}
