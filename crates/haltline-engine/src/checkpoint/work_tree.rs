//! The work tree of a checkpoint, and the two ways to run git in it.
//!
//! *Plain* git reads the repository's index, refs and ignore rules. *Private* git has its own git folder, which is
//! created each time and shares only the objects with the repository: it reads no configuration of the repository or
//! the user, and every attribute that converts bytes is switched off. Only private git reads or writes file content.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{CheckpointError, NoGit};
use super::name::encode_bytes;
use crate::file::if_exists;
use crate::git::{Git, GitError, GitOutput};
use crate::project::git_common_directory;
use crate::queue::{QueueGuard, wait_in_queue};

/// How long one git call may take. The first checkpoint hashes large trees completely.
const GIT_TIMEOUT: Duration = Duration::from_secs(600);
/// How many bytes git may list.
const LISTED_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// How long to wait for another checkpoint or rollback.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// Switches every conversion off; nothing overrides this file.
const ATTRIBUTES: &str = "* -text -crlf !eol -ident -filter !working-tree-encoding -diff -merge\n";
/// The settings private git inherits (properties of the file system and of shared repositories), and all filters.
const INHERITED_SETTINGS: &str = "^(core\\.(sharedrepository|ignorecase|precomposeunicode)|filter\\..*)$";

#[derive(Debug)]
pub(super) struct WorkTree {
    pub(super) top: PathBuf,
    /// The git folder of this work tree, not the one that all work trees share.
    pub(super) git_folder: PathBuf,
    /// haltline's folder inside the git folder: the lock, the cached index and the note of a rollback in progress.
    pub(super) haltline_folder: PathBuf,
    objects: PathBuf,
    object_format: String,
    inherited: Vec<(String, String)>,
    /// True if any configuration defines a filter.
    pub(super) has_filters: bool,
    /// Names this work tree in refs, which all work trees of a repository share.
    pub(super) ref_part: String,
}

impl WorkTree {
    pub(super) fn containing(root: &Path) -> Result<Self, CheckpointError> {
        let root = fs::canonicalize(root).map_err(CheckpointError::file(root))?;
        let git = Git::at(&root);
        let kinds =
            match git.run(&["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-object-format"]) {
                Ok(output) => String::from_utf8_lossy(&output.bytes).into_owned(),
                Err(GitError::Missing) => return Err(CheckpointError::NoGit(NoGit::Program)),
                Err(GitError::Failed { complaint, .. }) if complaint.contains("not a git repository") => {
                    return Err(CheckpointError::NoGit(NoGit::Repository));
                }
                Err(error) => return Err(error.into()),
            };
        let kinds: Vec<&str> = kinds.lines().collect();
        let object_format = match kinds[..] {
            ["true", ..] => return Err(CheckpointError::NoGit(NoGit::WorkTree)),
            [_, "false", ..] => return Err(CheckpointError::NoGit(NoGit::InsideGitFolder)),
            [_, _, format] => format.to_owned(),
            _ => return Err(CheckpointError::NoGit(NoGit::Repository)),
        };
        let (top, git_folder) = paths(&git)?;
        // A configuration can declare any folder to be the work tree. Only the one with `.git` is accepted.
        let nearest = root.ancestors().find_map(|folder| git_common_directory(folder).map(|common| (folder, common)));
        let Some((_, common)) = nearest.filter(|(folder, _common)| *folder == top) else {
            return Err(CheckpointError::WorkTreeElsewhere(top));
        };
        let git_folder = fs::canonicalize(&git_folder).map_err(CheckpointError::file(&git_folder))?;
        let ref_part = if git_folder == common {
            "main".to_owned()
        } else {
            let name = git_folder.file_name().map(|name| encode_bytes(name.as_bytes())).unwrap_or_default();
            format!("w-{name}")
        };
        let mut inherited = inherited_settings(&git)?;
        let settings_count = inherited.len();
        inherited.retain(|(name, _value)| !name.starts_with("filter."));
        let has_filters = inherited.len() < settings_count;
        let (haltline_folder, objects) = (git_folder.join("haltline"), common.join("objects"));
        Ok(Self { top, git_folder, haltline_folder, objects, object_format, inherited, has_filters, ref_part })
    }

    /// git with the repository's configuration. It reads no file of the work tree except ignore rules.
    pub(super) fn plain(&self) -> Git {
        Git::at(&self.top)
            .variable("GIT_DIR", &self.git_folder)
            .variable("GIT_WORK_TREE", &self.top)
            .setting("core.untrackedCache", "false")
            .setting("core.splitIndex", "false")
            .timeout(GIT_TIMEOUT)
            .output_bytes_max(LISTED_BYTES_MAX)
    }

    /// Waits for other checkpoints and rollbacks of this work tree.
    pub(super) fn lock(&self) -> Result<QueueGuard, CheckpointError> {
        let failed = || CheckpointError::file(&self.haltline_folder);
        match fs::create_dir(&self.haltline_folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed()(error)),
        }
        if !fs::symlink_metadata(&self.haltline_folder).map_err(failed())?.is_dir() {
            return Err(failed()(io::Error::other("expected a folder")));
        }
        wait_in_queue(&self.haltline_folder.join("lock"), LOCK_TIMEOUT).map_err(failed())?.ok_or(CheckpointError::Busy)
    }

    /// Creates an empty folder inside haltline's folder.
    pub(super) fn empty_folder(&self, name: &str) -> Result<PathBuf, CheckpointError> {
        let folder = self.haltline_folder.join(name);
        let made = if_exists(fs::remove_dir_all(&folder)).and_then(|_removed| fs::create_dir(&folder));
        made.map_err(CheckpointError::file(&folder))?;
        Ok(folder)
    }
}

