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
        return Err(format!("{event} was answered with deny, which nobody hears there"));
    }
    Ok(match (answer["stop"] == true, has("deny"), has("tell")) {
        (true, false, _) if is_before => return Err("a stop without a refusal would let the call run".to_owned()),
        (true, _, _) => AnswerEffect::Stop,
        (false, true, _) => AnswerEffect::Deny,
        (false, false, true) => AnswerEffect::Warn,
        (false, false, false) => AnswerEffect::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_effect_that_the_plugin_gives_them() {
        let before = |out: &str| SELF_TEST.effect_of_output("tool.execute.before", out);
        assert_eq!(before(""), Ok(AnswerEffect::Pass));
        assert_eq!(before(r#"{"notice":"x"}"#), Ok(AnswerEffect::Pass));
        assert_eq!(before(r#"{"tell":"x"}"#), Ok(AnswerEffect::Warn));
        assert_eq!(before(r#"{"deny":"x"}"#), Ok(AnswerEffect::Deny));
        assert_eq!(before(r#"{"deny":"x","stop":true}"#), Ok(AnswerEffect::Stop));
        assert!(before(r#"{"stop":true}"#).is_err());
        assert!(before("panicked").is_err());
        assert!(SELF_TEST.effect_of_output("tool.execute.after", r#"{"deny":"x"}"#).is_err());
    }
}
