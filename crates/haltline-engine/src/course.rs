//! Courses of work: where they are kept, and the state files other programs read and write (P5, P8).
//!
//! One process at a time deals with a state file: what somebody else wrote there is taken in, the event is decided, and
//! the file is made anew from the store. What a file can do to a course is the core's to decide.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::phase::{Bounds, Course, Fact as PhaseFact, Foreign, Happening, Stand};
use haltline_core::{CircuitName, Event, Fact, State, digest_hex};

use crate::engine::{Engine, EngineError};
use crate::file::{Lasting, set_aside, write_whole};
use crate::notify::DEFAULT_RUN;
use crate::project::Project;
use crate::queue::{Turn, line_up};
use crate::store::{Committed, Store, StoreError};
use crate::{ralph_file, session_file};

/// How long one waits for another process that deals with the same file.
const PATIENCE: Duration = Duration::from_secs(5);
/// A larger state file is not read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many damaged files are kept.
const SET_ASIDE_MAX: usize = 3;

/// A course, and the file that goes with it.
#[derive(Clone, Debug)]
pub struct CoursePlace {
    /// Its name in the store.
    pub name: CircuitName,
    /// Its state file.
    pub file: Option<StateFile>,
}

/// Another process deals with the file.
struct HeldElsewhere;

/// A state file of another program's format.
#[derive(Clone, Debug)]
pub enum StateFile {
    /// `circuit-breaker.json` of seed 001.
    Session(PathBuf),
    /// `.circuit_breaker_state` of Ralph, with its history beside it.
    Ralph(PathBuf),
}

impl CoursePlace {
    /// The phases of a session folder.
    pub fn session(project: &Project, folder: &Path) -> Self {
        let folder = &real(folder);
        let file = StateFile::Session(folder.join(session_file::NAME));
        Self { name: name("session", project, &scope(project, folder)), file: Some(file) }
    }

    /// The iterations of a run; `None` = the one nobody named.
    pub fn run(project: &Project, run: Option<&str>) -> Self {
        Self { name: name("run", project, run.unwrap_or(DEFAULT_RUN)), file: None }
    }

    /// The loops of Ralph.
    pub fn ralph(project: &Project, folder: &Path) -> Self {
        let folder = &real(folder);
        let file = StateFile::Ralph(folder.join(ralph_file::NAME));
        Self { name: name("ralph", project, &scope(project, folder)), file: Some(file) }
    }
}

fn name(front: &str, project: &Project, scope: &str) -> CircuitName {
    CircuitName::course(front, scope, project.worktree().as_deref())
}

fn scope(project: &Project, folder: &Path) -> String {
    folder.strip_prefix(&project.root).unwrap_or(folder).to_string_lossy().into_owned()
}

/// The folder's real path, also where its last parts are not there: a course keeps its name when they come and go.
fn real(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_unnameable| folder.to_owned());
    let known = folder.ancestors().find_map(|ancestor| Some((ancestor, fs::canonicalize(ancestor).ok()?)));
    match known {
        // Joining an empty rest would leave a slash behind, and another name.
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

    fn parse(&self, content: &[u8], bounds: Option<Bounds>) -> Result<Foreign, String> {
        match self {
            StateFile::Session(_) => session_file::parse(content),
            StateFile::Ralph(_) => ralph_file::parse(content, bounds),
        }
    }
}

impl<S: Store> Engine<S> {
    /// The course as it is now, after what its file says was taken in.
    pub fn course(&self, place: &CoursePlace, bounds: Option<Bounds>) -> Result<Option<Course>, EngineError> {
        if let Some(file) = &place.file
            && let Ok(_turn) = self.turn(file)
        {
            self.take_in(place, file, bounds)?;
            self.write_out(place, file);
        }
        Ok(self.known_course(&place.name)?)
    }

