//! The self-test in the format of OpenCode's plugin, for `haltline doctor`.

use serde_json::Value;

use crate::self_test::{AnswerEffect, ENDED, SelfTest, SelfTestStep, has_text};

pub const SELF_TEST: SelfTest = SelfTest {
    first_event: "session.created",
    round: &[
        SelfTestStep::new("tool.execute.before", &[CALL]).even_when_denied(&[]),
        SelfTestStep::new(
            "tool.execute.after",
            &[CALL, r#"{"output": "haltline-rehearsal: failed as it should\n", "metadata": {"exit": 1}}"#],
        ),
    ],
    expected: ENDED,
    envelope: r#"{"event": "$event", "session": "$session", "folder": "$folder"}"#,
    first_adds: "{}",
    effect_of_answer,
};

const CALL: &str = r#"{"tool": "bash", "call": "call_$round", "message": "msg_$session_$round", "input": {
    "command": "haltline-rehearsal --fail", "description": "A command that always fails"}}"#;

/// The effect that the plugin gives an answer; an error if the plugin would ignore the answer.
fn effect_of_answer(event: &str, answer: &Value) -> Result<AnswerEffect, String> {
    let has = |key: &str| has_text(&answer[key]);
    let is_before = event == "tool.execute.before";
    if has("deny") && !is_before {
        return Err(format!("haltline answered {event} with deny, which the client ignores there"));
    }
    Ok(match (answer["stop"] == true, has("deny"), has("tell")) {
        (true, false, _) if is_before => return Err("a stop without a denial would let the call run".to_owned()),
        (true, _, _) => AnswerEffect::Stop,
        (false, true, _) => AnswerEffect::Deny,
        (false, false, true) => AnswerEffect::Warn,
        (false, false, false) => AnswerEffect::Pass,
    })
}
