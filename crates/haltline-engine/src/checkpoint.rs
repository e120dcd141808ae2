//! Checkpoints of a work tree and rollbacks to them (A6).
//!
//! A checkpoint is a private git ref that holds every file as it is on disk, committed or not, and git's index, byte
//! for byte. Creating one changes neither work tree, index, stash, HEAD nor any reflog, and runs no program that the
//! repository names. A rollback first keeps the current state under a second ref, so nothing is ever lost; it can be
//! interrupted at any point and finished later. Ignored files and nested repositories are left alone.

mod difference;
mod error;
mod folder;
mod head;
mod index_lock;
mod index_seed;
mod left_alone;
mod listing;
mod manifest;
mod name;
mod record;
mod rollback;
mod rollback_note;
mod snapshot;
mod work_tree;

use std::path::Path;

use haltline_core::Instant;

pub use difference::{ChangedPaths, PATHS_MAX};
pub use error::{CheckpointError, NoGit};
pub use head::Head;
pub use left_alone::{LEFT_ALONE_MAX, LeftAlone, LeftAloneReason};
pub use manifest::LeftOut;

use difference::TreeState;
use record::{Note, RefNamespace, delete_ref, set_ref};
use rollback_note::RollbackNote;
use snapshot::Snapshot;
use work_tree::{PrivateGit, WorkTree};

/// Creates, lists and restores the checkpoints of one work tree.
#[derive(Debug)]
pub struct Checkpoints {
    work_tree: WorkTree,
    on_step: fn(CheckpointStep),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub name: String,
    pub reference: String,
    pub commit: String,
    note: Note,
}

impl Checkpoint {
    pub fn created_at(&self) -> Instant {
        self.note.at
    }

    /// Where HEAD pointed when the checkpoint was created.
    pub fn head(&self) -> &Head {
        &self.note.head
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollBackOptions {
    /// Also moves the branch, or the detached HEAD, back to the commit of the checkpoint.
    pub with_commits: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolledBack {
    pub restored: u64,
    /// Files and links that did not exist at the checkpoint and were removed.
    pub removed: u64,
    /// Files and links that already were as in the checkpoint.
    pub unchanged: u64,
    /// The state before the rollback. Rolling back to it undoes the rollback.
    pub kept: Checkpoint,
    /// The state found when this rollback continued an interrupted one.
    pub kept_between: Option<Checkpoint>,
    /// How many commits HEAD has now that it did not have at the checkpoint.
    pub commits_since: u64,
    /// The checked-out branch, if the rollback did not move it.
    pub branch: Option<String>,
    /// What the rollback neither restored nor removed, sorted by path.
    pub left_alone: Vec<LeftAlone>,
    /// How many more entries `left_alone` would have without its limit.
    pub left_alone_more: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedRollback {
    pub goal: Checkpoint,
    /// The state before the rollback began.
    pub kept: Checkpoint,
    pub options: RollBackOptions,
}

/// A point in a checkpoint or rollback. Tests observe them to kill the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointStep {
    /// The files are in git's object store.
    Hashed,
    /// The commit is written, and no ref holds it yet.
    CommitWritten,
    /// A ref holds the checkpoint, or the state before the rollback.
    RefWritten,
    /// The files to restore are written to the staging folder.
    Staged,
    /// The note that a rollback is in progress is written.
    NoteWritten,
    IndexLocked,
    Removing,
    /// A staged file is about to be moved to its path.
    Replacing,
    /// A folder is about to be created, removed or given its mode.
    ChangingFolder,
    /// The branch points to the commit of the checkpoint.
    HeadMoved,
    IndexPlaced,
    NoteRemoved,
}

impl Checkpoints {
    /// Finds the work tree that contains `root`.
    pub fn open(root: &Path) -> Result<Self, CheckpointError> {
        Ok(Self { work_tree: WorkTree::containing(root)?, on_step: |_step| {} })
    }

    #[must_use]
    pub fn with_observer(self, on_step: fn(CheckpointStep)) -> Self {
        Self { on_step, ..self }
    }

    pub fn top(&self) -> &Path {
        &self.work_tree.top
    }

    /// Creates a checkpoint and replaces one of the same name.
    pub fn create(&self, name: &str, at: Instant) -> Result<Checkpoint, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        let reference = RefNamespace::Attempt.reference(&self.work_tree, name)?;
        if RollbackNote::read(&self.work_tree)?.is_some() {
            return Err(CheckpointError::RollbackUnfinished);
        }
        let private = PrivateGit::create(&self.work_tree)?;
        let snapshot = Snapshot::create(&private, &[])?;
        (self.on_step)(CheckpointStep::Hashed);
        let (commit, note) = snapshot.write(&private, at)?;
        (self.on_step)(CheckpointStep::CommitWritten);
        set_ref(&self.work_tree, &reference, &commit)?;
        (self.on_step)(CheckpointStep::RefWritten);
        snapshot.cache_index(&private, &commit);
        Ok(Checkpoint { name: name.to_owned(), reference, commit, note })
    }

    pub fn find(&self, name: &str) -> Result<Option<Checkpoint>, CheckpointError> {
        RefNamespace::Attempt.find(&self.work_tree, name)
    }

    /// The checkpoints whose names begin with `prefix`, sorted by name.
    pub fn list(&self, prefix: &str) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut all = RefNamespace::Attempt.list(&self.work_tree)?;
        all.retain(|checkpoint| checkpoint.name.starts_with(prefix));
        Ok(all)
    }

    /// The states that rollbacks kept, oldest first. They stay until they are removed.
    pub fn kept(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut all = RefNamespace::Kept.list(&self.work_tree)?;
        all.sort_by_key(Checkpoint::created_at);
        Ok(all)
    }

    /// Deletes a checkpoint, if its ref still points to the same commit.
    pub fn remove(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let _guard = self.work_tree.lock()?;
        if RollbackNote::read(&self.work_tree)?
            .is_some_and(|in_progress| in_progress.kept.reference == checkpoint.reference)
        {
            return Err(CheckpointError::RollbackUnfinished);
        }
        delete_ref(&self.work_tree, &checkpoint.reference, &checkpoint.commit)
    }

    /// Gives a checkpoint a second name.
    pub fn copy(&self, from: &Checkpoint, to: &str) -> Result<Checkpoint, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        let reference = RefNamespace::Attempt.reference(&self.work_tree, to)?;
        set_ref(&self.work_tree, &reference, &from.commit)?;
        Ok(Checkpoint { name: to.to_owned(), reference, ..from.clone() })
    }

