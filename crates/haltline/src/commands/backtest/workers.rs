//! Recordings on all cores: each is read by one worker, and told of in the order they were found.
//!
//! Workers share a list of recordings and some counters, nothing else. They run ahead of what is told by a few
//! sessions only, so memory does not grow with what there is to read.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, Scope};
use std::time::Duration;

use haltline_agents::price::Price;
use haltline_agents::transcript::{Entry, Format};
use haltline_core::Policy;
use haltline_engine::replay::{Heard, Replay, ReplayedSession};

use super::files::{Recording, problem};
use super::source::{Counts, Merged, Opened, Source};
use crate::error::Failure;

/// How many sessions of one recording wait to be told.
const SESSIONS_AHEAD: usize = 16;
/// How many recordings wait to be told, for each worker.
const RECORDINGS_AHEAD: usize = 4;
/// How often the progress is looked at while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// What a worker tells.
pub enum Told {
    /// A session, with where it was read.
    Session {
        /// The file.
        source: String,
        /// How it is written.
        format: Format,
        /// What came of it.
        session: Box<ReplayedSession>,
    },
    /// What a person should know.
    Problem(String),
}

/// How recordings are read.
pub struct Reading<'a> {
    /// The format, where it is not to be guessed.
    pub format: Option<Format>,
    /// What sessions are judged by.
    pub policies: &'a [Policy],
    /// Prices that win over the list.
    pub prices: &'a [Price],
    /// How many workers.
    pub jobs: usize,
    /// What is counted.
    pub counts: Arc<Counts>,
}

/// The recordings that no worker has taken yet, and where to say which one is taken.
struct Queue {
    recordings: std::vec::IntoIter<Recording>,
    taken: SyncSender<Receiver<Told>>,
}

impl Reading<'_> {
    /// Reads all recordings. `tell` hears of each session in order, and of nothing whenever a while has passed.
    pub fn run(
        &self,
        recordings: Vec<Recording>,
        mut tell: impl FnMut(Option<Told>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let has_few = recordings.len() < self.jobs;
        let workers = self.jobs.min(recordings.len()).max(1);
        let (taken, told) = sync_channel(RECORDINGS_AHEAD * workers);
        let queue = Mutex::new(Some(Queue { recordings: recordings.into_iter(), taken }));
        thread::scope(|scope| {
            for _ in 0..workers {
                // Cores that have no recording of their own help to read the others.
                let helpers = has_few.then_some(scope);
                let queue = &queue;
                scope.spawn(move || self.work(queue, helpers));
            }
            // Given up early, this end of each channel goes, and the workers end with it.
            let told = told;
            while let Some(recording) = next(&told, &mut tell)? {
                while let Some(one) = next(&recording, &mut tell)? {
                    tell(Some(one))?;
                }
            }
            Ok(())
        })
    }

    fn work<'scope>(&'scope self, queue: &Mutex<Option<Queue>>, helpers: Option<&'scope Scope<'scope, '_>>) {
        while let Some((recording, told)) = take(queue) {
            if self.replay(&recording, &told, helpers).is_none() {
                return;
            }
        }
    }

    /// Replays one recording; `None` where nobody listens any more.
    fn replay<'scope>(
        &'scope self,
        recording: &Recording,
        told: &SyncSender<Told>,
        helpers: Option<&'scope Scope<'scope, '_>>,
    ) -> Option<()> {
        let mut sources = Vec::new();
        for path in &recording.files {
            match Source::open(path, self.format, self.prices, &self.counts) {
                Opened::Source(source) => sources.push(*source),
                Opened::Unknown => {
                    self.counts.unknown.fetch_add(1, Ordering::Relaxed);
                    if recording.is_named {
                        told.send(Told::Problem(unknown(path))).ok()?;
                    }
                }
                Opened::Broken(error) => {
                    self.counts.broken.fetch_add(1, Ordering::Relaxed);
                    told.send(Told::Problem(problem(path, &error))).ok()?;
                }
            }
        }
        let (Some(first), Some(path)) = (sources.first(), recording.files.first()) else { return Some(()) };
        let format = first.format();
        let source = path.display().to_string();
        let tell = |session| {
            let session = Box::new(session);
            told.send(Told::Session { source: source.clone(), format, session }).ok()
        };
        let mut entries = Merged::new(sources, &self.counts, helpers);
        let mut replay = Replay::new(self.policies);
        let mut over = Vec::new();
        while let Some(Entry { at, stream, what, is_echo }) = entries.next() {
            replay.take(Heard { at, stream, what, is_echo }, &mut over);
            for session in over.drain(..) {
                tell(session)?;
            }
        }
        for session in replay.finish() {
            tell(session)?;
        }
        for problem in entries.problems() {
            told.send(Told::Problem(problem)).ok()?;
        }
        Some(())
    }
}

fn unknown(path: &Path) -> String {
    let mut known: Vec<&str> = Format::ALL.iter().map(|format| format.word()).collect();
    known.dedup();
    format!("{}: in no format that is known here ({}); --format names one", path.display(), known.join(", "))
}

/// The next recording. Which one is taken is said under the same lock, so it is told in this order.
fn take(queue: &Mutex<Option<Queue>>) -> Option<(Recording, SyncSender<Told>)> {
    let mut queue = queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let open = queue.as_mut()?;
    let Some(recording) = open.recordings.next() else {
        *queue = None;
        return None;
    };
    let (sender, receiver) = sync_channel(SESSIONS_AHEAD);
    if open.taken.send(receiver).is_err() {
        *queue = None;
        return None;
    }
    Some((recording, sender))
}

/// Waits for what comes next; `None` where nothing more will.
fn next<T>(
    receiver: &Receiver<T>,
    tell: &mut impl FnMut(Option<Told>) -> Result<(), Failure>,
) -> Result<Option<T>, Failure> {
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(one) => return Ok(Some(one)),
            Err(RecvTimeoutError::Timeout) => tell(None)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}
