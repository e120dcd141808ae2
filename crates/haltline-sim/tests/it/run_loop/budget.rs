//! Limits: iterations, time, tokens and money. A used-up budget ends the run, even in the middle of an iteration.

use crate::run_loop::site::Site;

/// A response of Claude Code's model with this many input tokens.
fn response(tokens: u64) -> String {
    format!(
        r#"say {{"type":"system","subtype":"init","session_id":"s-{{run}}"}}
say {{"type":"assistant","session_id":"s-{{run}}","message":{{"id":"m-{{run}}","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"One more."}}],"usage":{{"input_tokens":{tokens},"output_tokens":0}}}}}}"#
    )
}

/// The result of a whole run of Claude Code with its usage.
fn result_with_usage(tokens: u64, dollars: &str) -> String {
    let share = format!(
        r#"{{"claude-sonnet-4-5":{{"inputTokens":{tokens},"outputTokens":0,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":{dollars}}}}}"#
    );
    format!(
        "{}\nsay {{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"s-{{run}}\",\"is_error\":false,\"terminal_reason\":\"completed\",\"result\":\"One more.\",\"total_cost_usd\":{dollars},\"model_usage_since_last_result\":{share}}}",
        response(tokens)
    )
}

/// A turn of Codex on this thread; the tokens are those of the whole thread.
fn turn(thread: &str, tokens: u64) -> String {
    format!(
        r#"say {{"type":"thread.started","thread_id":"{thread}"}}
say {{"type":"turn.started"}}
say {{"type":"item.completed","item":{{"type":"agent_message","text":"One more."}}}}
say {{"type":"turn.completed","usage":{{"input_tokens":{tokens},"output_tokens":0}}}}"#
    )
}

/// Runs for ever after its output, and saves its work on SIGTERM.
const LINGER: &str = "\non TERM save\nfile ../lingering yes\nforever\n[block save]\nfile saved.txt yes\nexit 0";

#[test]
fn tokens_that_are_used_up_end_an_iteration_in_the_middle() {
    let site = Site::new(&format!(
        "file made-{{run}}.txt new\n[run 1]\n{}\n[run 2]\n{}{LINGER}",
        result_with_usage(600, "0.01"),
        response(600)
    ));
    let outcome = site.run(&["--max-tokens", "1000"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-tokens 1000 (1200 used)");
    assert_eq!(outcome.judged(), ["progress", "progress"]);
    assert_eq!(site.read("work/saved.txt"), "yes\n", "its work is saved");
    assert_eq!(outcome.report["course"]["spent"]["tokens"], 1200);
    site.assert_nothing_is_left();
}

#[test]
fn money_that_is_used_up_ends_an_iteration_in_the_middle() {
    // A million input tokens of this model cost 3 dollars.
    let site = Site::new(&format!("{}{LINGER}", response(1_000_000)));
    let outcome = site.run(&["--max-cost", "2.50"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-cost 2.50 ($3.00 spent)");
    assert_eq!(outcome.report["course"]["spent"]["cost_usd"], 3.0);
    let site = Site::new(&format!("file made-{{run}}.txt new\n{}", result_with_usage(10, "1.25")));
    let outcome = site.run(&["--max-cost", "3"]);
    outcome.assert(75, "budget after 3 iterations: reached --max-cost 3.00 ($3.75 spent)");
    assert_eq!(outcome.report["course"]["spent"]["cost_usd"], 3.75);
}

#[test]
fn codex_counts_whole_threads_and_its_tokens_are_limited_all_the_same() {
    let site = Site::new(&format!("file made-{{run}}.txt new\n{}{LINGER}", turn("t-{run}", 700)));
    let outcome = site.run(&["--max-tokens", "500"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-tokens 500 (700 used)");
    assert_eq!(outcome.judged(), ["progress"]);
    // The thread continues, and so does its count: 100, 200, 300 are three times 100.
    let runs = [1, 2, 3].map(|run| format!("[run {run}]\n{}\nsleep 1.5\n", turn("one", 100 * run)));
    let site = Site::new(&format!("file made-{{run}}.txt new\n{}", runs.concat()));
    let outcome = site.run(&["--max-tokens", "250"]);
    outcome.assert(75, "budget after 3 iterations: reached --max-tokens 250 (300 used)");
    assert_eq!(outcome.report["course"]["spent"]["tokens"], 300);
}

#[test]
fn an_unreported_quantity_is_not_limited_and_haltline_says_so() {
    let site = Site::new(&format!("file made-{{run}}.txt new\n{}", turn("t", 5)));
    let outcome = site.run(&["--max-cost", "1", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!(outcome.err.matches("the command reports no cost").count(), 1, "{}", outcome.err);
    let site = Site::new("file made-{run}.txt new");
    let outcome = site.run(&["--max-tokens", "9", "--max-iterations", "2"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-iterations 2");
    assert_eq!(outcome.err.matches("the command reports no tokens").count(), 1, "{}", outcome.err);
}

#[test]
fn the_time_of_a_loop_is_that_of_all_its_iterations() {
    let site = Site::new(
        "file made-{run}.txt new\non TERM save\n[run 1]\nsleep 0.5\n[run 2]\nfile ../lingering yes\nforever\n[block save]\nfile saved.txt yes\nexit 0",
    );
    let outcome = site.run(&["--max-time", "3s"]);
    outcome.assert(75, "budget after 2 iterations: reached --max-time 3 s");
    assert_eq!(outcome.judged(), ["progress", "progress"]);
    assert_eq!(site.read("work/saved.txt"), "yes\n");
}

#[test]
fn an_iteration_that_the_loops_own_time_cut_off_says_nothing_about_the_work() {
    let outcome = Site::new("say thinking\nforever").run(&["--max-time", "1s"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-time 1 s");
    assert_eq!((outcome.judged(), outcome.reasons()), (vec!["neutral"], vec!["interrupted"]));
}

#[test]
fn nobody_pauses_when_there_is_nothing_to_pause_for() {
    let site = Site::new("file made-{run}.txt new");
    let outcome = site.run(&["--pause", "1h", "--max-iterations", "1"]);
    outcome.assert(75, "budget after 1 iteration: reached --max-iterations 1");
}

#[test]
fn pauses_and_checks_are_part_of_the_loops_time() {
    // A second more than the limit, so that the wait is over in any case.
    for options in [["--pause", "5s"], ["--test", "sleep 5"], ["--done-if", "sleep 5; false"]] {
        let outcome = Site::new("file made-{run}.txt new").run(&[&options[..], &["--max-time", "4s"]].concat());
        outcome.assert(75, "budget after 1 iteration: reached --max-time 4 s");
        assert_eq!(outcome.judged(), ["progress"], "{options:?}");
    }
}

#[test]
fn iterations_are_counted_and_numbered() {
    let site = Site::new("show HALTLINE_ITERATION\nfile made-{run}.txt new");
    let outcome = site.run(&["--max-iterations", "3"]);
    outcome.assert(75, "budget after 3 iterations: reached --max-iterations 3");
    assert_eq!(outcome.out, "HALTLINE_ITERATION=1\nHALTLINE_ITERATION=2\nHALTLINE_ITERATION=3\n");
    let more = site.run(&["--resume", "--max-iterations", "5"]);
    more.assert(75, "budget after 5 iterations: reached --max-iterations 5");
    assert_eq!(more.out, "HALTLINE_ITERATION=4\nHALTLINE_ITERATION=5\n");
}
