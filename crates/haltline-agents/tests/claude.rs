//! Claude Code's payloads of one version with what each is read as, and every answer to every event. Both are text
//! files for people; `UPDATE_GOLDEN=1` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_agents::claude::{HookEvent, ReadError, Reading, answer, read};
use haltline_core::identity::{Answer, Outcome};
use haltline_core::loop_::Happening;
use haltline_core::{CircuitName, Reason, Retry, Verdict};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/claude/2.1.325")
}

fn payload(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).expect("the payload is there")
}

/// Compares with, or writes, a file of what was once agreed on.
fn golden(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).expect("the tree can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}: run with UPDATE_GOLDEN=1 if it is meant", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}: run with UPDATE_GOLDEN=1 if it is meant");
}

fn told(answer: &Answer) -> String {
    let mut text = format!("{:?}", answer.outcome).to_lowercase();
    if let Some(exit) = answer.exit {
        write!(text, " exit {exit}").expect("a String takes it");
    }
    if let Some(child) = &answer.child {
        write!(text, " child {child}{}", if answer.is_running { " running" } else { "" }).expect("a String takes it");
    }
    text
}

fn happened(what: &Happening) -> String {
    let word = what.cause();
    match what {
        Happening::SessionStart { model, resumed, is_nested } => {
            format!("{word} model {model:?} resumed {resumed} nested {is_nested}")
        }
        Happening::Prompt { by_user, bypass } => format!("{word} by_user {by_user} bypass {bypass}"),
        Happening::ToolStart { call, action, .. } => format!("{word} {call} {}", action.tool),
        Happening::ToolEnd { call, action, answer } => {
            let tool = action.as_ref().map_or("?", |action| action.tool.as_str());
            format!("{word} {call} {tool}: {}", told(answer))
        }
        Happening::Batch { ends } => {
            let each = ends.iter().map(|end| format!("\n    {} {}: {}", end.call, end.action.tool, told(&end.answer)));
            format!("{word} of {}{}", ends.len(), each.collect::<String>())
        }
        Happening::SpawnStart { child, depth } => format!("{word} {child} depth {depth:?}"),
        Happening::SpawnEnd { child } => format!("{word} {child}"),
        Happening::Stop { blocked, running } => format!("{word} blocked {blocked} running {running:?}"),
        Happening::Compaction { trigger } => format!("{word} {trigger}"),
        Happening::Cleanup { .. } => word.to_owned(),
        Happening::SessionEnd { reason } => format!("{word} {reason}"),
        Happening::Message { .. } | Happening::Hook { .. } => format!("{word}: not from a hook"),
    }
}

fn shown(reading: &Reading) -> String {
    let stream = &reading.stream;
    let agent = stream.agent.as_deref().unwrap_or("main");
    let batched = if stream.is_batched { "batched" } else { "not batched" };
    let mut text = format!("  {} of {} {agent}, {}, {batched}\n", reading.event.name(), stream.session, stream.client);
    let what = reading.what.as_ref().map_or("nothing to decide".to_owned(), happened);
    writeln!(text, "  {what}").expect("a String takes it");
    for (name, value) in [
        ("folder", &reading.folder),
        ("transcript", &reading.transcript),
        ("agent transcript", &reading.agent_transcript),
        ("prompt", &reading.prompt_id),
        ("config file", &reading.config_file),
        ("error", &reading.error),
    ] {
        if let Some(value) = value {
            writeln!(text, "  {name} {value}").expect("a String takes it");
        }
    }
    text
}

#[test]
fn every_payload_is_read_as_agreed() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    assert!(names.len() > 35, "{names:?}");
    let mut text = String::new();
    for name in names {
        let reading = read(&payload(&name)).expect("a payload of the client can be read");
        writeln!(text, "{name}\n{}", shown(&reading)).expect("a String takes it");
    }
    golden("readings.txt", &text);
}

const EVENTS: [&str; 14] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "SessionEnd",
    "ConfigChange",
    "Notification",
];

fn verdicts() -> [Verdict; 4] {
    let circuit = CircuitName::stored("loop/tool_failure".to_owned());
    let reason = Reason { circuit, code: "code", text: "the same call failed 3 times".to_owned(), retry: Retry::Now };
    [Verdict::Pass, Verdict::Warn(reason.clone()), Verdict::Deny(reason.clone()), Verdict::Stop(reason)]
}

#[test]
fn every_event_and_verdict_is_answered_as_agreed() {
    let mut text = String::new();
    for name in EVENTS {
        let event = HookEvent::named(name);
        assert_eq!(event.name(), name);
        writeln!(text, "{name}").expect("a String takes it");
        for verdict in verdicts() {
            for notice in [None, Some("for the person")] {
                let line = answer(&event, &verdict, notice).unwrap_or_else(|| "silence".to_owned());
                let word = if notice.is_some() { "and a notice" } else { "" };
                writeln!(text, "  {:5}{word:13}{line}", verdict.word()).expect("a String takes it");
            }
        }
        text.push('\n');
    }
    golden("answers.txt", &text);
}

