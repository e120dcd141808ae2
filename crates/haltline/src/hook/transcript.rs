//! What a client's transcript says and its payloads do not: what responses took (L7), how a call ended, which calls came
//! together. It is read where it grew since the last look, within a bound.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use haltline_agents::feed::{Feed, Known};
use haltline_agents::hook::{HookEvent, Reading};
use haltline_agents::price::Price;
use haltline_core::identity::{Digest, Outcome};
use haltline_core::loop_::{Happening, Lane, LaneFact, Naming, Passage, Pause, Stream};
use haltline_core::{CircuitName, Decision, Fact, State};
use haltline_engine::Engine;
use haltline_engine::config::Price as ConfigPrice;
use haltline_engine::store::{Sqlite, Store, StoreError};

use crate::installation::user_folder;

/// How much of it is read in one hook; the rest waits for the next.
const BYTES_MAX: u64 = 512 * 1024;

/// Completes a reading by its transcript; what else it says, to be reported before the event itself.
pub fn hear(engine: &Engine<Sqlite>, reading: &mut Reading) -> Result<Option<Happening>, StoreError> {
    let Some(feed) = &reading.asked.client.protocol().feed else { return Ok(None) };
    let Some(path) = path(reading) else { return Ok(None) };
    if reading.unsettled.is_some() {
        settle(reading);
        return Ok(None);
    }
    let state = row(engine, reading)?;
    let known = state.as_ref().and_then(|state| state.as_lane());
    let is_kept = known.is_some_and(|lane| lane.pause == Pause::Kept);
    // Before a call it says only who asked, which is a question only then.
    if feed.tells_askers && reading.asked.event == HookEvent::ToolStart && !is_kept {
        return Ok(None);
    }
    Ok(read_on(feed, &path, known, engine, reading))
}

fn row(engine: &Engine<Sqlite>, reading: &Reading) -> Result<Option<State>, StoreError> {
    let stream = reader(reading);
    let lane = CircuitName::lane(&stream.session, stream.agent.as_deref());
    engine.store().circuit(engine.project().key, &lane)
}

/// Whether what was heard was taken: another hook may have read on in the meantime.
pub fn is_taken(decision: &Decision) -> bool {
    decision.facts.iter().any(|recorded| matches!(recorded.fact, Fact::Lane(LaneFact::Reported { .. })))
}

/// Whether a person's prompt is among what was heard.
pub fn is_asked(heard: &Happening) -> bool {
    matches!(heard, Happening::Message { offset: Some(Passage { prompt: Some(_), .. }), .. })
}

/// A prompt after the end of a turn may be the words of a hook that keeps the agent going: it is taken for that until the
/// transcript shows a person's. What is then to be reported before it.
pub fn doubted(engine: &Engine<Sqlite>, reading: &mut Reading) -> Result<Option<Happening>, StoreError> {
    let tells_askers = reading.asked.client.protocol().feed.is_some_and(|feed| feed.tells_askers);
    let has_transcript = || path(reading).is_some_and(|path| path.exists());
    if reading.asked.event != HookEvent::Prompt || !tells_askers || !has_transcript() {
        return Ok(None);
    }
    let state = row(engine, reading)?;
    let pause = state.as_ref().and_then(|state| state.as_lane()).map_or(Pause::Working, |lane| lane.pause);
    let Some(Happening::Prompt { by_user, bypass }) = &mut reading.what else { return Ok(None) };
    Ok(match pause {
        Pause::Working => None,
        Pause::Ended => {
            (*by_user, *bypass) = (false, false);
            Some(Happening::Stop { blocked: true, running: None })
        }
        // Told through another door before.
        Pause::Kept => {
            (*by_user, *bypass) = (false, false);
            None
        }
    })
}

