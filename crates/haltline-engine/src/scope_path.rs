//! Resolves the files that a write to a path may change, so that neither `..` nor a symbolic link leaves scope (A5).
//!
//! haltline follows links itself, one name after the other, because the target need not exist yet: a dangling link, a
//! file in a folder behind a link, a folder still to be created. What counts is the real path.
//!
//! If the last name is a link, tools behave differently: they write through it, follow one link of a chain, or replace
//! the link by a new file, and one client did all three in turn. So all these paths count ([`ProjectRoot::resolve`]),
//! and the write is in scope only if each of them is. Links further up are always followed.
//!
//! A path that means two files depending on the program that reads it is rejected, not guessed at: `link/../x` is one
//! file to the kernel and another to a program that drops `link/..` first; some programs trim blanks or expand `~`.
//!
//! What this cannot see: hard links, which are one file under two names without any sign of it; a mount inside the
//! project that shows files from elsewhere; and a link created between this check and the write. The comparison of the
//! tree afterwards finds the last one if it changes a file of the project. Names that differ only in their Unicode form
//! count as different.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use haltline_core::attempt::{CaseSensitivity, Covered, FileLocation, Scope};

/// How many links are followed, as on Linux.
const LINKS_MAX: usize = 40;
/// How long a path may be, in bytes, as on Linux.
const PATH_BYTES_MAX: usize = 4096;
/// Links in this folder lead each process to its own files, so nothing below it counts as the project's.
const PROCESSES: &str = "/proc";
/// How many names are checked to detect case sensitivity.
const NAMES_MAX: usize = 64;

/// A path that a write changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedPath {
    /// In the project: the path relative to its root, with `/`. Empty for the root itself.
    Inside(String),
    Outside(PathBuf),
}

impl ResolvedPath {
    /// The path as it is shown, and whether it is inside the project.
    pub fn describe(&self) -> (String, FileLocation) {
        match self {
            ResolvedPath::Inside(path) => (path.clone(), FileLocation::Inside),
            ResolvedPath::Outside(path) => (path.display().to_string(), FileLocation::Outside),
        }
    }
}

/// Every path that a write may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPaths {
    /// The path with all links followed.
    pub real: ResolvedPath,
    /// The links at the end of the path, one after the other.
    pub links: Vec<ResolvedPath>,
}

impl ResolvedPaths {
    /// All paths, the real one first.
    pub fn all(&self) -> impl Iterator<Item = &ResolvedPath> {
        std::iter::once(&self.real).chain(&self.links)
    }
}

/// Why haltline cannot say which file a write changes.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    /// No file can have this path.
    #[error("the path is not a valid file path: it is too long or contains a NUL")]
    Unwritable,
    #[error("{} goes through too many symbolic links", .0.display())]
    TooManyLinks(PathBuf),
    /// Different programs would write to different files.
    #[error(
        "{} could mean {} or {}; write the path without `..`, links and surrounding spaces",
        .path.display(), .one.display(), .other.display()
    )]
    Ambiguous {
        /// The path as given.
        path: PathBuf,
        one: PathBuf,
        other: PathBuf,
    },
    /// It begins with `~` or is a URL, which some programs expand and others do not.
    #[error("a shell could expand {}; write a plain path", .0.display())]
    Expandable(PathBuf),
    #[error("cannot tell where {} leads: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// The project's top folder, as its file system sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRoot {
    root: PathBuf,
    /// Device and inode of the root.
    identity: (u64, u64),
    pub case_sensitivity: CaseSensitivity,
}