    /// Takes an event of a course.
    pub fn phase(
        &self,
        place: &CoursePlace,
        bounds: Option<Bounds>,
        session: Option<&str>,
        what: Happening,
    ) -> Result<Committed, EngineError> {
        let event = Event::Phase { course: place.name.clone(), session: session.map(str::to_owned), bounds, what };
        let Some(file) = &place.file else { return self.handle(event) };
        let Ok(_turn) = self.turn(file) else { return self.handle(event) };
        self.take_in(place, file, bounds)?;
        let committed = self.handle(event)?;
        self.write_out(place, file);
        Ok(committed)
    }

    /// The course as the store knows it: what a runner looks at while its command works.
    pub fn known_course(&self, name: &CircuitName) -> Result<Option<Course>, StoreError> {
        let state = self.store().circuit(self.project().key, name)?;
        Ok(match state {
            Some(State::Course(course)) => Some(*course),
            Some(_) | None => None,
        })
    }

    /// One's turn with a file, or `None` where there are no locks. While another process holds it too long, the file is
    /// left to that one: what is written without a turn could look like somebody's edit, and undo what was counted.
    fn turn(&self, file: &StateFile) -> Result<Option<Turn>, HeldElsewhere> {
        let name = format!("{}.lock", digest_hex(&[file.path().as_os_str().as_encoded_bytes()], 8));
        let folder = self.state_folder().join("courses");
        let turn = fs::create_dir_all(&folder).and_then(|()| line_up(&folder.join(name), PATIENCE));
        match turn {
            Ok(Some(turn)) => Ok(Some(turn)),
            Ok(None) => {
                self.note(format!("{}: another process holds it; it is left as it is", file.path().display()));
                Err(HeldElsewhere)
            }
            Err(error) => {
                self.note(format!("{}: {error}", folder.display()));
                Ok(None)
            }
        }
    }

