//! The work tree a checkpoint is of, and the two ways git is run in it.
//!
//! *Plain* git asks the repository about its index, refs and ignore rules. *Private* git has a git folder of its own,
//! made anew each time, with nothing of the repository but its objects: no configuration of the repository or the user
//! is read, and every attribute that converts bytes is switched off. Only private git reads or writes files' content.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{CheckpointError, NoGit};
use super::name::encode_bytes;
use crate::git::{Git, GitError};
use crate::project::git_common_directory;
use crate::queue::{Turn, line_up};

/// How long one call of git may take: large trees are hashed whole at first.
const DEADLINE: Duration = Duration::from_secs(600);
/// How much git may list.
pub(super) const LISTED_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// How long another checkpoint is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// What switches every conversion off; nothing overrides it.
const ATTRIBUTES: &str = "* -text -crlf !eol -ident -filter !working-tree-encoding -diff -merge\n";
/// What the repository knows of its file system and its users, and all filters, in the words of `git config`.
const ASKED: &str = "^(core\\.(sharedrepository|ignorecase|precomposeunicode)|filter\\..*)$";

/// A work tree.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) top: PathBuf,
    /// This work tree's own git folder.
    pub(super) git_folder: PathBuf,
    /// Our folder in it: the lock, the kept index, and what is under way.
    pub(super) own: PathBuf,
    objects: PathBuf,
    object_format: String,
    taken_over: Vec<(String, String)>,
    /// Some configuration has a filter.
    pub(super) has_filters: bool,
    /// Its name in refs, which all work trees of a repository share.
    pub(super) part: String,
}

impl Place {
    pub(super) fn around(root: &Path) -> Result<Self, CheckpointError> {
        let root = fs::canonicalize(root).map_err(CheckpointError::file(root))?;
        let git = Git::at(&root);
        let kinds =
            match git.run(&["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-object-format"]) {
                Ok(answer) => String::from_utf8_lossy(&answer.bytes).into_owned(),
                Err(GitError::Missing) => return Err(CheckpointError::NoGit(NoGit::Program)),
                Err(GitError::Failed { complaint, .. }) if complaint.contains("not a git repository") => {
                    return Err(CheckpointError::NoGit(NoGit::Repository));
                }
                Err(error) => return Err(error.into()),
            };
        let kinds: Vec<&str> = kinds.lines().collect();
        let object_format = match kinds[..] {
            ["true", ..] => return Err(CheckpointError::NoGit(NoGit::WorkTree)),
            [_, "false", ..] => return Err(CheckpointError::NoGit(NoGit::Inside)),
            [_, _, format] => format.to_owned(),
            _ => return Err(CheckpointError::NoGit(NoGit::Repository)),
        };
        let (top, git_folder) = paths(&git)?;
        // A configuration can call any folder the work tree. Only the one that has `.git` is.
        let nearest = root.ancestors().find_map(|folder| git_common_directory(folder).map(|common| (folder, common)));
        let Some((_, common)) = nearest.filter(|(folder, _common)| *folder == top) else {
            return Err(CheckpointError::Elsewhere(top));
        };
        let git_folder = fs::canonicalize(&git_folder).map_err(CheckpointError::file(&git_folder))?;
        let part = if git_folder == common {
            "main".to_owned()
        } else {
            let name = git_folder.file_name().map(|name| encode_bytes(name.as_bytes())).unwrap_or_default();
            format!("w-{name}")
        };
        let mut taken_over = settings(&git)?;
        let known = taken_over.len();
        taken_over.retain(|(name, _value)| !name.starts_with("filter."));
        let has_filters = taken_over.len() < known;
        let (own, objects) = (git_folder.join("haltline"), common.join("objects"));
        Ok(Self { top, git_folder, own, objects, object_format, taken_over, has_filters, part })
    }

    /// git that knows the repository. It reads no file of the work tree but ignore rules.
    pub(super) fn plain(&self) -> Git {
        Git::at(&self.top)
            .variable("GIT_DIR", &self.git_folder)
            .variable("GIT_WORK_TREE", &self.top)
            .setting("core.untrackedCache", "false")
            .setting("core.splitIndex", "false")
            .deadline(DEADLINE)
            .answer_bytes_max(LISTED_BYTES_MAX)
    }

    /// Waits for other checkpoints of this work tree.
    pub(super) fn line_up(&self) -> Result<Turn, CheckpointError> {
        let failed = || CheckpointError::file(&self.own);
        match fs::create_dir(&self.own) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed()(error)),
        }
        if !fs::symlink_metadata(&self.own).map_err(failed())?.is_dir() {
            return Err(failed()(io::Error::other("expected a folder")));
        }
        line_up(&self.own.join("lock"), PATIENCE).map_err(failed())?.ok_or(CheckpointError::Busy)
    }

    /// A folder in ours that is empty.
    pub(super) fn empty_folder(&self, name: &str) -> Result<PathBuf, CheckpointError> {
        let folder = self.own.join(name);
        let made = match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => fs::create_dir(&folder),
        };
        made.map_err(CheckpointError::file(&folder))?;
        Ok(folder)
    }
}