/// git with its own git folder, which is removed on drop.
pub(super) struct PrivateGit<'a> {
    pub(super) work_tree: &'a WorkTree,
    pub(super) git: Git,
    pub(super) folder: PathBuf,
}

impl<'a> PrivateGit<'a> {
    /// Call this only while holding the lock.
    pub(super) fn create(work_tree: &'a WorkTree) -> Result<Self, CheckpointError> {
        let folder = work_tree.empty_folder("private")?;
        let is_sha1 = work_tree.object_format == "sha1";
        let config = if is_sha1 {
            "[core]\n\trepositoryformatversion = 0\n".to_owned()
        } else {
            let format = &work_tree.object_format;
            format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = {format}\n")
        };
        let written = ["info", "refs", "objects"].iter().try_for_each(|name| fs::create_dir(folder.join(name)));
        written
            .and_then(|()| fs::write(folder.join("info/attributes"), ATTRIBUTES))
            .and_then(|()| fs::write(folder.join("config"), config))
            .and_then(|()| fs::write(folder.join("HEAD"), "ref: refs/heads/none\n"))
            .map_err(CheckpointError::file(&folder))?;
        let mut git = Git::at(&work_tree.top)
            .variable("GIT_DIR", &folder)
            .variable("GIT_WORK_TREE", &work_tree.top)
            .variable("GIT_OBJECT_DIRECTORY", &work_tree.objects)
            .variable("GIT_INDEX_FILE", folder.join("index"))
            .variable("GIT_CONFIG_GLOBAL", "/dev/null")
            .variable("GIT_CONFIG_NOSYSTEM", "1")
            .variable("GIT_ATTR_NOSYSTEM", "1")
            .timeout(GIT_TIMEOUT)
            .output_bytes_max(LISTED_BYTES_MAX);
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
            // git streams larger files instead of loading them.
            ("core.bigFileThreshold", "16m"),
        ] {
            git = git.setting(name, value);
        }
        for (name, value) in &work_tree.inherited {
            git = git.setting(name, value);
        }
        Ok(Self { work_tree, git, folder })
    }

    /// The same git with another index file.
    pub(super) fn with_index(&self, name: &str) -> Git {
        self.git.clone().variable("GIT_INDEX_FILE", self.folder.join(name))
    }

    /// The current second of the file system's clock, taken from a file that was just written.
    pub(super) fn file_system_second(&self) -> Result<i64, CheckpointError> {
        use std::os::unix::fs::MetadataExt;
        let path = self.folder.join("HEAD");
        Ok(fs::metadata(&path).map_err(CheckpointError::file(&path))?.ctime())
    }
}

impl Drop for PrivateGit<'_> {
    fn drop(&mut self) {
        // The next private git removes what is left.
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// Runs git and returns its output as one line.
pub(super) fn run_for_line(git: &Git, arguments: &[&str]) -> Result<String, CheckpointError> {
    Ok(as_line(&git.run(arguments)?.bytes))
}

fn as_line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end_matches('\n').to_owned()
}

/// Like [`run_for_line`], but returns `None` if git says that there is no such thing.
pub(super) fn run_for_optional_line(git: &Git, arguments: &[&str]) -> Result<Option<String>, CheckpointError> {
    Ok(git.find(arguments, &[])?.map(|output| as_line(&output.bytes)))
}

/// Runs git and returns its complete output; output above the limit is an error.
pub(super) fn run_for_bytes(git: &Git, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, CheckpointError> {
    uncut(git.run_with_input(arguments, input)?)
}

pub(super) fn uncut(output: GitOutput) -> Result<Vec<u8>, CheckpointError> {
    if output.is_cut { Err(CheckpointError::TooLarge(LISTED_BYTES_MAX)) } else { Ok(output.bytes) }
}

/// The top folder and the git folder. One git call suffices unless a path contains a line break.
fn paths(git: &Git) -> Result<(PathBuf, PathBuf), CheckpointError> {
    let output = git.run(&["rev-parse", "--show-toplevel", "--absolute-git-dir"])?.bytes;
    let lines: Vec<&[u8]> = output.split_inclusive(|&byte| byte == b'\n').collect();
    if let [top, folder] = lines[..] {
        let path = |line: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)));
        return Ok((path(top), path(folder)));
    }
    Ok((path_from(git, "--show-toplevel")?, path_from(git, "--absolute-git-dir")?))
}

fn path_from(git: &Git, option: &str) -> Result<PathBuf, CheckpointError> {
    let output = git.run(&["rev-parse", option])?;
    let bytes = output.bytes.strip_suffix(b"\n").unwrap_or(&output.bytes);
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

fn inherited_settings(git: &Git) -> Result<Vec<(String, String)>, CheckpointError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let settings = git.read_settings(INHERITED_SETTINGS)?.into_iter();
    Ok(settings.filter_map(|(name, value)| Some((text(&name), text(&value?)))).collect())
}
