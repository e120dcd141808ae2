//! Finds the constraints that guard an action (C8) without reading every constraint file on every call.
//!
//! One small file per project lists the guards, with a stamp of every folder and file they were read from and a checksum of
//! its own. If a stamp or the checksum differs, the list is rebuilt. Many files have one digest of all their stamps
//! instead, and are looked at once a second at most: a folder's own stamp shows at once that a file was added, replaced
//! or removed, and only an edit in place takes that long to be noticed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::constraint::{Guard, Limits, Rule};
use haltline_core::identity::Action;
use haltline_core::{ConstraintId, Instant, State};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::constraint_file::{active_ids, find};
use crate::file::{Durability, Links, Sealed, Stamp, StampedPath, read_regular, seal, unseal, write_atomically};
use crate::project::ProjectKey;

/// Up to this many files are looked at at every call.
const FEW_FILES: usize = 64;
/// How often many files are looked at.
const LOOK_EVERY_MS: i64 = 1000;
/// At most this many folders and files of constraints are looked at.
const PATHS_MAX: usize = 200_000;
/// The longest list that is read, in bytes.
const BYTES_MAX: u64 = 64 << 20;

/// The guards of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guards {
    seen: Seen,
    guards: Vec<(String, Vec<Guard>)>,
}

/// What the guards were read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// The constraints folder first.
    folders: Vec<StampedPath>,
    files: SeenFiles,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SeenFiles {
    Few(Vec<StampedPath>),
    /// A digest of the paths and stamps of all.
    Many(u64),
}

impl Default for SeenFiles {
    fn default() -> Self {
        SeenFiles::Few(Vec::new())
    }
}

/// Where the constraints of a project are, and what counts where a file says nothing.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub root: &'a Path,
    pub directory: &'a str,
    pub defaults: &'a Limits,
}

/// Path of a project's list.
pub(crate) fn path(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("guards").join(format!("{:016x}.json", project.0))
}

fn stamp(path: &Path) -> Option<StampedPath> {
    let stamp = Stamp::read_without_following(path)?;
    Some(StampedPath { path: path.to_owned(), stamp: Some(stamp) })
}

impl Seen {
    /// Looks at a folder, the folders in it, and their files.
    fn look(folder: &Path) -> Self {
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        let mut waiting = vec![folder.to_owned()];
        while let Some(path) = waiting.pop() {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let stamped = StampedPath { stamp: Some(Stamp::from(&found)), path };
            if !found.is_dir() {
                files.push(stamped);
            } else {
                if let Ok(entries) = fs::read_dir(&stamped.path) {
                    // The mirror in this folder changes with every violation, and holds no rule.
                    let entries =
                        entries.flatten().filter(|file| !file.file_name().as_encoded_bytes().starts_with(b"."));
                    let mut paths: Vec<PathBuf> = entries.map(|file| file.path()).collect();
                    paths.sort();
                    waiting.extend(paths);
                }
                folders.push(stamped);
            }
            if folders.len() + files.len() >= PATHS_MAX {
                break;
            }
        }
        let files = if files.len() <= FEW_FILES { SeenFiles::Few(files) } else { SeenFiles::Many(digest(&files)) };
        Self { folders, files }
    }

    /// True if no folder changed, and no file as far as it was looked at.
    fn is_unchanged(&self, must_look: bool) -> bool {
        let is_same = |known: &StampedPath| stamp(&known.path).as_ref() == Some(known);
        self.folders.iter().all(is_same)
            && match &self.files {
                SeenFiles::Few(files) => files.iter().all(is_same),
                SeenFiles::Many(_) => !must_look,
            }
    }

    /// True if the same files were found in the same folders. The stamp of a folder also changes with a mirror in it.
    fn has_same_files(&self, other: &Self) -> bool {
        let paths = |seen: &Self| seen.folders.iter().map(|folder| folder.path.clone()).collect::<Vec<_>>();
        self.files == other.files && paths(self) == paths(other)
    }
}

