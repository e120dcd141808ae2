//! Tests of `opencode/self_test.rs`.

use haltline_agents::opencode::SELF_TEST;
use haltline_agents::self_test::AnswerEffect;

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