/// git with a folder of its own, which is gone when this is.
pub(super) struct Private {
    pub(super) git: Git,
    pub(super) folder: PathBuf,
}

impl Private {
    /// Ask for it in one's turn only.
    pub(super) fn at(place: &Place) -> Result<Self, CheckpointError> {
        let folder = place.empty_folder("private")?;
        let is_plain = place.object_format == "sha1";
        let config = if is_plain {
            "[core]\n\trepositoryformatversion = 0\n".to_owned()
        } else {
            let format = &place.object_format;
            format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = {format}\n")
        };
        let written = ["info", "refs", "objects"].iter().try_for_each(|name| fs::create_dir(folder.join(name)));
        written
            .and_then(|()| fs::write(folder.join("info/attributes"), ATTRIBUTES))
            .and_then(|()| fs::write(folder.join("config"), config))
            .and_then(|()| fs::write(folder.join("HEAD"), "ref: refs/heads/none\n"))
            .map_err(CheckpointError::file(&folder))?;
        let mut git = Git::at(&place.top)
            .variable("GIT_DIR", &folder)
            .variable("GIT_WORK_TREE", &place.top)
            .variable("GIT_OBJECT_DIRECTORY", &place.objects)
            .variable("GIT_INDEX_FILE", folder.join("index"))
            .variable("GIT_CONFIG_GLOBAL", "/dev/null")
            .variable("GIT_CONFIG_NOSYSTEM", "1")
            .variable("GIT_ATTR_NOSYSTEM", "1")
            .deadline(DEADLINE)
            .answer_bytes_max(LISTED_BYTES_MAX);
        for (name, value) in [
            ("core.fileMode", "true"),
            ("core.symlinks", "true"),
            ("core.trustctime", "true"),
            ("core.checkStat", "default"),
            ("core.protectHFS", "false"),
            ("core.protectNTFS", "false"),
            ("core.autocrlf", "false"),
            ("core.safecrlf", "false"),
            ("core.untrackedCache", "false"),
            ("core.splitIndex", "false"),
            // Larger files go to and fro in pieces.
            ("core.bigFileThreshold", "16m"),
        ] {
            git = git.setting(name, value);
        }
        for (name, value) in &place.taken_over {
            git = git.setting(name, value);
        }
        Ok(Self { git, folder })
    }

    /// The same with another index.
    pub(super) fn with_index(&self, name: &str) -> Git {
        self.git.clone().variable("GIT_INDEX_FILE", self.folder.join(name))
    }

    /// The present second of the file system, by a file that was just written.
    pub(super) fn second(&self) -> Result<i64, CheckpointError> {
        use std::os::unix::fs::MetadataExt;
        let path = self.folder.join("HEAD");
        Ok(fs::metadata(&path).map_err(CheckpointError::file(&path))?.ctime())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What is left is swept away by the next one.
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// What git says in one line.
pub(super) fn line(git: &Git, arguments: &[&str]) -> Result<String, CheckpointError> {
    let answer = git.run(arguments)?;
    Ok(String::from_utf8_lossy(&answer.bytes).trim_end_matches('\n').to_owned())
}

/// The same where git says by its code that there is no such thing.
pub(super) fn line_if_any(git: &Git, arguments: &[&str]) -> Result<Option<String>, CheckpointError> {
    match git.run(arguments) {
        Ok(answer) => Ok(Some(String::from_utf8_lossy(&answer.bytes).trim_end_matches('\n').to_owned())),
        Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A whole answer; one that was cut is an error.
pub(super) fn whole(git: &Git, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, CheckpointError> {
    let answer = git.run_with_input(arguments, input)?;
    if answer.is_cut {
        return Err(CheckpointError::TooMuch(LISTED_BYTES_MAX));
    }
    Ok(answer.bytes)
}

/// The top and the git folder. Only a path with a line break takes more than one call.
fn paths(git: &Git) -> Result<(PathBuf, PathBuf), CheckpointError> {
    let answer = git.run(&["rev-parse", "--show-toplevel", "--absolute-git-dir"])?.bytes;
    let lines: Vec<&[u8]> = answer.split_inclusive(|&byte| byte == b'\n').collect();
    if let [top, folder] = lines[..] {
        let path = |line: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)));
        return Ok((path(top), path(folder)));
    }
    Ok((path_from(git, "--show-toplevel")?, path_from(git, "--absolute-git-dir")?))
}

fn path_from(git: &Git, question: &str) -> Result<PathBuf, CheckpointError> {
    let answer = git.run(&["rev-parse", question])?;
    let bytes = answer.bytes.strip_suffix(b"\n").unwrap_or(&answer.bytes);
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

fn settings(git: &Git) -> Result<Vec<(String, String)>, CheckpointError> {
    let answer = match git.run(&["config", "-z", "--get-regexp", ASKED]) {
        Ok(answer) => String::from_utf8_lossy(&answer.bytes).into_owned(),
        Err(GitError::Failed { status, .. }) if status.code() == Some(1) => String::new(),
        Err(error) => return Err(error.into()),
    };
    let settings = answer.split('\0').filter_map(|setting| setting.split_once('\n'));
    Ok(settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}
