//! Finds sessions that run without haltline: their transcript grows and no hook reports (E6). It reads no transcript
//! further than its beginning, and looks at a bounded number of files.

use std::cell::OnceCell;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haltline_agents::Client;
use haltline_agents::transcript::Format;
use haltline_agents::transcript::locations::{TranscriptLocation, locations};
use haltline_core::{CircuitName, Instant, State};
use haltline_engine::Engine;
use haltline_engine::file::open_regular;
use haltline_engine::store::{Sqlite, Store, StoreError};

use crate::ancestry::{self, AncestorProcess};
use crate::environment::variable;
use crate::error::Failure;
use crate::installation::InstallationRecord;

/// A transcript that did not change for longer belongs to a session that does nothing.
const RECENT: Duration = Duration::from_secs(15 * 60);
/// How much later than the last report of a hook a transcript may change: the client writes it after the hook ran.
const DELAY_MS: i64 = 5 * 60 * 1000;
/// How many entries of folders are looked at.
const ENTRIES_MAX: usize = 5_000;
/// How deep transcripts lie below the client's folder.
const DEPTH_MAX: usize = 5;
/// How much of a transcript is read to find the session's id.
const START_BYTES: u64 = 16 << 10;

/// A session that no hook reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwatched {
    pub client: Client,
    pub session: String,
    pub transcript: PathBuf,
    /// When a hook reported the session last; `None` if none ever did.
    pub last_report: Option<Instant>,
}

/// The sessions of clients with haltline's hooks whose transcripts grow although no hook reports them. None during a pause
/// and while a client runs that a person started without haltline: hooks then report nothing, as they should. A session
/// whose client does not run any more has ended, so nothing of it is left to watch.
pub fn find(engine: &Engine<Sqlite>) -> Result<Vec<Unwatched>, Failure> {
    let (store, state_folder, now) = (engine.store(), engine.state_folder(), engine.now().at);
    if !engine.pauses()?.is_empty() || clients_off(state_folder) > 0 {
        return Ok(Vec::new());
    }
    let Some(home) = variable("HOME").map(PathBuf::from) else { return Ok(Vec::new()) };
    let Ok(record) = InstallationRecord::read(state_folder) else { return Ok(Vec::new()) };
    let since = UNIX_EPOCH + Duration::from_millis(now.as_millis().try_into().unwrap_or_default()) - RECENT;
    let mut entries_left = ENTRIES_MAX;
    let mut found: Vec<Unwatched> = Vec::new();
    let running = OnceCell::new();
    for location in locations(&home, |name| std::env::var_os(name)) {
        let Some(client) = client_of(location.format).filter(|client| record.names(*client)) else { continue };
        let mut transcripts = Vec::new();
        walk(&location, &location.folder, DEPTH_MAX, since, &mut entries_left, &mut transcripts);
        for (transcript, changed) in transcripts {
            let Some(session) = session_of(location.format, &transcript) else { continue };
            let is_known = found.iter().any(|one| one.client == client && one.session == session);
            if is_known {
                continue;
            }
            let last_report = last_report(store, &session, now)?;
            let changed_ms = changed
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
            let is_unreported = last_report.is_none_or(|last| changed_ms - last.as_millis() > DELAY_MS);
            if is_unreported && can_run(running.get_or_init(running_agents).as_deref(), state_folder, client, &session)
            {
                found.push(Unwatched { client, session, transcript, last_report });
            }
        }
    }
    Ok(found)
}

/// Counts the running clients that a person started with `HALTLINE=off`.
pub fn clients_off(state_folder: &Path) -> usize {
    let is_off =
        |client: &AncestorProcess| ancestry::is_switched_off(state_folder, client, client.agent().unwrap_or_default());
    ancestry::running_clients(state_folder).iter().filter(|client| is_off(client)).count()
}

/// The processes of this machine that are clients; `None` if it does not list its processes.
fn running_agents() -> Option<Vec<AncestorProcess>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let processes = entries.filter_map(|entry| AncestorProcess::read(entry.file_name().to_str()?.parse().ok()?));
    Some(processes.filter(|process| process.agent().is_some()).collect())
}

/// True if a process of this client may work in the session: hooks reported nothing from that process, or this session.
fn can_run(running: Option<&[AncestorProcess]>, state_folder: &Path, client: Client, session: &str) -> bool {
    let Some(running) = running else { return true };
    let may_work = |process: &AncestorProcess| {
        process.client_record(state_folder).is_none_or(|record| record.has_session(session))
    };
    running.iter().any(|process| process.is_client(client.name()) && may_work(process))
}

fn client_of(format: Format) -> Option<Client> {
    match format {
        Format::Claude => Some(Client::Claude),
        Format::Codex => Some(Client::Codex),
        Format::Gemini | Format::GeminiDocument => Some(Client::Gemini),
        Format::Qwen => Some(Client::Qwen),
        Format::Copilot => Some(Client::Copilot),
        Format::Plain | Format::OpenCode | Format::SweAgent => None,
    }
}

/// Gathers the transcripts that changed since then, with the time of their last change.
fn walk(
    location: &TranscriptLocation,
    folder: &Path,
    depth: usize,
    since: SystemTime,
    entries_left: &mut usize,
    transcripts: &mut Vec<(PathBuf, SystemTime)>,
) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if *entries_left == 0 {
            return;
        }
        *entries_left -= 1;
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // The files of sub-agents grow with those of their session.
            if depth > 1 && entry.file_name() != "subagents" {
                walk(location, &path, depth - 1, since, entries_left, transcripts);
            }
        } else if kind.is_file() && location.contains(&path) {
            let changed = entry.metadata().and_then(|file| file.modified());
            if let Ok(changed) = changed
                && changed > since
            {
                transcripts.push((path, changed));
            }
        }
    }
}

/// The session whose transcript this is: named by the file, by its folder, or in its first lines.
fn session_of(format: Format, transcript: &Path) -> Option<String> {
    let stem = transcript.file_stem()?.to_str()?;
    match format {
        Format::Claude | Format::Qwen => Some(stem.to_owned()),
        // `rollout-TIME-UUID`
        Format::Codex => stem.get(stem.len().checked_sub(36)?..).map(str::to_owned),
        Format::Copilot if stem == "events" => transcript.parent()?.file_name()?.to_str().map(str::to_owned),
        Format::Copilot => Some(stem.to_owned()),
        Format::Gemini | Format::GeminiDocument => {
            let mut start = Vec::new();
            open_regular(transcript).ok()?.take(START_BYTES).read_to_end(&mut start).ok()?;
            let start = String::from_utf8_lossy(&start).into_owned();
            let (_, rest) = start.split_once("\"sessionId\"")?;
            rest.split('"').nth(1).map(str::to_owned)
        }
        Format::Plain | Format::OpenCode | Format::SweAgent => None,
    }
}

/// When a hook reported the session last, in any project. A session with a call in flight reports when it ends.
fn last_report(store: &impl Store, session: &str, now: Instant) -> Result<Option<Instant>, StoreError> {
    let name = CircuitName::agent(session, None);
    let mut last = None;
    for project in store.projects()? {
        if let Some(State::Agent(agent)) = store.circuit(project.key, &name)? {
            let reported = if agent.in_flight.is_empty() { agent.last_seen.at } else { now };
            last = last.max(Some(reported));
        }
    }
    Ok(last)
}
