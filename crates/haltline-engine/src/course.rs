//! Courses of work: where they are kept, and the state files other programs read and write (P5, P8).
//!
//! One process at a time deals with a state file: what somebody else wrote there is taken in, the event is decided, and
//! the file is made anew from the store. What a file can do to a course is the core's to decide.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_core::phase::{Bounds, Course, Foreign, Happening};
use haltline_core::{CircuitName, Event, State, digest_hex};

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
        let folder = settled(folder);
        let file = StateFile::Session(folder.join(session_file::NAME));
        Self { name: name("session", project, &scope(project, &folder)), file: Some(file) }
    }

    /// The iterations of a run; `None` = the one nobody named.
    pub fn run(project: &Project, run: Option<&str>) -> Self {
        Self { name: name("run", project, run.unwrap_or(DEFAULT_RUN)), file: None }
    }

    /// The loops of Ralph.
    pub fn ralph(project: &Project, folder: &Path) -> Self {
        let folder = settled(folder);
        let file = StateFile::Ralph(folder.join(ralph_file::NAME));
        Self { name: name("ralph", project, &scope(project, &folder)), file: Some(file) }
    }
}

fn name(front: &str, project: &Project, scope: &str) -> CircuitName {
    CircuitName::course(front, scope, worktree(project).as_deref())
}

/// The work tree's name, unless it is the project's first.
fn worktree(project: &Project) -> Option<String> {
    let is_first = project.identity == project.root || project.identity.parent() == Some(&project.root);
    (!is_first).then(|| {
        let folder = project.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let digest = digest_hex(&[project.root.as_os_str().as_encoded_bytes()], 4);
        format!("{folder}-{digest}")
    })
}

fn scope(project: &Project, folder: &Path) -> String {
    folder.strip_prefix(&project.root).unwrap_or(folder).to_string_lossy().into_owned()
}

/// One spelling for a folder, the same before and after it is made.
fn settled(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_unnameable| folder.to_owned());
    for known in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(known), absolute.strip_prefix(known)) {
            return real.join(rest);
        }
    }
    absolute
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
        if let Some(file) = &place.file {
            let turn = self.turn(file);
            self.take_in(place, file, bounds)?;
            self.write_out(place, file);
            drop(turn);
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
        let _turn = self.turn(file);
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

    /// Without a turn the file may be overwritten by an older one for a moment; the course itself is safe in the store.
    fn turn(&self, file: &StateFile) -> Option<Turn> {
        let name = format!("{}.lock", digest_hex(&[file.path().as_os_str().as_encoded_bytes()], 8));
        let folder = self.state_folder().join("courses");
        let turn = fs::create_dir_all(&folder).and_then(|()| line_up(&folder.join(name), PATIENCE));
        match turn {
            Ok(Some(turn)) => Some(turn),
            Ok(None) => {
                self.note(format!("{}: another process holds it", file.path().display()));
                None
            }
            Err(error) => {
                self.note(format!("{}: {error}", folder.display()));
                None
            }
        }
    }

    /// Takes over what somebody else wrote. A damaged file is kept and made anew.
    fn take_in(&self, place: &CoursePlace, file: &StateFile, bounds: Option<Bounds>) -> Result<(), EngineError> {
        let path = file.path();
        let content = match read_bounded(path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.note(format!("{}: {error}", path.display()));
                return Ok(());
            }
        };
        let known = self.known_course(&place.name)?;
        if known.as_ref().is_some_and(|course| self.is_ours(file, course, &content)) {
            return Ok(());
        }
        let found = content.and_then(|content| file.parse(&content, bounds));
        match found {
            Ok(foreign) => {
                let what = Happening::Found(foreign);
                let event = Event::Phase { course: place.name.clone(), session: None, bounds, what };
                self.handle(event)?;
            }
            Err(problem) => {
                let label = self.now().at.to_seconds_text().replace(':', "");
                match set_aside(path, &label, SET_ASIDE_MAX) {
                    Ok(kept) => {
                        let (path, kept) = (path.display(), kept.display());
                        self.note(format!("{path}: {problem}; kept as {kept}, rebuilt from the store"));
                    }
                    Err(error) => self.note(format!("{}: {problem}, and {error}", path.display())),
                }
            }
        }
        Ok(())
    }

    /// Whether the file says what haltline last wrote there. Where it does not, somebody else wrote it.
    fn is_ours(&self, file: &StateFile, course: &Course, content: &Result<Vec<u8>, String>) -> bool {
        let Ok(content) = content else { return false };
        match file {
            StateFile::Session(_) => *content == session_file::render(course, self.now()),
            StateFile::Ralph(path) => {
                let stamp = fs::read(self.stamp(path)).ok();
                stamp.is_some_and(|stamp| stamp == ralph_file::stamp(content))
                    || *content == ralph_file::render(course, self.now())
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
        if let Err(error) = self.try_write_out(file, &course) {
            self.note(format!("{}: {error}; the circuit itself is kept in the store", file.path().display()));
        }
    }

    fn try_write_out(&self, file: &StateFile, course: &Course) -> io::Result<()> {
        let path = file.path();
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        match file {
            StateFile::Session(path) => renew(path, &session_file::render(course, self.now())),
            StateFile::Ralph(path) => {
                let content = ralph_file::render(course, self.now());
                renew(&path.with_file_name(ralph_file::HISTORY), &ralph_file::render_history(course))?;
                renew(path, &content)?;
                renew(&self.stamp(path), &ralph_file::stamp(&content))
            }
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
