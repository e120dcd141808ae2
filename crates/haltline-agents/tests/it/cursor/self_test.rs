//! Tests of `cursor/self_test.rs`.

use haltline_agents::cursor::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

#[test]
fn no_output_is_an_error_if_the_client_waits_for_a_permission() {
    assert!(SELF_TEST.effect_of_output("preToolUse", "").is_err());
    assert_eq!(SELF_TEST.effect_of_output("preToolUse", "{}"), Ok(AnswerEffect::Pass));
    assert_eq!(SELF_TEST.effect_of_output("postToolUse", ""), Ok(AnswerEffect::Pass));
    assert!(SELF_TEST.effect_of_output("preToolUse", r#"{"permission":"allow"}"#).is_err());
    let denial = r#"{"permission":"deny","user_message":"x","agent_message":"y"}"#;
    assert_eq!(SELF_TEST.effect_of_output("preToolUse", denial), Ok(AnswerEffect::Deny));
    assert_eq!(SELF_TEST.effect_of_output("postToolUse", r#"{"additional_context":"x"}"#), Ok(AnswerEffect::Warn));
}
