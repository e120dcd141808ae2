//! Where a write to a path would land, so that neither `..` nor a symbolic link leaves the scope (A5).
//!
//! Links are followed by hand, one name after the other, because what is written to need not be there yet: a dangling
//! link, a file in a folder behind a link, a folder still to be made. What counts is the real place.
//!
//! Where the last name is a link, tools do different things: write through it, follow one link of a chain, or put a
//! new file in the link's place, and one client did all three in turn. So all these places count
//! ([`Ground::landings`]), and the write is in scope only if each of them is. Links further up are always followed.
//!
//! A path that leads to two places depending on who reads it is refused and not guessed at: `link/../x` is one file
//! to the kernel and another to a program that drops `link/..` first; some programs trim blanks or expand `~`.
//!
//! What this cannot see: hard links, which are one file under two names with no sign of it; a mount within the project
//! that shows what lies elsewhere; and a link made between this look and the write. Comparing the tree afterwards sees the last
//! where it changes a file of the project. Names that differ by their Unicode form only are taken for different.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use haltline_core::attempt::{Covered, Letters, Place, Scope};

/// How many links are followed, as on Linux.
const LINKS_MAX: usize = 40;
/// How long a path may be, in bytes, as on Linux.
const PATH_BYTES_MAX: usize = 4096;
/// Where links lead each process to its own files. Whatever they say, it is not the project's business.
const PROCESSES: &str = "/proc";
/// How many names are looked at to find out about capitals.
const NAMES_MAX: usize = 64;

/// Where a write lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// In the project: the path below its root, with `/`. The root itself is empty.
    Inside(String),
    /// Elsewhere.
    Outside(PathBuf),
}

impl Landing {
    /// The path as it is told, and which kind it is.
    pub fn shown(&self) -> (String, Place) {
        match self {
            Landing::Inside(path) => (path.clone(), Place::Inside),
            Landing::Outside(path) => (path.display().to_string(), Place::Outside),
        }
    }
}

/// Every place a write may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landings {
    /// The real place, with all links followed.
    pub real: Landing,
    /// The links that stand at the end of the path, one after the other.
    pub links: Vec<Landing>,
}

impl Landings {
    /// All of them, the real place first.
    pub fn all(&self) -> impl Iterator<Item = &Landing> {
        std::iter::once(&self.real).chain(&self.links)
    }
}

