//! Keeps a project's identity when its git directory moves (E14): a circuit must not be lost because somebody renamed
//! `.git`, made it anew, or moved the whole folder.
//!
//! With the first event of a work tree, a small file in the state folder says which identity the tree has. From then on
//! that identity is in force, whatever the folder looks like, until a person accepts the other one.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use haltline_core::control::{ConfigFile, ControlEvent};
use haltline_core::{Operator, digest_hex};
use serde::{Deserialize, Serialize};

use crate::control::ControlScope;
use crate::engine::{Engine, EngineError};
use crate::file::{Durability, Links, read_regular, write_atomically};
use crate::project::Project;
use crate::store::{Store, StoreError};

/// Largest mark that is read.
const MARK_BYTES_MAX: u64 = 64 * 1024;
/// At most this many marks are searched for a folder that moved.
const MARKS_MAX: usize = 5000;

/// What the state folder knows of a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The project's identity, as bytes: a path need not be UTF-8.
    identity: Vec<u8>,
    /// Which folder the identity named. It stays the same when the folder moves on its file system.
    folder: Option<FolderId>,
}

/// A folder, distinguished from every other that ever had its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FolderId {
    device: u64,
    inode: u64,
    created_ms: u64,
}

impl FolderId {
    fn of(folder: &Path) -> Option<Self> {
        let found = fs::metadata(folder).ok()?;
        let created = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let created_ms = u64::try_from(created.as_millis()).ok()?;
        Some(Self { device: found.dev(), inode: found.ino(), created_ms })
    }
}

impl Mark {
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&read_regular(path, MARK_BYTES_MAX, Links::Reject).ok()?).ok()
    }

    fn identity(&self) -> PathBuf {
        PathBuf::from(std::ffi::OsStr::from_bytes(&self.identity))
    }
}

/// How a work tree's identity compares with the one it had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// No event of this work tree was committed yet.
    New,
    Same,
    /// The work tree looks like another project now, whose identity this is.
    Moved(PathBuf),
}

fn folder(state_folder: &Path) -> PathBuf {
    state_folder.join("roots")
}

fn path(state_folder: &Path, root: &Path) -> PathBuf {
    folder(state_folder).join(digest_hex(&[root.as_os_str().as_encoded_bytes()], 16))
}

/// The project with the identity that is in force for its work tree.
pub(crate) fn settle(state_folder: &Path, found: Project) -> (Project, Known) {
    if let Some(mark) = Mark::read(&path(state_folder, &found.root)) {
        let identity = mark.identity();
        if identity == found.identity {
            return (found, Known::Same);
        }
        // Git was added to a folder that had none, which is no reason to say anything.
        if identity == found.root && found.identity == found.root.join(".git") {
            return (Project::new(identity, found.root), Known::Same);
        }
        return (Project::new(identity, found.root), Known::Moved(found.identity));
    }
    if found.identity == found.root
        && let Some(project) = without_git(state_folder, &found.root)
    {
        return (project, Known::Moved(found.identity));
    }
    match moved_from(state_folder, &found) {
        Some(identity) => (Project::new(identity, found.root), Known::Moved(found.identity)),
        None => (found, Known::New),
    }
}

/// The project for its store, with the identity that is in force for its work tree.
pub fn settled_project(state_folder: &Path, found: Project) -> Project {
    settle(state_folder, found).0
}

/// The project around a folder without git whose work tree had git before.
fn without_git(state_folder: &Path, start: &Path) -> Option<Project> {
    start.ancestors().find_map(|root| {
        let identity = Mark::read(&path(state_folder, root))?.identity();
        (identity != root).then(|| Project::new(identity, root.to_owned()))
    })
}

/// The identity of a project whose folder has another path now.
fn moved_from(state_folder: &Path, found: &Project) -> Option<PathBuf> {
    let marks = fs::read_dir(folder(state_folder)).ok()?;
    let own = FolderId::of(&found.identity)?;
    let marks = marks.take(MARKS_MAX).flatten().filter_map(|file| Mark::read(&file.path()));
    let mut moved = marks.filter(|mark| mark.folder == Some(own)).map(|mark| mark.identity());
    // The folder of an identity that is still there did not move: two paths lead to it.
    moved.find(|identity| *identity != found.identity && FolderId::of(identity) != Some(own))
}

