//! No process of an iteration outlives it, whatever it starts and whichever signals it ignores.

use rustix::process::Signal;

use crate::run_loop::site::Site;

/// Ignores SIGTERM, with a child that ignores it, a daemon, and a daemon without an environment.
const STUBBORN: &str = "ignore TERM\nstart deaf\ndetach deaf\ndetach-bare deaf\nwait-for ../ready-{run}\nforever\n[block deaf]\nignore TERM\nignore HUP\nfile ../ready-{run} yes\nforever";

#[test]
fn an_iteration_that_does_not_end_is_ended_with_everything_it_started() {
    let site = Site::new(STUBBORN);
    let outcome = site.run(&["--iteration-time", "3s", "--grace", "1s", "--max-iterations", "1"]);
    site.assert_nothing_is_left();
    outcome.assert(75, "budget after 1 iteration: reached --max-iterations 1");
    assert_eq!(outcome.reasons(), ["timeout: the iteration did not end within 3 s"]);
    let command = &outcome.iterations()[0]["command"];
    assert_eq!((&command["killed"], &command["signal"]), (&true.into(), &9.into()), "{command:#}");
    let left = command["left_behind"].as_array().expect("reported");
    assert!(!left.is_empty() && left.iter().all(|process| process["is_gone"] == true), "{command:#}");
}

#[test]
fn processes_that_an_iteration_leaves_are_ended_before_the_next_begins() {
    let site = Site::new(
        "file made-{run}.txt new\ndetach deaf\nwait-for ../ready-{run}\n[block deaf]\nignore TERM\nfile ../ready-{run} yes\nforever",
    );
    let outcome = site.run(&["--grace", "1s", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    site.assert_nothing_is_left();
    for iteration in outcome.iterations() {
        assert_eq!(iteration["command"]["left_behind"][0]["name"], "stand-in-agent", "{iteration:#}");
        assert_eq!((&iteration["command"]["exit_code"], &iteration["command"]["killed"]), (&0.into(), &false.into()));
    }
    assert!(outcome.lines().iter().any(|line| line.ends_with("; 1 process left behind, ended")), "{outcome:#?}");
}

#[test]
fn iterations_that_say_nothing_are_ended_and_counted() {
    let outcome = Site::new("say thinking\nforever").run(&["--idle", "1s", "--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.reasons(), ["idle: the iteration printed nothing for too long"; 3]);
}

#[test]
fn an_iteration_that_worked_until_it_was_ended_made_progress() {
    let site = Site::new("file made-{run}.txt new\nforever");
    let outcome = site.run(&["--iteration-time", "1s", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!((outcome.judged(), outcome.reasons()), (vec!["progress"; 2], vec!["-"; 2]));
}

#[test]
fn a_signal_to_the_runner_ends_the_loop_after_the_work_is_saved() {
    for (sent, number) in [(Signal::INT, 2), (Signal::TERM, 15)] {
        let site = Site::new(
            "on INT save\non TERM save\ndetach other\nwait-for ../other\nfile ../ready yes\nforever\n[block other]\nfile ../other yes\nforever\n[block save]\nsleep 0.3\nfile saved.txt yes\nexit 0",
        );
        let running = site.start(&[]);
        site.wait_for("ready");
        running.signal(sent);
        let outcome = running.finish();
        site.assert_nothing_is_left();
        outcome.assert(130, &format!("aborted after 1 iteration: signal {number}"));
        assert_eq!(site.read("work/saved.txt"), "yes\n");
        assert_eq!(outcome.report["course"]["finish"], "interrupted");
        site.write("script", "file made-{run}.txt new");
        let resumed = site.run(&["--resume", "--max-iterations", "3"]);
        resumed.assert(75, "budget after 3 iterations: reached --max-iterations 3");
        assert_eq!(resumed.judged(), ["progress"; 2], "what a signal ended is no obstacle");
    }
}

#[test]
fn a_signal_while_the_loop_pauses_ends_it_at_once() {
    let site = Site::new("file made-{run}.txt new\nfile ../ready yes");
    let running = site.start(&["--pause", "1h"]);
    site.wait_for("ready");
    // The pause begins once the iteration is reported.
    crate::run_loop::site::until("the iteration is reported", || {
        (site.phase_run()["last"]["iteration"] == 1).then_some(())
    });
    running.signal(Signal::INT);
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: signal 2");
    assert_eq!(outcome.judged(), ["progress"]);
}

#[test]
fn a_signal_while_a_command_of_the_user_runs_ends_the_loop() {
    for option in ["--test", "--done-if"] {
        let site = Site::new("file made-{run}.txt new");
        let running = site.start(&[option, "echo yes > ../ready; sleep 1000"]);
        site.wait_for("ready");
        running.signal(Signal::INT);
        let outcome = running.finish();
        outcome.assert(130, "aborted after 1 iteration: signal 2");
        site.assert_nothing_is_left();
        assert_eq!((outcome.judged(), site.starts()), (vec!["progress"], 1), "{option}");
    }
}

#[test]
fn a_loop_inside_a_loop_is_ended_with_it() {
    let site = Site::new("");
    let inner = format!(
        "{} run --loop --name inner -- sh -c 'echo yes > ../ready; sleep 1000'",
        crate::run_loop::site::HALTLINE
    );
    site.write("script", &format!("shell {inner}"));
    let running = site.start(&["--name", "outer"]);
    site.wait_for("ready");
    running.signal(Signal::TERM);
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: signal 15");
    site.assert_nothing_is_left();
}
