//! Phase runs: where they are stored, and the state files that other programs read and write (P5, P8).
//!
//! One process at a time works on a state file: it adopts what another program wrote there, decides the event, and
//! rewrites the file from the store. The core decides what a file may change in a phase run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::phase::{Bounds, Fact as PhaseFact, ForeignRun, PhaseEvent, PhaseRun, RunState};
use haltline_core::{CircuitName, Event, Fact, State, digest_hex};

use crate::engine::{Engine, EngineError};
use crate::file::{Durability, Links, if_exists, read_regular, reject_linked_folder, set_aside, write_atomically};
use crate::notify::DEFAULT_RUN;
use crate::project::Project;
use crate::queue::{QueueGuard, wait_in_queue};
use crate::store::{Committed, Store, StoreError};
use crate::{ralph_file, session_file};

/// How long to wait for another process that works on the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A larger state file is not read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many damaged files are kept.
const SET_ASIDE_MAX: usize = 3;

/// A phase run and its state file.
#[derive(Clone, Debug)]
pub struct PhaseRunLocation {
    /// Its name in the store.
    pub name: CircuitName,
    pub file: Option<StateFile>,
}

/// Another process works on the file.
struct LockedElsewhere;

/// A state file in another program's format.
#[derive(Clone, Debug)]
pub enum StateFile {
    /// `circuit-breaker.json` of seed 001.
    Session(PathBuf),
    /// `.circuit_breaker_state` of Ralph, with its history beside it.
    Ralph(PathBuf),
}

impl PhaseRunLocation {
    pub fn session(project: &Project, folder: &Path) -> Self {
        let file = StateFile::Session(file_folder(project, folder).join(session_file::NAME));
        Self { name: circuit_name("session", project, &scope(project, &real_path(folder))), file: Some(file) }
    }

    /// The iterations of a run; without a name, those of the default run.
    pub fn run(project: &Project, run: Option<&str>) -> Self {
        Self { name: circuit_name("run", project, run.unwrap_or(DEFAULT_RUN)), file: None }
    }

    pub fn ralph(project: &Project, folder: &Path) -> Self {
        let file = StateFile::Ralph(file_folder(project, folder).join(ralph_file::NAME));
        Self { name: circuit_name("ralph", project, &scope(project, &real_path(folder))), file: Some(file) }
    }
}

fn circuit_name(kind: &str, project: &Project, scope: &str) -> CircuitName {
    CircuitName::phase_run(kind, scope, project.worktree().as_deref())
}

fn scope(project: &Project, folder: &Path) -> String {
    folder.strip_prefix(&project.root).unwrap_or(folder).to_string_lossy().into_owned()
}

/// The folder of a state file. Inside the project it keeps its own path, so that a link on the way is noticed.
fn file_folder(project: &Project, folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).ok();
    absolute.filter(|folder| folder.starts_with(&project.root)).unwrap_or_else(|| real_path(folder))
}

/// The folder's real path, even if its last parts do not exist: a phase run keeps its name when they come and go.
fn real_path(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_unnameable| folder.to_owned());
    let existing = folder.ancestors().find_map(|ancestor| Some((ancestor, fs::canonicalize(ancestor).ok()?)));
    match existing {
        // Joining an empty rest would add a trailing slash, and so give another name.
        Some((ancestor, real)) if ancestor == folder => real,
        Some((ancestor, real)) => real.join(folder.strip_prefix(ancestor).unwrap_or(&folder)),
        None => folder,
    }
}

impl StateFile {
    fn path(&self) -> &Path {
        match self {
            StateFile::Session(path) | StateFile::Ralph(path) => path,
        }
    }

    fn parse(&self, content: &[u8], bounds: Option<Bounds>) -> Result<ForeignRun, String> {
        match self {
            StateFile::Session(_) => session_file::parse(content),
            StateFile::Ralph(_) => ralph_file::parse(content, bounds),
        }
    }
}

impl<S: Store> Engine<S> {
    /// The current phase run, after adopting what its file says.
    pub fn phase_run(
        &self,
        location: &PhaseRunLocation,
        bounds: Option<Bounds>,
    ) -> Result<Option<PhaseRun>, EngineError> {
        if let Some(file) = location.file.as_ref().filter(|_file| self.uses_files())
            && let Ok(_guard) = self.lock_file(file)
        {
            self.adopt_file(location, file, bounds)?;
            self.write_file(location, file);
        }
        Ok(self.stored_phase_run(&location.name)?)
    }

