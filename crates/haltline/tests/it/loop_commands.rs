//! The commands around running sessions, with the real binary: events, verdicts, and operator actions.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Answer, HALTLINE, Site};
use serde_json::Value;

/// Runs the binary with this standard input, in a session without a terminal.
fn run_with_input(site: &Site, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Answer {
    let mut command = Command::new("setsid");
    site.configure(&mut command);
    command.arg("--wait").arg(HALTLINE).args(arguments).envs(variables.iter().copied());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("setsid of util-linux is there");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("the input is read");
    let output = child.wait_with_output().expect("it ends");
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// An event of the session `s`.
fn event(kind: &str, fields: &str) -> String {
    format!("{{\"v\":1,\"type\":\"{kind}\",\"ts\":\"2026-02-01T10:00:00.000Z\",\"session\":\"s\"{fields}}}\n")
}

fn start(call: u32) -> String {
    event("tool_start", &format!(",\"call\":\"c{call}\",\"tool\":\"Bash\",\"input\":{{\"command\":\"npm test\"}}"))
}

fn end(call: u32) -> String {
    event("tool_end", &format!(",\"call\":\"c{call}\",\"outcome\":\"failed\",\"exit\":1,\"output\":\"jwt is broken\""))
}

/// Trips the circuit by three failures of the same call; returns the incident.
fn trip(site: &Site) -> String {
    let stream: String = (1..=3).map(|call| start(call) + &end(call)).collect();
    let answer = run_with_input(site, &["event"], &[], &stream);
    assert_eq!((answer.code, answer.out.lines().count()), (Some(0), 6), "{answer:?}");
    let why = site.run(&["why", "--json"]).json();
    why["incident"].as_str().expect("an incident").to_owned()
}

fn unattended() -> Site {
    let site = Site::new();
    // A long cooldown, so that the circuit is still OPEN on a slow machine.
    site.config("[operator]\nunattended = true\n[loop.tool_failure]\ncooldown_base_seconds = 3600\n");
    site
}

fn lines(answer: &Answer) -> Vec<Value> {
    answer.out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn every_event_is_answered_and_a_single_one_also_by_the_exit_code() {
    let site = unattended();
    let pass = run_with_input(&site, &["event"], &[], &event("prompt", ",\"source\":\"user\",\"text\":\"go\""));
    assert_eq!(pass.code, Some(0), "{pass:?}");
    assert_eq!(pass.out, "{\"verdict\":\"pass\",\"circuit\":null,\"code\":null,\"reason\":null,\"retry_at\":null}\n");
    trip(&site);
    let denied = run_with_input(&site, &["event"], &[], &start(4));
    let answer = &lines(&denied)[0];
    assert_eq!(denied.code, Some(75), "{denied:?}");
    assert_eq!((answer["verdict"].as_str(), answer["code"].as_str()), (Some("deny"), Some("HL-FAIL-01")));
    assert_eq!(answer["circuit"].as_str(), Some("loop/s/tool_failure"));
    assert!(answer["retry_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{answer}");
    let tampering =
        event("tool_start", ",\"call\":\"t\",\"tool\":\"Bash\",\"input\":{\"command\":\"haltline reset --all\"}");
    let person = run_with_input(&site, &["event"], &[], &tampering);
    assert_eq!((person.code, lines(&person)[0]["code"].as_str()), (Some(77), Some("HL-OWN-01")), "{person:?}");
    let stream = run_with_input(&site, &["event"], &[], &(start(5) + &start(6)));
    assert_eq!(stream.code, Some(0), "a stream ends with 0 whatever was denied: {stream:?}");
    site.assert_verifies();
}

#[test]
fn a_bad_line_is_named_and_changes_nothing() {
    let site = unattended();
    let alone = run_with_input(&site, &["event"], &[], "{\"v\":2}\n");
    assert_eq!(alone.code, Some(1), "{alone:?}");
    assert_eq!(alone.err, "", "the error is in the answer");
    assert_eq!(lines(&alone)[0]["error"]["message"], "v 2: expected 1, the only version there is");
    let stream =
        run_with_input(&site, &["event"], &[], &format!("not an event\n{}", event("prompt", ",\"source\":\"user\"")));
    let answers = lines(&stream);
    assert_eq!((stream.code, stream.err.as_str()), (Some(0), ""), "{stream:?}");
    assert!(
        answers[0]["error"]["message"].as_str().is_some_and(|error| error.contains("expected a JSON object")),
        "{stream:?}"
    );
    assert_eq!(answers[1]["verdict"].as_str(), Some("pass"));
    let nothing = run_with_input(&site, &["event"], &[], "");
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    let undated =
        run_with_input(&site, &["event", "--recorded"], &[], "{\"v\":1,\"type\":\"stop\",\"session\":\"s\"}\n");
    assert!(undated.out.contains("ts is missing"), "{undated:?}");
}

#[test]
fn recorded_events_are_decided_at_their_own_instants() {
    let site = Site::new();
    let at = |text: String, second: u32| text.replace("10:00:00.000", &format!("10:00:{second:02}.000"));
    let stream: String = (1..=3).map(|call| at(start(call) + &end(call), call)).collect();
    let stream = stream + &at(start(4), 5) + &at(start(5), 20);
    let answers = lines(&run_with_input(&site, &["event", "--recorded"], &[], &stream));
    assert_eq!(answers[6]["retry_at"].as_str(), Some("2026-02-01T10:00:13.000Z"), "{answers:?}");
    assert_eq!(answers[7]["verdict"].as_str(), Some("pass"), "the cooldown of 10 s was over: {answers:?}");
}

#[test]
fn events_and_constraint_events_go_to_the_project_of_their_session() {
    let site = unattended();
    site.constraint("no-secrets", "violation_threshold: 1");
    let project = site.project();
    let begin = event("session_start", &format!(",\"project\":{:?}", project.to_str().expect("text")));
    let violation = event("violation", ",\"constraint\":\"no-secrets\",\"action\":\"cat .env\"");
    let answer = run_with_input(&site, &["-C", "/", "event"], &[], &(begin + &violation));
    assert_eq!(lines(&answer).len(), 2, "{answer:?}");
    let why = site.run(&["why"]);
    assert!(why.out.contains("constraint/no-secrets"), "{why:?}");
    assert!(why.out.contains("haltline constraint status no-secrets"), "{why:?}");
}

#[test]
fn an_agent_cannot_lift_the_spawn_limits_by_an_event() {
    let site = unattended();
    let prompt = event("prompt", ",\"source\":\"user\",\"text\":\"SUDO PARALLEL\"");
    run_with_input(&site, &["event"], &[("CLAUDECODE", "1")], &prompt);
    let journal = site.run(&["journal", "show", "--json"]);
    assert!(!journal.out.contains("bypass"), "{journal:?}");
    run_with_input(&site, &["event"], &[], &prompt);
    let journal = site.run(&["journal", "show", "--json"]);
    assert!(journal.out.contains("bypass"), "{journal:?}");
}

#[test]
fn a_direction_mark_in_a_violation_or_a_result_reaches_the_terminal_only_escaped() {
    let assert_escaped = |site: &Site, args: &[&str]| {
        let shown = site.run(args).out;
        assert!(shown.contains("\\u{202e}") && !shown.contains('\u{202e}'), "{args:?} {shown}");
    };
    let site = unattended();
    let stream: String =
        (1..=3).map(|call| start(call) + &end(call).replace("is broken", "\u{202e}nekorb si")).collect();
    run_with_input(&site, &["event"], &[], &stream);
    assert_escaped(&site, &["why"]);
    assert_eq!(site.run(&["why", "--json"]).json()["evidence"][0]["text"], "jwt \u{202e}nekorb si");
    site.constraint("rule", "violation_threshold: 5");
    site.record("rule", "rm \u{202e}txt.a");
    assert_escaped(&site, &["constraint", "status", "rule"]);
    assert_escaped(&site, &["constraint", "history", "rule"]);
    let reset = ["constraint", "reset", "rule", "--reason", "a \u{202e}b"];
    let reset = site.run_detached(&reset, &[]);
    assert!(reset.out.contains("a \\u{202e}b"), "{reset:?}");
    let failed = site.run(&["why", "x\u{202e}y"]);
    assert!(!failed.err.contains('\u{202e}'), "{failed:?}");
}

#[test]
fn why_shows_the_trip_its_evidence_and_the_next_steps() {
    let site = unattended();
    let empty = site.run(&["why"]);
    assert_eq!((empty.code, empty.out.as_str()), (Some(0), "Nothing has tripped in this project.\n"), "{empty:?}");
    let incident = trip(&site);
    run_with_input(&site, &["event"], &[], &start(4));
    let why = site.run(&["why"]);
    for part in [
        format!("INCIDENT {incident}: tool_failure (HL-FAIL-01)").as_str(),
        "failed 3 times in 5 turns",
        "loop.tool_failure.threshold = 3 (default)",
        "config.toml)",
        "jwt is broken",
        "1 attempt",
        "session unknown",
        "haltline resume",
    ] {
        assert!(why.out.contains(part), "{part}: {}", why.out);
    }
    assert!(why.out.lines().all(|line| line.chars().count() <= 80), "{}", why.out);
    let unknown = site.run(&["why", "ffffffff"]);
    assert!(unknown.err.contains("haltline incidents --all"), "{unknown:?}");
    let status = site.run(&["status", "--verbose"]);
    for part in ["tool_failure: OPEN (cooldown: ", "last trip: turn 3", "All others: CLOSED", "agents: 0/10", "x1)"] {
        assert!(status.out.contains(part), "{part}: {}", status.out);
    }
}

#[test]
fn operator_actions_are_denied_inside_an_agent_and_audited_outside() {
    let site = unattended();
    let incident = trip(&site);
    for args in
        [vec!["reset", &incident], vec!["reset", "--all"], vec!["resume", &incident], vec!["false-positive", &incident]]
    {
        let inside = site.run_detached(&args, &[("CLAUDECODE", "1")]);
        assert_eq!(inside.code, Some(77), "{args:?}: {inside:?}");
    }
    let reset = site.run_detached(&["reset", "--session", "s", "--reason", "looked at it"], &[]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    assert!(reset.out.contains("Journal:  fact "), "{reset:?}");
    let again = site.run_detached(&["reset", &incident], &[]);
    assert!(again.err.contains(&format!("haltline why {incident}")), "{again:?}");
    let why = site.run(&["why", &incident]);
    assert!(why.out.contains("reset by ana"), "{why:?}");
    assert_eq!(run_with_input(&site, &["event"], &[], &start(4)).code, Some(0), "the circuit is closed");
    site.assert_verifies();
}

#[test]
fn resume_hands_its_hint_to_the_next_probe() {
    let site = unattended();
    let incident = trip(&site);
    let resumed = site.run_detached(&["resume", &incident, "--hint", "mock jwt in the tests"], &[]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let probe = run_with_input(&site, &["event"], &[], &start(4));
    let answer = &lines(&probe)[0];
    assert_eq!((probe.code, answer["code"].as_str()), (Some(0), Some("HL-RESUME-01")), "{probe:?}");
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("mock jwt in the tests")), "{answer}");
    assert_eq!(run_with_input(&site, &["event"], &[], &start(5)).code, Some(75), "one probe at a time");
}

#[test]
fn a_false_positive_never_trips_again_until_it_is_revoked() {
    let site = unattended();
    // The same call with the same result is another pattern, with its own false positives.
    site.config(
        "[operator]\nunattended = true\n[loop.tool_failure]\ncooldown_base_seconds = 3600\n[loop.repeat]\nenabled = false\n",
    );
    let incident = trip(&site);
    let declared = site.run_detached(&["false-positive", &incident], &[]);
    assert_eq!(declared.code, Some(0), "{declared:?}");
    let list = site.run(&["false-positive", "--list", "--json"]).json();
    assert_eq!(list["false_positives"][0]["incident"].as_str(), Some(incident.as_str()), "{list}");
    let again = |from: u32| -> Vec<Value> {
        let prompt = event("prompt", ",\"source\":\"user\",\"text\":\"again\"");
        let stream: String = (from..from + 3).map(|call| start(call) + &end(call)).collect();
        lines(&run_with_input(&site, &["event"], &[], &(prompt + &stream + &start(from + 9))))
    };
    let answers = again(10);
    assert!(answers.iter().all(|answer| answer["code"].as_str() != Some("HL-FAIL-01")), "{answers:?}");
    assert_eq!(site.run_detached(&["false-positive", "--revoke", &incident], &[]).code, Some(0));
    let unknown = site.run_detached(&["false-positive", "--revoke", &incident], &[]);
    assert!(unknown.err.contains("--list"), "{unknown:?}");
    let answers = again(30);
    assert_eq!(answers.last().expect("an answer")["code"].as_str(), Some("HL-FAIL-01"), "{answers:?}");
}

#[test]
fn the_status_line_is_one_line_for_any_input() {
    let site = unattended();
    let folder = site.project();
    let status = format!(
        "{{\"session_id\":\"s\",\"cost\":{{\"total_cost_usd\":0.414}},\"workspace\":{{\"project_dir\":{:?}}}}}",
        folder.to_str().expect("text")
    );
    let line = |args: &[&str]| run_with_input(&site, args, &[], &status);
    assert_eq!(line(&["statusline", "claude"]).out, "haltline ok $0.41\n");
    run_with_input(&site, &["event"], &[], &(start(1) + &end(1) + &start(2) + &end(2)));
    assert_eq!(line(&["statusline", "claude"]).out, "haltline 2/3 same failure $0.41\n");
    assert_eq!(line(&["statusline", "claude", "--segment"]).out, "2/3 same failure\n");
    run_with_input(&site, &["event"], &[], &(start(3) + &end(3)));
    let open = line(&["statusline", "claude", "--ascii"]);
    assert!(open.out.starts_with("haltline stopped: Bash failed 3 times in 5 turns, until "), "{open:?}");
    assert!(open.out.ends_with(" - haltline status\n"), "{open:?}");
    for args in [&["statusline", "--nonsense"][..], &["statusline", "claude", "--state", "/proc/nowhere"]] {
        for input in ["", "no json", "{}", "{\"session_id\":7}", &status] {
            let answer = run_with_input(&site, args, &[], input);
            assert_eq!((answer.code, answer.out.lines().count()), (Some(0), 1), "{args:?} {input}: {answer:?}");
        }
    }
}

#[test]
fn a_sample_notification_reaches_the_configured_target() {
    let site = Site::new();
    let nobody = site.run(&["notify", "test"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.err.contains("notify.to"), "{nobody:?}");
    let delivered = site.home().join("heard.json");
    site.config(&format!("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> {}\"]\n", delivered.display()));
    let sent = site.run(&["notify", "test"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(std::fs::read_to_string(&delivered).expect("heard").contains("nothing tripped"));
    trip(&site);
    assert_eq!(site.run(&["notify", "deliver"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&delivered).expect("heard").matches("tool_failure\"").count(), 2);
    site.config("[notify]\ncommand = [\"false\"]\n");
    assert_eq!(site.run(&["notify", "test"]).code, Some(1));
}