impl ProjectRoot {
    /// Reads the top folder of a work tree.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        let found = fs::metadata(&root)?;
        let case_sensitivity = detect_case_sensitivity(&root);
        Ok(Self { root, identity: (found.dev(), found.ino()), case_sensitivity })
    }

    /// The top of the work tree, with links followed.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The paths that a write to `path` may change. A relative path starts at `folder`, the writer's working directory.
    pub fn resolve(&self, folder: &Path, path: &Path) -> Result<ResolvedPaths, PathError> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes.len() > PATH_BYTES_MAX || bytes.contains(&0) {
            return Err(PathError::Unwritable);
        }
        let folder =
            &std::path::absolute(folder).map_err(|source| PathError::Unreadable { path: folder.to_owned(), source })?;
        if is_expandable(folder, path) {
            return Err(PathError::Expandable(path.to_owned()));
        }
        let mut route = FollowedPath::follow(&folder.join(path))?;
        for reading in other_readings(folder, path) {
            let other = FollowedPath::follow(&reading)?;
            if other.real != route.real {
                return Err(PathError::Ambiguous { path: path.to_owned(), one: route.real, other: other.real });
            }
            // The same file through other links, any of which may be the one that a tool replaces.
            route.links.extend(other.links);
        }
        route.links.sort();
        route.links.dedup();
        let links = route.links.into_iter().map(|link| self.classify(link)).collect();
        Ok(ResolvedPaths { real: self.classify(route.real), links })
    }

    fn classify(&self, real: PathBuf) -> ResolvedPath {
        match self.below_root(&real) {
            Some(path) => ResolvedPath::Inside(path),
            None => ResolvedPath::Outside(real),
        }
    }

    /// The path relative to the root. The root is recognised by its identity and not only by its name: a mount or, on
    /// a file system that ignores case, another spelling leads to it under another name.
    fn below_root(&self, real: &Path) -> Option<String> {
        if real.starts_with(PROCESSES) {
            return None;
        }
        // Does not follow the link: a link that points to the root is not the root.
        let is_root =
            |folder: &Path| fs::symlink_metadata(folder).is_ok_and(|found| self.identity == (found.dev(), found.ino()));
        let below = match real.strip_prefix(&self.root) {
            Ok(below) => below,
            Err(_) => real.strip_prefix(real.ancestors().find(|folder| is_root(folder))?).ok()?,
        };
        let names: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        Some(names.join("/"))
    }

    /// Whether the scope covers a write, and the path that decides it: the first one out of scope, else the real one.
    /// Nothing outside the project is ever in scope.
    pub fn check_scope<'scope, 'resolved>(
        &self,
        scope: &'scope Scope,
        resolved: &'resolved ResolvedPaths,
    ) -> (Covered<'scope>, &'resolved ResolvedPath) {
        let check = |resolved_path: &'resolved ResolvedPath| match resolved_path {
            ResolvedPath::Outside(_) if scope.is_lock_off() => (Covered::LockOff, resolved_path),
            ResolvedPath::Outside(_) => (Covered::Outside, resolved_path),
            ResolvedPath::Inside(path) => (scope.covers(path, self.case_sensitivity), resolved_path),
        };
        let is_outside = |checked: &(Covered<'_>, &ResolvedPath)| checked.0 == Covered::Outside;
        let real = check(&resolved.real);
        if is_outside(&real) {
            return real;
        }
        resolved.links.iter().map(check).find(is_outside).unwrap_or(real)
    }
}

/// Other ways in which a program may read the path: with `..` resolved textually, or without blanks around it.
fn other_readings(folder: &Path, path: &Path) -> Vec<PathBuf> {
    let mut readings = Vec::new();
    let trimmed = path
        .to_str()
        .map(|text| Path::new(text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}')))
        .filter(|trimmed| *trimmed != path);
    for path in [Some(path), trimmed].into_iter().flatten() {
        if path.components().any(|part| part == Component::ParentDir) {
            readings.push(normalize_lexically(&folder.join(path)));
            readings.extend(fs::canonicalize(folder).ok().map(|folder| normalize_lexically(&folder.join(path))));
        }
    }
    readings.extend(trimmed.map(|path| folder.join(path)));
    readings
}

/// The path with each `..` removed together with the name before it.
fn normalize_lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// True for `~/x`, `~name/x` and `file:///x`. A name that begins with `~` is an ordinary one if it exists.
fn is_expandable(folder: &Path, path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes().trim_ascii();
    let first = bytes.split(|&byte| byte == b'/').next().unwrap_or_default();
    let is_url = bytes.get(..5).is_some_and(|head| head.eq_ignore_ascii_case(b"file:"));
    let is_home = first.first() == Some(&b'~')
        && first[1..].iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte))
        && (first == b"~" || fs::symlink_metadata(folder.join(OsStr::from_bytes(first))).is_err());
    is_url || is_home
}

