//! Shows each notice to the person once per session and kind. Marker files remember that, because every hook is a new
//! process and the store may be the very thing that failed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use haltline_agents::Client;
use haltline_agents::hook::{HookCall, WarningDelivery};
use haltline_core::{CircuitName, Reason, Retry, Verdict, digest_hex};

use crate::environment::variable;

/// Markers of old sessions are deleted when there are more than this.
const MARKERS_MAX: usize = 200;

fn folder() -> PathBuf {
    let base = variable("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    base.join(format!("haltline-told-{}", rustix::process::getuid().as_raw()))
}

/// The folder, if it is ours: others may write into the folder that contains it.
fn own_folder() -> Option<PathBuf> {
    let folder = folder();
    DirBuilder::new().mode(0o700).create(&folder).ok();
    let found = fs::symlink_metadata(&folder).ok()?;
    (found.is_dir() && found.uid() == rustix::process::getuid().as_raw()).then_some(folder)
}

/// True if this kind of notice was not shown in this session yet. False if no marker can be written: no message is
/// better than one on every call.
pub fn is_first(kind: &str, session: &str) -> bool {
    let Some(folder) = own_folder() else { return false };
    let marker = folder.join(digest_hex(&[kind.as_bytes(), session.as_bytes()], 8));
    let is_first = OpenOptions::new().create_new(true).write(true).open(marker).is_ok();
    if is_first {
        forget_old(&folder);
    }
    is_first
}

fn forget_old(folder: &std::path::Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    let mut markers: Vec<(std::time::SystemTime, PathBuf)> =
        files.flatten().filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
    if markers.len() > MARKERS_MAX {
        markers.sort();
        for (_, old) in &markers[..markers.len() - MARKERS_MAX] {
            fs::remove_file(old).ok();
        }
    }
}

/// Answers an event with a notice to the person, the first time.
pub fn notice_once(hook_call: &HookCall, kind: &str, text: &str) -> Option<String> {
    let notice = is_first(kind, &hook_call.agent.session).then(|| text.to_owned());
    answer(hook_call, &Verdict::Pass, notice)
}

/// The same when the event or the client is not known; the format is then that of Claude Code, which most clients read.
pub fn failure_notice(client: Option<Client>, kind: &str, text: &str) -> Option<String> {
    let protocol = client.unwrap_or(Client::Claude).protocol();
    (protocol.answer_unreadable)(is_first(kind, "").then_some(text))
}

/// The answer to an event. If the client shows the person no notice with it, as with some answers and with all of a
/// sub-agent's, the notice is deferred to an event where it does.
pub fn answer(hook_call: &HookCall, verdict: &Verdict, notice: Option<String>) -> Option<String> {
    let verdict = &with_deferred_warnings(hook_call, verdict);
    let protocol = hook_call.client.protocol();
    let session = &hook_call.agent.session;
    if !protocol.shows_notice(hook_call, verdict) || hook_call.agent.sub_agent.is_some() {
        if let Some(notice) = notice {
            defer(&notices_file(session), &notice);
        }
        return (protocol.answer)(hook_call, verdict, None);
    }
    let notices: Vec<String> = take_deferred(&notices_file(session)).into_iter().chain(notice).collect();
    (protocol.answer)(hook_call, verdict, Some(&notices.join("\n")))
}

/// Adds deferred warnings to the verdict if the model reads the answer to this event; otherwise defers the warning.
fn with_deferred_warnings(hook_call: &HookCall, verdict: &Verdict) -> Verdict {
    let WarningDelivery::OnlyWith(carry_warning) = hook_call.client.protocol().warning_delivery else {
        return verdict.clone();
    };
    let name = warnings_file(hook_call);
    match (verdict, carry_warning.contains(hook_call.event)) {
        (Verdict::Warn(reason), false) => {
            defer(&name, &reason.text);
            Verdict::Pass
        }
        (Verdict::Warn(reason), true) => match take_deferred(&name) {
            Some(before) => Verdict::Warn(Reason { text: format!("{before}\n{}", reason.text), ..reason.clone() }),
            None => verdict.clone(),
        },
        (Verdict::Pass, true) => {
            let circuit = CircuitName::agent(&hook_call.agent.session, hook_call.agent.sub_agent.as_deref());
            // The deferred text contains its own codes.
            let reason = |text| Reason { circuit, code: "", text, retry: Retry::Now };
            take_deferred(&name).map_or(Verdict::Pass, |text| Verdict::Warn(reason(text)))
        }
        (Verdict::Pass, false) | (Verdict::Deny(_) | Verdict::Stop(_), _) => verdict.clone(),
    }
}

fn notices_file(session: &str) -> String {
    digest_hex(&[b"waiting", session.as_bytes()], 8)
}

fn warnings_file(hook_call: &HookCall) -> String {
    let agent = hook_call.agent.sub_agent.as_deref().unwrap_or_default();
    digest_hex(&[b"warning", hook_call.agent.session.as_bytes(), agent.as_bytes()], 8)
}

fn defer(name: &str, text: &str) {
    let Some(folder) = own_folder() else { return };
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(name));
    // If the text cannot be deferred, it is still in the journal.
    file.and_then(|mut file| writeln!(file, "{text}")).ok();
}

/// Removes and returns the deferred text; only the first caller gets it.
fn take_deferred(name: &str) -> Option<String> {
    let file = folder().join(name);
    // Nearly always there is none, and this one check is all it costs.
    let text = fs::read_to_string(&file).ok()?;
    own_folder()?;
    fs::remove_file(file).ok()?;
    Some(text.trim_end().to_owned())
}
