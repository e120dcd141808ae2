//! The self-test in Cline's format, for `haltline doctor`.

use serde_json::Value;

use crate::self_test::{AnswerEffect, ENDED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "TaskStart",
    round: &[
        SelfTestStep::new(
            "PreToolUse",
            &[r#"{"hookName": "tool_call", "iteration": $round, "tool_call": {"id": "call_$round",
                "name": "run_commands", "input": {"commands": ["haltline-rehearsal --fail"]}}}"#],
        )
        .even_when_denied(&[]),
        // A denied call ends with an error, and the client reports that.
        SelfTestStep::new("PostToolUse", &[RESULT]).even_when_denied(&[DENIED_RESULT]),
    ],
    expected: ENDED,
    envelope: r#"{"clineVersion": "", "taskId": "conv_$session", "sessionContext": {"rootSessionId": "$session"},
        "workspaceRoots": ["$folder"], "agent_id": "agent_$session", "parent_agent_id": null}"#,
    first_adds: r#"{"hookName": "agent_start"}"#,
    effect_of_answer,
};

const RESULT: &str = r#"{"hookName": "tool_result", "iteration": $round, "tool_result": {"id": "call_$round",
    "name": "run_commands", "input": {"commands": ["haltline-rehearsal --fail"]}, "output": [{
        "query": "haltline-rehearsal --fail",
        "result": "[Command exited with code 1]\nhaltline-rehearsal: failed as it should\n",
        "error": "Command exited with code 1", "success": false}]}}"#;

const DENIED_RESULT: &str = r#"{"tool_result": {"id": "call_$round", "name": "run_commands", "input": null,
    "error": "[object Object]", "output": {"error": "Invalid input"}}}"#;

/// The effect that the client gives an answer; an error if the client would discard the answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let is_read = matches!(event, "PreToolUse" | "PostToolUse");
    if !is_read && !answer.is_null() {
        return Err(format!("haltline answered {event}, but the client ignores that answer"));
    }
    if answer["cancel"] == true {
        return Ok(AnswerEffect::Stop);
    }
    let removes_arguments = event == "PreToolUse" && answer.get("overrideInput") == Some(&Value::Null);
    match (removes_arguments, has_text(&answer["contextModification"])) {
        (true, true) => Ok(AnswerEffect::Deny),
        (true, false) => Err("the denial has no reason".to_owned()),
        (false, true) => Ok(AnswerEffect::Warn),
        (false, false) => Ok(AnswerEffect::Pass),
    }
}
