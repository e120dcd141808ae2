//! Tests of `gemini/self_test.rs`.

use haltline_agents::gemini::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

#[test]
fn answers_have_the_effect_that_the_client_gives_them() {
    let context = r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#;
    assert_eq!(SELF_TEST.effect_of_output("AfterTool", context), Ok(AnswerEffect::Warn));
    assert_eq!(
        SELF_TEST.effect_of_output("BeforeTool", context),
        Ok(AnswerEffect::Pass),
        "before a call the model is told nothing"
    );
    assert_eq!(SELF_TEST.effect_of_output("BeforeTool", r#"{"decision":"deny","reason":"x"}"#), Ok(AnswerEffect::Deny));
    assert_eq!(
        SELF_TEST.effect_of_output("BeforeTool", r#"{"decision":"deny","continue":false,"reason":"x"}"#),
        Ok(AnswerEffect::Stop)
    );
    assert!(SELF_TEST.effect_of_output("BeforeTool", r#"{"decision":"deny"}"#).is_err());
    assert!(SELF_TEST.effect_of_output("BeforeTool", "panicked").is_err());
}
