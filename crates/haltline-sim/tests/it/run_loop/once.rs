//! Without `--loop`: haltline exits with the command's own code, unless haltline ended it or the client hides why it ended.

use rustix::process::Signal;

use crate::run_loop::site::{HALTLINE, Site};

#[test]
fn the_commands_own_code_is_passed_on() {
    for (script, code, line) in [
        ("say done", 0, "completed: the command ended with 0"),
        ("exit 7", 7, "command failed: the command ended with 7"),
        ("exit 77", 77, "command failed: the command ended with 77"),
        ("die TERM", 143, "command failed: the command ended with 143"),
        ("die KILL", 137, "command failed: the command ended with 137"),
    ] {
        let outcome = Site::new(script).once(&[]);
        outcome.assert(code, line);
        let command = &outcome.report["command"];
        let signal = (code > 128).then(|| code - 128);
        let own = signal.is_none().then_some(code);
        assert_eq!((&command["exit_code"], &command["signal"]), (&own.into(), &signal.into()), "{script}");
    }
}

#[test]
fn its_output_arrives_byte_for_byte() {
    let outcome = Site::new("say to out\ncomplain to err\nmutter without an end").once(&[]);
    outcome.assert(0, "completed: the command ended with 0");
    assert_eq!(outcome.out, "to out\nwithout an end");
    assert!(outcome.err.starts_with("to err\n"), "{}", outcome.err);
}

#[test]
fn a_command_that_cannot_start_is_named() {
    let site = Site::new("");
    let missing = "no-such-program-anywhere";
    for options in [&[][..], &["--loop"]] {
        let outcome = site.begin(site.runner(options, &[missing])).finish();
        let (code, line) = outcome.exit_and_line();
        assert!(
            code == 127 && line.contains("no-such-program-anywhere: there is no program of this name"),
            "{outcome:#?}"
        );
        assert_eq!(outcome.report["end"], "command cannot run");
    }
}

#[test]
fn a_client_that_a_hook_stopped_is_not_called_a_success() {
    let claude = r#"say {"type":"system","subtype":"init","session_id":"s"}
say {"type":"system","subtype":"hook_response","session_id":"s","stdout":"{\"continue\":false,\"stopReason\":\"the circuit is open\"}"}
say {"type":"result","subtype":"success","session_id":"s","is_error":false,"terminal_reason":"hook_stopped","result":""}"#;
    let outcome = Site::new(claude).once(&[]);
    outcome.assert(77, "tripped: a hook stopped the agent: the circuit is open");
    assert_eq!(outcome.report["command"]["exit_code"], 0);
    let codex = r#"say {"type":"thread.started","thread_id":"t"}
say {"type":"turn.started"}
say {"type":"turn.completed","usage":{"input_tokens":0,"output_tokens":0}}"#;
    let outcome = Site::new(codex).once(&[]);
    let line = "tripped: a hook stopped the agent; its client exits 0 for that (`haltline why` may know more)";
    outcome.assert(77, line);
}

#[test]
fn its_limits_end_it_with_the_code_for_budgets() {
    let linger = "on TERM save\nforever\n[block save]\nfile saved.txt yes\nexit 0";
    for (options, line) in [
        (["--max-time", "1s"], "budget: reached --max-time 1 s"),
        (["--idle", "1s"], "budget: no output for 1 s (--idle)"),
    ] {
        let site = Site::new(linger);
        let outcome = site.once(&options);
        outcome.assert(75, line);
        assert_eq!(
            (site.read("work/saved.txt").as_str(), &outcome.report["command"]["exit_code"]),
            ("yes\n", &0.into())
        );
    }
    let spending = r#"say {"type":"system","subtype":"init","session_id":"s"}
say {"type":"assistant","session_id":"s","message":{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":50,"output_tokens":0}}}"#;
    let outcome = Site::new(&format!("{spending}\n{linger}")).once(&["--max-tokens", "40"]);
    outcome.assert(75, "budget: reached --max-tokens 40 (50 used)");
}

#[test]
fn a_signal_is_passed_on_and_reported() {
    for (sent, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        let site = Site::new(
            "on INT save\non TERM save\non HUP save\nfile ../ready yes\nforever\n[block save]\nfile saved.txt yes\nexit 3",
        );
        let running = site.begin(site.agent(&[]));
        site.wait_for("ready");
        running.signal(sent);
        let outcome = running.finish();
        outcome.assert(130, &format!("aborted: signal {number}"));
        assert_eq!(site.read("work/saved.txt"), "yes\n");
    }
}

#[test]
fn one_run_writes_no_journal() {
    let site = Site::new("exit 3");
    for _time in 0..4 {
        site.once(&[]).assert(3, "command failed: the command ended with 3");
    }
    let status = site.ask(&["status", "--json"]).well().json();
    assert_eq!(status["courses"].as_array().map(Vec::len), Some(0), "{status:#}");
}

#[test]
fn options_of_a_loop_are_rejected_without_one() {
    let site = Site::new("");
    let answer = site.ask(&["run", "--max-iterations", "3", "--", HALTLINE]);
    assert!(answer.code == Some(2) && answer.err.contains("--loop"), "{answer:?}");
}