fn digest(files: &[StampedPath]) -> u64 {
    let mut hasher = Xxh3::new();
    for file in files {
        hasher.update(file.path.as_os_str().as_encoded_bytes());
        for word in file.stamp.iter().flat_map(Stamp::words) {
            hasher.update(&word.to_le_bytes());
        }
    }
    hasher.digest()
}

impl Guards {
    /// The list of a project: the stored one if nothing changed, else a new one. Calls `report_altered` if another program
    /// changed the stored one.
    pub(crate) fn load(
        list: &Path,
        place: Place<'_>,
        now: Instant,
        circuits: impl FnOnce() -> Vec<(ConstraintId, Rule)>,
        report_altered: impl FnOnce(),
    ) -> Self {
        let folder = place.root.join(place.directory);
        let file = read_regular(list, BYTES_MAX, Links::Reject);
        let kept: Option<Guards> = match file.as_deref().map(unseal) {
            Ok(Sealed::Whole(text)) => serde_json::from_slice(text).ok(),
            Ok(Sealed::Altered) => {
                report_altered();
                None
            }
            Ok(Sealed::Unsealed) | Err(_) => None,
        };
        // Circuits keep their rules when somebody deletes the folder.
        let has_folder = folder.is_dir();
        if let Some(mut kept) = kept {
            let is_same_folder = kept.seen.folders.first().map(|top| &top.path) == has_folder.then_some(&folder);
            if is_same_folder && kept.seen.is_unchanged(!was_looked_at(list, now)) {
                return kept;
            }
            let seen = if has_folder { Seen::look(&folder) } else { Seen::default() };
            if kept.seen.has_same_files(&seen) {
                // From now on the second counts again, and the folders' stamps are the present ones.
                kept.seen = seen;
                kept.write(list);
                return kept;
            }
        }
        let seen = if has_folder { Seen::look(&folder) } else { Seen::default() };
        let made = Self::build(place, seen, circuits());
        made.write(list);
        made
    }

    /// The list only saves time; without it everything is read again.
    fn write(&self, list: &Path) {
        if let Some(parent) = list.parent()
            && let Ok(text) = serde_json::to_vec(self)
        {
            let write = |()| write_atomically(list, &seal(&text), Durability::Rebuildable);
            fs::create_dir_all(parent).and_then(write).ok();
        }
    }

    fn build(place: Place<'_>, seen: Seen, circuits: Vec<(ConstraintId, Rule)>) -> Self {
        let Place { root, directory, defaults } = place;
        let mut guards: BTreeMap<String, Vec<Guard>> = BTreeMap::new();
        let mut add = |id: &ConstraintId, rule: &Rule| {
            if !rule.guards.is_empty() {
                guards.entry(id.as_str().to_owned()).or_default().extend(rule.guards.iter().cloned());
            }
        };
        for id in active_ids(root, directory, defaults) {
            if let Some(file) = find(root, directory, &id, None, defaults) {
                add(&id, &file.seen.rule);
            }
        }
        for (id, rule) in &circuits {
            add(id, rule);
        }
        Self { seen, guards: guards.into_iter().collect() }
    }

    /// The constraints that guard an action in the project at `root`.
    pub(crate) fn covering(&self, action: &Action, root: &Path) -> Vec<ConstraintId> {
        let root = root.to_str().unwrap_or_default();
        let covers = |guard: &Guard| guard.covers(action, root);
        let ids = self.guards.iter().filter(|(_, guards)| guards.iter().any(covers));
        ids.filter_map(|(id, _)| ConstraintId::parse(id).ok()).collect()
    }
}

/// True if many files were looked at within the last second: their list was written then.
fn was_looked_at(list: &Path, now: Instant) -> bool {
    let Some(written) = Stamp::read_without_following(list) else { return false };
    let age_ms = now.as_millis() - written.modified_ms();
    (0..LOOK_EVERY_MS).contains(&age_ms)
}

