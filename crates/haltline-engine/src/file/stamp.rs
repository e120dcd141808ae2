//! Tells whether a file changed without reading it. This is the only definition of "changed by its metadata".

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What changes when a file does. Programs can set the modification time but not the change time (ctime), so a file that
/// is rewritten with the same length and given its old modification time has another stamp.
///
/// Two changes within one tick of the file system's clock can leave the same stamp: a caller that keeps a stamp for long
/// compares its age first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    changed: (i64, i64),
    modified: (i64, i64),
    size: u64,
    inode: u64,
    device: u64,
}

/// A file or folder that something was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampedPath {
    pub path: PathBuf,
    /// `None` if there was no such file, or an earlier version wrote it, which then counts as changed once.
    #[serde(default)]
    pub stamp: Option<Stamp>,
}

impl Stamp {
    /// The stamp of the file at `path`, after links; `None` if there is no such file.
    pub fn read(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// The stamp of what is at `path` itself, even if it is a link.
    pub fn read_without_following(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().as_ref().map(Self::from)
    }

    /// When the file was last changed, in whole seconds since 1970.
    pub fn changed_s(&self) -> i64 {
        self.changed.0
    }

    /// When the content was last changed, or what a program says it was, in milliseconds since 1970.
    pub fn modified_ms(&self) -> i64 {
        self.modified.0.saturating_mul(1000).saturating_add(self.modified.1 / 1_000_000)
    }

    /// The whole stamp as numbers, to make a digest of many.
    pub fn words(&self) -> [u64; 7] {
        let ((changed_s, changed_ns), (modified_s, modified_ns)) = (self.changed, self.modified);
        let times = [changed_s, changed_ns, modified_s, modified_ns].map(i64::cast_unsigned);
        [times[0], times[1], times[2], times[3], self.size, self.inode, self.device]
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// True if nothing but the change time differs.
    pub fn is_same_but_for_change_time(&self, other: &Self) -> bool {
        *self == Self { changed: self.changed, ..*other }
    }
}

impl From<&Metadata> for Stamp {
    fn from(found: &Metadata) -> Self {
        Self {
            changed: (found.ctime(), found.ctime_nsec()),
            modified: (found.mtime(), found.mtime_nsec()),
            size: found.size(),
            inode: found.ino(),
            device: found.dev(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns once the file system's clock shows another time than that of `path`.
    fn wait_for_next_tick(path: &Path) {
        let probe = path.with_extension("probe");
        let changed = |path: &Path| Stamp::read(path).expect("there").changed;
        while {
            fs::write(&probe, "").expect("written");
            changed(&probe) == changed(path)
        } {}
    }

    #[test]
    fn a_file_rewritten_with_its_old_length_and_time_has_another_stamp() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("report.xml");
        fs::write(&path, "one").expect("written");
        let (before, modified) = (Stamp::read(&path), fs::metadata(&path).and_then(|file| file.modified()));
        assert_eq!(Stamp::read(&path), before);
        wait_for_next_tick(&path);
        fs::write(&path, "two").expect("written");
        let file = fs::File::options().write(true).open(&path).expect("open");
        file.set_modified(modified.expect("a time")).expect("set");
        let after = Stamp::read(&path);
        assert_ne!(after, before);
        assert!(after.expect("there").is_same_but_for_change_time(&before.expect("there")));
    }

    #[test]
    fn a_link_has_its_own_stamp_and_that_of_its_target() {
        let folder = tempfile::tempdir().expect("temp folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        assert_eq!((Stamp::read(&link), Stamp::read(&target)), (None, None));
        assert!(Stamp::read_without_following(&link).is_some());
        fs::write(&target, "x").expect("written");
        assert_eq!(Stamp::read(&link), Stamp::read(&target));
        assert_ne!(Stamp::read_without_following(&link), Stamp::read(&link));
    }
}
