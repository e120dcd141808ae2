//! What a git tree cannot record of a work tree: empty folders, modes beyond "executable", nested repositories, and
//! what had to be left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::records;

/// The mode of a folder that the manifest does not list.
pub(super) const DEFAULT_FOLDER_MODE: u32 = 0o755;

/// Why something in the work tree is in no checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// A pipe, a socket or a device.
    Special,
    /// haltline may not read it.
    Unreadable,
    /// git accepts no path with a part called `.git`.
    GitName,
}

/// What belongs to a state of the work tree beside the git tree. Paths are relative to the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Files with other modes than 0644 and 0755.
    pub(super) file_modes: BTreeMap<Vec<u8>, u32>,
    /// Folders without a kept file below them.
    pub(super) empty_folders: BTreeMap<Vec<u8>, u32>,
    /// Those of `empty_folders` that contain something ignored.
    pub(super) holding_ignored: BTreeSet<Vec<u8>>,
    /// Folders with kept files and another mode than 0755.
    pub(super) folder_modes: BTreeMap<Vec<u8>, u32>,
    /// Nested repositories and the commit that each has checked out.
    pub(super) repositories: BTreeMap<Vec<u8>, Option<String>>,
    pub(super) left_out: BTreeMap<Vec<u8>, LeftOut>,
}

impl Manifest {
    /// Serializes to the form that [`Self::read`] parses: `KIND VALUE PATH` and a zero byte for each entry.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut line = |kind: &str, value: &str, path: &[u8]| {
            bytes.extend_from_slice(kind.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(path);
            bytes.push(0);
        };
        for (kind, modes) in
            [("file", &self.file_modes), ("empty", &self.empty_folders), ("folder", &self.folder_modes)]
        {
            modes.iter().for_each(|(path, mode)| line(kind, &format!("{mode:o}"), path));
        }
        self.holding_ignored.iter().for_each(|path| line("holds", "-", path));
        self.repositories.iter().for_each(|(path, head)| line("repository", head.as_deref().unwrap_or("-"), path));
        for (path, reason) in &self.left_out {
            let value = match reason {
                LeftOut::Special => "special",
                LeftOut::Unreadable => "unreadable",
                LeftOut::GitName => "name",
            };
            line("out", value, path);
        }
        bytes
    }

    /// Returns `None` if haltline did not write it, or a later version did.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut manifest = Self::default();
        for record in records(bytes) {
            let mut parts = record.splitn(3, |&byte| byte == b' ');
            let kind = parts.next()?;
            let value = std::str::from_utf8(parts.next()?).ok()?;
            let path = parts.next().filter(|path| is_safe_path(path))?.to_vec();
            let mode = || u32::from_str_radix(value, 8).ok().filter(|&mode| mode <= 0o7777);
            match kind {
                b"file" => drop(manifest.file_modes.insert(path, mode()?)),
                b"empty" => drop(manifest.empty_folders.insert(path, mode()?)),
                b"folder" => drop(manifest.folder_modes.insert(path, mode()?)),
                b"holds" => drop(manifest.holding_ignored.insert(path)),
                b"repository" => {
                    let head = (value != "-").then(|| value.to_owned());
                    manifest.repositories.insert(path, head);
                }
                b"out" => {
                    let reason = match value {
                        "special" => LeftOut::Special,
                        "unreadable" => LeftOut::Unreadable,
                        "name" => LeftOut::GitName,
                        _ => return None,
                    };
                    manifest.left_out.insert(path, reason);
                }
                _ => return None,
            }
        }
        Some(manifest)
    }

    pub(super) fn file_mode(&self, path: &[u8], is_executable: bool) -> u32 {
        self.file_modes.get(path).copied().unwrap_or(default_file_mode(is_executable))
    }
}

/// The mode of a file that the manifest does not list.
pub(super) fn default_file_mode(is_executable: bool) -> u32 {
    if is_executable { 0o755 } else { 0o644 }
}

/// True if a path stays below the top and outside the git folder. Paths that haltline lists always do, but anybody
/// could have written the ref that is read.
pub(super) fn is_safe_path(path: &[u8]) -> bool {
    !path.is_empty()
        && path.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
        && !has_git_part(path)
}

/// True if a part of the path is called `.git`, which git does not accept.
pub(super) fn has_git_part(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}

/// The folders that contain a path, nearest first, without the top.
pub(super) fn folders_around(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let end = rest.iter().rposition(|&byte| byte == b'/')?;
        rest = &rest[..end];
        Some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_rejected(bytes: Vec<u8>) {
            if let Some(manifest) = Manifest::read(&bytes) {
                proptest::prop_assert_eq!(Manifest::read(&manifest.write()), Some(manifest));
            }
        }

        #[test]
        fn every_path_round_trips(part in "[^/\0]{1,9}", mode in 0_u32..0o7777) {
            proptest::prop_assume!(is_safe_path(part.as_bytes()));
            let path = format!("{part}/ {part}\n").into_bytes();
            let manifest = Manifest {
                file_modes: [(path.clone(), mode)].into(),
                empty_folders: [(path.clone(), mode)].into(),
                holding_ignored: [path.clone()].into(),
                folder_modes: [(path.clone(), mode)].into(),
                repositories: [(path.clone(), None), (part.into_bytes(), Some("abc".to_owned()))].into(),
                left_out: [(path, LeftOut::Special)].into(),
            };
            proptest::prop_assert_eq!(Manifest::read(&manifest.write()), Some(manifest));
        }
    }

    #[test]
    fn a_path_that_leaves_the_tree_is_rejected() {
        for path in ["../a", "a/../b", "/a", "a//b", ".git/hooks/x", "a/.GIT/config", "", "."] {
            assert_eq!(Manifest::read(format!("empty 755 {path}\0").as_bytes()), None, "{path}");
        }
    }
}
