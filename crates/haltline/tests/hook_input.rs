//! Whatever a hook is given and wherever it runs: it ends with 0, says nothing or one JSON object, and tells the person
//! of haltline's own failures once in a session (E7, E8).

mod support;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{Answer, HALTLINE, Site, in_mount_namespace};

/// A hook that leaves its marks of what was told in the site's own folder.
fn hook(site: &Site, words: &[&str], stdin: &[u8]) -> Answer {
    let mut command = site.command(words);
    command.env("XDG_RUNTIME_DIR", site.home());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    // A hook that ends before it has read everything is no failure of the client's.
    child.stdin.take().expect("piped").write_all(stdin).ok();
    let output = child.wait_with_output().expect("ends");
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The answer as a client takes it: `None` for silence.
fn assert_harmless(answer: &Answer) -> Option<Value> {
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
    if answer.out.is_empty() {
        return None;
    }
    assert!(!answer.out.contains("allow"), "{answer:?}");
    let value = answer.json();
    assert!(value.is_object() && answer.out.trim_end().lines().count() == 1, "{answer:?}");
    Some(value)
}

fn claude(site: &Site, stdin: &[u8]) -> Option<Value> {
    assert_harmless(&hook(site, &["hook", "claude"], stdin))
}

fn payload(event: &str, session: &str) -> Value {
    json!({
        "session_id": session, "hook_event_name": event, "cwd": "/", "tool_name": "Bash", "tool_use_id": "call-1",
        "tool_input": {"command": "cargo test"}, "tool_response": {"stdout": "ok"},
    })
}

fn event(site: &Site, event: &str, session: &str) -> Option<Value> {
    claude(site, payload(event, session).to_string().as_bytes())
}

fn told(answer: Option<Value>) -> String {
    answer.and_then(|value| value["systemMessage"].as_str().map(str::to_owned)).unwrap_or_default()
}

/// haltline's own failure: said in the session's first answer and not again, in the next session once more.
fn assert_told_once_per_session(site: &Site, part: &str) {
    for session in ["s1", "s2"] {
        let first = told(event(site, "PreToolUse", session));
        assert!(first.contains(part), "{part:?} is not in {first:?}");
        for name in ["PreToolUse", "PostToolUse", "Stop"] {
            assert_eq!(event(site, name, session), None, "{name} of {session}");
        }
    }
}

/// With `fail = "closed"` a call is refused every time, and only a call.
fn assert_refused_when_closed(site: &Site) {
    site.config("fail = \"closed\"\n");
    for _ in 0..2 {
        let refusal = event(site, "PreToolUse", "closed").expect("an answer");
        let output = &refusal["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], "deny", "{refusal}");
        let reason = output["permissionDecisionReason"].as_str().unwrap_or_default();
        assert!(reason.contains("HL-OWN-04"), "{refusal}");
    }
    assert_eq!(event(site, "PostToolUse", "closed"), None);
}

#[test]
fn no_bytes_on_stdin_make_a_hook_fail() {
    let site = Site::new();
    let deep =
        format!("{{\"session_id\":\"s\",\"hook_event_name\":\"PreToolUse\",\"tool_input\":{}", "[".repeat(200_000));
    let deep_name = payload("PreToolUse", "s").to_string().replace("\"cargo test\"", &"[".repeat(100_000));
    let inputs: [&[u8]; 14] = [
        b"",
        b"\n\n",
        b"garbage",
        b"null",
        b"[]",
        b"42",
        b"{",
        b"{}",
        b"{\"session_id\":\"s\"}",
        b"\0\0\0\0",
        b"{\"session_id\":\"\0\",\"hook_event_name\":\"PreToolUse\"}",
        b"{\"session_id\":\"\xff\xfe\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"\xc3(\",\"tool_input\":{\"command\":\"\x80\"}}",
        deep.as_bytes(),
        deep_name.as_bytes(),
    ];
    for input in inputs {
        claude(&site, input);
    }
}

#[test]
fn what_cannot_be_read_is_told_once() {
    let site = Site::new();
    assert!(told(claude(&site, b"garbage")).contains("expected a JSON object"));
    assert_eq!(claude(&site, b"garbage"), None);
}

#[test]
fn three_megabytes_of_answer_are_taken_in_and_not_kept() {
    let site = Site::new();
    event(&site, "SessionStart", "s");
    let mut large = payload("PostToolUse", "s");
    large["tool_response"]["stdout"] = "0123456789abcdef\n".repeat(3 * 1024 * 1024 / 17).into();
    assert_eq!(claude(&site, large.to_string().as_bytes()), None);
    let bytes: u64 = fs::read_dir(site.state())
        .expect("there")
        .flatten()
        .map(|file| file.metadata().map_or(0, |file| file.len()))
        .sum();
    assert!(bytes < 1024 * 1024, "{bytes} bytes in the state folder");
}

#[test]
fn missing_names_unknown_events_clients_and_options_do_no_harm() {
    let site = Site::new();
    for field in ["session_id", "hook_event_name", "cwd", "tool_name", "tool_use_id", "tool_input", "tool_response"] {
        for name in ["PreToolUse", "PostToolUse", "PostToolBatch", "SubagentStart", "Stop", "SessionEnd"] {
            for value in [None, Some(Value::Null), Some(json!(7)), Some(json!([{}]))] {
                let mut payload = payload(name, "s");
                match value {
                    None => payload.as_object_mut().and_then(|object| object.remove(field)).map_or((), drop),
                    Some(value) => payload[field] = value,
                }
                claude(&site, payload.to_string().as_bytes());
            }
        }
    }
    assert_eq!(event(&site, "SomethingNew", "s"), None);
    let input = payload("PreToolUse", "s").to_string();
    for words in [
        &["hook"][..],
        &["hook", "nobody"],
        &["hook", "claude", "--nonsense", "x", "y"],
        &["hook", "claude", "--state"],
        &["hook", "claude", "--config"],
        &["hook", "claude", "--config", "/nonexistent/config.toml"],
    ] {
        assert_harmless(&hook(&site, words, input.as_bytes()));
    }
    assert_eq!(hook(&site, &["hook", "nobody"], b"").out, "", "told once");
}

#[test]
fn a_client_that_no_longer_listens_is_no_error() {
    let site = Site::new();
    let mut command = Command::new("sh");
    site.place(&mut command);
    command.env("XDG_RUNTIME_DIR", site.home()).env("HALTLINE", HALTLINE);
    // Garbage makes it speak: once to nobody, once to a pipe whose reader has gone.
    let script = "echo garbage | \"$HALTLINE\" hook claude >&-; echo \"code $?\"; \
                  { echo garbage | \"$HALTLINE\" hook nobody; echo \"code $?\" >&2; } | true";
    let output = command.args(["-c", script]).output().expect("starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "code 0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "code 0\n");
}

#[test]
fn a_file_where_the_state_folder_should_be_is_told_once_per_session() {
    let site = Site::new();
    fs::write(site.state(), "a file").expect("written");
    assert_told_once_per_session(&site, "the agent goes on unwatched");
    assert_refused_when_closed(&site);
}

#[test]
fn a_newer_store_is_told_once_per_session_and_not_written() {
    let site = Site::new();
    event(&site, "PreToolUse", "before");
    let store = rusqlite::Connection::open(site.state().join("state.db")).expect("opened");
    store.pragma_update(None, "user_version", 99).expect("set");
    drop(store);
    assert_told_once_per_session(&site, "schema 99");
    assert_refused_when_closed(&site);
}

#[test]
fn a_broken_configuration_is_told_once_per_session_and_left_out() {
    let site = Site::new();
    site.config("mode = \"obser");
    assert_told_once_per_session(&site, "haltline config check");
}

/// A script for a mount namespace: `ask EVENT SESSION` prints what the hook says, and its code where that is not 0.
fn script(setting: &str) -> String {
    format!(
        r#"
        ask() {{
            printf '{{"session_id":"%s","hook_event_name":"%s","cwd":"/","tool_name":"Bash","tool_use_id":"%s","tool_input":{{"command":"cargo test"}}}}' "$2" "$1" "$3" |
                "$HALTLINE" hook claude || echo "code $?"
        }}
        export XDG_RUNTIME_DIR="$HOME"
        {setting}
        for session in s1 s2; do
            echo "first: $(ask PreToolUse $session a)"
            echo "then: $(ask PreToolUse $session b)$(ask PostToolUse $session b)$(ask Stop $session -)"
        done
        echo 'fail = "closed"' >"$HALTLINE_CONFIG"
        echo "closed: $(ask PreToolUse s3 a)"
        echo "closed: $(ask PreToolUse s3 b)"
        echo "then: $(ask PostToolUse s3 b)"
        "#
    )
}

fn assert_told_and_refused(answer: &Answer, part: &str) {
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
    let said = |begin: &str| -> Vec<String> {
        answer.out.lines().filter_map(|line| line.strip_prefix(begin).map(|rest| rest.trim().to_owned())).collect()
    };
    let first = said("first: ");
    assert!(
        first.len() == 2 && first.iter().all(|line| line.contains("systemMessage") && line.contains(part)),
        "{answer:?}"
    );
    let then: Vec<String> = answer.out.lines().filter(|line| line.starts_with("then:")).map(str::to_owned).collect();
    assert!(then.len() == 3 && then.iter().all(|line| line.trim() == "then:"), "{answer:?}");
    let closed = said("closed: ");
    assert!(closed.len() == 2 && closed.iter().all(|line| line.contains("HL-OWN-04")), "{answer:?}");
    assert!(!answer.out.contains("allow"), "{answer:?}");
}

#[test]
fn a_read_only_state_folder_is_told_once_per_session() {
    let site = Site::new();
    event(&site, "PreToolUse", "before");
    let setting = r#"
        mount --bind "$HALTLINE_STATE_DIR" "$HALTLINE_STATE_DIR"
        mount -o remount,bind,ro "$HALTLINE_STATE_DIR"
    "#;
    let Some(answer) = in_mount_namespace(&site, &script(setting)) else { return };
    assert_told_and_refused(&answer, "make the folder writable");
}

#[test]
fn a_full_disk_is_told_once_per_session() {
    let site = Site::new();
    fs::create_dir_all(site.state()).expect("created");
    let setting = r#"
        mount -t tmpfs -o size=512k tmpfs "$HALTLINE_STATE_DIR"
        for call in 1 2 3; do ask PreToolUse before $call; done
        dd if=/dev/zero of="$HALTLINE_STATE_DIR/filler" bs=1k 2>/dev/null || true
        # Until the log has no room left, events may still fit into what it has.
        told=; tries=0
        while [ -z "$told" ] && [ $tries -lt 200 ]; do tries=$((tries + 1)); told=$(ask PreToolUse before full-$tries); done
    "#;
    let Some(answer) = in_mount_namespace(&site, &script(setting)) else { return };
    assert_told_and_refused(&answer, "free some space");
}
