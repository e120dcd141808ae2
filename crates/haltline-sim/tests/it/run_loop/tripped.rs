//! Loops without progress: they trip, a new start fails, and a person resets them.

use crate::run_loop::site::Site;

const STALLED: &str = "tripped after 3 iterations: No progress for 3 iterations (haltline why …)";

#[test]
fn a_stalled_loop_cannot_start_until_a_person_resets_it() {
    let site = Site::new("say looking around");
    let outcome = site.run(&["--max-iterations", "20"]);
    outcome.assert(77, STALLED);
    assert_eq!((outcome.judged(), site.starts()), (vec!["no_progress"; 3], 3));
    assert!(outcome.err.contains("---CIRCUIT_BREAKER_OPEN---"), "{}", outcome.err);
    assert_eq!((&outcome.report["course"]["state"], &outcome.report["retry_at"]), (&"OPEN".into(), &().into()));

    for options in [&["--max-iterations", "20"][..], &["--resume"]] {
        let denied = site.run(options);
        denied.assert(77, STALLED);
        assert_eq!((denied.iterations().len(), site.starts()), (0, 3), "nothing is started");
    }
    let incident = outcome.report["course"]["trip"]["incident"].as_str().expect("named").to_owned();
    let why = site.ask(&["why", &incident]).well().out;
    assert!(why.contains("No progress for 3 iterations"), "{why}");

    site.ask(&["phase", "decide", "reset", "--run"]).well();
    site.write("script", "file made-{run}.txt new");
    let again = site.run(&["--max-iterations", "2"]);
    again.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!((again.judged(), site.starts()), (vec!["progress"; 2], 5));
}

#[test]
fn progress_resets_the_count() {
    let outcome = Site::new("[run 3]\nfile made.txt new").run(&["--max-iterations", "20"]);
    outcome.assert(77, "tripped after 6 iterations: No progress for 3 iterations (haltline why …)");
    let [none, some] = ["no_progress", "progress"];
    assert_eq!(outcome.judged(), [none, none, some, none, none, none]);
}

#[test]
fn one_error_with_another_timestamp_each_time_is_the_same_error_though_files_change() {
    let script = "file made-{run}.txt new\nshell echo \"$(date -u +%FT%T.%NZ) request 17 failed after 0.{run}s: no such table users\" >&2\nexit 1";
    let outcome = Site::new(script).run(&["--max-iterations", "20"]);
    outcome.assert(77, "tripped after 5 iterations: Same error repeated 5 times (haltline why …)");
    assert_eq!(outcome.judged(), ["progress"; 5]);
    let errors = outcome.reasons();
    assert!(errors.iter().all(|error| error.contains("no such table users")), "{errors:?}");
    assert!(errors.windows(2).all(|pair| pair[0] != pair[1]), "{errors:?}");
    assert_eq!(outcome.report["course"]["same_error"]["count"], 5);
}

#[test]
fn five_errors_that_differ_do_not_trip_while_files_change() {
    let script = "file made-{run}.txt new\n[run 1]\ncomplain cannot open the door\nexit 1\n[run 2]\ncomplain window is stuck\nexit 1\n[run 3]\ncomplain roof leaks\nexit 1\n[run 4]\ncomplain cellar is wet\nexit 1\n[run 5]\ncomplain chimney smokes\nexit 1";
    let outcome = Site::new(script).run(&["--max-iterations", "5"]);
    outcome.assert(75, "budget after 5 iterations: reached --max-iterations 5");
    assert_eq!(outcome.judged(), ["progress"; 5]);
    assert_eq!(outcome.report["course"]["same_error"]["count"], 1);
    assert_eq!(outcome.reasons()[4], "exit_1: chimney smokes");
}

#[test]
fn a_run_that_a_hook_stopped_is_an_error_of_its_iteration() {
    let script = r#"file made-{run}.txt new
say {"type":"system","subtype":"init","session_id":"s-{run}"}
say {"type":"system","subtype":"hook_response","session_id":"s-{run}","stdout":"{\"continue\":false,\"stopReason\":\"the circuit is open\"}"}
say {"type":"result","subtype":"success","session_id":"s-{run}","is_error":false,"terminal_reason":"hook_stopped","result":""}"#;
    let outcome = Site::new(script).run(&["--max-iterations", "20"]);
    outcome.assert(77, "tripped after 5 iterations: Same error repeated 5 times (haltline why …)");
    assert_eq!(outcome.reasons(), ["hook: the circuit is open"; 5]);
    let command = &outcome.iterations()[0]["command"];
    assert_eq!(
        (command["exit_code"].as_i64(), command["client"].as_str()),
        (Some(0), Some("stopped by a hook: the circuit is open"))
    );
}

#[test]
fn thresholds_are_the_users() {
    let site = Site::new("say hm").configured("[run]\nno_progress_threshold = 1\n");
    let outcome = site.run(&[]);
    outcome.assert(77, "tripped after 1 iteration: No progress for 1 iteration (haltline why …)");
}

#[test]
fn in_observe_mode_nothing_stops_the_loop() {
    let site = Site::new("say hm").configured("mode = \"observe\"\n");
    let outcome = site.run(&["--max-iterations", "7"]);
    outcome.assert(75, "budget after 7 iterations: reached --max-iterations 7");
    assert_eq!((site.starts(), outcome.report["course"]["state"].as_str()), (7, Some("OPEN")));
    site.run(&["--max-iterations", "2"]);
    assert_eq!(site.starts(), 9, "a new start is possible too");
}
