//! A checkpoint as a commit, and the refs that hold it.
//!
//! The commit's tree has `tree` (the files), `manifest` (what a git tree cannot express), `index` (git's index, byte
//! for byte), and `staged` and `others` (what the index refers to, so that git never garbage-collects it). Its parent
//! is HEAD. Its message has the rest, so that one git call lists all checkpoints.

use haltline_core::Instant;

use super::Checkpoint;
use super::error::CheckpointError;
use super::head::Head;
use super::name;
use super::work_tree::{WorkTree, run_for_bytes, run_for_line};
use crate::git::Git;

const TITLE: &str = "haltline checkpoint";
const FORMAT: &str = "1";

/// What the commit message of a checkpoint records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) at: Instant,
    pub(super) head: Head,
    /// When the index was written, in seconds and nanoseconds, because git compares it with the times of files. `None`
    /// if there was no index.
    pub(super) index_time: Option<(i64, i64)>,
    /// The git operation in progress, such as a merge.
    pub(super) operation: Option<String>,
}

impl Note {
    pub(super) fn write(&self) -> String {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let index = self.index_time.map(|(seconds, rest)| format!("{seconds}.{rest}"));
        format!(
            "{TITLE}\n\nformat {FORMAT}\nat {}\nhead {}\nbranch {}\nindex {}\noperation {}\n",
            self.at.as_millis(),
            or_none(&self.head.commit),
            or_none(&self.head.branch),
            or_none(&index),
            or_none(&self.operation),
        )
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        let mut lines = text.strip_prefix(TITLE)?.trim_start().lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        if field("format")? != FORMAT {
            return None;
        }
        let some = |text: String| (text != "none").then_some(text);
        let at = Instant::from_millis(field("at")?.parse().ok()?);
        let head = Head { commit: some(field("head")?), branch: some(field("branch")?) };
        let index_time = match some(field("index")?) {
            Some(text) => {
                let (seconds, rest) = text.split_once('.')?;
                Some((seconds.parse().ok()?, rest.parse().ok()?))
            }
            None => None,
        };
        Some(Self { at, head, index_time, operation: some(field("operation")?) })
    }
}

/// The objects that make up a checkpoint.
pub(super) struct Parts {
    pub(super) tree: String,
    pub(super) manifest: String,
    pub(super) index: Option<String>,
    pub(super) staged: Option<String>,
    /// Blobs that only index entries with conflicts refer to.
    pub(super) others: Vec<String>,
}

/// Writes the commit. No ref holds it yet.
pub(super) fn write(git: &Git, parts: &Parts, note: &Note) -> Result<String, CheckpointError> {
    let mut lines = format!("040000 tree {}\ttree\n100644 blob {}\tmanifest\n", parts.tree, parts.manifest);
    if let Some(index) = &parts.index {
        lines.push_str(&format!("100644 blob {index}\tindex\n"));
    }
    if let Some(staged) = &parts.staged {
        lines.push_str(&format!("040000 tree {staged}\tstaged\n"));
    }
    if !parts.others.is_empty() {
        let others: String = parts.others.iter().map(|id| format!("100644 blob {id}\t{id}\n")).collect();
        let tree = make_tree(git, &others)?;
        lines.push_str(&format!("040000 tree {tree}\tothers\n"));
    }
    let tree = make_tree(git, &lines)?;
    let seconds = note.at.as_millis().div_euclid(1000).max(0);
    let mut signed = git.clone();
    for role in ["AUTHOR", "COMMITTER"] {
        signed = signed
            .variable(format!("GIT_{role}_NAME"), "haltline")
            .variable(format!("GIT_{role}_EMAIL"), "haltline@localhost")
            .variable(format!("GIT_{role}_DATE"), format!("@{seconds} +0000"));
    }
    let mut arguments = vec!["commit-tree", tree.as_str(), "-F", "-"];
    if let Some(head) = &note.head.commit {
        arguments.extend(["-p", head]);
    }
    as_text(run_for_bytes(&signed, &arguments, note.write().as_bytes())?)
}

/// `--missing`, because a partial clone need not have every object that its index names.
fn make_tree(git: &Git, lines: &str) -> Result<String, CheckpointError> {
    as_text(run_for_bytes(git, &["mktree", "--missing"], lines.as_bytes())?)
}

fn as_text(output: Vec<u8>) -> Result<String, CheckpointError> {
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// A group of refs of one work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefNamespace {
    /// Named checkpoints.
    Attempt,
    /// States that rollbacks kept before they changed anything.
    Kept,
    /// The target of the rollback in progress.
    Goal,
}

impl RefNamespace {
    pub(super) fn prefix(self, work_tree: &WorkTree) -> String {
        let kind = match self {
            Self::Attempt => "attempt",
            Self::Kept => "kept",
            Self::Goal => "goal",
        };
        format!("refs/haltline/{kind}/{}/", work_tree.ref_part)
    }

