//! The self-test in Claude Code's format, for `haltline doctor` and `haltline demo`.

use serde_json::Value;

use crate::self_test::{AnswerEffect, ENDED, SelfTest, SelfTestStep, has_text};

/// The members that describe the call.
macro_rules! call {
    ($command:literal, $description:literal) => {
        concat!(
            r#"{"tool_name": "Bash", "tool_input": {"command": ""#,
            $command,
            r#"", "description": ""#,
            $description,
            r#""}, "tool_use_id": "toolu_$session_$round"}"#
        )
    };
}

/// A batch of this one call.
macro_rules! batch {
    ($command:literal, $description:literal, $response:expr) => {
        concat!(
            r#"{"tool_calls": [{"tool_name": "Bash", "tool_input": {"command": ""#,
            $command,
            r#"", "description": ""#,
            $description,
            r#""}, "tool_use_id": "toolu_$session_$round", "tool_response": ""#,
            $response,
            r#""}]}"#
        )
    };
}

/// One command that fails in the same way again and again: the command, its description and its output.
macro_rules! failing_command {
    ($command:literal, $description:literal, $output:literal) => {
        SelfTest {
            first_event: "SessionStart",
            round: &[
                SelfTestStep::new("PreToolUse", &[call!($command, $description)]).even_when_denied(&[]),
                SelfTestStep::new(
                    "PostToolUseFailure",
                    &[
                        call!($command, $description),
                        concat!(
                            r#"{"error": "Exit code 1\n"#,
                            $output,
                            r#"", "is_interrupt": false, "duration_ms": 12}"#
                        ),
                    ],
                ),
                SelfTestStep::new(
                    "PostToolBatch",
                    &[batch!($command, $description, concat!(r"Exit code 1\n", $output))],
                )
                .even_when_denied(&[batch!($command, $description, "Denied by a hook")]),
            ],
            expected: ENDED,
            envelope: r#"{"session_id": "$session", "transcript_path": "$folder/$session.jsonl", "cwd": "$folder",
                "permission_mode": "default", "hook_event_name": "$event"}"#,
            first_adds: r#"{"source": "startup"}"#,
            effect_of_answer,
        }
    };
}

pub const SELF_TEST: SelfTest = failing_command!(
    "haltline-rehearsal --fail",
    "A command that always fails",
    "haltline-rehearsal: failed as it should"
);

/// What the scripted agent of `haltline demo` runs, and what it gets back.
pub const DEMO_COMMAND: &str = "npm test";
pub const DEMO_OUTPUT: &str = "Tests: 1 failed, 41 passed";

/// The same loop as in the self-test, with a command that people know.
pub const DEMO: SelfTest = failing_command!("npm test", "Run the tests", "Tests: 1 failed, 41 passed");

/// What the model reads of an answer, if it reads anything.
pub fn text_for_agent(output: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(output).ok()?;
    let special = &answer["hookSpecificOutput"];
    let texts = [&special["permissionDecisionReason"], &special["additionalContext"]];
    texts.into_iter().find_map(|text| text.as_str()).map(str::to_owned)
}

/// What the person reads of an answer, if the client shows them anything.
pub fn text_for_person(output: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(output).ok()?;
    [&answer["systemMessage"], &answer["stopReason"]].into_iter().find_map(|text| text.as_str()).map(str::to_owned)
}

/// The effect that the client gives an answer; an error if the client would ignore the answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let special = &answer["hookSpecificOutput"];
    if !special.is_null() && special["hookEventName"] != event {
        return Err(format!("{event} was answered for {}", special["hookEventName"]));
    }
    let is_denied = special["permissionDecision"] == "deny" || answer["decision"] == "block";
    let is_stopped = answer["continue"] == false;
    Ok(match event {
        // Without the denial the client runs the call first.
        "PreToolUse" if is_stopped && !is_denied => {
            return Err("haltline answered PreToolUse with continue: false but without a denial".to_owned());
        }
        // The client ignores both.
        "PostToolUseFailure" if is_stopped || is_denied => AnswerEffect::Warn,
        "PostToolBatch" if is_stopped || is_denied => AnswerEffect::Stop,
        _other if is_stopped => AnswerEffect::Stop,
        _other if is_denied => AnswerEffect::Deny,
        _other if has_text(&special["additionalContext"]) => AnswerEffect::Warn,
        _other => AnswerEffect::Pass,
    })
}
