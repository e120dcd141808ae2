//! Reads from a client's transcript what its payloads do not say: what responses cost (L7), how a call ended, which
//! calls belong to one response. Each hook reads only what was added since the last read, up to a limit.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use haltline_agents::hook::{HookEvent, ParsedHook};
use haltline_agents::price::Price;
use haltline_agents::transcript_reader::{ReadContext, TranscriptReader};
use haltline_core::identity::{Digest, Outcome};
use haltline_core::loop_::{Activity, AgentFact, AgentRef, AgentState, CallIds, LoopEvent, TranscriptRange, TurnEnd};
use haltline_core::{CircuitName, Fact, Recorded, State};
use haltline_engine::Engine;
use haltline_engine::config::Price as ConfigPrice;
use haltline_engine::file::open_linked;
use haltline_engine::store::{Sqlite, Store, StoreError};

use crate::installation::user_folder;

/// How much of a transcript one hook reads; the next hook reads the rest.
const BYTES_MAX: u64 = 512 * 1024;
/// How much of a transcript's end is searched for the outcome of a call, until it is found. It is nearly always in the
/// last lines.
const ENDINGS: [u64; 3] = [16 * 1024, 128 * 1024, BYTES_MAX];

/// Completes a parsed hook from its transcript. Returns what else the transcript says, to be reported before the event.
pub fn read_transcript(engine: &Engine<Sqlite>, parsed: &mut ParsedHook) -> Result<Option<LoopEvent>, StoreError> {
    let Some(transcript) = &parsed.hook.client.protocol().transcript else { return Ok(None) };
    let Some(path) = path(parsed) else { return Ok(None) };
    if parsed.pending_outcome.is_some() {
        complete_outcome(parsed);
        return Ok(None);
    }
    let state = agent_row(engine, parsed)?;
    let agent_state = state.as_ref().and_then(|state| state.as_agent());
    let is_kept = agent_state.is_some_and(|agent| agent.activity == Activity::KeptGoing);
    // Before a call, the transcript only shows who wrote the prompt, which matters only if a hook kept the agent going.
    if transcript.records_user_prompts && parsed.hook.event == HookEvent::ToolStart && !is_kept {
        return Ok(None);
    }
    Ok(read_new_part(transcript, &path, agent_state, engine, parsed))
}

fn agent_row(engine: &Engine<Sqlite>, parsed: &ParsedHook) -> Result<Option<State>, StoreError> {
    let agent_ref = reading_agent(parsed);
    let row = CircuitName::agent(&agent_ref.session, agent_ref.sub_agent.as_deref());
    engine.store().circuit(engine.project().key, &row)
}

/// True if the range of the transcript was counted: another hook may have read it in the meantime.
pub fn is_accepted(facts: &[Recorded]) -> bool {
    facts.iter().any(|recorded| matches!(recorded.fact, Fact::Agent(AgentFact::TranscriptRead { .. })))
}

/// True if a person's prompt is in the range of the transcript.
pub fn has_prompt(event: &LoopEvent) -> bool {
    matches!(event, LoopEvent::Message { range: Some(TranscriptRange { prompt: Some(_), .. }), .. })
}

/// A prompt after the end of a turn may be the text of a Stop hook that keeps the agent going. Until the transcript
/// shows that a person wrote it, it counts as such; returns the blocked `Stop` that must be reported first.
pub fn downgrade_prompt(engine: &Engine<Sqlite>, parsed: &mut ParsedHook) -> Result<Option<LoopEvent>, StoreError> {
    let records_user_prompts =
        parsed.hook.client.protocol().transcript.is_some_and(|transcript| transcript.records_user_prompts);
    let has_transcript = || path(parsed).is_some_and(|path| path.exists());
    if parsed.hook.event != HookEvent::Prompt || !records_user_prompts || !has_transcript() {
        return Ok(None);
    }
    let state = agent_row(engine, parsed)?;
    let pause = state.as_ref().and_then(|state| state.as_agent()).map_or(Activity::Working, |agent| agent.activity);
    let Some(LoopEvent::Prompt { by_user, bypass }) = &mut parsed.loop_event else { return Ok(None) };
    Ok(match pause {
        Activity::Working => None,
        Activity::TurnEnded => {
            (*by_user, *bypass) = (false, false);
            Some(LoopEvent::Stop { blocked: true, running: None, end: TurnEnd::Reported })
        }
        // Another hook source has reported the stop already.
        Activity::KeptGoing => {
            (*by_user, *bypass) = (false, false);
            None
        }
    })
}