/// Whose row keeps how far the transcript was read. At a sub-agent's end that is its own: nothing else tells what its last
/// response took.
pub fn reader(reading: &Reading) -> Stream {
    let is_shared = reading.asked.client.protocol().feed.is_some_and(|feed| feed.is_shared);
    let agent = match &reading.what {
        Some(_) | None if is_shared => None,
        Some(Happening::SpawnEnd { child: Some(child) }) => Some(child.clone()),
        Some(_) | None => reading.asked.stream.agent.clone(),
    };
    Stream { agent, ..reading.asked.stream.clone() }
}

/// Where the transcript lies. One that begins with `~/` is below the client's own folder of the user.
fn path(reading: &Reading) -> Option<PathBuf> {
    let named = reading.feed.as_deref()?;
    let Some(below) = named.strip_prefix("~/") else { return Some(PathBuf::from(named)) };
    Some(user_folder(reading.asked.client).ok()?.join(below))
}

/// Completes the end of a call by the end of the transcript: what came in the meantime is no concern of this call.
pub fn settle(reading: &mut Reading) {
    let Some(feed) = &reading.asked.client.protocol().feed else { return };
    let (Some(unsettled), Some(path)) = (&reading.unsettled, path(reading)) else { return };
    let end = File::open(path).ok().and_then(|mut file| {
        let length = file.metadata().ok()?.len();
        piece(&mut file, length.saturating_sub(BYTES_MAX))
    });
    let ending = match end {
        Some(text) => (feed.outcome)(&text, &unsettled.call),
        // Nobody will ever tell: that it came back at all is what is known.
        None => Some((Outcome::Ok, None)),
    };
    if let Some((outcome, exit)) = ending {
        reading.settle(outcome, exit);
    }
}

fn piece(file: &mut File, offset: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut text = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}

/// What came since the last look.
fn read_on(
    feed: &Feed,
    path: &Path,
    known: Option<&Lane>,
    engine: &Engine<Sqlite>,
    reading: &mut Reading,
) -> Option<Happening> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let (from, last) = known.map_or((0, None), |lane| (lane.transcript, lane.reported.as_deref()));
    // A transcript that got shorter was written anew: its responses are known by their names.
    let offset = if length < from { 0 } else { from };
    let text = if length == offset { Vec::new() } else { piece(&mut file, offset)? };
    let call = match &reading.what {
        Some(Happening::ToolStart { call, .. }) => Some(call.as_str()),
        Some(_) | None => None,
    };
    let stream = &reading.asked.stream;
    let (session, agent) = (stream.session.as_str(), stream.agent.as_deref());
    let used = (feed.usage)(&text, Known { last, session, agent, model: reading.model.as_deref(), call });
    if let (Some(Happening::ToolStart { message, .. }), Some(_)) = (&mut reading.what, &used.response) {
        message.clone_from(&used.response);
    }
    // A single line longer than the bound would never be passed.
    let consumed = if used.consumed == 0 && text.len() as u64 == BYTES_MAX { BYTES_MAX } else { used.consumed };
    if consumed == 0 {
        return None;
    }
    let config = engine.config();
    let extra: Vec<Price> = config.prices().iter().map(priced).collect();
    let has_use = !used.by_model.is_empty();
    let cost = used.cost(&extra).filter(|_| has_use);
    let are_told = match stream.naming {
        Naming::Own | Naming::Begun => true,
        // Another call of the same words may be on its way until the model is asked.
        Naming::Counted => reading.asked.event == HookEvent::ModelStart,
    };
    let flight = |call: &str| known.and_then(|lane| lane.flight_named(Digest::of(&[call.as_bytes()])));
    let is_open = |call: &str| are_told && flight(call).is_some();
    let ended = used.ended.into_iter().filter(|ended| is_open(&ended.call)).map(|ended| (ended.call, ended.answer));
    let ended = ended.collect();
    let passage = Passage { from, known: last.map(str::to_owned), to: offset + consumed, prompt: used.prompt, ended };
    Some(Happening::Message {
        usage: has_use.then_some(used.usage),
        cost,
        offset: Some(passage),
        last: used.last,
        // What was said is read only where somebody hears.
        said: if config.policy().loop_.chanting.enabled { (feed.said)(&text) } else { None },
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