/// Why it cannot be said where a write lands.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// There is no path.
    #[error("the path is empty")]
    Empty,
    /// No file can have it.
    #[error("the path cannot be that of a file: it is too long, or holds a NUL")]
    Unwritable,
    /// Links lead to links without end.
    #[error("{} goes through too many symbolic links", .0.display())]
    TooManyLinks(PathBuf),
    /// It depends on the reader.
    #[error(
        "{} may be {} or {}, depending on who reads it; give the path without `..`, links or blanks around it",
        .path.display(), .one.display(), .other.display()
    )]
    Ambiguous {
        /// As it was given.
        path: PathBuf,
        /// One place.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// It begins with `~` or is a URL, which some programs expand and others do not.
    #[error("{} may be expanded by who reads it; give a plain path", .0.display())]
    Expandable(PathBuf),
    /// The file system would not say.
    #[error("cannot tell where {} leads: {source}", .path.display())]
    Unreadable {
        /// At this place.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The project's folder, as its file system sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    root: PathBuf,
    /// Device and inode of the root.
    identity: (u64, u64),
    /// Whether capitals tell names apart.
    pub letters: Letters,
}

impl Ground {
    /// Looks at the folder at the top of a work tree.
    pub fn of(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        let found = fs::metadata(&root)?;
        let letters = letters_of(&root);
        Ok(Self { root, identity: (found.dev(), found.ino()), letters })
    }

    /// The top of the work tree, with its links followed.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a write to `path` lands. A relative path starts at `folder`, where the writer works.
    pub fn landings(&self, folder: &Path, path: &Path) -> Result<Landings, PathError> {
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
        let mut route = Route::along(&folder.join(path))?;
        for reading in other_readings(folder, path) {
            let other = Route::along(&reading)?;
            if other.real != route.real {
                return Err(PathError::Ambiguous { path: path.to_owned(), one: route.real, other: other.real });
            }
            // The same place by way of other links, any of which may be the one that is replaced.
            route.links.extend(other.links);
        }
        route.links.sort();
        route.links.dedup();
        let links = route.links.into_iter().map(|link| self.place(link)).collect();
        Ok(Landings { real: self.place(route.real), links })
    }

    fn place(&self, real: PathBuf) -> Landing {
        match self.below_root(&real) {
            Some(path) => Landing::Inside(path),
            None => Landing::Outside(real),
        }
    }

    /// The path below the root. The root is known by what it is and not only by its name: a mount or, where capitals
    /// do not matter, another spelling leads to it under another one.
    fn below_root(&self, real: &Path) -> Option<String> {
        if real.starts_with(PROCESSES) {
            return None;
        }
        // The link itself and not what it leads to: a link to the root lies where it lies.
        let is_root =
            |folder: &Path| fs::symlink_metadata(folder).is_ok_and(|found| self.identity == (found.dev(), found.ino()));
        let below = match real.strip_prefix(&self.root) {
            Ok(below) => below,
            Err(_) => real.strip_prefix(real.ancestors().find(|folder| is_root(folder))?).ok()?,
        };
        let names: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        Some(names.join("/"))
    }

    /// What a scope says of a write, and of which of its places: the first that is out of scope, else the real one.
    /// Outside the project nothing is ever in scope.
    pub fn covered<'scope, 'landings>(
        &self,
        scope: &'scope Scope,
        landings: &'landings Landings,
    ) -> (Covered<'scope>, &'landings Landing) {
        let judge = |landing: &'landings Landing| match landing {
            Landing::Outside(_) if scope.is_off() => (Covered::LockOff, landing),
            Landing::Outside(_) => (Covered::Outside, landing),
            Landing::Inside(path) => (scope.covers(path, self.letters), landing),
        };
        let is_outside = |judged: &(Covered<'_>, &Landing)| judged.0 == Covered::Outside;
        let real = judge(&landings.real);
        if is_outside(&real) {
            return real;
        }
        landings.links.iter().map(judge).find(is_outside).unwrap_or(real)
    }
}

/// How else a program may read the path: with `..` taken from the text, without blanks around it.
fn other_readings(folder: &Path, path: &Path) -> Vec<PathBuf> {
    let mut readings = Vec::new();
    let trimmed = path
        .to_str()
        .map(|text| Path::new(text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}')))
        .filter(|trimmed| *trimmed != path);
    for path in [Some(path), trimmed].into_iter().flatten() {
        if path.components().any(|part| part == Component::ParentDir) {
            readings.push(by_text(&folder.join(path)));
            readings.extend(fs::canonicalize(folder).ok().map(|folder| by_text(&folder.join(path))));
        }
    }
    readings.extend(trimmed.map(|path| folder.join(path)));
    readings
}

/// The path with `..` taken away together with the name before it.
fn by_text(path: &Path) -> PathBuf {
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

/// `~/x`, `~name/x` and `file:///x`. A name that begins with `~` is plain where it is there.
fn is_expandable(folder: &Path, path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes().trim_ascii();
    let first = bytes.split(|&byte| byte == b'/').next().unwrap_or_default();
    let is_url = bytes.get(..5).is_some_and(|head| head.eq_ignore_ascii_case(b"file:"));
    let is_home = first.first() == Some(&b'~')
        && first[1..].iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte))
        && (first == b"~" || fs::symlink_metadata(folder.join(OsStr::from_bytes(first))).is_err());
    is_url || is_home
}

/// The way to the real place of an absolute path, whose last names need not be there.
struct Route {
    real: PathBuf,
    /// The links met at the end of it.
    links: Vec<PathBuf>,
}

impl Route {
    fn along(path: &Path) -> Result<Self, PathError> {
        let mut route = Self { real: PathBuf::from("/"), links: Vec::new() };
        let mut pending: Vec<OsString> = Vec::new();
        push(&mut pending, path);
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
                push(&mut pending, &target);
            }
        }
        Ok(route)
    }
}

