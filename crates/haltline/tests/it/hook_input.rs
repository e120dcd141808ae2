//! Any input and any environment of a hook: it exits with 0, prints nothing or one JSON object, and reports failures of
//! haltline itself to the person once per session (E7, E8).

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Answer, HALTLINE, Site, in_mount_namespace};
use serde_json::{Value, json};

/// Runs a hook that keeps its once-per-session markers in the site's own folder.
fn hook(site: &Site, args: &[&str], stdin: &[u8]) -> Answer {
    let mut command = site.command(args);
    command.env("XDG_RUNTIME_DIR", site.home());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    // A hook that ends before it has read everything is not a failure of the client.
    child.stdin.take().expect("piped").write_all(stdin).ok();
    let output = child.wait_with_output().expect("ends");
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The answer as a client reads it: `None` for no output.
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

fn message_of(answer: Option<Value>) -> String {
    answer.and_then(|value| value["systemMessage"].as_str().map(str::to_owned)).unwrap_or_default()
}

/// Asserts that a failure of haltline itself is in the first answer of each session, and in no later one.
fn assert_reported_once_per_session(site: &Site, part: &str) {
    for session in ["s1", "s2"] {
        let first = message_of(event(site, "PreToolUse", session));
        assert!(first.contains(part), "{part:?} is not in {first:?}");
        for name in ["PreToolUse", "PostToolUse", "Stop"] {
            assert_eq!(event(site, name, session), None, "{name} of {session}");
        }
    }
}

/// With `fail = "closed"` haltline denies every call, and only calls.
fn assert_denied_when_closed(site: &Site) {
    site.config("fail = \"closed\"\n");
    for _ in 0..2 {
        let denial = event(site, "PreToolUse", "closed").expect("an answer");
        let output = &denial["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], "deny", "{denial}");
        let reason = output["permissionDecisionReason"].as_str().unwrap_or_default();
        assert!(reason.contains("HL-OWN-04"), "{denial}");
    }
    assert_eq!(event(site, "PostToolUse", "closed"), None);
    // An agent that may not save its plan or ask could only go on.
    let mut plan = payload("PreToolUse", "closed");
    plan["tool_name"] = json!("TodoWrite");
    plan["tool_input"] = json!({ "todos": [] });
    let answer = claude(site, plan.to_string().as_bytes());
    assert!(answer.is_none_or(|answer| !answer.to_string().contains("deny")));
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
fn unreadable_input_is_reported_once() {
    let site = Site::new();
    assert!(message_of(claude(&site, b"garbage")).contains("expected a JSON object"));
    assert_eq!(claude(&site, b"garbage"), None);
}

#[test]
fn a_result_of_three_megabytes_is_read_and_not_stored() {
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
    for args in [
        &["hook"][..],
        &["hook", "nobody"],
        &["hook", "claude", "--nonsense", "x", "y"],
        &["hook", "claude", "--state"],
        &["hook", "claude", "--config"],
        &["hook", "claude", "--config", "/nonexistent/config.toml"],
    ] {
        assert_harmless(&hook(&site, args, input.as_bytes()));
    }
    assert_eq!(hook(&site, &["hook", "nobody"], b"").out, "", "told once");
}

#[test]
fn a_client_that_no_longer_listens_is_no_error() {
    let site = Site::new();
    let mut command = Command::new("sh");
    site.configure(&mut command);
    command.env("XDG_RUNTIME_DIR", site.home()).env("HALTLINE", HALTLINE);
    // Invalid input makes it print: once to nobody, once to a pipe whose reader has gone.
    let script = "echo garbage | \"$HALTLINE\" hook claude >&-; echo \"code $?\"; \
                  { echo garbage | \"$HALTLINE\" hook nobody; echo \"code $?\" >&2; } | true";
    let output = command.args(["-c", script]).output().expect("starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "code 0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "code 0\n");
}

#[test]
fn a_file_in_place_of_the_state_folder_is_reported_once_per_session() {
    let site = Site::new();
    fs::write(site.state(), "a file").expect("written");
    assert_reported_once_per_session(&site, "the agent continues, and haltline did not check this call");
    assert_denied_when_closed(&site);
}

#[test]
fn a_newer_store_is_reported_once_per_session_and_not_written() {
    let site = Site::new();
    event(&site, "PreToolUse", "before");
    let store = rusqlite::Connection::open(site.state().join("state.db")).expect("opened");
    store.pragma_update(None, "user_version", 99).expect("set");
    drop(store);
    assert_reported_once_per_session(&site, "schema 99");
    assert_denied_when_closed(&site);
}

#[test]
fn a_broken_configuration_is_reported_once_per_session_and_ignored() {
    let site = Site::new();
    site.config("mode = \"obser");
    assert_reported_once_per_session(&site, "haltline config check");
}

/// A script for a mount namespace: `ask EVENT SESSION` prints the hook's output, and its exit code if that is not 0.
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

fn assert_reported_and_denied(answer: &Answer, part: &str) {
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{answer:?}");
    let lines_after = |begin: &str| -> Vec<String> {
        answer.out.lines().filter_map(|line| line.strip_prefix(begin).map(|rest| rest.trim().to_owned())).collect()
    };
    let first = lines_after("first: ");
    assert!(
        first.len() == 2 && first.iter().all(|line| line.contains("systemMessage") && line.contains(part)),
        "{answer:?}"
    );
    let then: Vec<String> = answer.out.lines().filter(|line| line.starts_with("then:")).map(str::to_owned).collect();
    assert!(then.len() == 3 && then.iter().all(|line| line.trim() == "then:"), "{answer:?}");
    let closed = lines_after("closed: ");
    assert!(closed.len() == 2 && closed.iter().all(|line| line.contains("HL-OWN-04")), "{answer:?}");
    assert!(!answer.out.contains("allow"), "{answer:?}");
}

#[test]
fn a_read_only_state_folder_is_reported_once_per_session() {
    let site = Site::new();
    event(&site, "PreToolUse", "before");
    let setting = r#"
        mount --bind "$HALTLINE_STATE_DIR" "$HALTLINE_STATE_DIR"
        mount -o remount,bind,ro "$HALTLINE_STATE_DIR"
    "#;
    let Some(answer) = in_mount_namespace(&site, &script(setting)) else { return };
    assert_reported_and_denied(&answer, "make the folder writable");
}

#[test]
fn a_full_disk_is_reported_once_per_session() {
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
    assert_reported_and_denied(&answer, "free some space");
}