    /// The ref for a checkpoint of this name: the one it has, or else a readable one, if that collides with no other.
    /// Call this only while holding the lock.
    pub(super) fn reference(self, work_tree: &WorkTree, name: &str) -> Result<String, CheckpointError> {
        let prefix = self.prefix(work_tree);
        let escaped = format!("{prefix}{}", name::encode(name)?);
        let Some(readable) = name::encode_readable(name).map(|readable| format!("{prefix}{readable}")) else {
            return Ok(escaped);
        };
        if readable == escaped {
            return Ok(escaped);
        }
        let known = read_refs(work_tree, &prefix)?;
        let collides =
            known.iter().any(|known| known.reference == escaped || name::collide(&known.reference, &readable));
        Ok(if collides { escaped } else { readable })
    }

    pub(super) fn find(self, work_tree: &WorkTree, name: &str) -> Result<Option<Checkpoint>, CheckpointError> {
        let prefix = self.prefix(work_tree);
        let encodings = [Some(name::encode(name)?), name::encode_readable(name)];
        let is_it = |found: &FoundRef| {
            found.reference.strip_prefix(&prefix).is_some_and(|end| encodings.iter().flatten().any(|one| one == end))
        };
        let found = read_refs(work_tree, &prefix)?.into_iter().find(is_it);
        found.map(FoundRef::into_checkpoint).transpose()
    }

    /// All readable checkpoints, sorted by name.
    pub(super) fn list(self, work_tree: &WorkTree) -> Result<Vec<Checkpoint>, CheckpointError> {
        let found = read_refs(work_tree, &self.prefix(work_tree))?;
        let mut all: Vec<Checkpoint> = found.into_iter().filter_map(|found| found.into_checkpoint().ok()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }
}

struct FoundRef {
    reference: String,
    id: String,
    message: String,
}

impl FoundRef {
    fn into_checkpoint(self) -> Result<Checkpoint, CheckpointError> {
        // refs/haltline/KIND/WORK-TREE/NAME
        let name = self.reference.splitn(5, '/').nth(4).and_then(name::decode);
        let (Some(name), Some(note)) = (name, Note::read(&self.message)) else {
            return Err(CheckpointError::damaged(&self.reference, "it is not a checkpoint of this version"));
        };
        Ok(Checkpoint { name, reference: self.reference, commit: self.id, note })
    }
}

fn read_refs(work_tree: &WorkTree, below: &str) -> Result<Vec<FoundRef>, CheckpointError> {
    let format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
    let output = run_for_bytes(&work_tree.plain(), &["for-each-ref", format, below], &[])?;
    let output = String::from_utf8_lossy(&output);
    let mut parts = output.split('\0');
    let mut found = Vec::new();
    while let (Some(reference), Some(id), Some(message)) = (parts.next(), parts.next(), parts.next()) {
        let reference = reference.trim_start_matches('\n').to_owned();
        found.push(FoundRef { reference, id: id.to_owned(), message: message.to_owned() });
    }
    Ok(found)
}

/// Points a ref to a commit, whatever it pointed to before. Call this only while holding the lock.
pub(super) fn set_ref(work_tree: &WorkTree, reference: &str, commit: &str) -> Result<(), CheckpointError> {
    let git = work_tree.plain().setting("core.logAllRefUpdates", "false");
    Ok(git.run(&["update-ref", "--no-deref", reference, commit]).map(drop)?)
}

/// Deletes a ref, if it still points to that commit.
pub(super) fn delete_ref(work_tree: &WorkTree, reference: &str, commit: &str) -> Result<(), CheckpointError> {
    Ok(work_tree.plain().run(&["update-ref", "--no-deref", "-d", reference, commit]).map(drop)?)
}

pub(super) fn object_id(git: &Git, commit: &str, name: &str) -> Result<String, CheckpointError> {
    run_for_line(git, &["rev-parse", "-q", "--verify", &format!("{commit}:{name}")])
        .map_err(|error| CheckpointError::damaged(commit, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_round_trips_and_a_later_format_is_not_read() {
        let note = Note {
            at: Instant::from_millis(1_700_000_000_123),
            head: Head { commit: None, branch: Some("refs/heads/main".to_owned()) },
            index_time: Some((1_700_000_000, 7)),
            operation: Some("merge abc".to_owned()),
        };
        assert_eq!(Note::read(&note.write()), Some(note.clone()));
        let bare = Note { index_time: None, operation: None, ..note };
        assert_eq!(Note::read(&bare.write()), Some(bare.clone()));
        assert_eq!(Note::read(&bare.write().replace("format 1", "format 2")), None);
    }

    proptest::proptest! {
        #[test]
        fn any_message_is_read_or_rejected(text in "haltline checkpoint\n\nformat 1\n\\PC*|\\PC*") {
            if let Some(note) = Note::read(&text) {
                proptest::prop_assert_eq!(Note::read(&note.write()), Some(note));
            }
        }
    }
}
