//! Tests of `copilot/self_test.rs`.

use haltline_agents::copilot::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

#[test]
fn a_warning_counts_only_where_the_client_reads_it() {
    let nested = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"x"}}"#;
    let flat = r#"{"additionalContext":"x"}"#;
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", nested), Ok(AnswerEffect::Warn));
    assert!(SELF_TEST.effect_of_output("PreToolUse", flat).is_err());
    assert_eq!(SELF_TEST.effect_of_output("PostToolUse", flat), Ok(AnswerEffect::Warn));
    assert_eq!(SELF_TEST.effect_of_output("PostToolUse", nested), Ok(AnswerEffect::Pass));
    let denial = r#"{"permissionDecision":"deny","permissionDecisionReason":"x"}"#;
    assert_eq!(SELF_TEST.effect_of_output("PreToolUse", denial), Ok(AnswerEffect::Deny));
    assert!(SELF_TEST.effect_of_output("PreToolUse", &denial.replace(r#""x""#, r#""""#)).is_err());
    assert!(SELF_TEST.effect_of_output("PreToolUse", "panicked").is_err());
}
