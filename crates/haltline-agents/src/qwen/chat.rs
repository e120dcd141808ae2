//! What Qwen Code's chat file says of tokens: payloads do not.

use haltline_core::identity::Said;
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
    sum(text, known, |line| {
        let line = response(line)?;
        Some(Took {
            usage: qwen::usage(line.usage_metadata?)?,
            id: json::name(line.uuid),
            model: json::name(line.model),
        })
    })
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
