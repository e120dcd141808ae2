//! Reads one transcript file into entries, and merges the entries of several files by time.

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
use haltline_engine::replay::{Piece, RecordingReader};

/// How many entries one batch between threads has.
const BATCH_ENTRIES: usize = 256;
/// How many batches may wait.
const BATCHES_AHEAD: usize = 4;

/// Counters over all files.
#[derive(Debug, Default)]
pub struct Counts {
    pub bytes: Arc<AtomicU64>,
    /// Records that could not be read.
    pub damaged: AtomicU64,
    /// Files in no known format.
    pub unknown: AtomicU64,
    /// Files that could not be opened, or not read to their end.
    pub broken: AtomicU64,
}

pub struct Source {
    path: PathBuf,
    format: Format,
    pieces: RecordingReader,
    reader: Reader,
    buffer: Vec<u8>,
    counts: Arc<Counts>,
    is_over: bool,
}

pub enum Opened {
    Source(Box<Source>),
    /// Its format is not known.
    Unknown,
    Broken(io::Error),
}

impl Source {
    /// Opens a file and detects its format, unless `format` names it.
    pub fn open(path: &Path, format: Option<Format>, prices: &[Price], counts: &Arc<Counts>) -> Opened {
        let pieces = match RecordingReader::open(path, &counts.bytes) {
            Ok(pieces) => pieces,
            Err(error) => return Opened::Broken(error),
        };
        // One format name may stand for lines and for a document; the file's content tells which.
        let detected = Format::detect(pieces.head());
        let same = detected.filter(|detected| format.is_none_or(|wanted| wanted.as_str() == detected.as_str()));
        let Some(format) = same.or(format) else { return Opened::Unknown };
        let reader = Reader::with_prices(format, &name_of(path), prices);
        let (buffer, counts) = (Vec::new(), Arc::clone(counts));
        Opened::Source(Box::new(Self { path: path.to_owned(), format, pieces, reader, buffer, counts, is_over: false }))
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads on until there are `enough` entries or the file ends.
    fn fill(&mut self, entries: &mut Vec<Entry>, enough: usize) -> io::Result<()> {
        while entries.len() < enough && !self.is_over {
            let piece = match self.format.shape() {
                Shape::Lines => self.pieces.read_line(&mut self.buffer),
                Shape::Document => self.pieces.read_document(&mut self.buffer),
            };
            let is_good = match piece {
                Ok(Piece::Whole) => self.reader.read_piece(&self.buffer, entries).is_ok(),
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

/// The file's name without its suffixes, which is the session id in many formats.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// Where entries come from: read by this thread, or by another thread that reads a little ahead.
enum Origin {
    Here(Box<Source>),
    Ahead(Receiver<Vec<Entry>>),
}

/// The entries of one file, with a look at the next one.
struct FileEntries {
    origin: Origin,
    waiting: VecDeque<Entry>,
    latest: Option<Instant>,
}

/// The entries of several files, merged by time; entries of one file keep their order.
pub struct Merged {
    files: Vec<FileEntries>,
    problems: Arc<Mutex<Vec<String>>>,
    counts: Arc<Counts>,
}

impl Merged {
    /// Reads these files. With a scope, each file is read by its own thread.
    pub fn new<'scope>(sources: Vec<Source>, counts: &Arc<Counts>, scope: Option<&'scope Scope<'scope, '_>>) -> Self {
        let problems = Arc::default();
        let files = sources
            .into_iter()
            .map(|source| {
                let origin = match scope {
                    Some(scope) => Origin::Ahead(read_ahead(source, &problems, scope)),
                    None => Origin::Here(Box::new(source)),
                };
                FileEntries { origin, waiting: VecDeque::new(), latest: None }
            })
            .collect();
        Self { files, problems, counts: Arc::clone(counts) }
    }

    pub fn next(&mut self) -> Option<Entry> {
        for file in &mut self.files {
            file.refill(&self.problems);
        }
        // At the same instant, an agent's own file comes before its echo in another file: the call then has its number.
        let ready = self.files.iter_mut().filter(|file| !file.waiting.is_empty());
        let file = ready.min_by_key(|file| {
            let first = file.waiting.front();
            (first.and_then(|entry| entry.at).or(file.latest), first.is_some_and(|entry| entry.is_echo))
        })?;
        let entry = file.waiting.pop_front()?;
        file.latest = entry.at.or(file.latest);
        Some(entry)
    }

    /// Takes the read errors that occurred so far.
    pub fn problems(&self) -> Vec<String> {
        let problems = std::mem::take(&mut *self.problems.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.counts.broken.fetch_add(problems.len() as u64, Ordering::Relaxed);
        problems
    }
}

impl FileEntries {
    /// Makes sure that an entry is waiting, unless the file has ended.
    fn refill(&mut self, problems: &Mutex<Vec<String>>) {
        if !self.waiting.is_empty() {
            return;
        }
        match &mut self.origin {
            Origin::Here(source) => {
                let mut entries = Vec::new();
                if let Err(error) = source.fill(&mut entries, 1) {
                    add_problem(problems, &source.path, &error);
                }
                self.waiting.extend(entries);
            }
            Origin::Ahead(batches) => self.waiting.extend(batches.recv().unwrap_or_default()),
        }
    }
}

fn read_ahead<'scope>(
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
                add_problem(&problems, &source.path, &error);
            }
            // The receiver is gone: the run was given up.
            if sender.send(entries).is_err() {
                return;
            }
        }
    });
    receiver
}

fn add_problem(problems: &Mutex<Vec<String>>, path: &Path, error: &io::Error) {
    let text = format!("{}: the rest cannot be read: {error}", path.display());
    problems.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(text);
}
