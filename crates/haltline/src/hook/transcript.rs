//! What a session's responses took, read from the client's transcript where it grew since the last look (L7).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use haltline_agents::claude::{HookEvent, Reading, transcript};
use haltline_agents::price::Price;
use haltline_core::loop_::Happening;
use haltline_engine::config::Price as ConfigPrice;

/// How much of it is read in one hook; the rest waits for the next.
const BYTES_MAX: u64 = 512 * 1024;

/// The transcript that this event is a good moment to read: when a response is complete.
pub fn of(reading: &Reading) -> Option<String> {
    let own = match &reading.stream.agent {
        None => reading.transcript.clone(),
        // Sub-agents' transcripts stand in a folder named after the session's.
        Some(agent) => {
            let session = reading.transcript.as_deref()?.strip_suffix(".jsonl")?;
            Some(format!("{session}/subagents/agent-{agent}.jsonl"))
        }
    };
    match reading.event {
        HookEvent::PostToolBatch | HookEvent::Stop | HookEvent::UserPromptSubmit | HookEvent::SessionEnd => own,
        HookEvent::SubagentStop
        | HookEvent::SessionStart
        | HookEvent::PreToolUse
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure
        | HookEvent::SubagentStart
        | HookEvent::StopFailure
        | HookEvent::PreCompact
        | HookEvent::ConfigChange
        | HookEvent::Other(_) => None,
    }
}

/// What came since `offset`, as a report; `None` where nothing did. What was said is read only where somebody `hears`.
pub fn read(path: &str, offset: u64, last: Option<&str>, prices: &[ConfigPrice], hears: bool) -> Option<Happening> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    // A transcript that got shorter was written anew: its responses are known by their names.
    let offset = if length < offset { 0 } else { offset };
    if length == offset {
        return None;
    }
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut text = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    let used = transcript::usage(&text, last);
    // A single line longer than the bound would never be passed.
    let consumed = if used.consumed == 0 && text.len() as u64 == BYTES_MAX { BYTES_MAX } else { used.consumed };
    if consumed == 0 {
        return None;
    }
    let extra: Vec<Price> = prices.iter().map(priced).collect();
    let has_use = !used.by_model.is_empty();
    Some(Happening::Message {
        usage: has_use.then_some(used.usage),
        cost: used.cost(&extra).filter(|_| has_use),
        offset: Some(offset + consumed),
        last: used.last,
        said: if hears { transcript::said(&text) } else { None },
    })
}

/// A price the owner wrote down; one kept for an hour costs what the service asks for it, 1.6 times the usual.
pub fn priced(price: &ConfigPrice) -> Price {
    Price {
        model: price.model.clone().into(),
        input: price.input,
        output: price.output,
        cache_read: price.cache_read,
        cache_write: price.cache_write,
        cache_write_hour: price.cache_write.saturating_mul(8) / 5,
    }
}
