//! Tests of `cline/self_test.rs`.

use haltline_agents::cline::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

#[test]
fn an_answer_that_the_client_does_not_read_is_an_error() {
    let denial = r#"{"overrideInput":null,"contextModification":"x"}"#;
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", denial), Ok(AnswerEffect::Deny));
    assert_eq!(SELF_TEST.effect_of_output("PostToolUse", denial), Ok(AnswerEffect::Warn));
    assert!(SELF_TEST.effect_of_output("PreToolUse", r#"{"overrideInput":null}"#).is_err());
    assert!(SELF_TEST.effect_of_output("TaskStart", denial).is_err());
    assert!(SELF_TEST.effect_of_output("PreToolUse", "panicked").is_err());
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", r#"{"cancel":true}"#), Ok(AnswerEffect::Stop));
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", "{}"), Ok(AnswerEffect::Pass));
}
