//! Replays recordings on all cores: one worker reads each recording, and results arrive in the order of the list.
//!
//! Workers share the list of recordings and some counters, nothing else. They run only a few sessions ahead of
//! delivery, so memory does not grow with the amount of data.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, Scope};
use std::time::Duration;

use haltline_agents::price::Price;
use haltline_agents::transcript::{Entry, Format};
use haltline_core::Policy;
use haltline_engine::replay::{Replay, ReplayedEvent, ReplayedSession};

use super::files::{Recording, problem};
use super::source::{Counts, Merged, Opened, Source};
use crate::error::Failure;

/// How many sessions of one recording may wait for delivery.
const SESSIONS_AHEAD: usize = 16;
/// How many recordings per worker may wait for delivery.
const RECORDINGS_AHEAD: usize = 4;
/// How often the progress bar is updated while no message arrives.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// A message from a worker.
pub enum WorkerMessage {
    /// A replayed session.
    Session {
        /// The path of its first file.
        source: String,
        format: Format,
        session: Box<ReplayedSession>,
    },
    /// Something that could not be read.
    Problem(String),
}

/// How recordings are read and evaluated.
pub struct Replayer<'a> {
    /// The format; `None` = detect it.
    pub format: Option<Format>,
    /// The policies that sessions are evaluated with.
    pub policies: &'a [Policy],
    /// Prices that override the built-in list.
    pub prices: &'a [Price],
    /// Number of workers.
    pub jobs: usize,
    pub counts: Arc<Counts>,
}

/// The recordings that no worker has started yet, and the channel that announces each started recording.
struct Queue {
    recordings: std::vec::IntoIter<Recording>,
    started: SyncSender<Receiver<WorkerMessage>>,
}

impl Replayer<'_> {
    /// Replays all recordings. Calls `on_message` with each message in order, and with `None` whenever
    /// `PROGRESS_INTERVAL` has passed without one.
    pub fn run(
        &self,
        recordings: Vec<Recording>,
        mut on_message: impl FnMut(Option<WorkerMessage>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let has_few = recordings.len() < self.jobs;
        let workers = self.jobs.min(recordings.len()).max(1);
        let (started, receivers) = sync_channel(RECORDINGS_AHEAD * workers);
        let queue = Mutex::new(Some(Queue { recordings: recordings.into_iter(), started }));
        thread::scope(|scope| {
            for _ in 0..workers {
                // With fewer recordings than cores, the spare cores read files ahead.
                let helpers = has_few.then_some(scope);
                let queue = &queue;
                scope.spawn(move || self.work(queue, helpers));
            }
            // On an early return the receivers are dropped, and the workers end.
            let receivers = receivers;
            while let Some(recording) = receive(&receivers, &mut on_message)? {
                while let Some(one) = receive(&recording, &mut on_message)? {
                    on_message(Some(one))?;
                }
            }
            Ok(())
        })
    }

    fn work<'scope>(&'scope self, queue: &Mutex<Option<Queue>>, helpers: Option<&'scope Scope<'scope, '_>>) {
        while let Some((recording, sender)) = next_recording(queue) {
            if self.replay(&recording, &sender, helpers).is_none() {
                return;
            }
        }
    }

    /// Replays one recording; returns `None` if the receiver is gone.
    fn replay<'scope>(
        &'scope self,
        recording: &Recording,
        sender: &SyncSender<WorkerMessage>,
        helpers: Option<&'scope Scope<'scope, '_>>,
    ) -> Option<()> {
        let mut sources = Vec::new();
        for path in &recording.files {
            match Source::open(path, self.format, self.prices, &self.counts) {
                Opened::Source(source) => sources.push(*source),
                Opened::Unknown => {
                    self.counts.unknown.fetch_add(1, Ordering::Relaxed);
                    if recording.is_named {
                        sender.send(WorkerMessage::Problem(unknown(path))).ok()?;
                    }
                }
                Opened::Broken(error) => {
                    self.counts.broken.fetch_add(1, Ordering::Relaxed);
                    sender.send(WorkerMessage::Problem(problem(path, &error))).ok()?;
                }
            }
        }
        let (Some(first), Some(path)) = (sources.first(), recording.files.first()) else { return Some(()) };
        let format = first.format();
        let source = path.display().to_string();
        let send = |session| {
            let session = Box::new(session);
            sender.send(WorkerMessage::Session { source: source.clone(), format, session }).ok()
        };
        let mut entries = Merged::new(sources, &self.counts, helpers);
        let mut replay = Replay::new(self.policies);
        let mut over = Vec::new();
        while let Some(Entry { at, agent_ref, event, is_echo }) = entries.next() {
            replay.add_event(ReplayedEvent { at, agent: agent_ref, event, is_echo }, &mut over);
            for session in over.drain(..) {
                send(session)?;
            }
        }
        for session in replay.finish() {
            send(session)?;
        }
        for problem in entries.problems() {
            sender.send(WorkerMessage::Problem(problem)).ok()?;
        }
        Some(())
    }
}

fn unknown(path: &Path) -> String {
    let mut known: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    known.dedup();
    format!("{}: haltline does not know this format ({}); name one with --format", path.display(), known.join(", "))
}

/// Returns the next recording. It is announced under the same lock, so that delivery keeps the order of the list.
fn next_recording(queue: &Mutex<Option<Queue>>) -> Option<(Recording, SyncSender<WorkerMessage>)> {
    let mut queue = queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let open = queue.as_mut()?;
    let Some(recording) = open.recordings.next() else {
        *queue = None;
        return None;
    };
    let (sender, receiver) = sync_channel(SESSIONS_AHEAD);
    if open.started.send(receiver).is_err() {
        *queue = None;
        return None;
    }
    Some((recording, sender))
}

/// Waits for the next message; returns `None` when no more will come.
fn receive<T>(
    receiver: &Receiver<T>,
    on_message: &mut impl FnMut(Option<WorkerMessage>) -> Result<(), Failure>,
) -> Result<Option<T>, Failure> {
    loop {
        match receiver.recv_timeout(PROGRESS_INTERVAL) {
            Ok(one) => return Ok(Some(one)),
            Err(RecvTimeoutError::Timeout) => on_message(None)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}
