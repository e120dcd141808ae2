//! Better test results are progress, from any source: the agent's output, a report file, a command of the user.

use crate::run_loop::outcome::Outcome;
use crate::run_loop::site::Site;

/// Fails unless three iterations improve and the next three do not.
#[track_caller]
fn assert_three_get_further(outcome: &Outcome) {
    outcome.assert(77, "tripped after 6 iterations: No progress for 3 iterations (haltline why …)");
    let [some, none] = ["progress", "no_progress"];
    assert_eq!(outcome.judged(), [some, some, some, none, none, none], "{outcome:#?}");
    let metrics = &outcome.report["course"]["metrics"];
    assert_eq!((&metrics["tests_passing"], &metrics["tests_total"]), (&7.into(), &9.into()), "{metrics:#}");
    assert_eq!(outcome.iterations()[2]["gains"], serde_json::json!(["tests_passing", "tests_failing"]));
    assert_eq!(outcome.signs()[2..4], ["tests 2 weighs 2", ""]);
}

/// Lines of script for the runs 1, 2 and 3, and for all runs after the third.
fn each(line: impl Fn(u32, u32) -> String) -> String {
    let line = |passing: u32| line(passing, 9 - passing);
    format!("[run 1]\n{}\n[run 2]\n{}\n[run 3-]\n{}\n", line(5), line(6), line(7))
}

#[test]
fn the_output_of_a_test_runner_counts() {
    let script = each(|passing, failing| {
        format!(
            "say test result: FAILED. {passing} passed; {failing} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s"
        )
    });
    assert_three_get_further(&Site::new(&script).run(&[]));
}

#[test]
fn a_report_file_counts_where_the_iteration_wrote_it() {
    let suite = |passing: u32, failing: u32| {
        format!(
            r#"file ../junit.xml <testsuites><testsuite name="all" tests="{}" failures="{failing}" errors="0" skipped="0" time="0.{passing}1"></testsuite></testsuites>"#,
            passing + failing
        )
    };
    let site = Site::new(&each(suite));
    assert_three_get_further(&site.run(&["--junit", "../junit.xml"]));
    // A file from before the iteration does not count.
    let site = Site::new("say nothing new");
    let (_, text) =
        suite(9, 0).split_once("junit.xml ").map(|(head, text)| (head.to_owned(), text.to_owned())).expect("split");
    site.write("junit.xml", &text);
    let outcome = site.run(&["--junit", "../junit.xml"]);
    outcome.assert(77, "tripped after 3 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.judged(), ["no_progress"; 3]);
}

#[test]
fn an_invalid_report_file_is_reported_and_changes_nothing_else() {
    let site = Site::new("file ../junit.xml <html>{now}\nfile made-{run}.txt new");
    let outcome = site.run(&["--junit", "../junit.xml", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    let reported: Vec<&str> = outcome.lines().into_iter().filter(|line| line.starts_with("../junit.xml: ")).collect();
    assert_eq!((reported.len(), outcome.judged()), (2, vec!["progress"; 2]), "{outcome:#?}");
}

#[test]
fn a_command_of_the_users_choice_counts() {
    // The script writes its progress; the command of the user prints it in a known form.
    let site = Site::new(&each(|passing, failing| format!("file ../far {passing} {failing}")));
    let test = "read passing failing < ../far; echo \"=== $failing failed, $passing passed in 0.12s ===\"; exit 1";
    let outcome = site.run(&["--test", test]);
    assert_three_get_further(&outcome);
    assert!(!outcome.out.contains("passed"), "what it prints is read, not shown: {}", outcome.out);
}

#[test]
fn numbers_in_a_status_block_count_where_there_are_no_others() {
    let block = each(|passing, failing| {
        format!(
            "say ---PRP_PHASE_STATUS---\nsay PHASE: GREEN\nsay STATUS: IN_PROGRESS\nsay TESTS:\nsay   total: 9\nsay   passing: {passing}\nsay   failing: {failing}\nsay   skipped: 0\nsay EXIT_SIGNAL: false\nsay ---END_PRP_PHASE_STATUS---"
        )
    });
    assert_three_get_further(&Site::new(&block).run(&[]));
}
