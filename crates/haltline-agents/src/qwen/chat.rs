//! What Qwen Code's chat file says of tokens: payloads do not.

use haltline_core::identity::Said;
use serde::Deserialize;

use crate::call::Unread;
use crate::feed::{Known, TranscriptUse, whole_lines};
use crate::gemini::chat::Counted;
use crate::json;
use crate::transcript::gemini::Part;
use crate::transcript::{qwen, record};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    uuid: Unread<'a>,
    r#type: Unread<'a>,
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
    let whole = whole_lines(text);
    let mut sum = TranscriptUse { consumed: whole.len() as u64, ..TranscriptUse::default() };
    let mut counted = Counted::read(known.last);
    for line in whole.split(|&byte| byte == b'\n') {
        let Some(line) = response(line) else { continue };
        let Some(usage) = line.usage_metadata.and_then(qwen::usage) else { continue };
        if counted.is_new(json::name(line.uuid)) {
            sum.messages = sum.messages.saturating_add(1);
            let model = json::name(line.model);
            sum.take(model.as_deref().or(known.model).unwrap_or_default(), &usage, 0);
        }
    }
    sum.last = Some(counted.write());
    sum
}

/// What the last response said.
pub fn said(text: &[u8]) -> Option<Said> {
    let lines = text.split(|&byte| byte == b'\n').rev();
    lines.filter_map(response).find_map(|line| {
        let message: Message<'_> = line.message.and_then(json::object)?;
        let parts: Vec<Part<'_>> = message.parts.map(record::elements).unwrap_or_default();
        parts.iter().rev().find_map(|part| Said::of(&json::text(part.text?)?))
    })
}

fn response(line: &[u8]) -> Option<Line<'_>> {
    let line = serde_json::from_slice::<Line<'_>>(line).ok()?;
    record::is_word(line.r#type, "assistant").then_some(line)
}
