//! Tests of `process_markers.rs`.

use haltline_agents::{marker_in, markers_of_program, session_in};

#[test]
fn any_variable_of_a_client_reveals_its_agent() {
    assert_eq!(marker_in(|name| name == "CLAUDECODE"), Some("CLAUDECODE"));
    assert_eq!(marker_in(|name| name == "CODEX_SANDBOX"), Some("CODEX_SANDBOX"));
    assert_eq!(marker_in(|name| name == "HOME"), None);
}

#[test]
fn a_session_is_read_from_the_clients_own_variable() {
    let environment = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| "s1".to_owned());
    assert_eq!(session_in(environment), Some("s1".to_owned()));
    assert_eq!(session_in(|_| None), None);
}

#[test]
fn a_client_is_recognised_by_its_program_or_script_only() {
    assert_eq!(markers_of_program("claude").map(|markers| markers.client), Some("claude-code"));
    assert_eq!(markers_of_program("gemini.js").map(|markers| markers.client), Some("gemini"));
    assert_eq!(markers_of_program("codex-x86_64-unknown-linux-musl").map(|markers| markers.client), Some("codex"));
    assert_eq!(markers_of_program("claudette"), None);
    assert_eq!(markers_of_program("codex-exec"), None);
}
