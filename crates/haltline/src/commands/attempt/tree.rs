//! The trees of a slice: where it began, where it was after its last attempt, where each test began (A6).
//!
//! What an attempt touched is the difference between the tree after the attempt before it and the tree when its test is
//! run. What the test run itself writes belongs to nobody. Without git nothing of this is there, and all else works.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use haltline_core::attempt::{Rollback, TestName};
use haltline_core::{Instant, digest_hex};
use haltline_engine::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RollBackOptions};
use haltline_engine::slice::SlicePlace;

use crate::error::Failure;
use crate::front::text;
use crate::view::attempt::{RollbackView, slice_id};
use crate::workplace::Workplace;

/// How many changed files are listed.
const FILES_MAX: usize = 256;

/// Of how many slices that ended the checkpoints are kept.
const ENDED_SLICES_MAX: usize = 16;
/// How much of what rollbacks found is kept.
const KEPT_MAX: usize = 64;

/// The checkpoints of one slice; none without git.
pub struct Trees {
    checkpoints: Option<Checkpoints>,
    slice: String,
}

/// The files an attempt touched.
#[derive(Debug, Default)]
pub struct Touched {
    pub files: Vec<String>,
    pub more: u64,
}

/// What is said where there is nothing to go back to.
pub fn no_checkpoint() -> Failure {
    Failure::Plain(
        "there is no checkpoint to go back to: the slice began without git, or the test was never run".to_owned(),
    )
}

impl Trees {
    /// The trees of a slice. That there is no git is said, once per command, and is no error.
    pub fn of(workplace: &Workplace, place: &SlicePlace) -> Self {
        let slice = slice_id(&place.name).to_owned();
        match Checkpoints::at(&workplace.engine.project().root) {
            Ok(checkpoints) => Self { checkpoints: Some(checkpoints), slice },
            Err(error) => {
                text::warn(&format!("{error}; there is no checkpoint, and no rollback (everything else works)"));
                Self { checkpoints: None, slice }
            }
        }
    }

    fn name(&self, part: &str) -> String {
        format!("{}/{part}", self.slice)
    }

    /// Keeps the tree at the begin of the slice. What cannot be kept is said, and the work goes on.
    pub fn begin(&self, at: Instant) -> Option<String> {
        let checkpoints = self.checkpoints.as_ref()?;
        let kept = checkpoints.take(&self.name("begin"), at);
        match kept.and_then(|kept| checkpoints.copy(&kept, &self.name("last")).map(|_last| kept)) {
            Ok(kept) => Some(kept.reference),
            Err(error) => {
                tell(&error);
                None
            }
        }
    }

    /// Forgets what nobody will go back to, so that refs do not grow without bound (E11): checkpoints of slices that
    /// ended long ago, and the oldest of what rollbacks kept. `begun` are the slices under way.
    pub fn forget_old(&self, begun: &[&str]) {
        let Some(checkpoints) = &self.checkpoints else { return };
        let forget = |old: &[Checkpoint]| old.iter().try_for_each(|old| checkpoints.remove(old));
        let done = checkpoints.list("").and_then(|all| {
            let mut ended: BTreeMap<&str, (Instant, Vec<Checkpoint>)> = BTreeMap::new();
            for checkpoint in &all {
                let slice = checkpoint.name.split('/').next().unwrap_or_default();
                if !begun.contains(&slice) {
                    let (newest, of_slice) = ended.entry(slice).or_insert((checkpoint.at(), Vec::new()));
                    *newest = checkpoint.at().max(*newest);
                    of_slice.push(checkpoint.clone());
                }
            }
            let mut ended: Vec<(Instant, Vec<Checkpoint>)> = ended.into_values().collect();
            ended.sort_by_key(|(newest, _)| Reverse(*newest));
            ended.iter().skip(ENDED_SLICES_MAX).try_for_each(|(_, old)| forget(old))?;
            let kept = checkpoints.kept()?;
            forget(&kept[..kept.len().saturating_sub(KEPT_MAX)])
        });
        if let Err(error) = done {
            text::warn(&format!("{error}; old checkpoints are left"));
        }
    }

    /// What was changed since the last attempt.
    pub fn touched(&self) -> Touched {
        let Some(checkpoints) = &self.checkpoints else { return Touched::default() };
        let changed = checkpoints.find(&self.name("last")).and_then(|last| match last {
            Some(last) => checkpoints.changed_since(&last).map(Some),
            None => Ok(None),
        });
        match changed {
            Ok(Some(changed)) => {
                let files: Vec<String> = changed.paths.iter().take(FILES_MAX).map(shown).collect();
                let more = changed.more + (changed.paths.len() - files.len()) as u64;
                Touched { files, more }
            }
            Ok(None) => Touched::default(),
            Err(error) => {
                tell(&error);
                Touched::default()
            }
        }
    }

    /// Keeps the tree from before anything was changed for a test.
    pub fn begin_test(&self, test: &TestName) -> Option<String> {
        let checkpoints = self.checkpoints.as_ref()?;
        let name = self.name(&format!("test/{}", digest_hex(&[test.as_str().as_bytes()], 8)));
        let last = checkpoints.find(&self.name("last"));
        match last.and_then(|last| last.map(|last| checkpoints.copy(&last, &name)).transpose()) {
            Ok(kept) => kept.map(|kept| kept.reference),
            Err(error) => {
                tell(&error);
                None
            }
        }
    }

    /// The tree is as the last attempt left it.
    pub fn settle(&self, at: Instant) {
        if let Some(checkpoints) = &self.checkpoints
            && let Err(error) = checkpoints.take(&self.name("last"), at)
        {
            tell(&error);
        }
    }

    /// Takes the tree back.
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
    /// What the journal keeps of it.
    pub fn rollback(&self) -> Rollback {
        Rollback { to: self.to.clone(), kept: self.kept.clone() }
    }
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

fn tell(error: &CheckpointError) {
    text::warn(&format!("{error}; the attempt is counted all the same"));
}