#[test]
fn no_answer_allows_a_call_prolongs_a_turn_or_breaks_the_line() {
    for name in EVENTS {
        for verdict in verdicts() {
            for notice in [None, Some("two\nlines")] {
                let Some(line) = answer(&HookEvent::named(name), &verdict, notice) else { continue };
                assert!(!line.contains("allow") && !line.contains('\n'), "{line}");
                let prolongs = line.contains("additionalContext") || line.contains("decision");
                assert!(!(name.ends_with("Stop") && prolongs), "{name}: {line}");
            }
        }
    }
}

#[test]
fn long_reasons_are_capped_in_every_field() {
    let circuit = CircuitName::stored("loop/x".to_owned());
    let reason = Reason { circuit, code: "code", text: "ü".repeat(30_000), retry: Retry::Now };
    let notice = "😀".repeat(30_000);
    for name in EVENTS {
        let verdict = Verdict::Stop(reason.clone());
        let Some(line) = answer(&HookEvent::named(name), &verdict, Some(&notice)) else { continue };
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let mut texts = vec![&value];
        while let Some(value) = texts.pop() {
            assert!(value.as_str().is_none_or(|text| text.encode_utf16().count() <= 10_000), "{name}");
            texts.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
        }
    }
}

#[test]
fn without_a_session_there_is_nothing_to_read() {
    for input in [r#"{"hook_event_name":"Stop"}"#, r#"{"session_id":7}"#, r#"{"session_id":""}"#, "{}"] {
        assert_eq!(read(input.as_bytes()), Err(ReadError::NoSession), "{input}");
    }
    for input in ["", "null", "[\"s\"]", "\"s\"", "7"] {
        assert_eq!(read(input.as_bytes()), Err(ReadError::NotAnObject), "{input}");
    }
    let broken = read(b"{\"session_id\":\"s\",").expect_err("broken").to_string();
    assert_eq!(broken, "hook input: malformed at line 1 column 18, expected a JSON object");
}

#[test]
fn wrong_kinds_are_unknown_and_nothing_else_is_lost() {
    let reading = read(
        br#"{"session_id":"s","hook_event_name":"PostToolUse","cwd":7,"agent_id":[],"prompt_id":{},
        "tool_name":"Bash","tool_input":"ls","tool_use_id":12,"tool_response":null}"#,
    )
    .expect("readable");
    assert_eq!((reading.folder, reading.stream.agent, reading.prompt_id), (None, None, None));
    let Some(Happening::ToolEnd { call, answer, .. }) = reading.what else { panic!("no end of a call") };
    assert_eq!(call.len(), 16);
    assert_eq!(answer.outcome, Outcome::Ok);
    for (input, what) in [
        (r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":null}"#, None),
        (r#"{"session_id":"s","hook_event_name":"SubagentStart","agent_id":3}"#, None),
        (r#"{"session_id":"s","hook_event_name":9}"#, None),
        (
            r#"{"session_id":"s","hook_event_name":"Stop","stop_hook_active":"yes","background_tasks":{}}"#,
            Some(Happening::Stop { blocked: false, running: None }),
        ),
        (
            r#"{"session_id":"s","hook_event_name":"Stop","background_tasks":[3,null,{"id":1,"type":"subagent","status":"running"}]}"#,
            Some(Happening::Stop { blocked: false, running: Some(Vec::new()) }),
        ),
        (
            r#"{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":7}"#,
            Some(Happening::Batch { ends: Vec::new() }),
        ),
    ] {
        assert_eq!(read(input.as_bytes()).expect("readable").what, what, "{input}");
    }
    let batch = br#"{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":[null,{"tool_name":"Bash"},5]}"#;
    let Some(Happening::Batch { ends }) = read(batch).expect("readable").what else { panic!("no batch") };
    assert_eq!(ends.len(), 1);
}

#[test]
fn bytes_that_are_no_text_and_what_follows_the_object_do_no_harm() {
    let mut input =
        b"\xef\xbb\xbf\n{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"\xff\xfe".to_vec();
    input.extend_from_slice(b"\\nSUDO PARALLEL\\n\\u0000\\ud83d\"}\n\0\0");
    let reading = read(&input).expect("readable");
    assert_eq!(reading.what, Some(Happening::Prompt { by_user: true, bypass: true }));
}

#[test]
fn a_call_without_an_id_has_the_same_name_before_and_after() {
    let name = |file: &str| match read(&payload(file)).expect("readable").what {
        Some(Happening::ToolStart { call, .. } | Happening::ToolEnd { call, .. }) => call,
        other => panic!("{other:?}"),
    };
    assert_eq!(name("PreToolUse.without-id.json"), name("PostToolUse.Bash.without-id.json"));
    assert_ne!(name("PreToolUse.without-id.json"), name("PreToolUse.Edit.json"));
}