/// The real path of an absolute path whose last names need not exist.
struct FollowedPath {
    real: PathBuf,
    /// The links met at the end of the path.
    links: Vec<PathBuf>,
}

impl FollowedPath {
    fn follow(path: &Path) -> Result<Self, PathError> {
        let mut route = Self { real: PathBuf::from("/"), links: Vec::new() };
        let mut pending: Vec<OsString> = Vec::new();
        push_names(&mut pending, path);
        let mut followed = 0;
        while let Some(name) = pending.pop() {
            if name == ".." {
                route.real.pop();
                continue;
            }
            route.real.push(&name);
            if route.real.starts_with(PROCESSES) {
                continue;
            }
            if let Some(target) = link_target(&route.real)? {
                followed += 1;
                if followed > LINKS_MAX {
                    return Err(PathError::TooManyLinks(path.to_owned()));
                }
                if pending.is_empty() {
                    route.links.push(route.real.clone());
                }
                route.real.pop();
                if target.is_absolute() {
                    route.real = PathBuf::from("/");
                }
                push_names(&mut pending, &target);
            }
        }
        Ok(route)
    }
}

fn push_names(pending: &mut Vec<OsString>, path: &Path) {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let start = pending.len();
    pending.extend(names);
    pending[start..].reverse();
}

/// The target of a link; `None` if the path is no link or does not exist.
fn link_target(path: &Path) -> Result<Option<PathBuf>, PathError> {
    let target = match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::read_link(path),
        Ok(_) => return Ok(None),
        Err(error) => Err(error),
    };
    match target {
        Ok(target) => Ok(Some(target)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => Err(PathError::Unwritable),
        Err(source) => Err(PathError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Detected by experiment, not by platform: checks whether an existing name can also be opened in the other case.
fn detect_case_sensitivity(root: &Path) -> CaseSensitivity {
    let names = |folder: &Path| -> Vec<OsString> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.take(NAMES_MAX).map(|entry| entry.file_name()).collect()
    };
    let inside = names(root).into_iter().map(|name| root.join(name));
    let found = inside.chain([root.to_owned()]).find_map(|path| {
        let other = path.with_file_name(swap_case(path.file_name()?)?);
        let (one, two) = (fs::symlink_metadata(&path).ok()?, fs::symlink_metadata(other));
        // Two names of one file may also be hard links, which folders cannot have.
        let is_certain = one.is_dir() || one.nlink() == 1;
        is_certain.then(|| two.is_ok_and(|two| (one.dev(), one.ino()) == (two.dev(), two.ino())))
    });
    match found {
        Some(true) => CaseSensitivity::Insensitive,
        Some(false) | None => CaseSensitivity::Sensitive,
    }
}

fn swap_case(name: &OsStr) -> Option<OsString> {
    let swap =
        |byte: &u8| if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
    let other: Vec<u8> = name.as_bytes().iter().map(swap).collect();
    (other != name.as_bytes()).then(|| OsStr::from_bytes(&other).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_recognised_under_another_name_of_a_mount() {
        let folder = tempfile::tempdir().expect("temp folder");
        let top = folder.path().canonicalize().expect("canonical");
        std::fs::create_dir_all(top.join("project/src/users")).expect("made");
        std::fs::create_dir_all(top.join("elsewhere")).expect("made");
        let opened = ProjectRoot::open(&top.join("project")).expect("exists");
        let renamed = ProjectRoot { root: PathBuf::from("/mnt/other/name"), ..opened };
        let resolved = renamed.resolve(&top, &top.join("project/src/users/new/a.ts")).expect("told");
        assert_eq!(resolved.real, ResolvedPath::Inside("src/users/new/a.ts".to_owned()));
        let beside = renamed.resolve(&top, Path::new("elsewhere/x")).expect("told");
        assert_eq!(beside.real, ResolvedPath::Outside(top.join("elsewhere/x")));
    }
}
