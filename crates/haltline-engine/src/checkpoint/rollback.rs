//! The way back to a checkpoint, which can be cut off anywhere and gone again.
//!
//! What is there is kept under a ref before anything is touched, and everything that will be written lies ready beside
//! the work tree. Then each file is renamed into its place or removed. A note in our folder says that this is under
//! way; whoever finds it looks at the tree anew and does what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_core::Instant;

use super::difference::{Entry, State, Way};
use super::error::CheckpointError;
use super::folder::{Top, is_gone};
use super::head::{Head, operation};
use super::index_lock::IndexLock;
use super::left_alone::{Reason, Remarks};
use super::listing::{Seen, ignored};
use super::manifest::{FOLDER_MODE, LeftOut, folders_of};
use super::place::{Place, Private};
use super::record::{Shelf, hold, let_go};
use super::snapshot::Snapshot;
use super::underway::Underway;
use super::{Checkpoint, RollBackOptions, RolledBack, Step};

/// Goes back. The caller has its turn.
pub(super) fn roll_back(
    place: &Place,
    goal: &Checkpoint,
    options: RollBackOptions,
    at: Instant,
    step: fn(Step),
) -> Result<RolledBack, CheckpointError> {
    let before = match Underway::read(place) {
        // A note that says nothing must not keep anybody from going somewhere.
        Err(CheckpointError::Damaged { .. }) => None,
        read => read?,
    };
    let head = Head::read(place)?;
    check(place, goal, options, &head)?;
    let private = Private::at(place)?;
    let commits_since = head.commits_since(&goal.note.head, place)?;
    let then = State::of(&private.git, &goal.commit)?;
    let entries = then.entries(&private.git)?;
    // What stands where a file of then goes is kept, ignored or not.
    let mut asked: BTreeSet<&[u8]> = entries.keys().map(Vec::as_slice).collect();
    asked.extend(entries.keys().chain(then.manifest.empty_folders.keys()).flat_map(|path| folders_of(path)));
    asked.extend(then.manifest.empty_folders.keys().map(Vec::as_slice));
    let asked: Vec<&[u8]> = asked.into_iter().collect();
    let snapshot = Snapshot::take(place, &private, &asked)?;
    let kept = keep(place, &private, &snapshot, at)?;
    step(Step::Kept);
    let now = State { tree: snapshot.tree.clone(), manifest: snapshot.listing.manifest.clone() };
    let way = now.way_to(&then, &entries, &private.git)?;
    let mut restore = Restore {
        place,
        step,
        files: &snapshot.listing.files,
        now: &now,
        then: &then,
        top: Top::open(&place.top).map_err(CheckpointError::file(&place.top))?,
        remarks: Remarks::default(),
        restored: 0,
        removed: 0,
    };
    let way = restore.permitted(way, &before, &private)?;
    let stage = place.empty_folder("stage")?;
    restore.stage(&way, &stage, &private)?;
    step(Step::Staged);
    synced(&place.top, &place.own)?;
    hold(place, &Shelf::Goal.name(place, &goal.commit)?, &goal.commit)?;
    let first = before.as_ref().map_or(&kept, |before| &before.kept).clone();
    Underway { goal: goal.clone(), kept: first.clone(), options }.write(place)?;
    step(Step::Begun);
    let lock = match IndexLock::take(place, &private.git, goal) {
        Err(error) if before.is_none() => {
            // Nothing was touched.
            Underway::over(place)?;
            return Err(error);
        }
        taken => taken?,
    };
    step(Step::Locked);
    restore.files(&way, &stage)?;
    restore.folders(&way, &entries)?;
    if options.with_commits {
        head.take_back(&goal.note.head, place)?;
        step(Step::HeadMoved);
    }
    lock.finish()?;
    step(Step::IndexPlaced);
    Underway::over(place)?;
    step(Step::Over);
    for goal in Shelf::Goal.list(place)? {
        let_go(place, &goal.reference, &goal.commit)?;
    }
    fs::remove_dir_all(&stage).ok();
    let Restore { mut remarks, restored, removed, .. } = restore;
    if goal.note.operation.is_some() && operation(place).is_none() {
        remarks.add(b"", Reason::OperationOver);
    }
    let (left_alone, left_alone_more) = remarks.end();
    Ok(RolledBack {
        restored,
        removed,
        unchanged: (entries.len() as u64).saturating_sub(way.written.len() as u64),
        kept_between: (first != kept).then_some(kept),
        kept: first,
        commits_since,
        branch: head.branch.filter(|_| !options.with_commits),
        left_alone,
        left_alone_more,
    })
}

