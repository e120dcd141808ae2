//! Finds the constraints that guard an action (C8) without reading every constraint file on every call.
//!
//! One small file per project lists the guards, with a stamp of every folder and file they were read from and a checksum of
//! its own. If a stamp or the checksum differs, the list is rebuilt.

use std::fs;
use std::path::{Path, PathBuf};

use haltline_core::constraint::{Guard, Rule};
use haltline_core::identity::Action;
use haltline_core::{ConstraintId, State};
use serde::{Deserialize, Serialize};

use crate::constraint_file::{active_ids, find};
use crate::file::{Durability, Links, Sealed, Stamp, StampedPath, read_regular, seal, unseal, write_atomically};
use crate::project::ProjectKey;

/// At most this many folders and files of constraints are stamped.
const STAMPS_MAX: usize = 2000;
/// The longest list that is read, in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// The guards of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guards {
    stamps: Vec<StampedPath>,
    guards: Vec<(String, Vec<Guard>)>,
}

/// Path of a project's list.
pub(crate) fn path(state_folder: &Path, project: ProjectKey) -> PathBuf {
    state_folder.join("guards").join(format!("{:016x}.json", project.0))
}

fn stamp(path: &Path) -> Option<StampedPath> {
    let stamp = Stamp::read_without_following(path)?;
    Some(StampedPath { path: path.to_owned(), stamp: Some(stamp) })
}

/// Stamps of a folder, the folders in it, and their files.
fn stamps(folder: &Path) -> Vec<StampedPath> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let Some(stamp) = stamp(&path) else { continue };
        found.push(stamp);
        if found.len() >= STAMPS_MAX {
            break;
        }
        let Ok(files) = fs::read_dir(&path) else { continue };
        // The mirror in this folder changes with every violation, and holds no rule.
        let mut files: Vec<PathBuf> = files
            .flatten()
            .filter(|file| !file.file_name().to_string_lossy().starts_with('.'))
            .map(|file| file.path())
            .collect();
        files.sort();
        waiting.extend(files);
    }
    found
}

impl Guards {
    /// The list of a project: the stored one if nothing changed, else a new one. Calls `report_altered` if another program
    /// changed the stored one.
    pub(crate) fn load(
        list: &Path,
        root: &Path,
        directory: &str,
        defaults: &haltline_core::constraint::Limits,
        circuits: impl FnOnce() -> Vec<(ConstraintId, Rule)>,
        report_altered: impl FnOnce(),
    ) -> Self {
        let folder = root.join(directory);
        let file = read_regular(list, BYTES_MAX, Links::Reject);
        let kept: Option<Guards> = match file.as_deref().map(unseal) {
            Ok(Sealed::Whole(text)) => serde_json::from_slice(text).ok(),
            Ok(Sealed::Altered) => {
                report_altered();
                None
            }
            Ok(Sealed::Unsealed) | Err(_) => None,
        };
        let has_folder = folder.is_dir();
        if let Some(kept) = kept.filter(|kept| kept.is_fresh(&folder, has_folder)) {
            return kept;
        }
        // Also without a folder: circuits keep their rules when somebody deletes it.
        let made = Self::build(root, directory, defaults, circuits());
        if let Some(parent) = list.parent()
            && let Ok(text) = serde_json::to_vec(&made)
        {
            // The list only saves time; without it everything is read again.
            let write = |()| write_atomically(list, &seal(&text), Durability::Rebuildable);
            fs::create_dir_all(parent).and_then(write).ok();
        }
        made
    }

    fn is_fresh(&self, folder: &Path, has_folder: bool) -> bool {
        if !has_folder {
            return self.stamps.is_empty();
        }
        let Some((top, below)) = self.stamps.split_first().filter(|(top, _)| top.path == folder) else { return false };
        // A folder's time changes when a file is added, removed or replaced; a file's when it is written in place. The
        // top folder's time also changes with the mirror in it, which holds no rule, so there the names are compared.
        let is_top_same = stamp(folder).as_ref() == Some(top)
            || stamps(folder).iter().map(|stamp| &stamp.path).eq(self.stamps.iter().map(|stamp| &stamp.path));
        is_top_same && below.iter().all(|known| stamp(&known.path).as_ref() == Some(known))
    }

    fn build(
        root: &Path,
        directory: &str,
        defaults: &haltline_core::constraint::Limits,
        circuits: Vec<(ConstraintId, Rule)>,
    ) -> Self {
        let folder = root.join(directory);
        let stamps = stamps(&folder);
        let mut guards: Vec<(String, Vec<Guard>)> = Vec::new();
        let mut add = |id: &ConstraintId, rule: &Rule| {
            let index = guards.iter().position(|(known, _)| known == id.as_str()).unwrap_or_else(|| {
                guards.push((id.as_str().to_owned(), Vec::new()));
                guards.len() - 1
            });
            guards[index].1.extend(rule.guards.iter().cloned());
        };
        for id in active_ids(root, directory, defaults) {
            if let Some(file) = find(root, directory, &id, None, defaults) {
                add(&id, &file.seen.rule);
            }
        }
        for (id, rule) in &circuits {
            add(id, rule);
        }
        guards.retain(|(_, guards)| !guards.is_empty());
        Self { stamps, guards }
    }

    /// The constraints that guard an action in the project at `root`.
    pub(crate) fn covering(&self, action: &Action, root: &Path) -> Vec<ConstraintId> {
        let root = root.to_str().unwrap_or_default();
        let covers = |guard: &Guard| guard.covers(action, root);
        let ids = self.guards.iter().filter(|(_, guards)| guards.iter().any(covers));
        ids.filter_map(|(id, _)| ConstraintId::parse(id).ok()).collect()
    }
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

    fn load(root: &Path, list: &Path) -> Guards {
        Guards::load(list, root, "docs/constraints", &haltline_core::constraint::Limits::default(), Vec::new, || ())
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
        for stamped in earlier["stamps"].as_array_mut().expect("stamps") {
            *stamped = serde_json::json!({"path": stamped["path"], "modified": [1, 2], "bytes": 3, "inode": 4});
        }
        fs::write(&list, earlier.to_string()).expect("written");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 1);
        assert_eq!(fs::read(&list).expect("kept"), current, "a list of an earlier version is rebuilt");
        fs::remove_dir_all(root.join("docs")).expect("removed");
        assert_eq!(load(&root, &list).covering(&push, &root).len(), 0);
    }
}