fn push(pending: &mut Vec<OsString>, path: &Path) {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let start = pending.len();
    pending.extend(names);
    pending[start..].reverse();
}

/// What a link points to; nothing where there is no link, or nothing at all.
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

/// Found by looking, not by platform: whether a name that is there can be had in other capitals as well.
fn letters_of(root: &Path) -> Letters {
    let names = |folder: &Path| -> Vec<OsString> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.take(NAMES_MAX).map(|entry| entry.file_name()).collect()
    };
    let inside = names(root).into_iter().map(|name| root.join(name));
    let found = inside.chain([root.to_owned()]).find_map(|path| {
        let other = path.with_file_name(in_other_capitals(path.file_name()?)?);
        let (one, two) = (fs::symlink_metadata(&path).ok()?, fs::symlink_metadata(other));
        // Two names of one file may also be hard links; folders have none.
        let is_certain = one.is_dir() || one.nlink() == 1;
        is_certain.then(|| two.is_ok_and(|two| (one.dev(), one.ino()) == (two.dev(), two.ino())))
    });
    match found {
        Some(true) => Letters::Alike,
        Some(false) | None => Letters::Distinct,
    }
}

fn in_other_capitals(name: &OsStr) -> Option<OsString> {
    let swap =
        |byte: &u8| if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
    let other: Vec<u8> = name.as_bytes().iter().map(swap).collect();
    (other != name.as_bytes()).then(|| OsStr::from_bytes(&other).to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use haltline_core::attempt::{Entry, Source};

    use super::*;

    struct Site {
        _folder: tempfile::TempDir,
        top: PathBuf,
        ground: Ground,
    }

    fn site() -> Site {
        let folder = tempfile::tempdir().expect("temp folder");
        let top = fs::canonicalize(folder.path()).expect("exists");
        for path in ["project/src/users", "project/shared", "elsewhere/deep"] {
            fs::create_dir_all(top.join(path)).expect("created");
        }
        let ground = Ground::of(&top.join("project")).expect("exists");
        Site { _folder: folder, top, ground }
    }

    impl Site {
        fn link(&self, at: &str, target: impl AsRef<Path>) {
            symlink(target, self.top.join("project").join(at)).expect("linked");
        }

        fn landing(&self, path: &str) -> Result<Landing, PathError> {
            Ok(self.ground.landings(&self.top.join("project"), Path::new(path))?.real)
        }

        fn inside(&self, path: &str) -> String {
            match self.landing(path).expect("it can be told") {
                Landing::Inside(path) => path,
                Landing::Outside(path) => panic!("{} is outside", path.display()),
            }
        }

        fn outside(&self, path: &str) -> PathBuf {
            match self.landing(path).expect("it can be told") {
                Landing::Inside(path) => panic!("{path} is inside"),
                Landing::Outside(path) => path.strip_prefix(&self.top).unwrap_or(&path).to_owned(),
            }
        }
    }

    #[test]
    fn one_file_has_one_path_however_it_is_spelt() {
        let site = site();
        let absolute = site.top.join("project/src/users/a.ts");
        let absolute = absolute.to_str().expect("text");
        for path in [
            "src/users/a.ts",
            "./src//users/./a.ts",
            "src/users/../users/a.ts",
            "new/../src/users/a.ts",
            "../project/src/users/a.ts",
            absolute,
        ] {
            assert_eq!(site.inside(path), "src/users/a.ts", "{path}");
        }
        let below = site.ground.landings(&site.top.join("project/src"), Path::new("../shared/x")).expect("told");
        assert_eq!(below, Landings { real: Landing::Inside("shared/x".to_owned()), links: Vec::new() });
        assert_eq!(site.inside("."), "");
        assert_eq!(site.inside("src\\users"), "src\\users");
        assert_eq!(site.inside("not/there/yet.rs"), "not/there/yet.rs");
    }

    #[test]
    fn what_climbs_out_is_outside_also_where_a_name_begins_alike() {
        let site = site();
        assert_eq!(site.outside("../elsewhere/x"), Path::new("elsewhere/x"));
        assert_eq!(site.outside("src/../../project2/x"), Path::new("project2/x"));
        assert_eq!(site.outside("/"), Path::new("/"));
        assert_eq!(site.outside("../../../../../../../../../../etc/x"), Path::new("/etc/x"));
    }

    #[test]
    fn links_are_followed_to_where_the_write_lands_also_when_nothing_is_there_yet() {
        let site = site();
        site.link("src/users/folder", "../../../elsewhere");
        site.link("src/users/dangling.ts", "../../shared/new.ts");
        site.link("src/users/chain", "dangling.ts");
        site.link("src/users/back", "../../../elsewhere/../project/shared");
        site.link("absolute", site.top.join("elsewhere/deep"));
        assert_eq!(site.outside("src/users/folder/x.ts"), Path::new("elsewhere/x.ts"));
        assert_eq!(site.outside("src/users/folder/not/there"), Path::new("elsewhere/not/there"));
        assert_eq!(site.inside("src/users/dangling.ts"), "shared/new.ts");
        assert_eq!(site.inside("src/users/chain"), "shared/new.ts");
        assert_eq!(site.inside("src/users/back/x"), "shared/x");
        assert_eq!(site.outside("absolute"), Path::new("elsewhere/deep"));
    }

    #[test]
    fn a_link_at_the_end_must_be_in_scope_itself_and_so_must_all_it_leads_to() {
        let site = site();
        site.link("src/users/out.ts", "../../shared/x.ts");
        site.link("shared/in.ts", "../src/users/x.ts");
        site.link("src/users/hop.ts", "../../shared/in.ts");
        site.link("src/users/alias.ts", "x.ts");
        site.link("mirror", "src/users");
        let inside = |path: &str| Landing::Inside(path.to_owned());
        let entry = Entry::parse("src/users/", Source::Given).expect("a path");
        let scope = Scope::explicit(vec![entry.clone()], None);
        for (path, expected) in [
            ("src/users/out.ts", (Covered::Outside, inside("shared/x.ts"))),
            ("shared/in.ts", (Covered::Outside, inside("shared/in.ts"))),
            ("src/users/hop.ts", (Covered::Outside, inside("shared/in.ts"))),
            ("src/users/alias.ts", (Covered::By(&entry), inside("src/users/x.ts"))),
            ("mirror/x.ts", (Covered::By(&entry), inside("src/users/x.ts"))),
        ] {
            let landings = site.ground.landings(&site.top.join("project"), Path::new(path)).expect("told");
            let (covered, landing) = site.ground.covered(&scope, &landings);
            assert_eq!((covered, landing), (expected.0, &expected.1), "{path}");
        }
        let away = Landings { real: Landing::Outside(PathBuf::from("/x")), links: Vec::new() };
        assert_eq!(site.ground.covered(&Scope::inferred(Vec::new(), None), &away).0, Covered::LockOff);
        let everything = Scope::explicit(vec![Entry::parse(".", Source::Given).expect("a path")], None);
        assert_eq!(site.ground.covered(&everything, &away).0, Covered::Outside);
    }

    #[test]
    fn a_project_reached_through_a_link_is_the_same_project() {
        let site = site();
        symlink(site.top.join("project"), site.top.join("short")).expect("linked");
        let folder = site.top.join("short/src");
        for path in ["users/a.ts", "./users/a.ts", "../src/users/a.ts"] {
            let landing = site.ground.landings(&folder, Path::new(path)).expect("told").real;
            assert_eq!(landing, Landing::Inside("src/users/a.ts".to_owned()), "{path}");
        }
        assert_eq!(Ground::of(&site.top.join("short")).expect("exists"), site.ground);
    }

    #[test]
    fn the_root_is_known_under_another_name_of_a_mount() {
        let site = site();
        let renamed = Ground { root: PathBuf::from("/mnt/other/name"), ..site.ground.clone() };
        let path = site.top.join("project/src/users/new/a.ts");
        let landings = renamed.landings(&site.top, &path).expect("told");
        assert_eq!(landings.real, Landing::Inside("src/users/new/a.ts".to_owned()));
        let beside = renamed.landings(&site.top, Path::new("elsewhere/x")).expect("told");
        assert_eq!(beside.real, Landing::Outside(site.top.join("elsewhere/x")));
    }

    #[test]
    fn every_link_that_some_reading_ends_in_counts() {
        let site = site();
        site.link("src/users/away", "../../shared");
        site.link("one.ts", "src/users/x.ts");
        site.link("src/users/one.ts", "x.ts");
        // To the kernel this ends at `one.ts` of the project's top, by its text at `src/users/one.ts`.
        let landings = site.ground.landings(&site.top.join("project"), Path::new("src/users/away/../one.ts"));
        let landings = landings.expect("told");
        let inside = |path: &str| Landing::Inside(path.to_owned());
        assert_eq!(
            landings,
            Landings { real: inside("src/users/x.ts"), links: vec![inside("one.ts"), inside("src/users/one.ts")] }
        );
    }

    #[test]
    fn loops_end_and_what_depends_on_the_reader_is_refused() {
        let site = site();
        site.link("one", "two");
        site.link("two", "one");
        site.link("self", "self/deeper");
        site.link("src/users/out", site.top.join("elsewhere/deep"));
        assert!(matches!(site.landing("one/x"), Err(PathError::TooManyLinks(_))));
        assert!(matches!(site.landing("self"), Err(PathError::TooManyLinks(_))));
        assert!(matches!(site.landing("src/users/out/../a.ts"), Err(PathError::Ambiguous { .. })));
        assert!(matches!(site.landing(" /etc/passwd"), Err(PathError::Ambiguous { .. })));
        assert!(matches!(site.landing("~/x"), Err(PathError::Expandable(_))));
        assert!(matches!(site.landing("~root/x"), Err(PathError::Expandable(_))));
        assert!(matches!(site.landing("file:///etc/passwd"), Err(PathError::Expandable(_))));
        assert!(matches!(site.landing(""), Err(PathError::Empty)));
        assert!(matches!(site.landing("a\0b"), Err(PathError::Unwritable)));
        assert!(matches!(site.landing(&"a".repeat(300)), Err(PathError::Unwritable)));
        assert!(matches!(site.landing(&"a/".repeat(3000)), Err(PathError::Unwritable)));
        fs::write(site.top.join("project/~notes"), "").expect("written");
        assert_eq!(site.inside("~notes"), "~notes");
        assert_eq!(site.inside("src/~/x"), "src/~/x");
    }

    #[test]
    fn what_a_process_sees_of_itself_is_never_the_projects() {
        let site = site();
        site.link("src/users/me", "/proc/self/cwd");
        assert_eq!(site.outside("/proc/self/cwd/src/users/a.ts"), Path::new("/proc/self/cwd/src/users/a.ts"));
        assert_eq!(site.outside("src/users/me/x"), Path::new("/proc/self/cwd/x"));
        let under = format!("/proc/self/root{}", site.top.join("project/src/x").display());
        assert!(matches!(site.landing(&under), Ok(Landing::Outside(_))));
    }

    #[test]
    fn capitals_are_looked_at_on_this_file_system() {
        let site = site();
        let is_alike = site.top.join("PROJECT").exists();
        assert_eq!(site.ground.letters, if is_alike { Letters::Alike } else { Letters::Distinct });
        fs::create_dir(site.top.join("project/Src")).or_else(|_| fs::create_dir(site.top.join("project/x"))).ok();
        assert_eq!(Ground::of(&site.top.join("project")).expect("exists").letters, site.ground.letters);
    }
}