    /// Handles an event of a phase run.
    pub fn phase(
        &self,
        location: &PhaseRunLocation,
        bounds: Option<Bounds>,
        session: Option<&str>,
        event: PhaseEvent,
    ) -> Result<Committed, EngineError> {
        let event =
            Event::Phase { phase_run: location.name.clone(), session: session.map(str::to_owned), bounds, event };
        let Some(file) = location.file.as_ref().filter(|_file| self.uses_files()) else { return self.handle(event) };
        let Ok(_guard) = self.lock_file(file) else { return self.handle(event) };
        self.adopt_file(location, file, bounds)?;
        let committed = self.handle(event)?;
        self.write_file(location, file);
        Ok(committed)
    }

    /// The phase run as the store has it, without reading its file. A runner checks this while its command works.
    pub fn stored_phase_run(&self, name: &CircuitName) -> Result<Option<PhaseRun>, StoreError> {
        Ok(self.store().circuit(self.project().key, name)?.as_ref().and_then(State::as_phase_run).cloned())
    }

    /// Locks a state file; `None` if locks are not available. If another process holds the lock for too long, the file
    /// is left to that process: writing without the lock could look like somebody's edit, and undo what was counted.
    fn lock_file(&self, file: &StateFile) -> Result<Option<QueueGuard>, LockedElsewhere> {
        let name = format!("{}.lock", digest_hex(&[file.path().as_os_str().as_encoded_bytes()], 8));
        let folder = self.state_folder().join("courses");
        let guard = fs::create_dir_all(&folder).and_then(|()| wait_in_queue(&folder.join(name), LOCK_TIMEOUT));
        match guard {
            Ok(Some(guard)) => Ok(Some(guard)),
            Ok(None) => {
                self.add_notice(format!(
                    "{}: another process has it locked; haltline did not change it",
                    file.path().display()
                ));
                Err(LockedElsewhere)
            }
            Err(error) => {
                self.add_notice(format!("{}: {error}", folder.display()));
                Ok(None)
            }
        }
    }

    /// Adopts what another program wrote. A damaged file is kept under another name and rewritten.
    fn adopt_file(
        &self,
        location: &PhaseRunLocation,
        file: &StateFile,
        bounds: Option<Bounds>,
    ) -> Result<(), EngineError> {
        let path = file.path();
        let known = self.stored_phase_run(&location.name)?;
        let content = match if_exists(read_bounded(path)) {
            Ok(Some(content)) => content,
            Ok(None) => {
                self.note_missing_file(file, known.as_ref());
                return Ok(());
            }
            Err(error) => {
                self.add_notice(format!("{}: {error}", path.display()));
                return Ok(());
            }
        };
        if known.as_ref().is_some_and(|phase_run| self.is_own_writing(file, phase_run, &content)) {
            return Ok(());
        }
        let found = content.and_then(|content| file.parse(&content, bounds));
        match found {
            Ok(foreign) => {
                self.note_adoption(file, known.as_ref(), &foreign);
                let event = PhaseEvent::StateFileFound(foreign);
                let event = Event::Phase { phase_run: location.name.clone(), session: None, bounds, event };
                self.handle(event)?;
            }
            Err(problem) => self.set_aside_damaged(path, &problem),
        }
        Ok(())
    }

    /// Notes once what an edit changed: Ralph's file wins over the store, so an edit decides the state.
    fn note_adoption(&self, file: &StateFile, known: Option<&PhaseRun>, foreign: &ForeignRun) {
        let StateFile::Ralph(path) = file else { return };
        let (path, now) = (path.display(), ralph_file::state_text(&foreign.state));
        self.add_notice(match known {
            Some(phase_run) => {
                let before = phase_run.state.as_file_str();
                format!("{path}: another program wrote it, and haltline imported it: {before} → {now}")
            }
            None => format!("{path}: haltline found it and imported it: {now}"),
        });
    }

    /// Removing Ralph's file is no reset.
    fn note_missing_file(&self, file: &StateFile, known: Option<&PhaseRun>) {
        if let StateFile::Ralph(path) = file
            && let Some(phase_run) = known.filter(|phase_run| phase_run.is_tripped())
        {
            let (path, state) = (path.display(), phase_run.state.as_file_str());
            self.add_notice(format!("{path}: it was missing; haltline wrote it again from the store: {state}"));
        }
    }

    fn set_aside_damaged(&self, path: &Path, problem: &str) {
        match set_aside(path, self.now().at, SET_ASIDE_MAX) {
            Ok(kept) => {
                let (path, kept) = (path.display(), kept.display());
                self.add_notice(format!("{path}: {problem}; haltline kept it as {kept} and rebuilt it from the store"));
            }
            Err(error) => self.add_notice(format!("{}: {problem}, and {error}", path.display())),
        }
    }

