//! Tests of `codex/self_test.rs`.

use haltline_agents::codex::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

#[test]
fn an_answer_with_an_extra_field_is_an_error() {
    let denial = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"x"}}"#;
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", denial), Ok(AnswerEffect::Deny));
    assert!(SELF_TEST.effect_of_output("PreToolUse", &denial.replacen('{', r#"{"continue":false,"#, 1)).is_err());
    assert!(SELF_TEST.effect_of_output("PreToolUse", &denial.replace(r#""x""#, r#""""#)).is_err());
    assert!(SELF_TEST.effect_of_output("PreToolUse", "panicked").is_err());
    assert_eq!(SELF_TEST.effect_of_output("Stop", r#"{"continue":false}"#), Ok(AnswerEffect::Stop));
    assert_eq!(SELF_TEST.effect_of_output("PostToolUse", r#"{"continue":false}"#), Ok(AnswerEffect::Pass));
}