/// The rules in force according to the store.
pub(crate) fn rules(circuits: Vec<(haltline_core::CircuitName, State)>) -> Vec<(ConstraintId, Rule)> {
    let constraints = circuits.into_iter().filter_map(|(name, state)| {
        let circuit = state.as_constraint()?;
        Some((ConstraintId::parse(name.scope()).ok()?, circuit.rule.clone()))
    });
    constraints.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    fn load_at(root: &Path, list: &Path, now: Instant) -> Guards {
        let place = Place { root, directory: "docs/constraints", defaults: &Limits::default() };
        Guards::load(list, place, now, Vec::new, || ())
    }

    fn load(root: &Path, list: &Path) -> Guards {
        load_at(root, list, Clock::System.now().at)
    }

    fn write(root: &Path, name: &str, glob: &str) {
        let folder = root.join("docs/constraints/active");
        fs::create_dir_all(&folder).expect("folder");
        let text = format!("---\nid: {name}\nstatus: active\nguards:\n  - tool: Bash\n    command: \"{glob}\"\n---\n");
        fs::write(folder.join(format!("{name}.md")), text).expect("written");
    }

    #[test]
    fn a_guard_is_found_as_soon_as_its_file_is_there_and_follows_its_changes() {
        let folder = tempfile::tempdir().expect("temp folder");
        let root = fs::canonicalize(folder.path()).expect("exists");
        let list = root.join("list.json");
        let push = Action::new("Bash", r#"{"command":"git push --force"}"#, None);
        assert_eq!(load(&root, &list).covering(&push, &root), vec![]);
        write(&root, "force-push", "git push*--force*");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 1);
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 1, "from the kept list");
        write(&root, "force-push", "svn*");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 0);
        write(&root, "another", "git*");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 1);
        let current = fs::read(&list).expect("kept");
        let Sealed::Whole(text) = unseal(&current) else { panic!("sealed") };
        let mut earlier: serde_json::Value = serde_json::from_slice(text).expect("JSON");
        earlier["stamps"] = earlier.as_object_mut().and_then(|list| list.remove("seen")).expect("seen");
        fs::write(&list, earlier.to_string()).expect("written");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 1);
        assert_eq!(fs::read(&list).expect("kept"), current, "a list of an earlier version is rebuilt");
        fs::remove_dir_all(root.join("docs")).expect("removed");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 0);
    }
    #[test]
    fn of_many_files_each_that_is_edited_in_place_is_noticed_within_a_second() {
        let folder = tempfile::tempdir().expect("temp folder");
        let root = fs::canonicalize(folder.path()).expect("exists");
        let list = root.join("list.json");
        let many = 2 * FEW_FILES;
        (0..many).for_each(|number| write(&root, &format!("rule-{number:03}"), "svn*"));
        let push = Action::new("Bash", r#"{"command":"git push --force"}"#, None);
        assert_eq!(load(&root, &list).covering(&push, &root), vec![]);
        let text = fs::read(&list).expect("kept");
        assert!(text.len() < 200 * many, "one digest stands for all files");
        let later = |ms: i64| Clock::System.now().at.plus_millis(ms);
        for number in [0, FEW_FILES, many - 1] {
            write(&root, &format!("rule-{number:03}"), "git push*");
            let found = load_at(&root, &list, later(LOOK_EVERY_MS)).covering(&push, &root);
            assert_eq!(found.len(), 1, "{number}");
            write(&root, &format!("rule-{number:03}"), "svn*");
            assert_eq!(load_at(&root, &list, later(LOOK_EVERY_MS)).covering(&push, &root), vec![]);
        }
        // A clock that went back is no reason to look less often.
        write(&root, "rule-001", "git push*");
        assert_eq!(load_at(&root, &list, later(-5000)).covering(&push, &root).len(), 1);
        fs::remove_file(root.join("docs/constraints/active/rule-001.md")).expect("removed");
        assert_eq!(load(&root, &list).covering(&push, &root), vec![], "at once");
        write(&root, "rule-999", "git push*");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 1, "at once");
    }
}