/// Remembers the project's identity for its work tree.
pub(crate) fn write(state_folder: &Path, project: &Project) -> std::io::Result<()> {
    let mark = Mark {
        identity: project.identity.as_os_str().as_encoded_bytes().to_vec(),
        folder: FolderId::of(&project.identity),
    };
    let text = serde_json::to_vec(&mark)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder(state_folder))?;
    write_atomically(&path(state_folder, &project.root), &text, Durability::Rebuildable)
}

impl<S: Store> Engine<S> {
    /// Remembers the project's identity with the first event of its work tree. Without the mark the circuits are still
    /// in the store, under the identity that the folder has.
    pub(crate) fn mark_root(&self) {
        if *self.known.borrow() == Known::New {
            write(self.state_folder(), self.project()).ok();
            self.known.replace(Known::Same);
        }
    }

    /// The identity that the work tree seems to have, if the one in force is another.
    pub fn moved_identity(&self) -> Option<PathBuf> {
        match &*self.known.borrow() {
            Known::Moved(identity) => Some(identity.clone()),
            Known::New | Known::Same => None,
        }
    }

    /// What the person must know of a work tree that looks like another project now.
    pub fn moved_notice(&self) -> Option<String> {
        let (before, now) = (self.project().identity.display(), self.moved_identity()?);
        Some(format!(
            "haltline: this project was {before} and looks like {} now. Its circuits stay as they were. If it is another project, type in your own terminal: haltline trust",
            now.display()
        ))
    }

    /// A person accepts that the work tree belongs to another project now.
    pub fn accept_identity(&self, operator: Operator) -> Result<(), EngineError> {
        let Some(identity) = self.moved_identity() else { return Ok(()) };
        let change = format!("{} → {}", self.project().identity.display(), identity.display());
        let (file, key) = (ConfigFile::Project, Some("project".to_owned()));
        self.control(ControlScope::Everywhere, ControlEvent::ConfigChanged { file, key, change, operator })?;
        let accepted = Project::new(identity, self.project().root.clone());
        let hint = "set HALTLINE_STATE_DIR to a folder that can be written";
        write(self.state_folder(), &accepted)
            .map_err(|source| StoreError::Io { path: folder(self.state_folder()), hint, source }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree {
        folder: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let tree = Self { folder: tempfile::tempdir().expect("temp folder") };
            fs::create_dir_all(tree.path("project/.git")).expect("created");
            tree
        }

        fn path(&self, name: &str) -> PathBuf {
            fs::canonicalize(self.folder.path()).expect("it is there").join(name)
        }

        fn settle(&self, name: &str) -> (Project, Known) {
            settle(&self.path("state"), Project::find(&self.path(name), &[]).expect("it is there"))
        }
    }

    #[test]
    fn a_marked_work_tree_keeps_its_identity_whatever_becomes_of_git() {
        let tree = Tree::new();
        let (first, known) = tree.settle("project");
        assert_eq!(known, Known::New);
        write(&tree.path("state"), &first).expect("written");
        assert_eq!(tree.settle("project"), (first.clone(), Known::Same));
        fs::rename(tree.path("project/.git"), tree.path("project/.git2")).expect("renamed");
        assert_eq!(tree.settle("project"), (first.clone(), Known::Moved(tree.path("project"))));
        fs::create_dir(tree.path("elsewhere.git")).expect("created");
        let pointer = format!("gitdir: {}\n", tree.path("elsewhere.git").display());
        fs::write(tree.path("project/.git"), pointer).expect("written");
        assert_eq!(tree.settle("project"), (first.clone(), Known::Moved(tree.path("elsewhere.git"))));
        fs::remove_dir_all(tree.path("project")).expect("removed");
        fs::create_dir_all(tree.path("project/.git")).expect("created");
        assert_eq!(tree.settle("project"), (first, Known::Same));
    }

    #[test]
    fn a_folder_that_moved_is_found_and_a_copy_is_another_project() {
        let tree = Tree::new();
        let (first, _) = tree.settle("project");
        write(&tree.path("state"), &first).expect("written");
        fs::create_dir_all(tree.path("copy/.git")).expect("created");
        assert_eq!(tree.settle("copy").1, Known::New);
        if FolderId::of(&tree.path("copy")).is_none() {
            return;
        }
        fs::rename(tree.path("project"), tree.path("moved")).expect("renamed");
        let (moved, known) = tree.settle("moved");
        assert_eq!(
            (moved.key, moved.root, known),
            (first.key, tree.path("moved"), Known::Moved(tree.path("moved/.git")))
        );
    }
}
