//! Shows each notice to the person once per session and kind, and keeps texts until an event can deliver them. Files
//! remember both, because every hook is a new process and the store may be the very thing that failed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::hook::{HookCall, HookEvent, WarningDelivery};
use haltline_core::{CircuitName, Reason, Retry, Verdict, digest_hex};

use haltline_engine::file::{Durability, Links, read_regular, write_privately};
use haltline_engine::project::ProjectKey;

use crate::environment::variable;

/// Files of old sessions are deleted when there are more than this.
const FILES_MAX: usize = 200;
const MARKER_BYTES_MAX: u64 = 1024;

/// The files of one store. They are in its state folder, so that two stores never share them. If that cannot be
/// written, they are in the folder for temporary files, under a name that only this store has.
pub struct NoticeFiles {
    own: Option<PathBuf>,
    fallback: PathBuf,
}

impl NoticeFiles {
    pub fn new(state_folder: Option<&Path>) -> Self {
        let base = variable("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let store = state_folder
            .map_or_else(String::new, |folder| format!("-{}", digest_hex(&[folder.as_os_str().as_encoded_bytes()], 8)));
        let fallback = base.join(format!("haltline-told-{}{store}", rustix::process::getuid().as_raw()));
        Self { own: state_folder.map(|folder| folder.join("told")), fallback }
    }

    /// The folders that are ours: others may write into the folder that contains them.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.own.iter().chain([&self.fallback]).map(PathBuf::as_path).filter(|folder| is_own_folder(folder))
    }

    /// True if this kind of notice was not shown in this session yet. False if no marker can be written: no message is
    /// better than one on every call. A marker that somebody else put there does not count.
    pub fn is_first(&self, kind: &str, session: &str) -> bool {
        let name = digest_hex(&[kind.as_bytes(), session.as_bytes()], 8);
        // This creates the state folder, which the key needs.
        let folders: Vec<&Path> = self.folders().collect();
        let content = digest_hex(&[&self.key(), kind.as_bytes(), session.as_bytes()], 16);
        for folder in folders {
            let path = folder.join(&name);
            match OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path) {
                Ok(mut marker) => {
                    if marker.write_all(content.as_bytes()).is_err() {
                        // On a full disk an empty file can be made; the other folder may be on another disk.
                        fs::remove_file(&path).ok();
                        continue;
                    }
                    forget_old(folder);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let found = read_regular(&path, MARKER_BYTES_MAX, Links::Reject);
                    if found.is_ok_and(|found| found == content.as_bytes()) {
                        return false;
                    }
                    if write_privately(&path, content.as_bytes(), Durability::Rebuildable).is_ok() {
                        return true;
                    }
                }
                // The disk may be full, and then the person must know: the other folder may be on another disk.
                Err(_unwritable) => {}
            }
        }
        false
    }

    /// What only haltline puts into its markers. It is kept in the state folder, which an agent must not touch (E6).
    fn key(&self) -> Vec<u8> {
        let Some(path) = self.own.as_ref().map(|own| own.with_file_name("told.key")) else { return Vec::new() };
        read_regular(&path, MARKER_BYTES_MAX, Links::Reject).unwrap_or_else(|_missing| {
            let random = || RandomState::new().hash_one(std::process::id()).to_ne_bytes();
            let key = [random(), random()].concat();
            match write_privately(&path, &key, Durability::Rebuildable) {
                Ok(()) => key,
                Err(_unwritable) => Vec::new(),
            }
        })
    }

    /// Keeps a notice for the next answer of a hook: in this session if it is known, else in this project. Returns whether
    /// it could be kept.
    pub fn defer_notice(&self, session: Option<&str>, project: ProjectKey, notice: &str) -> bool {
        self.defer(&session.map_or_else(|| project_file(project), notices_file), notice)
    }

    /// Takes the notices that wait for any session of this project.
    pub fn take_project_notices(&self, project: ProjectKey) -> Option<String> {
        self.take_deferred(&project_file(project))
    }

    /// Takes the notices that wait for this session, if the person reads the answer to this event.
    pub fn take_session_notices(&self, hook_call: &HookCall, verdict: &Verdict) -> Option<String> {
        let is_shown =
            hook_call.client.protocol().shows_notice(hook_call, verdict) && hook_call.agent.sub_agent.is_none();
        if is_shown { self.take_deferred(&notices_file(&hook_call.agent.session)) } else { None }
    }

    /// Answers an event with a notice to the person, the first time.
    pub fn notice_once(&self, hook_call: &HookCall, kind: &str, text: &str) -> Option<String> {
        let notice = self.is_first(kind, &hook_call.agent.session).then(|| text.to_owned());
        self.answer(hook_call, &Verdict::Pass, notice)
    }

    /// The same when the event or the client is not known; the format is then that of Claude Code, which most clients
    /// read.
    pub fn failure_notice(&self, client: Option<Client>, kind: &str, text: &str) -> Option<String> {
        let protocol = client.unwrap_or(Client::Claude).protocol();
        (protocol.answer_unreadable)(self.is_first(kind, "").then_some(text))
    }

    /// The answer to an event. If the client shows the person no notice with it, as with some answers and with all of a
    /// sub-agent's, the notice is deferred to an event where it does.
    pub fn answer(&self, hook_call: &HookCall, verdict: &Verdict, notice: Option<String>) -> Option<String> {
        self.notify_parent(hook_call, verdict);
        let verdict = &self.with_deferred_warnings(hook_call, verdict);
        let protocol = hook_call.client.protocol();
        let session = &hook_call.agent.session;
        if !protocol.shows_notice(hook_call, verdict) || hook_call.agent.sub_agent.is_some() {
            if let Some(notice) = notice {
                self.defer(&notices_file(session), &notice);
            }
            return (protocol.answer)(hook_call, verdict, None);
        }
        let notices: Vec<String> = self.take_deferred(&notices_file(session)).into_iter().chain(notice).collect();
        (protocol.answer)(hook_call, verdict, Some(&notices.join("\n")))
    }

    /// Keeps the reason why a sub-agent was stopped for its parent: the client tells the parent only that the sub-agent
    /// ended.
    fn notify_parent(&self, hook_call: &HookCall, verdict: &Verdict) {
        if let (Verdict::Stop(reason), Some(sub_agent)) = (verdict, &hook_call.agent.sub_agent) {
            let text = format!(
                "HALTLINE {}: haltline stopped your sub-agent {sub_agent}, so its work is not done, whatever its result says. {}\nDo: finish its work in another way, or say what is missing. Do not: start the same sub-agent again.",
                reason.code,
                reason.for_person(),
            );
            self.defer(&stopped_file(&hook_call.agent.session), &text);
        }
    }

    /// Adds deferred warnings to the verdict if the model reads the answer to this event; otherwise defers the warning.
    fn with_deferred_warnings(&self, hook_call: &HookCall, verdict: &Verdict) -> Verdict {
        let (carries, keeps_warnings) = match hook_call.client.protocol().warning_delivery {
            WarningDelivery::OnlyWith(events) => (events.contains(hook_call.event), true),
            WarningDelivery::Immediate => (matches!(hook_call.event, HookEvent::ToolEnd | HookEvent::Batch), false),
        };
        let warnings = warnings_file(hook_call);
        match verdict {
            Verdict::Warn(reason) if keeps_warnings && !carries => {
                self.defer(&warnings, &reason.text);
                Verdict::Pass
            }
            Verdict::Pass | Verdict::Warn(_) if carries => {
                let kept = if keeps_warnings { self.take_deferred(&warnings) } else { None };
                let is_root = hook_call.agent.sub_agent.is_none();
                let stopped = is_root.then(|| self.take_deferred(&stopped_file(&hook_call.agent.session))).flatten();
                let texts: Vec<String> = kept.into_iter().chain(stopped).collect();
                with_texts(hook_call, verdict, texts)
            }
            Verdict::Pass | Verdict::Warn(_) | Verdict::Deny(_) | Verdict::Stop(_) => verdict.clone(),
        }
    }

    fn defer(&self, name: &str, text: &str) -> bool {
        let append = |folder: &Path| {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(name));
            file.and_then(|mut file| writeln!(file, "{text}"))
        };
        // If the text cannot be deferred anywhere, it is still in the journal.
        self.folders().any(|folder| append(folder).is_ok())
    }

    /// Removes and returns the deferred text; only the first caller gets it.
    fn take_deferred(&self, name: &str) -> Option<String> {
        // Nearly always there is none, and these checks are all it costs.
        let folders = self.own.iter().chain([&self.fallback]);
        let (folder, text) =
            folders.into_iter().find_map(|folder| Some((folder, fs::read_to_string(folder.join(name)).ok()?)))?;
        if !is_own_folder(folder) {
            return None;
        }
        fs::remove_file(folder.join(name)).ok()?;
        Some(text.trim_end().to_owned())
    }
}

