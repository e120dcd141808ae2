//! What a tree of git cannot say of a work tree: empty folders, modes beyond "executable", repositories inside, and
//! what had to be left out.

use std::collections::{BTreeMap, BTreeSet};

/// The mode of a file or folder that has no line of its own.
pub(super) const FOLDER_MODE: u32 = 0o755;

/// Why something that is there is in no checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// A pipe, a socket or a device.
    Special,
    /// It may not be read.
    Unreadable,
    /// git takes no path with a part called like its own folder.
    GitsName,
}

/// The rest of a work tree, beside its tree. Paths are from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Files with other modes than 0644 and 0755.
    pub(super) file_modes: BTreeMap<Vec<u8>, u32>,
    /// Folders without a kept file below them.
    pub(super) empty_folders: BTreeMap<Vec<u8>, u32>,
    /// Those of them that are not empty: something ignored is somewhere in them.
    pub(super) holding: BTreeSet<Vec<u8>>,
    /// Folders with kept files and another mode than 0755.
    pub(super) folder_modes: BTreeMap<Vec<u8>, u32>,
    /// Repositories inside, and the commit each had checked out.
    pub(super) repositories: BTreeMap<Vec<u8>, Option<String>>,
    /// What is not kept.
    pub(super) left_out: BTreeMap<Vec<u8>, LeftOut>,
}

impl Manifest {
    /// The bytes that [`Self::read`] reads: `KIND VALUE PATH` and a zero byte each.
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
        self.holding.iter().for_each(|path| line("holds", "-", path));
        self.repositories.iter().for_each(|(path, head)| line("repository", head.as_deref().unwrap_or("-"), path));
        for (path, why) in &self.left_out {
            let word = match why {
                LeftOut::Special => "special",
                LeftOut::Unreadable => "unreadable",
                LeftOut::GitsName => "name",
            };
            line("out", word, path);
        }
        bytes
    }

    /// `None`: it is none of ours, or of a later version.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut manifest = Self::default();
        for record in bytes.split(|&byte| byte == 0).filter(|record| !record.is_empty()) {
            let mut parts = record.splitn(3, |&byte| byte == b' ');
            let kind = parts.next()?;
            let value = std::str::from_utf8(parts.next()?).ok()?;
            let path = parts.next().filter(|path| is_plain(path))?.to_vec();
            let mode = || u32::from_str_radix(value, 8).ok().filter(|&mode| mode <= 0o7777);
            match kind {
                b"file" => drop(manifest.file_modes.insert(path, mode()?)),
                b"empty" => drop(manifest.empty_folders.insert(path, mode()?)),
                b"folder" => drop(manifest.folder_modes.insert(path, mode()?)),
                b"holds" => drop(manifest.holding.insert(path)),
                b"repository" => {
                    let head = (value != "-").then(|| value.to_owned());
                    manifest.repositories.insert(path, head);
                }
                b"out" => {
                    let why = match value {
                        "special" => LeftOut::Special,
                        "unreadable" => LeftOut::Unreadable,
                        "name" => LeftOut::GitsName,
                        _ => return None,
                    };
                    manifest.left_out.insert(path, why);
                }
                _ => return None,
            }
        }
        Some(manifest)
    }

    /// The mode of a kept file.
    pub(super) fn file_mode(&self, path: &[u8], is_executable: bool) -> u32 {
        self.file_modes.get(path).copied().unwrap_or(usual(is_executable))
    }
}

/// The mode of a file that nobody changed.
pub(super) fn usual(is_executable: bool) -> u32 {
    if is_executable { 0o755 } else { 0o644 }
}

/// Whether a path stays below the top and out of git's folder: what we list ourselves always does, but a ref could
/// have been written by anybody.
pub(super) fn is_plain(path: &[u8]) -> bool {
    !path.is_empty()
        && path.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
        && !is_gits(path)
}

/// Whether git takes no such path.
pub(super) fn is_gits(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}

/// The folders a path is in, nearest first, without the top.
pub(super) fn folders_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
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
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Some(manifest) = Manifest::read(&bytes) {
                proptest::prop_assert_eq!(Manifest::read(&manifest.write()), Some(manifest));
            }
        }

        #[test]
        fn every_path_comes_back(part in "[^/\0]{1,9}", mode in 0_u32..0o7777) {
            proptest::prop_assume!(is_plain(part.as_bytes()));
            let path = format!("{part}/ {part}\n").into_bytes();
            let manifest = Manifest {
                file_modes: [(path.clone(), mode)].into(),
                empty_folders: [(path.clone(), mode)].into(),
                holding: [path.clone()].into(),
                folder_modes: [(path.clone(), mode)].into(),
                repositories: [(path.clone(), None), (part.into_bytes(), Some("abc".to_owned()))].into(),
                left_out: [(path, LeftOut::Special)].into(),
            };
            proptest::prop_assert_eq!(Manifest::read(&manifest.write()), Some(manifest));
        }
    }

    #[test]
    fn a_path_that_leaves_the_tree_is_refused() {
        for path in ["../a", "a/../b", "/a", "a//b", ".git/hooks/x", "a/.GIT/config", "", "."] {
            assert_eq!(Manifest::read(format!("empty 755 {path}\0").as_bytes()), None, "{path}");
        }
    }
}
