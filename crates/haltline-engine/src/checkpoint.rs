//! Checkpoints of a work tree and the way back to them (A6).
//!
//! A checkpoint is a private ref of git that holds every file as it is on disk, committed or not, and git's index, byte
//! for byte. Taking one touches neither work tree, index, stash, HEAD nor any log, and runs nothing that the repository
//! names. Going back keeps what is there under a second ref before the first file is touched, so nothing is ever lost,
//! and it can be cut off at any point and finished later. Ignored files and repositories inside are left alone.

mod difference;
mod error;
mod folder;
mod head;
mod index_lock;
mod left_alone;
mod listing;
mod manifest;
mod name;
mod place;
mod record;
mod rollback;
mod seed;
mod snapshot;
mod underway;

use std::path::Path;

use haltline_core::Instant;

pub use difference::{Changed, PATHS_MAX};
pub use error::{CheckpointError, NoGit};
pub use head::Head;
pub use left_alone::{LEFT_ALONE_MAX, LeftAlone, Reason};
pub use manifest::LeftOut;

use difference::State;
use place::{Place, Private};
use record::{Note, Shelf, hold, let_go};
use snapshot::Snapshot;
use underway::Underway;

/// The checkpoints of one work tree.
#[derive(Debug)]
pub struct Checkpoints {
    place: Place,
    step: fn(Step),
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its name.
    pub name: String,
    /// The ref that holds it.
    pub reference: String,
    /// The commit that it is.
    pub commit: String,
    note: Note,
}

impl Checkpoint {
    /// When it was taken.
    pub fn at(&self) -> Instant {
        self.note.at
    }

    /// Where HEAD stood.
    pub fn head(&self) -> &Head {
        &self.note.head
    }
}

/// How to go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollBackOptions {
    /// Takes the branch, or the detached HEAD, back to the commit of the checkpoint too.
    pub with_commits: bool,
}

/// What a rollback did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolledBack {
    /// Files and links that were written.
    pub restored: u64,
    /// Files and links that came after the checkpoint and were removed.
    pub removed: u64,
    /// Files and links that were as they had been.
    pub unchanged: u64,
    /// What was there before: going back to this undoes the rollback.
    pub kept: Checkpoint,
    /// What was there when a rollback that had been cut off was taken up again.
    pub kept_between: Option<Checkpoint>,
    /// How many commits HEAD had that it had not at the checkpoint.
    pub commits_since: u64,
    /// The branch that is checked out and was left where it is.
    pub branch: Option<String>,
    /// What was not restored or removed, by path.
    pub left_alone: Vec<LeftAlone>,
    /// How many more of those there are.
    pub left_alone_more: u64,
}

/// A rollback that was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Where it goes.
    pub goal: Checkpoint,
    /// What was there when it began.
    pub kept: Checkpoint,
    /// How it was asked for.
    pub options: RollBackOptions,
}

/// What is about to happen, or just has: for tests that end the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The files are in git's objects.
    Hashed,
    /// The commit is there, and no ref holds it.
    Written,
    /// What was there is under a ref.
    Kept,
    /// The files lie ready.
    Staged,
    /// The note is written.
    Begun,
    /// git's index is locked.
    Locked,
    /// A file is about to be removed.
    Removing,
    /// A file is about to be put in its place.
    Placing,
    /// A folder is about to be made, removed or permitted.
    Foldering,
    /// The branch is at the commit of then.
    HeadMoved,
    /// The index is that of then.
    IndexPlaced,
    /// The note is gone.
    Over,
}

impl Checkpoints {
    /// Those of the work tree around a folder.
    pub fn at(root: &Path) -> Result<Self, CheckpointError> {
        Ok(Self { place: Place::around(root)?, step: |_step| {} })
    }

    /// The same, telling each step.
    #[must_use]
    pub fn watched(self, step: fn(Step)) -> Self {
        Self { step, ..self }
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.place.top
    }