/// Creates the folder if it is missing, and returns whether it belongs to this user.
fn is_own_folder(folder: &Path) -> bool {
    DirBuilder::new().mode(0o700).recursive(true).create(folder).ok();
    fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && is_writable(folder))
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

fn forget_old(folder: &Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    let mut files: Vec<(std::time::SystemTime, PathBuf)> =
        files.flatten().filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
    if files.len() > FILES_MAX {
        files.sort();
        for (_, old) in &files[..files.len() - FILES_MAX] {
            fs::remove_file(old).ok();
        }
    }
}

/// The verdict with these texts before its own.
fn with_texts(hook_call: &HookCall, verdict: &Verdict, texts: Vec<String>) -> Verdict {
    if texts.is_empty() {
        return verdict.clone();
    }
    let before = texts.join("\n");
    match verdict {
        Verdict::Warn(reason) => Verdict::Warn(Reason { text: format!("{before}\n{}", reason.text), ..reason.clone() }),
        Verdict::Pass | Verdict::Deny(_) | Verdict::Stop(_) => {
            let circuit = CircuitName::agent(&hook_call.agent.session, hook_call.agent.sub_agent.as_deref());
            // The deferred text contains its own codes.
            Verdict::Warn(Reason { circuit, code: "", text: before, retry: Retry::Now })
        }
    }
}

fn project_file(project: ProjectKey) -> String {
    digest_hex(&[b"project", &project.0.to_be_bytes()], 8)
}

fn notices_file(session: &str) -> String {
    digest_hex(&[b"waiting", session.as_bytes()], 8)
}

fn stopped_file(session: &str) -> String {
    digest_hex(&[b"stopped", session.as_bytes()], 8)
}

fn warnings_file(hook_call: &HookCall) -> String {
    let agent = hook_call.agent.sub_agent.as_deref().unwrap_or_default();
    digest_hex(&[b"warning", hook_call.agent.session.as_bytes(), agent.as_bytes()], 8)
}
