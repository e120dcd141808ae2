//! The checkpoints of a slice: where it began, its state after the last attempt, and where each test began (A6).
//!
//! The files an attempt touched are the difference between the tree after the previous attempt and the tree when its
//! test is started. What the test run itself writes counts for no attempt. Without git there are no checkpoints;
//! everything else works.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use haltline_core::attempt::{Rollback, TestName};
use haltline_core::{Instant, digest_hex};
use haltline_engine::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RollBackOptions};
use haltline_engine::is_written_by_haltline;
use haltline_engine::slice::SliceLocation;

use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::view::attempt::{RollbackView, slice_id};

/// How many changed files are listed.
const FILES_MAX: usize = 256;

/// How many ended slices keep their checkpoints.
const ENDED_SLICES_MAX: usize = 16;
/// How many trees that rollbacks replaced are kept.
const REPLACED_TREES_MAX: usize = 64;

/// The checkpoints of one slice; `checkpoints` is `None` without git.
pub struct SliceCheckpoints {
    checkpoints: Option<Checkpoints>,
    slice: String,
}

/// The files an attempt touched: the first of them, and how many `more` there are.
#[derive(Debug, Default)]
pub struct TouchedFiles {
    pub files: Vec<String>,
    pub more: u64,
}

/// The failure when there is no checkpoint to roll back to.
pub fn no_checkpoint() -> Failure {
    Failure::Plain(
        "there is no checkpoint to go back to: the slice began without git, or the test has never run".to_owned(),
    )
}

impl SliceCheckpoints {
    /// Opens the checkpoints of a slice. Without git it prints one warning and does not fail.
    pub fn open(context: &Context, location: &SliceLocation) -> Self {
        let slice = slice_id(&location.name).to_owned();
        match Checkpoints::open(&context.engine.project().root) {
            Ok(checkpoints) => Self { checkpoints: Some(checkpoints), slice },
            Err(error) => {
                text::warn(&format!(
                    "{error}; haltline made no checkpoint, so you cannot roll back (everything else works)"
                ));
                Self { checkpoints: None, slice }
            }
        }
    }

    fn name(&self, part: &str) -> String {
        format!("{}/{part}", self.slice)
    }

    /// Keeps the tree at the beginning of the slice. If that fails, it prints a warning and the work goes on.
    pub fn begin(&self, at: Instant) -> Option<String> {
        let checkpoints = self.checkpoints.as_ref()?;
        let kept = checkpoints.create(&self.name("begin"), at);
        match kept.and_then(|kept| checkpoints.copy(&kept, &self.name("last")).map(|_last| kept)) {
            Ok(kept) => Some(kept.reference),
            Err(error) => {
                warn_not_kept(&error);
                None
            }
        }
    }

    /// Removes checkpoints that are no longer needed, so that refs stay bounded (E11): those of slices that ended long
    /// ago, and the oldest trees that rollbacks replaced. `begun` are the slices in progress.
    pub fn forget_old(&self, begun: &[&str]) {
        let Some(checkpoints) = &self.checkpoints else { return };
        let forget = |old: &[Checkpoint]| old.iter().try_for_each(|old| checkpoints.remove(old));
        let done = checkpoints.list("").and_then(|all| {
            let mut ended: BTreeMap<&str, (Instant, Vec<Checkpoint>)> = BTreeMap::new();
            for checkpoint in &all {
                let slice = checkpoint.name.split('/').next().unwrap_or_default();
                if !begun.contains(&slice) {
                    let (newest, slice_checkpoints) =
                        ended.entry(slice).or_insert((checkpoint.created_at(), Vec::new()));
                    *newest = checkpoint.created_at().max(*newest);
                    slice_checkpoints.push(checkpoint.clone());
                }
            }
            let mut ended: Vec<(Instant, Vec<Checkpoint>)> = ended.into_values().collect();
            ended.sort_by_key(|(newest, _)| Reverse(*newest));
            ended.iter().skip(ENDED_SLICES_MAX).try_for_each(|(_, old)| forget(old))?;
            let kept = checkpoints.kept()?;
            forget(&kept[..kept.len().saturating_sub(REPLACED_TREES_MAX)])
        });
        if let Err(error) = done {
            text::warn(&format!("{error}; old checkpoints remain"));
        }
    }

    /// Returns the files changed since the last attempt.
    pub fn files_touched(&self) -> TouchedFiles {
        let Some(checkpoints) = &self.checkpoints else { return TouchedFiles::default() };
        let changed = checkpoints.find(&self.name("last")).and_then(|last| match last {
            Some(last) => checkpoints.changed_since(&last).map(Some),
            None => Ok(None),
        });
        match changed {
            Ok(Some(mut changed)) => {
                changed.paths.retain(|path| !is_written_by_haltline(path));
                let files: Vec<String> = changed.paths.iter().take(FILES_MAX).map(path_text).collect();
                let more = changed.more + (changed.paths.len() - files.len()) as u64;
                TouchedFiles { files, more }
            }
            Ok(None) => TouchedFiles::default(),
            Err(error) => {
                warn_not_kept(&error);
                TouchedFiles::default()
            }
        }
    }

    /// Keeps the tree from before the first change for a test.
    pub fn begin_test(&self, test: &TestName) -> Option<String> {
        let checkpoints = self.checkpoints.as_ref()?;
        let name = self.name(&format!("test/{}", digest_hex(&[test.as_str().as_bytes()], 8)));
        let last = checkpoints.find(&self.name("last"));
        match last.and_then(|last| last.map(|last| checkpoints.copy(&last, &name)).transpose()) {
            Ok(kept) => kept.map(|kept| kept.reference),
            Err(error) => {
                warn_not_kept(&error);
                None
            }
        }
    }

    /// Keeps the tree as the last attempt left it.
    pub fn keep_last_tree(&self, at: Instant) {
        if let Some(checkpoints) = &self.checkpoints
            && let Err(error) = checkpoints.create(&self.name("last"), at)
        {
            warn_not_kept(&error);
        }
    }

    /// Rolls the tree back to a checkpoint.
    pub fn roll_back(&self, to: &str, with_commits: bool, at: Instant) -> Result<RollbackView, Failure> {
        let checkpoints = self.checkpoints.as_ref().ok_or_else(no_checkpoint)?;
        let plain = |error: CheckpointError| Failure::Plain(error.to_string());
        let all = checkpoints.list("").and_then(|all| Ok([all, checkpoints.kept()?].concat())).map_err(plain)?;
        let checkpoint = all.into_iter().find(|known| known.reference == to || known.commit == to);
        let checkpoint =
            checkpoint.ok_or_else(|| Failure::Plain(format!("{to}: no such checkpoint in this repository")))?;
        let done = checkpoints.roll_back(&checkpoint, RollBackOptions { with_commits }, at).map_err(plain)?;
        Ok(RollbackView {
            to: to.to_owned(),
            kept: done.kept.reference,
            restored: done.restored,
            removed: done.removed,
            commits_since: done.commits_since,
            are_commits_undone: with_commits,
            left_alone: done
                .left_alone
                .iter()
                .map(|left| format!("{}: {}", left.path.display(), left.reason))
                .collect(),
        })
    }
}

impl RollbackView {
    /// Returns what the journal keeps of the rollback.
    pub fn rollback(&self) -> Rollback {
        Rollback { to: self.to.clone(), kept: self.kept.clone() }
    }
}

fn path_text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

fn warn_not_kept(error: &CheckpointError) {
    text::warn(&format!("{error}; haltline counts the attempt anyway"));
}