/// Refuses what could not be undone by anybody.
fn check(place: &Place, goal: &Checkpoint, options: RollBackOptions, head: &Head) -> Result<(), CheckpointError> {
    let underway = operation(place);
    let word = |operation: String| operation.split(' ').next().unwrap_or_default().to_owned();
    if let Some(underway) = underway.filter(|now| options.with_commits || Some(now) != goal.note.operation.as_ref()) {
        return Err(CheckpointError::Underway(word(underway)));
    }
    let shelves = [Shelf::Attempt, Shelf::Kept].map(|shelf| shelf.folder(place));
    if !shelves.iter().any(|shelf| goal.reference.starts_with(shelf)) {
        return Err(CheckpointError::Unknown(goal.name.clone()));
    }
    if options.with_commits && head.branch != goal.note.head.branch {
        let (then, now) = (goal.note.head.branch.clone(), head.branch.clone());
        return Err(CheckpointError::OtherBranch { then, now });
    }
    Ok(())
}

/// Holds what is there now under a ref of its own.
fn keep(place: &Place, private: &Private, snapshot: &Snapshot, at: Instant) -> Result<Checkpoint, CheckpointError> {
    let (commit, note) = snapshot.write(place, private, at)?;
    let known: BTreeSet<String> = Shelf::Kept.list(place)?.into_iter().map(|kept| kept.name).collect();
    let mut names = (0_u64..).map(|number| format!("{}-{number}", at.as_millis()));
    let name = names.find(|name| !known.contains(name)).unwrap_or_default();
    let reference = Shelf::Kept.name(place, &name)?;
    hold(place, &reference, &commit)?;
    snapshot.remember(place, private, &commit);
    Ok(Checkpoint { name, reference, commit, note })
}

struct Restore<'a> {
    place: &'a Place,
    step: fn(Step),
    files: &'a BTreeMap<Vec<u8>, Seen>,
    now: &'a State,
    then: &'a State,
    top: Top,
    remarks: Remarks,
    restored: u64,
    removed: u64,
}

