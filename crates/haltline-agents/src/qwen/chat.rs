//! Reads from Qwen Code's chat file what payloads lack: tokens, and whether a person wrote a prompt.

use haltline_core::identity::ModelText;
use haltline_core::loop_::LoopEvent;

use crate::gemini::chat::{ResponseUsage, sum_usage};
use crate::json;
use crate::transcript::qwen::{self, Line};
use crate::transcript::record;
use crate::transcript_reader::{ReadContext, TranscriptUsage, records};

/// Reads the whole lines of `text`, which follows what was read before.
pub fn usage(text: &[u8], context: ReadContext<'_>) -> TranscriptUsage {
    let mut prompt = None;
    let used = sum_usage(text, context, |line: Line<'_>| {
        if let Some(lifts_limits) = user_prompt(&line) {
            prompt = Some(lifts_limits);
        }
        let line = assistant_line(line)?;
        Some(ResponseUsage {
            usage: qwen::usage(line.usage_metadata?)?,
            id: json::non_empty_text(line.uuid),
            model: json::non_empty_text(line.model),
        })
    });
    TranscriptUsage { prompt, ..used }
}

/// Set if a person prompted the main agent: true if the prompt lifts the spawn limits.
fn user_prompt(line: &Line<'_>) -> Option<bool> {
    let is_prompt = record::is_text(line.r#type, "user") && line.subtype.is_none() && line.agent_id.is_none();
    match is_prompt.then(|| qwen::prompt(line.subtype, &line.parts())).flatten()? {
        LoopEvent::Prompt { bypass, .. } => Some(bypass),
        _other => None,
    }
}

pub fn last_text(text: &[u8]) -> Option<ModelText> {
    let mut responses = records(text).rev().filter_map(assistant_line);
    responses.find_map(|line| line.parts().iter().rev().find_map(|part| ModelText::from_text(&json::text(part.text?)?)))
}

fn assistant_line(line: Line<'_>) -> Option<Line<'_>> {
    record::is_text(line.r#type, "assistant").then_some(line)
}
