//! `haltline backtest` with the real binary: replays recorded sessions and reports their verdicts.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::support::{Answer, Site, names, on_terminal};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// A plain event of a session, this many seconds after ten o'clock.
fn event(session: &str, second: u32, kind: &str, fields: &Value) -> String {
    let ts = format!("2026-02-01T{}:{:02}:{:02}.000Z", 10 + second / 3600, second / 60 % 60, second % 60);
    let mut event = json!({"v": 1, "type": kind, "ts": ts, "session": session});
    for (name, value) in fields.as_object().expect("an object") {
        event[name] = value.clone();
    }
    format!("{event}\n")
}

/// A call and its result.
fn call(session: &str, number: u32, command: &str, output: &str) -> String {
    let name = format!("c{number}");
    let input = json!({"call": name, "tool": "Bash", "input": {"command": command}});
    let answer = json!({"call": name, "outcome": "ok", "exit": 0, "output": output});
    event(session, 2 * number, "tool_start", &input) + &event(session, 2 * number + 1, "tool_end", &answer)
}

/// A session that makes the same call six times and gets the same result.
fn looping_session(session: &str) -> String {
    let prompt = event(session, 0, "prompt", &json!({"source": "user", "text": "go"}));
    prompt + &(1..=6).map(|number| call(session, number, "cat notes.md", "nothing new")).collect::<String>()
}

/// A session in which every call differs.
fn varied_session(session: &str) -> String {
    (1..=3).map(|number| call(session, number, &format!("cat {number}.md"), &format!("page {number}"))).collect()
}

fn sessions(answer: &Answer) -> Vec<Value> {
    answer
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn named(answer: &Answer) -> Vec<String> {
    sessions(answer).iter().map(|session| session["session"].as_str().expect("a name").to_owned()).collect()
}

fn packed(content: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content.as_bytes()).expect("packed");
    encoder.finish().expect("packed")
}

#[test]
fn a_session_is_one_object_with_exactly_the_promised_fields() {
    let site = Site::new();
    site.file("a.jsonl", &looping_session("s"));
    let answer = site.run(&["backtest", "a.jsonl", "--json"]);
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
    let [session] = sessions(&answer).try_into().expect("one session");
    let fields = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&session), ["session", "source", "format", "calls", "prompts", "cost_usd", "first", "trips"]);
    assert_eq!(fields(&session["first"]), ["warn", "deny", "stop"]);
    assert_eq!(session["session"], "s");
    assert_eq!(session["source"], "a.jsonl");
    assert_eq!(session["format"], "plain");
    assert_eq!((&session["calls"], &session["prompts"]), (&json!(6), &json!(1)));
    assert_eq!(session["cost_usd"], Value::Null);
    let trips = session["trips"].as_array().expect("a list");
    assert_eq!(fields(&trips[0]), ["call", "circuit", "code", "verdict", "reason", "calls_after"]);
    assert_eq!(fields(&trips[1]), ["call", "circuit", "code", "verdict", "reason", "calls_after", "brought"]);
    assert_eq!(trips[1]["brought"], "known");
    let listed: Vec<(&Value, &Value, &Value)> =
        trips.iter().map(|trip| (&trip["call"], &trip["verdict"], &trip["calls_after"])).collect();
    let expected =
        [(json!(3), json!("warn"), json!(3)), (json!(4), json!("deny"), json!(2)), (json!(5), json!("stop"), json!(1))];
    assert_eq!(listed, expected.iter().map(|(call, verdict, after)| (call, verdict, after)).collect::<Vec<_>>());
    for (verdict, call) in [("warn", 3), ("deny", 4), ("stop", 5)] {
        let first = json!({"call": call, "circuit": "loop/s/repeat", "code": "HL-LOOP-01"});
        assert_eq!(session["first"][verdict], first, "{verdict}");
    }
}