/// The agent whose row records how far the transcript was read. At the end of a sub-agent it is the sub-agent's own,
/// because nothing else says what its last response cost.
pub fn reading_agent(parsed: &ParsedHook) -> AgentRef {
    let is_shared = parsed.hook.client.protocol().transcript.is_some_and(|transcript| transcript.is_shared);
    let agent = match &parsed.loop_event {
        Some(_) | None if is_shared => None,
        Some(LoopEvent::SpawnEnd { sub_agent: Some(sub_agent) }) => Some(sub_agent.clone()),
        Some(_) | None => parsed.hook.agent.sub_agent.clone(),
    };
    AgentRef { sub_agent: agent, ..parsed.hook.agent.clone() }
}

/// The path of the transcript. If it begins with `~/`, it is relative to the client's own folder of the user.
fn path(parsed: &ParsedHook) -> Option<PathBuf> {
    let named = parsed.transcript_path.as_deref()?;
    let Some(below) = named.strip_prefix("~/") else { return Some(PathBuf::from(named)) };
    Some(user_folder(parsed.hook.client).ok()?.join(below))
}

/// Completes the end of a call from the last part of the transcript; anything before it does not concern this call.
pub fn complete_outcome(parsed: &mut ParsedHook) {
    let Some(transcript) = &parsed.hook.client.protocol().transcript else { return };
    let (Some(pending), Some(path)) = (&parsed.pending_outcome, path(parsed)) else { return };
    let found = find_in_endings(&path, |text| (transcript.outcome)(text, &pending.call));
    // Nothing else will report the outcome; all that is known is that the call returned.
    let ending = found.unwrap_or(Some((Outcome::Ok, None)));
    if let Some((outcome, exit)) = ending {
        parsed.complete(outcome, exit);
    }
}

/// What `find` finds in the end of a file, which it searches from the last line to the first: the shortest end is read
/// that holds it. `None` if the file cannot be read.
fn find_in_endings<T>(path: &Path, find: impl Fn(&[u8]) -> Option<T>) -> Option<Option<T>> {
    let mut file = open_linked(path).ok()?;
    let length = file.metadata().ok()?.len();
    for bytes in ENDINGS {
        let start = length.saturating_sub(bytes);
        let text = read_chunk(&mut file, start)?;
        // The first line is incomplete, except at the beginning of the file.
        let whole =
            if start == 0 { 0 } else { text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1) };
        let found = find(&text[whole..]);
        if found.is_some() || start == 0 {
            return Some(found);
        }
    }
    Some(None)
}

/// True if [`read_transcript`] will read and write rows for this event.
pub fn reads_rows(parsed: &ParsedHook) -> bool {
    parsed.hook.client.protocol().transcript.is_some()
        && parsed.transcript_path.is_some()
        && parsed.pending_outcome.is_none()
}

