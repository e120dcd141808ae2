//! Rolls a work tree back to a checkpoint. The rollback can be interrupted anywhere and started again.
//!
//! It first keeps the current state under a ref and writes all new files to a staging folder beside the work tree. Then
//! it renames each file to its path or removes it. A note in haltline's folder says that a rollback is in progress; a
//! process that finds the note reads the tree again and does what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_core::Instant;

use super::difference::{RollbackPlan, TreeEntry, TreeState};
use super::error::CheckpointError;
use super::folder::{TopFolder, is_gone};
use super::head::{Head, operation};
use super::index_lock::IndexLock;
use super::left_alone::{LeftAloneReason, Remarks};
use super::listing::{FileStat, ignored};
use super::manifest::{DEFAULT_FOLDER_MODE, LeftOut, folders_around};
use super::record::{RefNamespace, delete_ref, set_ref};
use super::rollback_note::RollbackNote;
use super::snapshot::Snapshot;
use super::work_tree::{PrivateGit, WorkTree};
use super::{Checkpoint, CheckpointStep, RollBackOptions, RolledBack};

/// Rolls back. The caller holds the lock of the work tree.
pub(super) fn roll_back(
    work_tree: &WorkTree,
    goal: &Checkpoint,
    options: RollBackOptions,
    at: Instant,
    on_step: fn(CheckpointStep),
) -> Result<RolledBack, CheckpointError> {
    let before = match RollbackNote::read(work_tree) {
        // An unreadable note must not prevent a new rollback.
        Err(CheckpointError::Damaged { .. }) => None,
        read => read?,
    };
    let head = Head::read(work_tree)?;
    check(work_tree, goal, options, &head)?;
    let private = PrivateGit::create(work_tree)?;
    let commits_since = head.commits_since(&goal.note.head, work_tree)?;
    let then = TreeState::read(&private.git, &goal.commit)?;
    let entries = then.entries(&private.git)?;
    // Whatever is at a path that the rollback writes is kept, ignored or not.
    let mut always_kept: BTreeSet<&[u8]> = entries.keys().map(Vec::as_slice).collect();
    always_kept.extend(entries.keys().chain(then.manifest.empty_folders.keys()).flat_map(|path| folders_around(path)));
    always_kept.extend(then.manifest.empty_folders.keys().map(Vec::as_slice));
    let always_kept: Vec<&[u8]> = always_kept.into_iter().collect();
    let snapshot = Snapshot::create(&private, &always_kept)?;
    let kept = keep_current(&private, &snapshot, at)?;
    on_step(CheckpointStep::RefWritten);
    let now = TreeState { tree: snapshot.tree.clone(), manifest: snapshot.listing.manifest.clone() };
    let plan = now.plan_to(&then, &entries, &private.git)?;
    let mut restore = Restore {
        work_tree,
        on_step,
        files: &snapshot.listing.files,
        now: &now,
        then: &then,
        top: TopFolder::open(&work_tree.top).map_err(CheckpointError::file(&work_tree.top))?,
        remarks: Remarks::default(),
        restored: 0,
        removed: 0,
    };
    let plan = restore.restrict(plan, &before, &private)?;
    let stage = work_tree.empty_folder("stage")?;
    restore.stage(&plan, &stage, &private)?;
    on_step(CheckpointStep::Staged);
    sync_file_systems(&work_tree.top, &work_tree.haltline_folder)?;
    set_ref(work_tree, &RefNamespace::Goal.reference(work_tree, &goal.commit)?, &goal.commit)?;
    let first = before.as_ref().map_or(&kept, |before| &before.kept).clone();
    RollbackNote { goal: goal.clone(), kept: first.clone(), options }.write(work_tree)?;
    on_step(CheckpointStep::NoteWritten);
    let lock = match IndexLock::acquire(work_tree, &private.git, goal) {
        Err(error) if before.is_none() => {
            // Nothing has been changed yet.
            RollbackNote::remove(work_tree)?;
            return Err(error);
        }
        taken => taken?,
    };
    on_step(CheckpointStep::IndexLocked);
    restore.restore_files(&plan, &stage)?;
    restore.restore_folders(&plan, &entries)?;
    if options.with_commits {
        head.move_to(&goal.note.head, work_tree)?;
        on_step(CheckpointStep::HeadMoved);
    }
    lock.finish()?;
    on_step(CheckpointStep::IndexPlaced);
    RollbackNote::remove(work_tree)?;
    on_step(CheckpointStep::NoteRemoved);
    for goal in RefNamespace::Goal.list(work_tree)? {
        delete_ref(work_tree, &goal.reference, &goal.commit)?;
    }
    fs::remove_dir_all(&stage).ok();
    let Restore { mut remarks, restored, removed, .. } = restore;
    if goal.note.operation.is_some() && operation(work_tree).is_none() {
        remarks.add(b"", LeftAloneReason::OperationEnded);
    }
    let (left_alone, left_alone_more) = remarks.into_sorted();
    Ok(RolledBack {
        restored,
        removed,
        unchanged: (entries.len() as u64).saturating_sub(plan.written.len() as u64),
        kept_between: (first != kept).then_some(kept),
        kept: first,
        commits_since,
        branch: head.branch.filter(|_| !options.with_commits),
        left_alone,
        left_alone_more,
    })
}

