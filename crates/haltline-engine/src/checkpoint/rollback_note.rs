//! The note that a rollback is in progress. It is written before the first file is touched and removed after the last.

use std::fs;

use serde::{Deserialize, Serialize};

use super::error::CheckpointError;
use super::record::RefNamespace;
use super::work_tree::WorkTree;
use super::{Checkpoint, RollBackOptions};
use crate::file::{Durability, if_exists, write_atomically};

const FILE: &str = "rollback.json";

#[derive(Clone, Debug)]
pub(super) struct RollbackNote {
    pub(super) goal: Checkpoint,
    /// The state before the rollback began.
    pub(super) kept: Checkpoint,
    pub(super) options: RollBackOptions,
}

#[derive(Serialize, Deserialize)]
struct StoredNote {
    goal: String,
    goal_reference: String,
    goal_commit: String,
    kept: String,
    with_commits: bool,
}

impl RollbackNote {
    pub(super) fn write(&self, work_tree: &WorkTree) -> Result<(), CheckpointError> {
        let path = work_tree.haltline_folder.join(FILE);
        let stored = StoredNote {
            goal: self.goal.name.clone(),
            goal_reference: self.goal.reference.clone(),
            goal_commit: self.goal.commit.clone(),
            kept: self.kept.name.clone(),
            with_commits: self.options.with_commits,
        };
        let text = serde_json::to_vec(&stored).map_err(|error| CheckpointError::file(&path)(error.into()))?;
        write_atomically(&path, &text, Durability::Synced).map_err(CheckpointError::file(&path))
    }

    pub(super) fn read(work_tree: &WorkTree) -> Result<Option<Self>, CheckpointError> {
        let path = work_tree.haltline_folder.join(FILE);
        let text = if_exists(fs::read(&path)).map_err(CheckpointError::file(&path))?;
        let Some(text) = text else { return Ok(None) };
        let damaged = |reason: &str| CheckpointError::damaged(&path.to_string_lossy(), reason);
        let stored: StoredNote = serde_json::from_slice(&text).map_err(|error| damaged(&error.to_string()))?;
        let goal = RefNamespace::Goal
            .find(work_tree, &stored.goal_commit)?
            .ok_or_else(|| damaged("its checkpoint is gone"))?;
        let kept =
            RefNamespace::Kept.find(work_tree, &stored.kept)?.ok_or_else(|| damaged("the saved files are gone"))?;
        let goal = Checkpoint { name: stored.goal, reference: stored.goal_reference, ..goal };
        Ok(Some(Self { goal, kept, options: RollBackOptions { with_commits: stored.with_commits } }))
    }

    pub(super) fn remove(work_tree: &WorkTree) -> Result<(), CheckpointError> {
        let path = work_tree.haltline_folder.join(FILE);
        fs::remove_file(&path).map_err(CheckpointError::file(&path))
    }
}
