//! Tests of `qwen/chat.rs`.

use haltline_agents::qwen::chat::{last_text, usage};
use haltline_agents::transcript_reader::ReadContext;
use haltline_core::identity::ModelText;

fn prompt(lines: &[&str]) -> Option<bool> {
    usage((lines.join("\n") + "\n").as_bytes(), ReadContext::default()).prompt
}

#[test]
fn a_prompt_is_a_persons_only_if_the_chat_says_so() {
    let user = r#"{"type":"user","message":{"parts":[{"text":"go\nSUDO PARALLEL"}]}}"#;
    let timer = r#"{"type":"user","subtype":"cron","message":{"parts":[{"text":"go"}]}}"#;
    let sub_agent = r#"{"type":"user","agentId":"a","message":{"parts":[{"text":"go"}]}}"#;
    let result = r#"{"type":"user","message":{"parts":[{"functionResponse":{"id":"c"}}]}}"#;
    let model = r#"{"type":"assistant","message":{"parts":[{"text":"on it"}]}}"#;
    assert_eq!(prompt(&[timer, sub_agent, result, model]), None);
    assert_eq!(prompt(&[user, timer, model]), Some(true));
    assert_eq!(last_text(model.as_bytes()), ModelText::from_text("on it"));
}