/// Rejects rollbacks that could not be undone.
fn check(
    work_tree: &WorkTree,
    goal: &Checkpoint,
    options: RollBackOptions,
    head: &Head,
) -> Result<(), CheckpointError> {
    let in_progress = operation(work_tree);
    let kind = |operation: String| operation.split(' ').next().unwrap_or_default().to_owned();
    if let Some(in_progress) =
        in_progress.filter(|now| options.with_commits || Some(now) != goal.note.operation.as_ref())
    {
        return Err(CheckpointError::OperationInProgress(kind(in_progress)));
    }
    let prefixes = [RefNamespace::Attempt, RefNamespace::Kept].map(|namespace| namespace.prefix(work_tree));
    if !prefixes.iter().any(|prefix| goal.reference.starts_with(prefix)) {
        return Err(CheckpointError::Unknown(goal.name.clone()));
    }
    if options.with_commits && head.branch != goal.note.head.branch {
        let (then, now) = (goal.note.head.branch.clone(), head.branch.clone());
        return Err(CheckpointError::OtherBranch { then, now });
    }
    Ok(())
}

/// Keeps the current state under its own ref.
fn keep_current(private: &PrivateGit<'_>, snapshot: &Snapshot, at: Instant) -> Result<Checkpoint, CheckpointError> {
    let work_tree = private.work_tree;
    let (commit, note) = snapshot.write(private, at)?;
    let known: BTreeSet<String> = RefNamespace::Kept.list(work_tree)?.into_iter().map(|kept| kept.name).collect();
    let mut names = (0_u64..).map(|number| format!("{}-{number}", at.as_millis()));
    let name = names.find(|name| !known.contains(name)).unwrap_or_default();
    let reference = RefNamespace::Kept.reference(work_tree, &name)?;
    set_ref(work_tree, &reference, &commit)?;
    snapshot.cache_index(private, &commit);
    Ok(Checkpoint { name, reference, commit, note })
}

struct Restore<'a> {
    work_tree: &'a WorkTree,
    on_step: fn(CheckpointStep),
    files: &'a BTreeMap<Vec<u8>, FileStat>,
    now: &'a TreeState,
    then: &'a TreeState,
    top: TopFolder,
    remarks: Remarks,
    restored: u64,
    removed: u64,
}

