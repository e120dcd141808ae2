//! What the person was told already: once per session and kind, though every hook is a process of its own and the
//! store may be the very thing that failed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use haltline_core::digest_hex;
use serde_json::json;

use crate::surroundings::variable;

/// Marks of sessions long over are taken away when there are more than this.
const MARKS_MAX: usize = 200;

fn folder() -> PathBuf {
    let base = variable("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    base.join(format!("haltline-told-{}", rustix::process::getuid().as_raw()))
}

/// Whether nobody was told of this yet in this session. Where no mark can be left, only the first event of a session
/// would be safe to tell on; silence is better than a message on every call.
pub fn is_first(kind: &str, session: &str) -> bool {
    let folder = folder();
    if !folder.is_dir() && DirBuilder::new().mode(0o700).create(&folder).is_err() {
        return false;
    }
    let mark = folder.join(digest_hex(&[kind.as_bytes(), session.as_bytes()], 8));
    let is_first = OpenOptions::new().create_new(true).write(true).open(mark).is_ok();
    if is_first {
        forget_old(&folder);
    }
    is_first
}

fn forget_old(folder: &std::path::Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    let mut marks: Vec<(std::time::SystemTime, PathBuf)> =
        files.flatten().filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
    if marks.len() > MARKS_MAX {
        marks.sort();
        for (_, old) in &marks[..marks.len() - MARKS_MAX] {
            fs::remove_file(old).ok();
        }
    }
}

/// A message to the person as any event's answer, the first time.
pub fn once(kind: &str, session: &str, text: &str) -> Option<String> {
    is_first(kind, session).then(|| json!({ "systemMessage": text }).to_string())
}
