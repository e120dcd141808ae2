//! What Qwen Code's chat file says of tokens, and of who asked: payloads do not.

use haltline_core::identity::Said;
use haltline_core::loop_::Happening;
use serde::Deserialize;

use crate::call::Unread;
use crate::feed::{Known, TranscriptUse};
use crate::gemini::chat::{Took, sum};
use crate::json;
use crate::transcript::gemini::Part;
use crate::transcript::{qwen, record};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    uuid: Unread<'a>,
    agent_id: Unread<'a>,
    r#type: Unread<'a>,
    subtype: Unread<'a>,
    model: Unread<'a>,
    message: Unread<'a>,
    usage_metadata: Unread<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    parts: Unread<'a>,
}

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], known: Known<'_>) -> TranscriptUse {
    let mut prompt = None;
    let used = sum(text, known, |line| {
        let line = read(line)?;
        if let Some(asked) = asked(&line) {
            prompt = Some(asked);
        }
        let line = of_model(line)?;
        Some(Took {
            usage: qwen::usage(line.usage_metadata?)?,
            id: json::name(line.uuid),
            model: json::name(line.model),
        })
    });
    TranscriptUse { prompt, ..used }
}

/// Whether a person asked the main agent, and if so to lift the spawn limits.
fn asked(line: &Line<'_>) -> Option<bool> {
    let is_asked = record::is_word(line.r#type, "user") && line.subtype.is_none() && line.agent_id.is_none();
    match is_asked.then(|| qwen::prompt(line.subtype, &parts(line))).flatten()? {
        Happening::Prompt { bypass, .. } => Some(bypass),
        _other => None,
    }
}

fn parts<'a>(line: &Line<'a>) -> Vec<Part<'a>> {
    let message: Option<Message<'_>> = line.message.and_then(json::object);
    message.and_then(|message| message.parts).map(record::elements).unwrap_or_default()
}

/// What the last response said.
pub fn said(text: &[u8]) -> Option<Said> {
    let lines = text.split(|&byte| byte == b'\n').rev();
    let mut responses = lines.filter_map(read).filter_map(of_model);
    responses.find_map(|line| parts(&line).iter().rev().find_map(|part| Said::of(&json::text(part.text?)?)))
}

fn read(line: &[u8]) -> Option<Line<'_>> {
    serde_json::from_slice(line).ok()
}

fn of_model(line: Line<'_>) -> Option<Line<'_>> {
    record::is_word(line.r#type, "assistant").then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(lines: &[&str]) -> Option<bool> {
        usage((lines.join("\n") + "\n").as_bytes(), Known::default()).prompt
    }

    #[test]
    fn a_person_asks_where_the_chat_says_so() {
        let user = r#"{"type":"user","message":{"parts":[{"text":"go\nSUDO PARALLEL"}]}}"#;
        let timer = r#"{"type":"user","subtype":"cron","message":{"parts":[{"text":"go"}]}}"#;
        let child = r#"{"type":"user","agentId":"a","message":{"parts":[{"text":"go"}]}}"#;
        let result = r#"{"type":"user","message":{"parts":[{"functionResponse":{"id":"c"}}]}}"#;
        let model = r#"{"type":"assistant","message":{"parts":[{"text":"on it"}]}}"#;
        assert_eq!(prompt(&[timer, child, result, model]), None);
        assert_eq!(prompt(&[user, timer, model]), Some(true));
        assert_eq!(said(model.as_bytes()), Said::of("on it"));
    }
}