impl Restore<'_> {
    /// Removes from the plan what the rollback must not touch, and records why.
    fn restrict(
        &mut self,
        mut plan: RollbackPlan,
        before: &Option<RollbackNote>,
        private: &PrivateGit<'_>,
    ) -> Result<RollbackPlan, CheckpointError> {
        let (now, then) = (&self.now.manifest, &self.then.manifest);
        for (path, head) in &now.repositories {
            match then.repositories.get(path) {
                None => self.remarks.add(path, LeftAloneReason::NewRepository),
                Some(was) if was != head => self.remarks.add(path, LeftAloneReason::RepositoryMoved),
                Some(_same) => {}
            }
        }
        for path in then.repositories.keys().filter(|path| !now.repositories.contains_key(*path)) {
            self.remarks.add(path, LeftAloneReason::RepositoryGone);
        }
        for (path, reason) in
            now.left_out.iter().chain(then.left_out.iter().filter(|(path, _)| !now.left_out.contains_key(*path)))
        {
            self.remarks.add(
                path,
                match reason {
                    LeftOut::Special => LeftAloneReason::Special,
                    LeftOut::Unreadable => LeftAloneReason::Unreadable,
                    LeftOut::GitName => LeftAloneReason::GitName,
                },
            );
        }
        let is_in = |path: &[u8], repositories: &BTreeMap<Vec<u8>, Option<String>>| {
            repositories.contains_key(path) || folders_around(path).any(|folder| repositories.contains_key(folder))
        };
        plan.written.retain(|path, _entry| !is_in(path, &now.repositories) && !now.left_out.contains_key(path));
        plan.removed.retain(|path| !is_in(path, &then.repositories) && !then.left_out.contains_key(path));
        if let Some(before) = before {
            // Files ignored when the rollback began must not count as new now that the old ignore rules are back.
            let began = TreeState::read(&private.git, &before.kept.commit)?.entries(&private.git)?;
            let remarks = &mut self.remarks;
            plan.removed.retain(|path| {
                let was_there = began.contains_key(path);
                if !was_there {
                    remarks.add(path, LeftAloneReason::NewSinceRollbackBegan);
                }
                was_there
            });
        }
        Ok(plan)
    }

    /// Writes all files of the plan below `stage`.
    fn stage(&self, plan: &RollbackPlan, stage: &Path, private: &PrivateGit<'_>) -> Result<(), CheckpointError> {
        let git = private.with_index("stage-index");
        let (mut lines, mut paths) = (Vec::new(), Vec::new());
        for (path, entry) in &plan.written {
            lines.extend_from_slice(format!("{} {}\t", entry.mode, entry.id).as_bytes());
            for list in [&mut lines, &mut paths] {
                list.extend_from_slice(path);
                list.push(0);
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        git.run_with_input(&["update-index", "-z", "--add", "--index-info"], &lines).map(drop)?;
        let mut prefix = OsStr::new("--prefix=").to_owned();
        prefix.push(stage);
        prefix.push("/");
        let arguments = [OsStr::new("checkout-index"), OsStr::new("-z"), OsStr::new("--stdin"), &prefix];
        git.run_with_input(&arguments, &paths).map(drop)?;
        for (path, entry) in &plan.written {
            let staged = stage.join(OsStr::from_bytes(path));
            let found = fs::symlink_metadata(&staged).map_err(CheckpointError::file(&staged))?;
            if found.is_symlink() != entry.is_link() {
                return Err(CheckpointError::file(&staged)(io::Error::other("git wrote something else")));
            }
            if !entry.is_link() {
                let mode = self.then.manifest.file_mode(path, entry.is_executable());
                fs::set_permissions(&staged, Permissions::from_mode(mode)).map_err(CheckpointError::file(&staged))?;
            }
        }
        Ok(())
    }

    fn restore_files(&mut self, plan: &RollbackPlan, stage: &Path) -> Result<(), CheckpointError> {
        // First remove what is in the way: files where folders go, and files in folders where files go.
        let needed: BTreeSet<&[u8]> = plan
            .written
            .keys()
            .chain(self.then.manifest.empty_folders.keys())
            .flat_map(|path| folders_around(path))
            .collect();
        let is_in_the_way = |path: &[u8]| {
            needed.contains(path)
                || self.then.manifest.empty_folders.contains_key(path)
                || folders_around(path).any(|folder| plan.written.contains_key(folder))
        };
        let (first, rest): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = plan.removed.iter().partition(|path| is_in_the_way(path));
        for path in first {
            self.remove(path);
        }
        for path in plan.written.keys() {
            self.write(path, &stage.join(OsStr::from_bytes(path)));
        }
        // The checkpoint's ignore rules are in place now. What they match stays: it may have existed all along.
        let (ignore_files, rest): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) =
            rest.into_iter().partition(|path| is_ignore_file(path));
        for path in ignore_files {
            self.remove(path);
        }
        let ignored = ignored(self.work_tree, rest.iter().copied())?;
        for path in rest {
            if ignored.contains(path) {
                self.remarks.add(path, LeftAloneReason::Ignored);
            } else {
                self.remove(path);
            }
        }
        Ok(())
    }

    fn full_path(&self, path: &[u8]) -> PathBuf {
        self.work_tree.top.join(OsStr::from_bytes(path))
    }

    /// True if a path still has the content that was kept.
    fn is_as_kept(&self, path: &[u8]) -> bool {
        let found = match fs::symlink_metadata(self.full_path(path)) {
            Ok(found) => Some(found),
            Err(error) if is_gone(&error) => None,
            Err(_unknown) => return false,
        };
        match (self.files.get(path), found) {
            (Some(stat), Some(found)) => stat.is_same(&FileStat::from_metadata(&found)),
            (Some(_), None) => true,
            (None, Some(found)) => found.is_dir(),
            (None, None) => true,
        }
    }

    fn remove(&mut self, path: &[u8]) {
        (self.on_step)(CheckpointStep::Removing);
        if !self.is_as_kept(path) {
            self.remarks.add(path, LeftAloneReason::ChangedMeanwhile);
            return;
        }
        match self.top.remove(path) {
            Ok(()) => self.removed += 1,
            Err(error) if is_gone(&error) => {}
            Err(error) => self.remarks.add(path, LeftAloneReason::Failed(error.to_string())),
        }
    }

    fn write(&mut self, path: &[u8], staged: &Path) {
        (self.on_step)(CheckpointStep::Replacing);
        if !self.is_as_kept(path) {
            self.remarks.add(path, LeftAloneReason::ChangedMeanwhile);
            return;
        }
        let is_folder = fs::symlink_metadata(self.full_path(path)).is_ok_and(|found| found.is_dir());
        if is_folder && !self.clear(path) {
            self.remarks.add(path, LeftAloneReason::FolderInTheWay);
            return;
        }
        match self.top.replace(staged, path) {
            Ok(()) => self.restored += 1,
            Err(error) => self.remarks.add(path, LeftAloneReason::Failed(error.to_string())),
        }
    }

    /// Removes a folder and the empty folders in it. Returns false if it contains anything else.
    fn clear(&self, path: &[u8]) -> bool {
        let inside = [path, b"/"].concat();
        let files = self.files.range(inside.clone()..).map(|(file, _stat)| file);
        let files = files.take_while(|file| file.starts_with(&inside)).flat_map(|file| folders_around(file));
        let empty = self.now.manifest.empty_folders.range(inside.clone()..).map(|(folder, _mode)| folder.as_slice());
        let mut all: BTreeSet<&[u8]> = files.filter(|folder| folder.starts_with(&inside)).collect();
        all.extend(empty.take_while(|folder| folder.starts_with(&inside)));
        all.insert(path);
        // Reverse order: nested folders sort after the folders that contain them.
        all.into_iter().rev().all(|folder| self.top.remove_folder(folder).unwrap_or(false))
    }

    fn restore_folders(
        &mut self,
        plan: &RollbackPlan,
        entries: &BTreeMap<Vec<u8>, TreeEntry>,
    ) -> Result<(), CheckpointError> {
        let (now, then) = (&self.now.manifest, &self.then.manifest);
        for path in then.empty_folders.keys() {
            (self.on_step)(CheckpointStep::ChangingFolder);
            if let Err(error) = self.top.make_folder(path) {
                self.remarks.add(path, LeftAloneReason::Failed(error.to_string()));
            }
        }
        let mut left: BTreeSet<&[u8]> = now.empty_folders.keys().map(Vec::as_slice).collect();
        left.extend(plan.removed.iter().flat_map(|path| folders_around(path)));
        left.retain(|path| !then.empty_folders.contains_key(*path) && !then.repositories.contains_key(*path));
        let there = now.empty_folders.keys().filter(|path| left.contains(path.as_slice()) && self.top.is_folder(path));
        let ignored = ignored(self.work_tree, there)?;
        for path in left.into_iter().rev().filter(|path| !ignored.contains(*path)) {
            (self.on_step)(CheckpointStep::ChangingFolder);
            // A folder that contains something ignored stays, and so does one that was replaced by something else.
            self.top.remove_folder(path).ok();
        }
        let mut modes: BTreeMap<&[u8], u32> = BTreeMap::new();
        let full: BTreeSet<&[u8]> = entries.keys().flat_map(|path| folders_around(path)).collect();
        let written = plan.written.keys().flat_map(|path| folders_around(path));
        for path in written.chain(now.folder_modes.keys().map(Vec::as_slice)).filter(|path| full.contains(path)) {
            modes.insert(path, DEFAULT_FOLDER_MODE);
        }
        modes.extend(then.folder_modes.iter().map(|(path, mode)| (path.as_slice(), *mode)));
        modes.extend(then.empty_folders.iter().map(|(path, mode)| (path.as_slice(), *mode)));
        for (path, mode) in modes.into_iter().rev() {
            (self.on_step)(CheckpointStep::ChangingFolder);
            match self.top.set_folder_mode(path, mode) {
                Ok(()) => {}
                // A missing folder was already reported above.
                Err(error) if is_gone(&error) => {}
                Err(error) => self.remarks.add(path, LeftAloneReason::Failed(error.to_string())),
            }
        }
        Ok(())
    }
}

fn is_ignore_file(path: &[u8]) -> bool {
    path == b".gitignore" || path.ends_with(b"/.gitignore")
}

/// Makes sure that the kept state and the staged files are on disk before the first file is changed.
fn sync_file_systems(top: &Path, haltline_folder: &Path) -> Result<(), CheckpointError> {
    for path in [top, haltline_folder] {
        let folder = fs::File::open(path).map_err(CheckpointError::file(path))?;
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&folder).map_err(|error| CheckpointError::file(path)(error.into()))?;
        #[cfg(not(target_os = "linux"))]
        folder.sync_all().map_err(CheckpointError::file(path))?;
    }
    Ok(())
}