#[test]
fn a_denial_is_regretted_if_the_call_brought_something_new() {
    let site = Site::new();
    let session = |last: &str| {
        let same = (1..=3).map(|number| call("s", number, "cat notes.md", "nothing new")).collect::<String>();
        same + &call("s", 4, "cat notes.md", last)
    };
    site.file("new.jsonl", &session("a line that was not there"));
    site.file("known.jsonl", &session("nothing new").replace("\"s\"", "\"t\""));
    let brought = |file: &str| sessions(&site.run(&["backtest", file, "--json"]))[0]["trips"][1]["brought"].clone();
    assert_eq!((brought("new.jsonl"), brought("known.jsonl")), (json!("new"), json!("known")));
    let report = site.run(&["backtest", "."]);
    assert!(report.out.contains("\nRegret     1 of 2 denied calls (50.0 %) brought a new result\n"), "{}", report.out);
    assert!(
        report.out.contains("  repeat                 HL-LOOP-01         2         2         0        1\n"),
        "{}",
        report.out
    );
}

#[test]
fn cost_is_summed_where_it_is_known() {
    let site = Site::new();
    let cost = |second, usd: f64| event("s", second, "message", &json!({"message": "m", "cost_usd": usd}));
    site.file("a.jsonl", &(cost(0, 0.25) + &looping_session("s") + &cost(50, 0.5)));
    let answer = site.run(&["backtest", "a.jsonl", "--json"]);
    assert_eq!(sessions(&answer)[0]["cost_usd"], json!(0.75));
    let report = site.run(&["backtest", "a.jsonl"]);
    assert!(report.out.contains("$0.75 (list prices of"), "{report:?}");
    assert!(report.out.contains("2 calls (33.3 %), $0.50 after the first denial"), "{report:?}");
}

#[test]
fn damaged_lines_are_counted_and_passed_over() {
    let site = Site::new();
    let mut text = looping_session("s");
    text.insert_str(0, "{\"v\":1,\"type\":\"prompt\",\"session\":\"s\",\"source\":\"user\"}\n{\"v\":1,\"type\":\n\n");
    text.push_str("{\"v\":1,\"type\":\"tool_start\",\"ses");
    site.file("a.jsonl", &text);
    let report = site.run(&["backtest", "a.jsonl"]);
    assert_eq!(report.code, Some(0));
    assert!(report.out.contains("2 damaged lines passed over"), "{report:?}");
    let lines = site.run(&["backtest", "a.jsonl", "--json"]);
    assert_eq!((lines.code, lines.err.as_str()), (Some(0), "warning: 2 damaged lines passed over\n"));
    assert!(report.out.starts_with("BACKTEST: 1 session, 6 calls\n"), "{report:?}");
}

#[test]
fn packed_files_are_detected_by_content_and_a_truncated_one_is_read_as_far_as_it_goes() {
    let site = Site::new();
    fs::write(site.project().join("plainly-named"), packed(&looping_session("s"))).expect("written");
    let answer = site.run(&["backtest", "plainly-named", "--json"]);
    assert_eq!((answer.code, named(&answer)), (Some(0), vec!["s".to_owned()]), "{answer:?}");
    let mut text = looping_session("s");
    (0..20_000).for_each(|number| text.push_str(&call("t", number, &number.to_string(), &(number * 7919).to_string())));
    let whole = packed(&text);
    fs::write(site.project().join("cut.gz"), &whole[..whole.len() / 2]).expect("written");
    let answer = site.run(&["backtest", "cut.gz", "--json"]);
    assert_eq!((answer.code, named(&answer)), (Some(0), vec!["s".to_owned(), "t".to_owned()]), "{answer:?}");
    assert!(answer.err.contains("cut.gz: the rest cannot be read"), "{answer:?}");
}

#[test]
fn a_file_of_many_sessions_gives_one_object_for_each_in_order() {
    let site = Site::new();
    let text: String = (0..700).map(|number| looping_session(&format!("s{number:03}"))).collect();
    site.file("many.jsonl", &text);
    let expected: Vec<String> = (0..700).map(|number| format!("s{number:03}")).collect();
    for jobs in ["1", "2", "8"] {
        let answer = site.run(&["backtest", "many.jsonl", "--json", "--jobs", jobs]);
        assert_eq!(named(&answer), expected, "{jobs} jobs");
        assert!(sessions(&answer).iter().all(|session| session["first"]["deny"]["call"] == 4));
    }
}

