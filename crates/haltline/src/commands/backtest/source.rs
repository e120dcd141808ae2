//! One file, read into what it says; and several of them, in the order of time.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use haltline_agents::price::Price;
use haltline_agents::transcript::{Entry, Format, Reader, Shape};
use haltline_core::Instant;
use haltline_engine::replay::{Piece, Pieces};

/// How many entries go from thread to thread at once.
const BATCH_ENTRIES: usize = 256;
/// How many such batches wait at most.
const BATCHES_AHEAD: usize = 4;

/// What is counted over all files.
#[derive(Debug, Default)]
pub struct Counts {
    /// Bytes read from the disk.
    pub bytes: Arc<AtomicU64>,
    /// Pieces that could not be read.
    pub damaged: AtomicU64,
    /// Files in no known format.
    pub unknown: AtomicU64,
    /// Files that could not be opened, or not to their end.
    pub broken: AtomicU64,
}

/// A file being read.
pub struct Source {
    path: PathBuf,
    format: Format,
    pieces: Pieces,
    reader: Reader,
    buffer: Vec<u8>,
    counts: Arc<Counts>,
    is_over: bool,
}

/// Whether a file can be read.
pub enum Opened {
    /// It can.
    Source(Box<Source>),
    /// Its format is not known.
    Unknown,
    /// It cannot.
    Broken(io::Error),
}

impl Source {
    /// Opens a file and finds out how it is written.
    pub fn open(path: &Path, format: Option<Format>, prices: &[Price], counts: &Arc<Counts>) -> Opened {
        let pieces = match Pieces::open(path, &counts.bytes) {
            Ok(pieces) => pieces,
            Err(error) => return Opened::Broken(error),
        };
        // One word may stand for lines and for a document; the file knows which.
        let seen = Format::of(pieces.head());
        let same = seen.filter(|seen| format.is_none_or(|asked| asked.word() == seen.word()));
        let Some(format) = same.or(format) else { return Opened::Unknown };
        let reader = Reader::with_prices(format, &name_of(path), prices);
        let (buffer, counts) = (Vec::new(), Arc::clone(counts));
        Opened::Source(Box::new(Self { path: path.to_owned(), format, pieces, reader, buffer, counts, is_over: false }))
    }

    /// How it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Adds what the next pieces say, until there is something or the file is over.
    fn fill(&mut self, entries: &mut Vec<Entry>, enough: usize) -> io::Result<()> {
        while entries.len() < enough && !self.is_over {
            let piece = match self.format.shape() {
                Shape::Lines => self.pieces.line(&mut self.buffer),
                Shape::Document => self.pieces.document(&mut self.buffer),
            };
            let is_good = match piece {
                Ok(Piece::Whole) => self.reader.take(&self.buffer, entries).is_ok(),
                Ok(Piece::TooLong) => false,
                Ok(Piece::End) => {
                    self.is_over = true;
                    true
                }
                Err(error) => {
                    self.is_over = true;
                    return Err(error);
                }
            };
            if !is_good {
                self.counts.damaged.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// The file's name without its endings, which is the session's in many formats.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// Where entries come from: read here, or by a thread of its own that is a little ahead.
enum Origin {
    Here(Box<Source>),
    Ahead(Receiver<Vec<Entry>>),
}

/// Entries of one file, with a view of the next.
struct Feed {
    origin: Origin,
    waiting: VecDeque<Entry>,
    latest: Option<Instant>,
}

/// The entries of some files, in the order of time; what stands in one file stays in its order.
pub struct Merged {
    feeds: Vec<Feed>,
    problems: Arc<Mutex<Vec<String>>>,
    counts: Arc<Counts>,
}

impl Merged {
    /// Reads these files. With a scope each is read by a thread of its own.
    pub fn new<'scope>(sources: Vec<Source>, counts: &Arc<Counts>, scope: Option<&'scope Scope<'scope, '_>>) -> Self {
        let problems = Arc::default();
        let feeds = sources
            .into_iter()
            .map(|source| {
                let origin = match scope {
                    Some(scope) => Origin::Ahead(ahead(source, &problems, scope)),
                    None => Origin::Here(Box::new(source)),
                };
                Feed { origin, waiting: VecDeque::new(), latest: None }
            })
            .collect();
        Self { feeds, problems, counts: Arc::clone(counts) }
    }

    /// The next entry.
    pub fn next(&mut self) -> Option<Entry> {
        for feed in &mut self.feeds {
            feed.look(&self.problems);
        }
        // Of the same instant, what an agent's own file says comes before its echo elsewhere: the call has its number then.
        let ready = self.feeds.iter_mut().filter(|feed| !feed.waiting.is_empty());
        let feed = ready.min_by_key(|feed| {
            let front = feed.waiting.front();
            (front.and_then(|entry| entry.at).or(feed.latest), front.is_some_and(|entry| entry.is_echo))
        })?;
        let entry = feed.waiting.pop_front()?;
        feed.latest = entry.at.or(feed.latest);
        Some(entry)
    }

    /// What went wrong on the way.
    pub fn problems(&self) -> Vec<String> {
        let problems = std::mem::take(&mut *self.problems.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.counts.broken.fetch_add(problems.len() as u64, Ordering::Relaxed);
        problems
    }
}

impl Feed {
    /// Sees to it that an entry waits, unless the file is over.
    fn look(&mut self, problems: &Mutex<Vec<String>>) {
        if !self.waiting.is_empty() {
            return;
        }
        match &mut self.origin {
            Origin::Here(source) => {
                let mut entries = Vec::new();
                if let Err(error) = source.fill(&mut entries, 1) {
                    note(problems, &source.path, &error);
                }
                self.waiting.extend(entries);
            }
            Origin::Ahead(batches) => self.waiting.extend(batches.recv().unwrap_or_default()),
        }
    }
}

fn ahead<'scope>(
    mut source: Source,
    problems: &Arc<Mutex<Vec<String>>>,
    scope: &'scope Scope<'scope, '_>,
) -> Receiver<Vec<Entry>> {
    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    let problems = Arc::clone(problems);
    scope.spawn(move || {
        while !source.is_over {
            let mut entries = Vec::with_capacity(BATCH_ENTRIES);
            if let Err(error) = source.fill(&mut entries, BATCH_ENTRIES) {
                note(&problems, &source.path, &error);
            }
            // Nobody listens any more: the run was given up.
            if sender.send(entries).is_err() {
                return;
            }
        }
    });
    receiver
}

fn note(problems: &Mutex<Vec<String>>, path: &Path, error: &io::Error) {
    let text = format!("{}: the rest cannot be read: {error}", path.display());
    problems.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(text);
}
