//! Iterations that say nothing about progress: questions, plans, limits of the service, errors outside the project.

use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

use crate::run_loop::site::Site;

/// The last text of Claude Code's output, as one line of its JSON.
fn claude(text: &str) -> String {
    format!(
        "say {{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}}\nsay {{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"s\",\"is_error\":false,\"result\":\"{text}\"}}"
    )
}

#[test]
fn questions_neither_count_nor_reset_and_end_the_loop_when_no_one_answers() {
    let site = Site::new("say Which database should I use for you?").configured("[run]\nneutral_max = 4\n");
    let outcome = site.run(&["--max-iterations", "20"]);
    outcome.assert(
        77,
        "tripped after 4 iterations: 4 iterations in a row without work: only questions, plans, limits or external problems (haltline why …)",
    );
    assert_eq!(outcome.judged(), ["neutral"; 4]);
    assert_eq!(outcome.reasons(), ["asked a question: Which database should I use for you?"; 4]);
    assert_eq!(outcome.report["course"]["no_progress"]["count"], 0);
}

#[test]
fn a_question_between_two_idle_turns_leaves_their_count_as_it_is() {
    let outcome = Site::new("[run 1]\nsay hm\n[run 2]\nsay Should I go on?\n[run 3-]\nsay hm").run(&[]);
    outcome.assert(77, "tripped after 4 iterations: No progress for 3 iterations (haltline why …)");
    assert_eq!(outcome.judged(), ["no_progress", "neutral", "no_progress", "no_progress"]);
}

#[test]
fn a_question_after_work_is_progress() {
    let outcome = Site::new("file made-{run}.txt new\nsay Should I go on?").run(&["--max-iterations", "3"]);
    outcome.assert(75, "budget after 3 iterations: reached --max-iterations 3");
    assert_eq!(outcome.judged(), ["progress"; 3]);
}

#[test]
fn a_turn_that_only_plans_is_neutral() {
    let plan = "Here is my plan:\\n1. read the code\\n2. write the tests\\n3. write the code";
    for script in [claude(plan), "say Here is my plan:\nsay 1. read the code\nsay 2. write the tests".to_owned()] {
        let outcome = Site::new(&script).run(&["--max-iterations", "4"]);
        outcome.assert(75, "budget after 4 iterations: reached --max-iterations 4");
        assert_eq!((outcome.judged(), outcome.reasons()), (vec!["neutral"; 4], vec!["only planned"; 4]));
    }
}

/// A client that reached its usage limit and prints when the limit ends.
const LIMITED: &str = "[run 1]\nsay You've hit your limit. Try again in 1 seconds.\nexit 1\n[run 2]\nfile made.txt new";

#[test]
fn a_limit_of_the_service_is_waited_for() {
    let site = Site::new(LIMITED);
    let outcome = site.run(&["--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!(outcome.judged(), ["neutral", "progress"]);
    assert!(outcome.reasons()[0].starts_with("API limit: You've hit your limit"), "{outcome:#?}");
    assert!(outcome.lines().iter().any(|line| line.starts_with("waiting until ")), "{outcome:#?}");
}

/// The last line of a loop that can resume later, without the time, which must be the report's.
fn later(outcome: &crate::run_loop::outcome::Outcome) -> (i32, String) {
    let (code, line) = outcome.exit_and_line();
    let at = outcome.report["retry_at"].as_str().expect("the time is reported").to_owned();
    assert!(at.len() == 24 && at.ends_with('Z'), "{at}");
    (code, line.replace(&format!("{}Z", &at[..19]), "TIME"))
}

#[test]
fn without_waiting_the_line_says_when_to_resume() {
    let site = Site::new(LIMITED);
    let outcome = site.run(&["--no-wait"]);
    let line =
        "budget after 1 iteration: the API's limit (You've hit your limit. Try again in 1 seconds.); go on after TIME";
    assert_eq!(later(&outcome), (75, line.to_owned()));
    let resumed = site.run(&["--resume", "--max-iterations", "2"]);
    resumed.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!(resumed.judged(), ["progress"]);
}

#[test]
fn a_limit_that_ends_after_the_loops_own_time_is_not_waited_for() {
    let script = LIMITED.replace("in 1 seconds", "in 3 hours");
    let outcome = Site::new(&script).run(&["--max-time", "30m"]);
    let line =
        "budget after 1 iteration: the API's limit (You've hit your limit. Try again in 3 hours.); go on after TIME";
    assert_eq!(later(&outcome), (75, line.to_owned()));
    let stream = r#"say {"type":"system","subtype":"init","session_id":"s"}
say {"type":"rate_limit_event","session_id":"s","rate_limit_info":{"status":"rejected","resetsAt":4000000000}}
say {"type":"result","subtype":"success","session_id":"s","is_error":true,"api_error_status":429,"result":"You've hit your limit · resets 3pm"}
exit 1"#;
    let outcome = Site::new(stream).run(&["--max-time", "30m"]);
    assert_eq!(later(&outcome).0, 75);
    // 4000000000 seconds after 1970, plus the margin of the wait.
    assert_eq!(outcome.report["retry_at"], "2096-10-02T07:06:45.000Z");
}

#[test]
fn a_limit_with_a_named_zone_ends_by_the_clock_of_that_zone() {
    let Ok(zone) = TimeZone::get("Asia/Kolkata") else {
        eprintln!("SKIPPED: this machine has no database of time zones; named zones are NOT tested");
        return;
    };
    let reset = Zoned::now().with_time_zone(zone).checked_add(3.hours()).expect("in three hours");
    let message = reset.strftime("You've hit your limit · resets %H:%M (Asia/Kolkata)");
    let outcome = Site::new(&format!("say {message}\nexit 1")).run(&["--max-time", "30m"]);
    assert_eq!(later(&outcome).0, 75);
    let margin = 5.seconds();
    let expected = reset.with().second(0).subsec_nanosecond(0).build().expect("a whole minute").saturating_add(margin);
    assert_eq!(outcome.report["retry_at"], expected.timestamp().strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string());
}

#[test]
fn trouble_outside_is_neutral() {
    let codex = r#"say {"type":"thread.started","thread_id":"t"}
say {"type":"turn.started"}
say {"type":"turn.failed","error":{"message":"stream disconnected before completion: error sending request"}}
exit 1"#;
    let plain = "say API Error: 529 Overloaded\nexit 1";
    for (script, why) in
        [(codex, "stream disconnected before completion: error sending request"), (plain, "API Error: 529 Overloaded")]
    {
        let outcome = Site::new(script).run(&["--no-wait"]);
        assert_eq!(
            later(&outcome),
            (75, format!("budget after 1 iteration: trouble outside ({why}); go on after TIME"))
        );
        assert_eq!(
            (outcome.judged(), outcome.reasons()),
            (vec!["neutral"], vec![format!("trouble outside: {why}").as_str()])
        );
    }
}