#[test]
fn interleaved_sessions_of_one_file_are_evaluated_separately() {
    let site = Site::new();
    let (one, two) = (looping_session("one"), varied_session("two"));
    let mut text = String::new();
    let mut two = two.lines();
    for line in one.lines() {
        writeln!(text, "{line}").expect("a String takes it");
        two.next().into_iter().for_each(|line| writeln!(text, "{line}").expect("a String takes it"));
    }
    site.file("a.jsonl", &text);
    let found = sessions(&site.run(&["backtest", "a.jsonl", "--json"]));
    assert_eq!((&found[0]["session"], &found[0]["first"]["deny"]["call"]), (&json!("one"), &json!(4)));
    assert_eq!((&found[1]["session"], &found[1]["trips"]), (&json!("two"), &json!([])));
}

#[test]
fn folders_are_read_in_name_order_whichever_worker_is_faster() {
    let site = Site::new();
    for name in ["b/2", "b/1", "a/9", "c", "b/10"] {
        let long: String =
            (0..if name == "a/9" { 3000 } else { 1 }).map(|n| call(name, n, &n.to_string(), "x")).collect();
        site.file(&format!("all/{name}.jsonl"), &long);
    }
    site.file("all/README.md", "not a transcript");
    let answer = site.run(&["backtest", "all", "--json", "--jobs", "4"]);
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
    assert_eq!(named(&answer), ["a/9", "b/1", "b/10", "b/2", "c"]);
    let report = site.run(&["backtest", "all"]);
    assert!(report.out.contains("6 files, ") && report.out.contains(", 1 file in no known format"), "{report:?}");
}

