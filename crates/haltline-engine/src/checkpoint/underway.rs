//! The note that a rollback is under way. It is written before the first file is touched and removed after the last.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use super::error::CheckpointError;
use super::place::Place;
use super::record::Shelf;
use super::{Checkpoint, RollBackOptions};
use crate::file::{Lasting, write_whole};

const FILE: &str = "rollback.json";

/// A rollback that began.
#[derive(Clone, Debug)]
pub(super) struct Underway {
    pub(super) goal: Checkpoint,
    /// What was there when it began.
    pub(super) kept: Checkpoint,
    pub(super) options: RollBackOptions,
}

#[derive(Serialize, Deserialize)]
struct Written {
    goal: String,
    goal_reference: String,
    goal_commit: String,
    kept: String,
    with_commits: bool,
}

impl Underway {
    pub(super) fn write(&self, place: &Place) -> Result<(), CheckpointError> {
        let path = place.own.join(FILE);
        let written = Written {
            goal: self.goal.name.clone(),
            goal_reference: self.goal.reference.clone(),
            goal_commit: self.goal.commit.clone(),
            kept: self.kept.name.clone(),
            with_commits: self.options.with_commits,
        };
        let text = serde_json::to_vec(&written).map_err(|error| CheckpointError::file(&path)(error.into()))?;
        write_whole(&path, &text, Lasting::Synced).map_err(CheckpointError::file(&path))
    }

    pub(super) fn read(place: &Place) -> Result<Option<Self>, CheckpointError> {
        let path = place.own.join(FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CheckpointError::file(&path)(error)),
        };
        let damaged = |reason: &str| CheckpointError::damaged(&path.to_string_lossy(), reason);
        let written: Written = serde_json::from_slice(&text).map_err(|error| damaged(&error.to_string()))?;
        let goal = Shelf::Goal.find(place, &written.goal_commit)?.ok_or_else(|| damaged("its goal is gone"))?;
        let kept = Shelf::Kept.find(place, &written.kept)?.ok_or_else(|| damaged("what was kept is gone"))?;
        let goal = Checkpoint { name: written.goal, reference: written.goal_reference, ..goal };
        Ok(Some(Self { goal, kept, options: RollBackOptions { with_commits: written.with_commits } }))
    }

    pub(super) fn over(place: &Place) -> Result<(), CheckpointError> {
        let path = place.own.join(FILE);
        fs::remove_file(&path).map_err(CheckpointError::file(&path))
    }
}
