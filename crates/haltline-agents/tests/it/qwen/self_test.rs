//! Tests of `qwen/self_test.rs`.

use haltline_agents::qwen::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

#[test]
fn answers_have_the_effect_that_the_client_gives_them() {
    let context = r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#;
    assert_eq!(SELF_TEST.effect_of_output("PostToolUse", context), Ok(AnswerEffect::Warn));
    assert_eq!(
        SELF_TEST.effect_of_output("PreToolUse", context),
        Ok(AnswerEffect::Pass),
        "before a call the model is told nothing"
    );
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", r#"{"continue":false}"#), Ok(AnswerEffect::Pass));
    assert_eq!(
        SELF_TEST.effect_of_output("UserPromptSubmit", r#"{"decision":"block","reason":"x"}"#),
        Ok(AnswerEffect::Stop)
    );
    assert!(SELF_TEST.effect_of_output("PreToolUse", "panicked").is_err());
}