    /// Takes a checkpoint. One of the same name is replaced.
    pub fn take(&self, name: &str, at: Instant) -> Result<Checkpoint, CheckpointError> {
        let reference = Shelf::Attempt.name(&self.place, name)?;
        let _turn = self.place.line_up()?;
        if Underway::read(&self.place)?.is_some() {
            return Err(CheckpointError::Unfinished);
        }
        let private = Private::at(&self.place)?;
        let snapshot = Snapshot::take(&self.place, &private, &[])?;
        (self.step)(Step::Hashed);
        let (commit, note) = snapshot.write(&self.place, &private, at)?;
        (self.step)(Step::Written);
        hold(&self.place, &reference, &commit)?;
        (self.step)(Step::Kept);
        snapshot.remember(&self.place, &private, &commit);
        Ok(Checkpoint { name: name.to_owned(), reference, commit, note })
    }

    /// The checkpoint of that name.
    pub fn find(&self, name: &str) -> Result<Option<Checkpoint>, CheckpointError> {
        Shelf::Attempt.find(&self.place, name)
    }

    /// The checkpoints whose names begin with `prefix`, by name.
    pub fn list(&self, prefix: &str) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut all = Shelf::Attempt.list(&self.place)?;
        all.retain(|checkpoint| checkpoint.name.starts_with(prefix));
        Ok(all)
    }

    /// What rollbacks found, oldest first. They are kept until they are removed.
    pub fn kept(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut all = Shelf::Kept.list(&self.place)?;
        all.sort_by_key(Checkpoint::at);
        Ok(all)
    }

    /// Forgets a checkpoint, if it is still the same.
    pub fn remove(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let _turn = self.place.line_up()?;
        if Underway::read(&self.place)?.is_some_and(|underway| underway.kept.reference == checkpoint.reference) {
            return Err(CheckpointError::Unfinished);
        }
        let_go(&self.place, &checkpoint.reference, &checkpoint.commit)
    }

    /// Gives a checkpoint a second name.
    pub fn copy(&self, from: &Checkpoint, to: &str) -> Result<Checkpoint, CheckpointError> {
        let reference = Shelf::Attempt.name(&self.place, to)?;
        let _turn = self.place.line_up()?;
        hold(&self.place, &reference, &from.commit)?;
        Ok(Checkpoint { name: to.to_owned(), reference, ..from.clone() })
    }

    /// What is different in the work tree now.
    pub fn changed_since(&self, then: &Checkpoint) -> Result<Changed, CheckpointError> {
        let _turn = self.place.line_up()?;
        let private = Private::at(&self.place)?;
        let snapshot = Snapshot::take(&self.place, &private, &[])?;
        let now = State { tree: snapshot.tree, manifest: snapshot.listing.manifest };
        now.changed(&State::of(&private.git, &then.commit)?, &private.git)
    }

    /// What is different in the second.
    pub fn changed_between(&self, then: &Checkpoint, now: &Checkpoint) -> Result<Changed, CheckpointError> {
        let _turn = self.place.line_up()?;
        let private = Private::at(&self.place)?;
        let (then, now) = (State::of(&private.git, &then.commit)?, State::of(&private.git, &now.commit)?);
        now.changed(&then, &private.git)
    }

    /// Makes the work tree and the index what they were. See [`RolledBack`] for what it tells.
    ///
    /// Where an earlier rollback was cut off, this one takes its place.
    pub fn roll_back(
        &self,
        to: &Checkpoint,
        options: RollBackOptions,
        at: Instant,
    ) -> Result<RolledBack, CheckpointError> {
        let _turn = self.place.line_up()?;
        rollback::roll_back(&self.place, to, options, at, self.step)
    }

    /// The rollback that was cut off, if one was.
    pub fn unfinished(&self) -> Result<Option<Unfinished>, CheckpointError> {
        let _turn = self.place.line_up()?;
        let found = Underway::read(&self.place)?;
        Ok(found.map(|Underway { goal, kept, options }| Unfinished { goal, kept, options }))
    }

    /// Finishes it.
    pub fn resume(&self, at: Instant) -> Result<RolledBack, CheckpointError> {
        let _turn = self.place.line_up()?;
        let Some(Underway { goal, options, .. }) = Underway::read(&self.place)? else {
            return Err(CheckpointError::Finished);
        };
        rollback::roll_back(&self.place, &goal, options, at, self.step)
    }
}