    /// The paths that differ between the checkpoint and the work tree as it is now.
    pub fn changed_since(&self, then: &Checkpoint) -> Result<ChangedPaths, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        let private = PrivateGit::create(&self.work_tree)?;
        let snapshot = Snapshot::create(&private, &[])?;
        let now = TreeState { tree: snapshot.tree, manifest: snapshot.listing.manifest };
        now.changed_paths(&TreeState::read(&private.git, &then.commit)?, &private.git)
    }

    /// The paths that differ between two checkpoints.
    pub fn changed_between(&self, then: &Checkpoint, now: &Checkpoint) -> Result<ChangedPaths, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        let private = PrivateGit::create(&self.work_tree)?;
        let (then, now) = (TreeState::read(&private.git, &then.commit)?, TreeState::read(&private.git, &now.commit)?);
        now.changed_paths(&then, &private.git)
    }

    /// Makes the work tree and the index what they were at the checkpoint.
    ///
    /// Replaces an earlier rollback that was interrupted.
    pub fn roll_back(
        &self,
        to: &Checkpoint,
        options: RollBackOptions,
        at: Instant,
    ) -> Result<RolledBack, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        rollback::roll_back(&self.work_tree, to, options, at, self.on_step)
    }

    /// The interrupted rollback, if there is one.
    pub fn unfinished(&self) -> Result<Option<UnfinishedRollback>, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        let found = RollbackNote::read(&self.work_tree)?;
        Ok(found.map(|RollbackNote { goal, kept, options }| UnfinishedRollback { goal, kept, options }))
    }

    /// Finishes the interrupted rollback.
    pub fn resume(&self, at: Instant) -> Result<RolledBack, CheckpointError> {
        let _guard = self.work_tree.lock()?;
        let Some(RollbackNote { goal, options, .. }) = RollbackNote::read(&self.work_tree)? else {
            return Err(CheckpointError::NothingToFinish);
        };
        rollback::roll_back(&self.work_tree, &goal, options, at, self.on_step)
    }
}