impl Restore<'_> {
    /// The part of the way that may be gone.
    fn permitted(
        &mut self,
        mut way: Way,
        before: &Option<Underway>,
        private: &Private,
    ) -> Result<Way, CheckpointError> {
        let (now, then) = (&self.now.manifest, &self.then.manifest);
        for (path, head) in &now.repositories {
            match then.repositories.get(path) {
                None => self.remarks.add(path, Reason::NewRepository),
                Some(was) if was != head => self.remarks.add(path, Reason::RepositoryMoved),
                Some(_same) => {}
            }
        }
        for path in then.repositories.keys().filter(|path| !now.repositories.contains_key(*path)) {
            self.remarks.add(path, Reason::RepositoryGone);
        }
        for (path, why) in
            now.left_out.iter().chain(then.left_out.iter().filter(|(path, _)| !now.left_out.contains_key(*path)))
        {
            self.remarks.add(
                path,
                match why {
                    LeftOut::Special => Reason::Special,
                    LeftOut::Unreadable => Reason::Unreadable,
                    LeftOut::GitsName => Reason::GitsName,
                },
            );
        }
        let is_in = |path: &[u8], repositories: &BTreeMap<Vec<u8>, Option<String>>| {
            repositories.contains_key(path) || folders_of(path).any(|folder| repositories.contains_key(folder))
        };
        way.written.retain(|path, _entry| !is_in(path, &now.repositories) && !now.left_out.contains_key(path));
        way.removed.retain(|path| !is_in(path, &then.repositories) && !then.left_out.contains_key(path));
        if let Some(before) = before {
            // What was ignored when the rollback began must not be taken for something new now that the rules are back.
            let began = State::of(&private.git, &before.kept.commit)?.entries(&private.git)?;
            let remarks = &mut self.remarks;
            way.removed.retain(|path| {
                let was_there = began.contains_key(path);
                if !was_there {
                    remarks.add(path, Reason::CameLater);
                }
                was_there
            });
        }
        Ok(way)
    }

    /// Writes all files of the way below `stage`.
    fn stage(&self, way: &Way, stage: &Path, private: &Private) -> Result<(), CheckpointError> {
        let git = private.with_index("stage-index");
        let (mut lines, mut paths) = (Vec::new(), Vec::new());
        for (path, entry) in &way.written {
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
        for (path, entry) in &way.written {
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

    fn files(&mut self, way: &Way, stage: &Path) -> Result<(), CheckpointError> {
        // First what is in the way: files where folders go, and files in folders where files go.
        let needed: BTreeSet<&[u8]> = way
            .written
            .keys()
            .chain(self.then.manifest.empty_folders.keys())
            .flat_map(|path| folders_of(path))
            .collect();
        let obstructs = |path: &[u8]| {
            needed.contains(path)
                || self.then.manifest.empty_folders.contains_key(path)
                || folders_of(path).any(|folder| way.written.contains_key(folder))
        };
        let (first, rest): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = way.removed.iter().partition(|path| obstructs(path));
        for path in first {
            self.remove(path);
        }
        for path in way.written.keys() {
            self.write(path, &stage.join(OsStr::from_bytes(path)));
        }
        // With the rules of then in place, what they ignore is left: it may have been there all along.
        let (rules, rest): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = rest.into_iter().partition(|path| is_rules(path));
        for path in rules {
            self.remove(path);
        }
        let ignored = ignored(self.place, rest.iter().copied())?;
        for path in rest {
            if ignored.contains(path) {
                self.remarks.add(path, Reason::Ignored);
            } else {
                self.remove(path);
            }
        }
        Ok(())
    }

    fn full(&self, path: &[u8]) -> PathBuf {
        self.place.top.join(OsStr::from_bytes(path))
    }

    /// Whether a path still has what was kept of it.
    fn is_as_kept(&self, path: &[u8]) -> bool {
        let found = match fs::symlink_metadata(self.full(path)) {
            Ok(found) => Some(found),
            Err(error) if is_gone(&error) => None,
            Err(_unknown) => return false,
        };
        match (self.files.get(path), found) {
            (Some(seen), Some(found)) => seen.is_same(&Seen::of(&found)),
            (Some(_), None) => true,
            (None, Some(found)) => found.is_dir(),
            (None, None) => true,
        }
    }

    fn remove(&mut self, path: &[u8]) {
        (self.step)(Step::Removing);
        if !self.is_as_kept(path) {
            self.remarks.add(path, Reason::JustChanged);
            return;
        }
        match self.top.remove(path) {
            Ok(()) => self.removed += 1,
            Err(error) if is_gone(&error) => {}
            Err(error) => self.remarks.add(path, Reason::Failed(error.to_string())),
        }
    }

    fn write(&mut self, path: &[u8], staged: &Path) {
        (self.step)(Step::Placing);
        if !self.is_as_kept(path) {
            self.remarks.add(path, Reason::JustChanged);
            return;
        }
        let is_folder = fs::symlink_metadata(self.full(path)).is_ok_and(|found| found.is_dir());
        if is_folder && !self.clear(path) {
            self.remarks.add(path, Reason::InTheWay);
            return;
        }
        match self.top.place(staged, path) {
            Ok(()) => self.restored += 1,
            Err(error) => self.remarks.add(path, Reason::Failed(error.to_string())),
        }
    }

    /// Removes a folder with the empty ones in it. `false`: there is more in it.
    fn clear(&self, path: &[u8]) -> bool {
        let inside = [path, b"/"].concat();
        let files = self.files.range(inside.clone()..).map(|(file, _seen)| file);
        let files = files.take_while(|file| file.starts_with(&inside)).flat_map(|file| folders_of(file));
        let empty = self.now.manifest.empty_folders.range(inside.clone()..).map(|(folder, _mode)| folder.as_slice());
        let mut all: BTreeSet<&[u8]> = files.filter(|folder| folder.starts_with(&inside)).collect();
        all.extend(empty.take_while(|folder| folder.starts_with(&inside)));
        all.insert(path);
        // Those inside come after those around them.
        all.into_iter().rev().all(|folder| self.top.remove_folder(folder).unwrap_or(false))
    }

    fn folders(&mut self, way: &Way, entries: &BTreeMap<Vec<u8>, Entry>) -> Result<(), CheckpointError> {
        let (now, then) = (&self.now.manifest, &self.then.manifest);
        for path in then.empty_folders.keys() {
            (self.step)(Step::Foldering);
            if let Err(error) = self.top.make_folder(path) {
                self.remarks.add(path, Reason::Failed(error.to_string()));
            }
        }
        let mut left: BTreeSet<&[u8]> = now.empty_folders.keys().map(Vec::as_slice).collect();
        left.extend(way.removed.iter().flat_map(|path| folders_of(path)));
        left.retain(|path| !then.empty_folders.contains_key(*path) && !then.repositories.contains_key(*path));
        let there = now.empty_folders.keys().filter(|path| left.contains(path.as_slice()) && self.top.is_folder(path));
        let ignored = ignored(self.place, there)?;
        for path in left.into_iter().rev().filter(|path| !ignored.contains(*path)) {
            (self.step)(Step::Foldering);
            // One that holds something ignored stays, and so does one that became something else.
            self.top.remove_folder(path).ok();
        }
        let mut modes: BTreeMap<&[u8], u32> = BTreeMap::new();
        let full: BTreeSet<&[u8]> = entries.keys().flat_map(|path| folders_of(path)).collect();
        let written = way.written.keys().flat_map(|path| folders_of(path));
        for path in written.chain(now.folder_modes.keys().map(Vec::as_slice)).filter(|path| full.contains(path)) {
            modes.insert(path, FOLDER_MODE);
        }
        modes.extend(then.folder_modes.iter().map(|(path, mode)| (path.as_slice(), *mode)));
        modes.extend(then.empty_folders.iter().map(|(path, mode)| (path.as_slice(), *mode)));
        for (path, mode) in modes.into_iter().rev() {
            (self.step)(Step::Foldering);
            match self.top.set_folder_mode(path, mode) {
                Ok(()) => {}
                // What is not there was said above.
                Err(error) if is_gone(&error) => {}
                Err(error) => self.remarks.add(path, Reason::Failed(error.to_string())),
            }
        }
        Ok(())
    }
}

fn is_rules(path: &[u8]) -> bool {
    path == b".gitignore" || path.ends_with(b"/.gitignore")
}

/// What was kept and what lies ready is on disk before the first file goes.
fn synced(top: &Path, own: &Path) -> Result<(), CheckpointError> {
    for path in [top, own] {
        let folder = fs::File::open(path).map_err(CheckpointError::file(path))?;
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&folder).map_err(|error| CheckpointError::file(path)(error.into()))?;
        #[cfg(not(target_os = "linux"))]
        folder.sync_all().map_err(CheckpointError::file(path))?;
    }
    Ok(())
}
