//! Notices that somebody weakened haltline in a client's settings (E6). Few clients have an event for it, and an agent's
//! command can write the file, so hooks compare stamps of the files with those of the last look. Only when one differs are
//! the files read.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::hook::{HookEvent, ParsedHook};
use haltline_core::digest_hex;
use haltline_core::loop_::LoopEvent;
use haltline_engine::file::{Access, Durability, Links, Stamp, read_regular, replace_file};
use haltline_engine::project::Project;

use crate::installation::weakness::{Weakness, watched_files, weaknesses};

/// Folder in the state folder with what was seen last, one file per client and project.
const FOLDER: &str = "settings-seen";
/// Largest such file.
const SEEN_BYTES_MAX: u64 = 64 << 10;
/// Name of the record of installations in the state folder.
const RECORD_FILE: &str = "installed.json";

/// What the last look saw: the files' stamps as one digest, then a digest of every weakness.
struct Seen {
    path: PathBuf,
    lines: Vec<String>,
}

/// A settings file that weakens haltline.
pub struct Change {
    pub event: LoopEvent,
    /// True if the person was told of it before: a hook was faster than the client, which asks now.
    pub is_known: bool,
}

/// Returns an event for each settings file that weakens haltline in a way that the last look did not see. When the client
/// itself asks about a change, everything that weakens haltline counts, because the answer can still prevent it.
pub fn changes(parsed: &ParsedHook, project: &Project, state_folder: &Path) -> Vec<Change> {
    // The person must read the notice, not the self-test.
    if parsed.hook.agent.session.starts_with(super::SELF_TEST_PREFIX) {
        return Vec::new();
    }
    let is_preventable = match parsed.hook.event {
        HookEvent::SettingsChanged => true,
        HookEvent::SessionStart | HookEvent::Prompt | HookEvent::ToolStart | HookEvent::Stop => false,
        HookEvent::ModelStart
        | HookEvent::ToolEnd
        | HookEvent::ToolFailed
        | HookEvent::Batch
        | HookEvent::SpawnStart
        | HookEvent::SpawnEnd
        | HookEvent::StopFailed
        | HookEvent::Interrupted
        | HookEvent::Compaction
        | HookEvent::SessionEnd
        | HookEvent::Other => return Vec::new(),
    };
    let client = parsed.hook.client;
    let seen = Seen::read(client, project, state_folder);
    let stamps = stamps(client, project, state_folder);
    if !is_preventable && seen.lines.first() == Some(&stamps) {
        return Vec::new();
    }
    let found = weaknesses(client, project, state_folder);
    let known = &seen.lines[1.min(seen.lines.len())..];
    let new: Vec<&Weakness> =
        found.iter().filter(|weakness| is_preventable || !known.contains(&digest(weakness))).collect();
    let changes = changes_of(&new, known, is_preventable);
    let lines: Vec<String> = std::iter::once(stamps).chain(found.iter().map(digest)).collect();
    // What cannot be remembered would be told at every call.
    let is_kept = lines == seen.lines || seen.write(&lines);
    if is_kept || is_preventable { changes } else { Vec::new() }
}

/// Makes the next hook look and tell again, because the journal did not take the events.
pub fn forget(client: Client, project: &Project, state_folder: &Path) {
    std::fs::remove_file(Seen::read(client, project, state_folder).path).ok();
}

/// One change per file.
fn changes_of(weaknesses: &[&Weakness], known: &[String], is_preventable: bool) -> Vec<Change> {
    let mut files: Vec<&Path> = weaknesses.iter().map(|weakness| weakness.file.as_path()).collect();
    files.sort();
    files.dedup();
    let change = |file: &Path| {
        let of_file: Vec<&&Weakness> = weaknesses.iter().filter(|weakness| weakness.file == file).collect();
        let what: Vec<&str> = of_file.iter().map(|weakness| weakness.what.as_str()).collect();
        let is_known = of_file.iter().all(|weakness| known.contains(&digest(weakness)));
        let event = LoopEvent::HooksRemoved { file: file.display().to_string(), what: what.join("; "), is_preventable };
        Change { event, is_known }
    };
    files.into_iter().map(change).collect()
}

fn digest(weakness: &Weakness) -> String {
    digest_hex(&[weakness.file.as_os_str().as_encoded_bytes(), weakness.what.as_bytes()], 8)
}

/// One digest of the stamps of all watched files.
fn stamps(client: Client, project: &Project, state_folder: &Path) -> String {
    let files = watched_files(client, project);
    let mut bytes = Vec::with_capacity(files.len() * 64);
    for file in files.iter().map(PathBuf::as_path).chain([state_folder.join(RECORD_FILE).as_path()]) {
        match Stamp::read(file) {
            Some(stamp) => stamp.words().iter().for_each(|word| bytes.extend(word.to_le_bytes())),
            None => bytes.push(0),
        }
    }
    digest_hex(&[&bytes], 8)
}

impl Seen {
    fn read(client: Client, project: &Project, state_folder: &Path) -> Self {
        let key = digest_hex(&[client.name().as_bytes(), project.root.as_os_str().as_encoded_bytes()], 8);
        let path = state_folder.join(FOLDER).join(key);
        let text = read_regular(&path, SEEN_BYTES_MAX, Links::Reject).unwrap_or_default();
        let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
        Self { path, lines }
    }

    fn write(&self, lines: &[String]) -> bool {
        if let Some(folder) = self.path.parent()
            && !folder.is_dir()
        {
            // The next look tries again.
            DirBuilder::new().mode(0o700).create(folder).ok();
        }
        let temporary = self.path.with_extension("tmp");
        replace_file(&self.path, &temporary, Access::Owner, Durability::Rebuildable, |file| {
            lines.iter().try_for_each(|line| writeln!(file, "{line}"))
        })
        .is_ok()
    }
}