#[test]
fn since_leaves_out_sessions_that_ended_before() {
    let site = Site::new();
    site.file("old.jsonl", &looping_session("old").replace("2026-02-01", "2026-01-01"));
    site.file("new.jsonl", &looping_session("new"));
    let answer = site.run(&["backtest", "old.jsonl", "new.jsonl", "--json", "--since", "2026-01-15"]);
    assert_eq!(named(&answer), ["new"]);
    let answer = site.run(&["backtest", "old.jsonl", "new.jsonl", "--json", "--since", "2026-01-01T10:00:13Z"]);
    assert_eq!(named(&answer), ["old", "new"]);
    let report = site.run(&["backtest", "old.jsonl", "new.jsonl", "--since", "2026-01-15"]);
    assert!(report.out.contains("1 session that ended before"), "{report:?}");
    let timeless = "{\"v\":1,\"type\":\"prompt\",\"session\":\"timeless\",\"source\":\"user\",\"text\":\"go\"}\n";
    site.file("timeless.jsonl", timeless);
    let report = site.run(&["backtest", "timeless.jsonl", "old.jsonl", "--since", "2026-01-15"]);
    assert!(report.out.starts_with("BACKTEST: 1 session,"), "{report:?}");
    assert!(report.out.contains("Kept       1 session of unknown age"), "{report:?}");
    let bad = site.run(&["backtest", "new.jsonl", "--since", "soon"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.err.contains("expected a time such as 30d"), "{bad:?}");
}

#[test]
fn a_preset_a_file_and_a_comparison_give_different_verdicts() {
    let site = Site::new();
    let failing = looping_session("s").replace("\"outcome\":\"ok\"", "\"outcome\":\"failed\"");
    // Another command each time: only the tool's name is the same.
    let failing: String =
        failing.lines().enumerate().map(|(n, line)| line.replace("notes.md", &format!("{n}.md")) + "\n").collect();
    site.file("a.jsonl", &failing);
    let literal = sessions(&site.run(&["backtest", "a.jsonl", "--json", "--preset", "literal"]));
    assert_eq!(literal[0]["first"]["deny"]["code"], "HL-FAIL-01");
    assert_eq!(literal[0]["first"]["deny"]["call"], 4);
    site.file("off.toml", "[loop.repeat]\nenabled = false\n[loop.sequential_tools]\nenabled = false\n");
    site.file("b.jsonl", &looping_session("s"));
    let off = sessions(&site.run(&["backtest", "b.jsonl", "--json", "--config", "off.toml"]));
    assert_eq!(off[0]["trips"], json!([]));
    let both = site.run(&["backtest", "b.jsonl", "--compare", "default", "off.toml"]);
    assert!(both.out.lines().any(|line| line.split_whitespace().eq(["default", "off.toml"])), "{both:?}");
    assert!(both.out.lines().any(|line| line.split_whitespace().eq(["sessions", "denied", "1", "0"])), "{both:?}");
    let both = site.run(&["backtest", "b.jsonl", "--compare", "default", "off.toml", "--json"]).json();
    assert_eq!(both["verdicts"][0]["sessions_refused"], 1);
    assert_eq!(both["verdicts"][1]["sessions_refused"], 0);
    assert_eq!((&both["corpus"]["calls"], &both["corpus"]["cost_usd"]), (&json!(6), &Value::Null));
    let missing = site.run(&["backtest", "b.jsonl", "--config", "missing.toml"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("missing.toml: there is no such file"), "{missing:?}");
}

#[test]
fn sessions_are_evaluated_by_the_configuration_in_force() {
    let site = Site::new();
    site.config("[loop.repeat]\nwarn = 2\ndeny = 3\n");
    site.file("a.jsonl", &looping_session("s"));
    let answer = sessions(&site.run(&["backtest", "a.jsonl", "--json"]));
    assert_eq!(answer[0]["first"]["deny"]["call"], 3);
    // Observe mode still reports what would have happened.
    site.config("mode = \"observe\"\n");
    let answer = sessions(&site.run(&["backtest", "a.jsonl", "--json"]));
    assert_eq!(answer[0]["first"]["deny"]["call"], 4);
}

#[test]
fn why_explains_a_trip_of_the_last_backtest() {
    let site = Site::new();
    let commit = call("s", 12, "git commit -m done", "[main 1234567] done");
    let rest: String = (7..12).map(|number| call("s", number, &format!("cat {number}.md"), "text")).collect();
    site.file("a.jsonl", &(looping_session("s") + &rest + &commit));
    let report = site.run(&["backtest", "a.jsonl"]);
    let line = report.out.lines().find(|line| line.contains("call 4 of 12")).unwrap_or_else(|| panic!("{report:?}"));
    assert!(line.ends_with("8 after; work was committed later"), "{line}");
    let incident = line.split_whitespace().next().expect("an incident");
    let why = site.run(&["why", incident]);
    for part in ["REPLAYED", "a replay stops nobody", "a.jsonl (plain)", "4 of 12, 2026-02-01 10:00:08", "nothing new"]
    {
        assert!(why.out.contains(part), "{part}: {why:?}");
    }
    assert!(why.out.lines().all(|line| line.chars().count() <= 80), "{why:?}");
    let why = site.run(&["why", incident, "--json"]).json();
    assert_eq!((&why["is_replay"], &why["call"], &why["verdict"]), (&json!(true), &json!(4), &json!("deny")));
    assert_eq!((&why["calls_after"], &why["is_committed_after"]), (&json!(8), &json!(true)));
    assert_eq!(why["evidence"].as_array().map(Vec::len), Some(3));
    // The next run has other trips.
    site.file("b.jsonl", &looping_session("s"));
    site.run(&["backtest", "b.jsonl", "--json"]);
    assert_eq!(site.run(&["why", incident]).code, Some(1));
}

#[test]
fn no_store_is_touched_and_secrets_stay_out() {
    let site = Site::new();
    let secret = "curl -H 'Authorization: Bearer abcdefgh12345678' api";
    let text: String = (1..=6).map(|number| call("s", number, secret, "the same")).collect();
    site.file("a.jsonl", &text);
    let answer = site.run(&["backtest", "a.jsonl", "--json"]);
    assert!(answer.out.contains("[redacted]") && !answer.out.contains("abcdefgh12345678"), "{answer:?}");
    assert_eq!(names(&site.state()), ["backtest.json"]);
    let kept = fs::read_to_string(site.state().join("backtest.json")).expect("kept");
    assert!(!kept.contains("abcdefgh12345678"));
}

#[test]
fn a_closed_pipe_ends_the_run_silently() {
    let site = Site::new();
    let text: String = (0..2_000).map(|number| looping_session(&format!("s{number}"))).collect();
    site.file("many.jsonl", &text);
    let mut command = site.command(&["backtest", "many.jsonl", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut first).expect("a line");
    assert!(first.contains("\"session\":\"s0\""), "{first}");
    let mut complaints = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut complaints).expect("text");
    assert_eq!((child.wait().expect("it ends").code(), complaints.as_str()), (Some(0), ""));
}

#[test]
fn unreadable_files_are_named_and_the_others_are_read() {
    let site = Site::new();
    site.file("a.jsonl", &looping_session("s"));
    site.file("notes.txt", "hello\n");
    let answer = site.run(&["backtest", "missing.jsonl", "notes.txt", "a.jsonl", "--json"]);
    assert_eq!((answer.code, named(&answer)), (Some(0), vec!["s".to_owned()]), "{answer:?}");
    assert!(answer.err.contains("warning: missing.jsonl: No such file"), "{answer:?}");
    assert!(answer.err.contains("warning: notes.txt: haltline does not know this format"), "{answer:?}");
    let nothing = site.run(&["backtest", "missing.jsonl"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    let unknown = site.run(&["backtest", "notes.txt"]);
    assert!(unknown.err.contains("haltline found no session in 1 file: 1 in an unknown format"), "{unknown:?}");
    assert!(unknown.code == Some(1) && !unknown.err.contains("gemini, gemini"), "{unknown:?}");
}

#[test]
fn an_empty_folder_and_a_home_without_transcripts_are_reported() {
    let site = Site::new();
    fs::create_dir_all(site.project().join("empty")).expect("created");
    let empty = site.run(&["backtest", "empty"]);
    assert_eq!((empty.code, empty.err.as_str()), (Some(1), "error: empty: this folder has no files\n"));
    let home = site.run(&["backtest"]);
    assert_eq!((home.code, home.err.as_str()), (Some(0), ""));
    assert!(home.out.starts_with("haltline found no transcripts of a known client here."), "{home:?}");
    assert_eq!(site.run(&["backtest", "--json"]).json()["found"], false);
}

#[test]
fn the_report_fits_in_eighty_columns_and_a_pipe_gets_no_progress_bar() {
    let site = Site::new();
    let long = format!("{}/{}.jsonl", "folder".repeat(12), "name".repeat(12));
    site.file(&long, &(looping_session("a-session-with-a-rather-long-name") + &varied_session("another")));
    let report = site.run(&["backtest", &long]);
    assert_eq!(report.err, "");
    assert!(report.out.lines().all(|line| line.chars().count() <= 80), "{}", report.out);
    assert!(report.out.contains("Look at these first: haltline why ID"), "{}", report.out);
}

/// A call of Claude Code with its result, as its transcripts have them.
fn claude_call(number: u32, agent: Option<&str>, command: &str) -> String {
    let record = |second: u32, mut rest: Value| {
        rest["sessionId"] = json!("one");
        rest["timestamp"] = json!(format!("2026-02-01T10:00:{second:02}.000Z"));
        rest["isSidechain"] = json!(agent.is_some());
        if let Some(agent) = agent {
            rest["agentId"] = json!(agent);
        }
        format!("{rest}\n")
    };
    let id = format!("toolu_{}{number}", agent.unwrap_or("main"));
    let asks = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
    let says = json!({"type": "tool_result", "tool_use_id": id, "content": "the same"});
    record(
        3 * number,
        json!({"type": "assistant", "uuid": format!("a{id}"), "message": {"id": format!("msg_{id}"), "role": "assistant",
            "model": "claude-opus-4-5", "content": [asks], "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}}),
    ) + &record(
        3 * number + 1,
        json!({"type": "user", "uuid": format!("u{id}"), "message": {"role": "user", "content": [says]}}),
    )
}

#[test]
fn without_a_path_the_users_own_transcripts_are_read_with_their_sub_agents() {
    let site = Site::new();
    let projects = site.home().join(".claude/projects/-home-ana-shop");
    fs::create_dir_all(projects.join("one/subagents")).expect("created");
    let main: String = (1..=2).map(|number| claude_call(number, None, &format!("cat {number}"))).collect();
    let agent: String = (1..=6).map(|number| claude_call(number, Some("a1"), "cat notes.md")).collect();
    fs::write(projects.join("one.jsonl"), main).expect("written");
    fs::write(projects.join("one/subagents/agent-a1.jsonl"), agent).expect("written");
    fs::write(projects.join("one/notes.json"), "{}").expect("written");
    let answer = site.run(&["backtest", "--json"]);
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
    let [session] = sessions(&answer).try_into().expect("one session, its sub-agent in it");
    assert_eq!((&session["session"], &session["format"]), (&json!("one"), &json!("claude-code")), "{session}");
    assert_eq!(session["calls"], 8, "{session}");
    assert_eq!(session["cost_usd"], json!(40.0), "{session}");
    assert_eq!(session["first"]["deny"]["circuit"], "loop/one/agent/a1/repeat", "{session}");
    // Both files are merged by time: two calls of the main agent came before the sub-agent's fourth.
    assert_eq!(session["first"]["deny"]["call"], 6, "{session}");
}

#[test]
fn calls_of_a_named_sessions_sub_agents_are_numbered_once_despite_echoes() {
    let site = Site::new();
    let agent: String = (1..=6).map(|number| claude_call(number, Some("a1"), "cat notes.md")).collect();
    // The main file repeats the sub-agent's messages.
    let echoes: String = agent
        .lines()
        .map(|line| {
            let record: Value = serde_json::from_str(line).expect("JSON");
            let data = json!({"type": "agent_progress", "agentId": "a1", "message": record});
            let at = &record["timestamp"];
            format!("{}\n", json!({"type": "progress", "sessionId": "one", "timestamp": at, "data": data}))
        })
        .collect();
    site.file("one.jsonl", &(claude_call(0, None, "ls") + &echoes));
    site.file("one/subagents/agent-a1.jsonl", &agent);
    let answer = site.run(&["backtest", "one.jsonl", "--json"]);
    let [session] = sessions(&answer).try_into().expect("one session");
    assert_eq!((&session["calls"], &session["first"]["deny"]["call"]), (&json!(7), &json!(5)), "{session}");
}

#[test]
fn a_document_is_read_as_one_if_its_format_is_named() {
    let site = Site::new();
    let document = json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-02-01T10:00:00.000Z",
        "lastUpdated": "2026-02-01T10:00:00.000Z", "messages": [
        {"id": "1", "timestamp": "2026-02-01T10:00:00.000Z", "type": "user", "content": "go"}]});
    site.file("a.json", &serde_json::to_string_pretty(&document).expect("JSON"));
    for arguments in [&["backtest", "a.json", "--json"][..], &["backtest", "a.json", "--json", "--format", "gemini"]] {
        let answer = site.run(arguments);
        assert_eq!((answer.err.as_str(), named(&answer)), ("", vec!["s".to_owned()]), "{answer:?}");
    }
}

#[test]
fn terminal_control_characters_are_escaped() {
    let site = Site::new();
    let (name, command) = ("a\u{1b}[2J\u{202e}\nb.jsonl", "cat \u{1b}[31m\u{2066}notes");
    let text: String = (1..=6).map(|number| call("s\u{1b}]0;x\u{7}", number, command, "\u{1b}[2Jsame")).collect();
    site.file(name, &text);
    site.file("b\u{1b}[2J", "hello\n");
    let report = site.run(&["backtest", name, "b\u{1b}[2J", "missing\u{1b}\n"]);
    let line = report.out.lines().find(|line| line.contains("call 4 of 6")).unwrap_or_else(|| panic!("{report:?}"));
    let why = site.run(&["why", line.split_whitespace().next().expect("an incident")]);
    assert!(why.out.contains("a\\u{1b}[2J\\u{202e}\\nb.jsonl (plain)"), "{why:?}");
    for text in [&report.out, &report.err, &why.out] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{2066}']), "{text:?}");
    }
    assert_eq!(report.err.lines().count(), 2, "{report:?}");
}

#[test]
fn a_terminal_shows_a_progress_bar_that_disappears() {
    let site = Site::new();
    site.file("many.jsonl", &(0..300).map(|number| looping_session(&format!("s{number}"))).collect::<String>());
    let seen = on_terminal(&site, &["backtest", "many.jsonl"], &[("NO_COLOR", "1")]);
    let (bar, report) = seen.split_once("\u{1b}[K").unwrap_or_else(|| panic!("{seen}"));
    assert!(bar.starts_with("\rReading [") && bar.contains("100 %"), "{seen}");
    assert!(report.starts_with("BACKTEST: 300 sessions") && !report.contains("Reading"), "{seen}");
    assert!(!on_terminal(&site, &["backtest", "many.jsonl"], &[("TERM", "dumb")]).contains("Reading"));
    assert!(!on_terminal(&site, &["backtest", "many.jsonl", "--json"], &[]).contains("Reading"));
}