fn read_chunk(file: &mut File, offset: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut text = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Reads what was added since the last read.
fn read_new_part(
    transcript: &TranscriptReader,
    path: &Path,
    agent_state: Option<&AgentState>,
    engine: &Engine<Sqlite>,
    parsed: &mut ParsedHook,
) -> Option<LoopEvent> {
    let mut file = open_linked(path).ok()?;
    let length = file.metadata().ok()?.len();
    let (from, last) = agent_state.map_or((0, None), |agent| (agent.transcript_offset, agent.last_response.as_deref()));
    // A transcript that got shorter was rewritten; responses that were counted before are recognised by their ids.
    let offset = if length < from { 0 } else { from };
    let text = if length == offset { Vec::new() } else { read_chunk(&mut file, offset)? };
    let call = match &parsed.loop_event {
        Some(LoopEvent::ToolStart { call, .. }) => Some(call.as_str()),
        Some(_) | None => None,
    };
    let agent_ref = &parsed.hook.agent;
    let (session, agent) = (agent_ref.session.as_str(), agent_ref.sub_agent.as_deref());
    let used = (transcript.usage)(
        &text,
        ReadContext { resume_state: last, session, sub_agent: agent, model: parsed.model.as_deref(), call },
    );
    if let (Some(LoopEvent::ToolStart { response: message, .. }), Some(_)) = (&mut parsed.loop_event, &used.response) {
        message.clone_from(&used.response);
    }
    // Otherwise a single line longer than the limit would never be passed.
    let consumed = if used.consumed == 0 && text.len() as u64 == BYTES_MAX { BYTES_MAX } else { used.consumed };
    if consumed == 0 {
        return None;
    }
    let config = engine.config();
    let extra: Vec<Price> = config.prices().iter().map(to_agents_price).collect();
    let has_use = !used.by_model.is_empty();
    let cost = used.cost(&extra).filter(|_| has_use);
    let may_report_ends = match agent_ref.call_ids {
        CallIds::Stable | CallIds::StartOnly => true,
        // Until the model is called again, another call with the same arguments may still start.
        CallIds::None => parsed.hook.event == HookEvent::ModelStart,
    };
    let in_flight = |call: &str| {
        agent_state.and_then(|agent| agent.in_flight_by_transcript_id(Digest::from_parts(&[call.as_bytes()])))
    };
    let is_open = |call: &str| may_report_ends && in_flight(call).is_some();
    let ended = used.ended.into_iter().filter(|ended| is_open(&ended.call)).map(|ended| (ended.call, ended.result));
    let ended = ended.collect();
    let range = TranscriptRange {
        from,
        last_response: last.map(str::to_owned),
        to: offset + consumed,
        prompt: used.prompt,
        ended,
    };
    Some(LoopEvent::Message {
        usage: has_use.then_some(used.usage),
        cost,
        model: match used.by_model.as_slice() {
            [used] => Some(used.model.clone()),
            _none_or_several => None,
        },
        range: Some(range),
        last_response: used.resume_state,
        // The text is only read if the pattern that uses it is enabled.
        text: if config.policy().loop_.chanting.enabled { (transcript.last_text)(&text) } else { None },
    })
}

/// Converts a configured price. A one-hour cache write costs 1.6 times as much as usual one, as the service charges for it.
pub fn to_agents_price(price: &ConfigPrice) -> Price {
    Price {
        model: price.model.clone().into(),
        input: price.input,
        output: price.output,
        cache_read: price.cache_read,
        cache_write: price.cache_write,
        cache_write_hour: price.cache_write.saturating_mul(8) / 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_found_wherever_it_is_and_only_in_whole_lines() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("transcript");
        let last_with = |text: &[u8]| {
            text.split(|&byte| byte == b'\n').rev().find(|line| line.starts_with(b"x")).map(<[u8]>::to_vec)
        };
        for before in [0, 5, 16 * 1024 - 3, 16 * 1024, 200 * 1024, 511 * 1024, 600 * 1024] {
            let rest = "xy".repeat(before / 2) + "\n";
            std::fs::write(
                &path,
                format!("x first\n{}{}", if before > 5 { "y\n" } else { "" }, rest.replacen('x', " ", 1)),
            )
            .expect("written");
            let found = find_in_endings(&path, last_with).expect("readable");
            let is_near = before < 512 * 1024 - 20;
            assert_eq!(found, is_near.then(|| b"x first".to_vec()), "{before}");
        }
        assert_eq!(find_in_endings(&folder.path().join("none"), last_with), None);
    }
}
