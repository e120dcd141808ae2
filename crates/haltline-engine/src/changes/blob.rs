//! Files as git stores them, to compare them with the work tree.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::content::Content;
use super::status::is_id;
use super::tree_path::TreePath;
use crate::git::Git;

/// How many files are compared in one call.
const COMPARED_MAX: usize = 2_000;

/// What a commit has at a path: mode and id, both zeros if it has nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) mode: String,
    pub(super) id: String,
}

impl Blob {
    fn is_nothing(&self) -> bool {
        self.mode == "000000"
    }

    fn is_file(&self, is_executable: bool) -> bool {
        self.mode == if is_executable { "100755" } else { "100644" }
    }
}

/// The paths whose content in the work tree equals their blob. Leaves out links, and everything if git fails.
pub(super) fn unchanged<'a>(
    git: &Git,
    compared: impl Iterator<Item = (&'a TreePath, &'a Content, &'a Blob)>,
) -> BTreeSet<TreePath> {
    let mut unchanged = BTreeSet::new();
    let mut files: Vec<(&TreePath, &Blob)> = Vec::new();
    for (path, content, blob) in compared {
        match content {
            Content::Absent if blob.is_nothing() => {
                unchanged.insert(path.clone());
            }
            Content::File { is_executable, .. } if blob.is_file(*is_executable) => files.push((path, blob)),
            Content::Absent | Content::File { .. } | Content::Link(_) | Content::Folder | Content::Other => {}
        }
    }
    files.truncate(COMPARED_MAX);
    let ids = ids_of(git, &files).unwrap_or_default();
    let same = files.iter().zip(ids).filter(|((_path, blob), id)| blob.id == *id);
    unchanged.extend(same.map(|((path, _blob), _id)| (*path).clone()));
    unchanged
}

/// The ids that files of the work tree would have. Nothing is written.
fn ids_of(git: &Git, files: &[(&TreePath, &Blob)]) -> Option<Vec<String>> {
    if files.is_empty() {
        return None;
    }
    let mut arguments: Vec<OsString> = ["hash-object", "--"].map(OsString::from).into();
    arguments.extend(files.iter().map(|(path, _blob)| path.as_path().as_os_str().to_owned()));
    let output = git.run(&arguments).ok()?;
    let ids = output.bytes.split(|&byte| byte == b'\n').filter(|id| is_id(id));
    Some(ids.map(|id| String::from_utf8_lossy(id).into_owned()).collect())
}
