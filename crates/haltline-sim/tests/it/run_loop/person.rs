//! What a person can do while a loop runs or waits, and what the agent inside it cannot do.

use crate::run_loop::site::{HALTLINE, Site};

#[test]
fn an_abort_ends_the_iteration_and_the_run_for_good() {
    let over = "tripped after 1 iteration: a person aborted this run; `haltline phase begin LOOP --new-run --run` allows another";
    let site = Site::new("on TERM save\nfile ../ready yes\nforever\n[block save]\nfile saved.txt yes\nexit 0");
    let running = site.start(&[]);
    site.wait_for("ready");
    site.ask(&["phase", "decide", "abort", "--run", "--reason", "wrong branch"]).well();
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: a person aborted the run");
    assert_eq!(site.read("work/saved.txt"), "yes\n");
    site.assert_nothing_is_left();
    for options in [&[][..], &["--resume"]] {
        site.run(options).assert(77, over);
    }
    assert_eq!(site.starts(), 1, "nothing was started");
    site.ask(&["phase", "begin", "LOOP", "--new-run", "--run"]).well();
    site.write("script", "file made-{run}.txt new");
    site.run(&["--max-iterations", "1"]).assert(75, "budget after 1 iteration: reached --max-iterations 1");
}

#[test]
fn an_abort_of_an_iteration_that_ends_at_once_is_an_abort() {
    let site = Site::new("file made-{run}.txt new\nfile ../ready yes\nwait-for ../go");
    let running = site.start(&[]);
    site.wait_for("ready");
    site.ask(&["phase", "decide", "abort", "--run"]).well();
    site.write("go", "yes\n");
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: a person aborted the run");
    assert_eq!(outcome.iterations().len(), 1);
}

#[test]
fn an_abort_by_a_person_ends_the_run_in_observe_mode_too() {
    let site = Site::new("file ../ready yes\nwait-for ../go").configured("mode = \"observe\"\n");
    let running = site.start(&[]);
    site.wait_for("ready");
    site.ask(&["phase", "decide", "abort", "--run"]).well();
    site.write("go", "yes\n");
    running.finish().assert(130, "aborted after 1 iteration: a person aborted the run");
    assert_eq!(site.run(&[]).exit_and_line().0, 77);
    assert_eq!(site.starts(), 1);
}

#[test]
fn an_abort_while_the_loop_pauses_ends_it() {
    let site = Site::new("file made-{run}.txt new\nfile ../ready yes");
    let running = site.start(&["--pause", "1h"]);
    site.wait_for("ready");
    crate::run_loop::site::until("the iteration is reported", || {
        (site.phase_run()["last"]["iteration"] == 1).then_some(())
    });
    site.ask(&["phase", "decide", "abort", "--run"]).well();
    running.finish().assert(130, "aborted after 1 iteration: a person aborted the run");
}

#[test]
fn guidance_arrives_exactly_once() {
    let site = Site::new("file made-{run}.txt new\nshow HALTLINE_GUIDANCE\n[run 1]\nfile ../ready yes\nwait-for ../go");
    let running = site.start(&["--max-iterations", "3"]);
    site.wait_for("ready");
    site.ask(&["phase", "decide", "modify", "--run", "--guidance", "use the parser"]).well();
    site.write("go", "yes\n");
    let outcome = running.finish();
    outcome.assert(75, "budget after 3 iterations: reached --max-iterations 3");
    assert_eq!(outcome.out, "HALTLINE_GUIDANCE=\nHALTLINE_GUIDANCE=use the parser\nHALTLINE_GUIDANCE=\n");
    assert_eq!(outcome.judged(), ["stale", "progress", "progress"], "what began before the decision moves nothing");
    assert!(outcome.lines().contains(&"guidance: use the parser"), "{outcome:#?}");
}