    /// True if the file has what haltline last wrote there; otherwise another program wrote it.
    fn is_own_writing(&self, file: &StateFile, phase_run: &PhaseRun, content: &Result<Vec<u8>, String>) -> bool {
        let Ok(content) = content else { return false };
        match file {
            StateFile::Session(_) => *content == session_file::render(phase_run, self.now()),
            StateFile::Ralph(path) => {
                let stamps = read_regular(&self.stamp_path(path), FILE_BYTES_MAX, Links::Reject).unwrap_or_default();
                let own = ralph_file::stamp(content);
                stamps.split(|&byte| byte == b'\n').any(|stamp| stamp == own.as_bytes())
                    || *content == ralph_file::render(phase_run, None, Some(content))
            }
        }
    }

    fn stamp_path(&self, path: &Path) -> PathBuf {
        let name = format!("{}.stamp", digest_hex(&[path.as_os_str().as_encoded_bytes()], 8));
        self.state_folder().join("courses").join(name)
    }

    fn write_file(&self, location: &PhaseRunLocation, file: &StateFile) {
        let phase_run = match self.stored_phase_run(&location.name) {
            Ok(Some(phase_run)) => phase_run,
            Ok(None) => return,
            Err(error) => return self.add_notice(error),
        };
        if let Err(error) = self.try_write_file(location, file, &phase_run) {
            self.add_notice(format!("{}: {error}; the store still has the circuit", file.path().display()));
        }
    }

    fn try_write_file(&self, location: &PhaseRunLocation, file: &StateFile, phase_run: &PhaseRun) -> io::Result<()> {
        let folder = file.path().parent().unwrap_or(Path::new("."));
        reject_linked_folder(&self.project().root, folder)?;
        fs::create_dir_all(folder)?;
        match file {
            StateFile::Session(path) => write_if_changed(path, &session_file::render(phase_run, self.now())),
            StateFile::Ralph(path) => {
                self.write_history(&path.with_file_name(ralph_file::HISTORY), phase_run)?;
                let written = read_regular(path, FILE_BYTES_MAX, Links::Reject).ok();
                let reset_reason = self.reset_reason(&location.name, phase_run);
                let content = ralph_file::render(phase_run, reset_reason.as_deref(), written.as_deref());
                let (stamp, new) = (self.stamp_path(path), ralph_file::stamp(&content));
                let old = written.map(|written| ralph_file::stamp(&written)).unwrap_or_default();
                if old != new {
                    // Both stamps are valid until the new file is written: a crash between must not look like an edit.
                    write_if_changed(&stamp, format!("{new}\n{old}\n").as_bytes())?;
                    write_if_changed(path, &content)?;
                }
                write_if_changed(&stamp, format!("{new}\n").as_bytes())
            }
        }
    }

    /// Keeps the lines that the file already has: they may be older than haltline.
    fn write_history(&self, path: &Path, phase_run: &PhaseRun) -> io::Result<()> {
        let written = match if_exists(read_bounded(path))? {
            Some(content) => content.and_then(|content| ralph_file::parse_history(&content)),
            None => Ok(Vec::new()),
        };
        let written = written.unwrap_or_else(|problem| {
            self.set_aside_damaged(path, &problem);
            Vec::new()
        });
        write_if_changed(path, &ralph_file::render_history(phase_run, written))
    }

    /// The reason a person gave at a reset, if nothing has happened since; the phase run does not keep such texts.
    pub fn reset_reason(&self, name: &CircuitName, phase_run: &PhaseRun) -> Option<String> {
        let is_last = phase_run.state == RunState::Closed && phase_run.closed == Some(phase_run.last_seen.at);
        let newest = is_last.then(|| self.store().history(self.project().key, name, 1).ok()?.pop()).flatten()?;
        match newest.read().ok()?.fact? {
            Fact::Phase(PhaseFact::Reset { clears_open_count: true, .. }) => newest.texts().text,
            _something_else => None,
        }
    }
}

fn write_if_changed(path: &Path, content: &[u8]) -> io::Result<()> {
    if read_regular(path, FILE_BYTES_MAX, Links::Reject).is_ok_and(|written| written == content) {
        return Ok(());
    }
    write_atomically(path, content, Durability::Rebuildable)
}

/// The content, or what is wrong with it.
fn read_bounded(path: &Path) -> io::Result<Result<Vec<u8>, String>> {
    match read_regular(path, FILE_BYTES_MAX, Links::Reject) {
        Ok(content) => Ok(Ok(content)),
        Err(error) if error.kind() == io::ErrorKind::Other => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}