    /// Takes over what somebody else wrote. A damaged file is kept and made anew.
    fn take_in(&self, place: &CoursePlace, file: &StateFile, bounds: Option<Bounds>) -> Result<(), EngineError> {
        let path = file.path();
        let known = self.known_course(&place.name)?;
        let content = match read_bounded(path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.tell_missing(file, known.as_ref());
                return Ok(());
            }
            Err(error) => {
                self.note(format!("{}: {error}", path.display()));
                return Ok(());
            }
        };
        if known.as_ref().is_some_and(|course| self.is_ours(file, course, &content)) {
            return Ok(());
        }
        let found = content.and_then(|content| file.parse(&content, bounds));
        match found {
            Ok(foreign) => {
                self.tell_adoption(file, known.as_ref(), &foreign);
                let what = Happening::Found(foreign);
                let event = Event::Phase { course: place.name.clone(), session: None, bounds, what };
                self.handle(event)?;
            }
            Err(problem) => self.put_aside(path, &problem),
        }
        Ok(())
    }

    /// Ralph's file wins, so whoever edits it decides: what came of that is said, once.
    fn tell_adoption(&self, file: &StateFile, known: Option<&Course>, foreign: &Foreign) {
        let StateFile::Ralph(path) = file else { return };
        let (path, now) = (path.display(), ralph_file::word(&foreign.stand));
        self.note(match known {
            Some(course) => {
                let before = course.stand.file_word();
                format!("{path}: somebody else wrote it; taken over: {before} → {now}")
            }
            None => format!("{path}: found and taken over: {now}"),
        });
    }

    /// Removing Ralph's file is no reset.
    fn tell_missing(&self, file: &StateFile, known: Option<&Course>) {
        if let StateFile::Ralph(path) = file
            && let Some(course) = known.filter(|course| course.is_held())
        {
            let (path, state) = (path.display(), course.stand.file_word());
            self.note(format!("{path}: it was gone; made anew from the store: {state}"));
        }
    }

    fn put_aside(&self, path: &Path, problem: &str) {
        let label = self.now().at.to_seconds_text().replace(':', "");
        match set_aside(path, &label, SET_ASIDE_MAX) {
            Ok(kept) => {
                let (path, kept) = (path.display(), kept.display());
                self.note(format!("{path}: {problem}; kept as {kept}, rebuilt from the store"));
            }
            Err(error) => self.note(format!("{}: {problem}, and {error}", path.display())),
        }
    }

    /// Whether the file says what haltline last wrote there. Where it does not, somebody else wrote it.
    fn is_ours(&self, file: &StateFile, course: &Course, content: &Result<Vec<u8>, String>) -> bool {
        let Ok(content) = content else { return false };
        match file {
            StateFile::Session(_) => *content == session_file::render(course, self.now()),
            StateFile::Ralph(path) => {
                let stamps = fs::read_to_string(self.stamp(path)).unwrap_or_default();
                stamps.lines().any(|stamp| stamp == ralph_file::stamp(content))
                    || *content == ralph_file::render(course, None)
            }
        }
    }

    fn stamp(&self, path: &Path) -> PathBuf {
        let name = format!("{}.stamp", digest_hex(&[path.as_os_str().as_encoded_bytes()], 8));
        self.state_folder().join("courses").join(name)
    }

    /// Makes the file anew from the store.
    fn write_out(&self, place: &CoursePlace, file: &StateFile) {
        let course = match self.known_course(&place.name) {
            Ok(Some(course)) => course,
            Ok(None) => return,
            Err(error) => return self.note(error),
        };
        if let Err(error) = self.try_write_out(place, file, &course) {
            self.note(format!("{}: {error}; the circuit itself is kept in the store", file.path().display()));
        }
    }

    fn try_write_out(&self, place: &CoursePlace, file: &StateFile, course: &Course) -> io::Result<()> {
        let path = file.path();
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        match file {
            StateFile::Session(path) => renew(path, &session_file::render(course, self.now())),
            StateFile::Ralph(path) => {
                self.write_history(&path.with_file_name(ralph_file::HISTORY), course)?;
                let content = ralph_file::render(course, self.said_at_reset(&place.name, course).as_deref());
                let (stamp, new) = (self.stamp(path), ralph_file::stamp(&content));
                let old = fs::read(path).map(|written| ralph_file::stamp(&written)).unwrap_or_default();
                if old != new {
                    // Both are ours until the new one is there: a crash in between must not look like an edit.
                    renew(&stamp, format!("{new}\n{old}\n").as_bytes())?;
                    renew(path, &content)?;
                }
                renew(&stamp, format!("{new}\n").as_bytes())
            }
        }
    }

    /// What the file has already is kept: it may be older than haltline.
    fn write_history(&self, path: &Path, course: &Course) -> io::Result<()> {
        let written = match read_bounded(path) {
            Ok(content) => content.and_then(|content| ralph_file::parse_history(&content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let written = written.unwrap_or_else(|problem| {
            self.put_aside(path, &problem);
            Vec::new()
        });
        renew(path, &ralph_file::render_history(course, written))
    }

    /// What a person said at a reset, while nothing has happened since: the course does not keep such texts.
    pub fn said_at_reset(&self, name: &CircuitName, course: &Course) -> Option<String> {
        let is_last = course.stand == Stand::Closed && course.closed == Some(course.seen.at);
        let newest = is_last.then(|| self.store().history(self.project().key, name, 1).ok()?.pop()).flatten()?;
        match newest.read().ok()?.fact? {
            Fact::Phase(PhaseFact::Reset { opens_too: true, .. }) => newest.texts().text,
            _something_else => None,
        }
    }
}

fn renew(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|written| written == content) {
        return Ok(());
    }
    write_whole(path, content, Lasting::Remade)
}

/// The content, or what is wrong with it.
fn read_bounded(path: &Path) -> io::Result<Result<Vec<u8>, String>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(Err("not a file".to_owned()));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Ok(Err(format!("{} bytes: expected at most {FILE_BYTES_MAX}", metadata.len())));
    }
    fs::read(path).map(Ok)
}
