//! Nothing of an iteration outlives it, whatever it starts and whatever it ignores.

use rustix::process::Signal;

use crate::place::Place;

/// Deaf to SIGTERM, with a deaf child, a daemon, and a daemon without an environment.
const STUBBORN: &str = "ignore TERM\nstart deaf\ndetach deaf\ndetach-bare deaf\nwait-for ../ready-{run}\nforever\n[block deaf]\nignore TERM\nignore HUP\nfile ../ready-{run} yes\nforever";

#[test]
fn an_iteration_that_does_not_end_is_ended_with_everything_it_started() {
    let place = Place::new(STUBBORN);
    let outcome = place.run(&["--iteration-time", "3s", "--grace", "1s", "--max-iterations", "1"]);
    place.assert_nothing_is_left();
    outcome.assert(75, "budget after 1 iteration: 1 iteration used up");
    assert_eq!(outcome.said(), ["timeout: the iteration did not end within 3 s"]);
    let command = &outcome.rounds()[0]["command"];
    assert_eq!((&command["killed"], &command["signal"]), (&true.into(), &9.into()), "{command:#}");
    let left = command["left_behind"].as_array().expect("told");
    assert!(!left.is_empty() && left.iter().all(|process| process["is_gone"] == true), "{command:#}");
}

#[test]
fn what_an_iteration_leaves_behind_is_ended_before_the_next_begins() {
    let place = Place::new(
        "file made-{run}.txt new\ndetach deaf\nwait-for ../ready-{run}\n[block deaf]\nignore TERM\nfile ../ready-{run} yes\nforever",
    );
    let outcome = place.run(&["--grace", "1s", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: 2 iterations used up");
    place.assert_nothing_is_left();
    for round in outcome.rounds() {
        assert_eq!(round["command"]["left_behind"][0]["name"], "stand-in-agent", "{round:#}");
        assert_eq!((&round["command"]["exit_code"], &round["command"]["killed"]), (&0.into(), &false.into()));
    }
    assert!(outcome.lines().iter().any(|line| line.ends_with("; 1 process left behind, ended")), "{outcome:#?}");
}

#[test]
fn iterations_that_say_nothing_are_ended_and_counted() {
    let outcome = Place::new("say thinking\nforever").run(&["--idle", "1s", "--max-iterations", "9"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.said(), ["idle: the iteration said nothing for too long"; 3]);
}

#[test]
fn an_iteration_that_worked_until_it_was_ended_made_progress() {
    let place = Place::new("file made-{run}.txt new\nforever");
    let outcome = place.run(&["--iteration-time", "1s", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: 2 iterations used up");
    assert_eq!((outcome.judged(), outcome.said()), (vec!["progress"; 2], vec!["-"; 2]));
}

#[test]
fn a_signal_to_the_runner_ends_the_loop_after_the_work_is_saved() {
    for (sent, number) in [(Signal::INT, 2), (Signal::TERM, 15)] {
        let place = Place::new(
            "on INT save\non TERM save\ndetach other\nwait-for ../other\nfile ../ready yes\nforever\n[block other]\nfile ../other yes\nforever\n[block save]\nsleep 0.3\nfile saved.txt yes\nexit 0",
        );
        let running = place.start(&[]);
        place.wait_for("ready");
        running.signal(sent);
        let outcome = running.finish();
        place.assert_nothing_is_left();
        outcome.assert(130, &format!("aborted after 1 iteration: signal {number}"));
        assert_eq!(place.read("work/saved.txt"), "yes\n");
        assert_eq!(outcome.report["course"]["finish"], "interrupted");
        place.write("script", "file made-{run}.txt new");
        let resumed = place.run(&["--resume", "--max-iterations", "3"]);
        resumed.assert(75, "budget after 3 iterations: 3 iterations used up");
        assert_eq!(resumed.judged(), ["progress"; 2], "what a signal ended is no obstacle");
    }
}

#[test]
fn a_signal_while_the_loop_pauses_ends_it_at_once() {
    let place = Place::new("file made-{run}.txt new\nfile ../ready yes");
    let running = place.start(&["--pause", "1h"]);
    place.wait_for("ready");
    // The pause begins once the iteration is reported.
    crate::place::until("the iteration is reported", || (place.course()["last"]["iteration"] == 1).then_some(()));
    running.signal(Signal::INT);
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: signal 2");
    assert_eq!(outcome.judged(), ["progress"]);
}

#[test]
fn a_signal_while_a_command_of_the_user_runs_ends_the_loop() {
    for option in ["--test", "--done-if"] {
        let place = Place::new("file made-{run}.txt new");
        let running = place.start(&[option, "echo yes > ../ready; sleep 1000"]);
        place.wait_for("ready");
        running.signal(Signal::INT);
        let outcome = running.finish();
        outcome.assert(130, "aborted after 1 iteration: signal 2");
        place.assert_nothing_is_left();
        assert_eq!((outcome.judged(), place.starts()), (vec!["progress"], 1), "{option}");
    }
}

#[test]
fn a_loop_inside_a_loop_is_ended_with_it() {
    let place = Place::new("");
    let inner =
        format!("{} run --loop --name inner -- sh -c 'echo yes > ../ready; sleep 1000'", crate::place::HALTLINE);
    place.write("script", &format!("shell {inner}"));
    let running = place.start(&["--name", "outer"]);
    place.wait_for("ready");
    running.signal(Signal::TERM);
    let outcome = running.finish();
    outcome.assert(130, "aborted after 1 iteration: signal 15");
    place.assert_nothing_is_left();
}