#[test]
fn guidance_for_a_loop_that_tripped_reaches_the_next_start() {
    for options in [&["--max-iterations", "2"][..], &["--resume", "--max-iterations", "5"]] {
        let site = Site::new("show HALTLINE_GUIDANCE");
        site.run(&[]).assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
        site.ask(&["phase", "decide", "modify", "--run", "--guidance", "use the parser"]).well();
        site.write("script", "file made-{run}.txt new\nshow HALTLINE_GUIDANCE");
        let outcome = site.run(options);
        assert_eq!(outcome.exit_and_line().0, 75, "{outcome:#?}");
        assert_eq!(outcome.out, "HALTLINE_GUIDANCE=use the parser\nHALTLINE_GUIDANCE=\n", "{options:?}");
    }
}

#[test]
fn a_skip_ends_the_loop() {
    let site = Site::new("file ../ready yes\nwait-for ../go");
    let running = site.start(&[]);
    site.wait_for("ready");
    site.ask(&["phase", "decide", "skip", "--run"]).well();
    site.write("go", "yes\n");
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: a person skipped the rest of the run");
    site.assert_nothing_is_left();
}

#[test]
fn a_reset_during_an_iteration_counts_it_once() {
    let site = Site::new("[run 3]\nfile ../ready yes\nwait-for ../go");
    let running = site.start(&["--max-iterations", "9"]);
    site.wait_for("ready");
    site.ask(&["phase", "decide", "reset", "--run"]).well();
    site.write("go", "yes\n");
    let outcome = running.finish();
    let (code, line) = outcome.exit_and_line();
    assert!(code == 77 && line.contains("No progress for 3 iterations"), "{outcome:#?}");
    let numbers: Vec<u64> =
        outcome.iterations().iter().filter_map(|iteration| iteration["iteration"].as_u64()).collect();
    assert_eq!(numbers, (1..=site.starts()).collect::<Vec<u64>>());
    assert_eq!(outcome.report["course"]["iteration"], site.starts());
}

#[test]
fn the_agent_inside_cannot_decide_for_itself() {
    let verbs = ["phase decide reset --run", "phase decide abort --run", "phase begin LOOP --new-run --run"];
    let lines: Vec<String> = verbs.iter().map(|verb| format!("shell {HALTLINE} {verb} 2>&1; echo code $?\n")).collect();
    let site = Site::new(&lines.concat());
    let outcome = site.run(&[]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(
        outcome.out.matches("haltline denies it inside an agent (HALTLINE_RUN is set)").count(),
        9,
        "{}",
        outcome.out
    );
    assert!(!outcome.out.contains("code 0"), "{}", outcome.out);
}

#[test]
fn the_agent_inside_cannot_decide_without_the_mark_or_at_a_terminal_of_its_own() {
    let bare = "env -i HOME=$HOME PATH=$PATH HALTLINE_STATE_DIR=$HALTLINE_STATE_DIR HALTLINE_CONFIG=$HALTLINE_CONFIG";
    let verb = format!("{HALTLINE} phase decide reset --run");
    let ways = [
        format!("env -u HALTLINE_RUN {verb}"),
        format!("{bare} script -qec '{verb}' /dev/null < /dev/null"),
        format!("setsid -w {bare} script -qec '{verb}' /dev/null < /dev/null"),
    ];
    let lines: Vec<String> = ways.iter().map(|way| format!("shell {way} 2>&1; echo code $?\n")).collect();
    let outcome = Site::new(&lines.concat()).run(&[]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.out.matches("haltline denies it inside an agent").count(), 9, "{}", outcome.out);
    assert!(!outcome.out.contains("code 0"), "{}", outcome.out);
}

#[test]
fn the_agent_inside_cannot_open_a_way_out_with_a_loop_of_its_own() {
    let site = Site::new("");
    site.write("script", &format!("shell {HALTLINE} run --loop --max-iterations 1 -- true 2>&1; echo code $?"));
    let outcome = site.run(&["--max-iterations", "1"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-iterations 1");
    assert!(outcome.out.contains("is running in this work tree"), "{}", outcome.out);
}
