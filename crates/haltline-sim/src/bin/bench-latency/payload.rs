//! The payloads that a client sends to its hooks for one call. No two calls of a session are equal, so none of them
//! trips.

/// The events of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Before it runs.
    Pre,
    /// After it succeeded.
    Post,
}

/// The payload of an event of the call with this number.
pub fn payload(event: Event, session: &str, number: usize) -> String {
    payload_with_output(event, session, number, &format!("test cart::total_{number} ... ok"))
}

/// Like [`payload`], with this output of the call, already escaped for JSON.
pub fn payload_with_output(event: Event, session: &str, number: usize, output: &str) -> String {
    // As agents work: a look, a change, a test, and again.
    let (tool, input) = match number % 4 {
        0 => ("Bash", format!(r#"{{"command":"cd shop && cargo test -p cart total_{number} 2>&1 | tail -n 20"}}"#)),
        1 => ("Read", format!(r#"{{"file_path":"/home/ann/shop/src/cart_{number}.rs"}}"#)),
        2 => ("Grep", format!(r#"{{"pattern":"fn total_{number}","path":"/home/ann/shop/src"}}"#)),
        _ => (
            "Edit",
            format!(r#"{{"file_path":"/home/ann/shop/src/cart.rs","old_string":"{number}","new_string":"total"}}"#),
        ),
    };
    let (name, more) = match event {
        Event::Pre => ("PreToolUse", String::new()),
        Event::Post => (
            "PostToolUse",
            format!(r#","tool_response":{{"stdout":"{output}","stderr":"","interrupted":false}},"duration_ms":903"#),
        ),
    };
    format!(
        r#"{{"session_id":"{session}","transcript_path":"/home/ann/.claude/projects/-home-ann-shop/{session}.jsonl","cwd":"/home/ann/shop","prompt_id":"7d1f0000-0000-4000-8000-00000000000b","permission_mode":"default","hook_event_name":"{name}","tool_name":"{tool}","tool_input":{input},"tool_use_id":"toolu_{number:06}"{more}}}"#
    )
}
