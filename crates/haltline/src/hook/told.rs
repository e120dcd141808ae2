//! What the person was told already: once per session and kind, though every hook is a process of its own and the
//! store may be the very thing that failed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use haltline_agents::Client;
use haltline_agents::hook::{Asked, Warned};
use haltline_core::{CircuitName, Reason, Retry, Verdict, digest_hex};

use crate::surroundings::variable;

/// Marks of sessions long over are taken away when there are more than this.
const MARKS_MAX: usize = 200;

fn folder() -> PathBuf {
    let base = variable("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    base.join(format!("haltline-told-{}", rustix::process::getuid().as_raw()))
}

/// The folder, where it is ours: beside it everybody may write.
fn own_folder() -> Option<PathBuf> {
    let folder = folder();
    DirBuilder::new().mode(0o700).create(&folder).ok();
    let found = fs::symlink_metadata(&folder).ok()?;
    (found.is_dir() && found.uid() == rustix::process::getuid().as_raw()).then_some(folder)
}

/// Whether nobody was told of this yet in this session. Where no mark can be left, only the first event of a session
/// would be safe to tell on; silence is better than a message on every call.
pub fn is_first(kind: &str, session: &str) -> bool {
    let Some(folder) = own_folder() else { return false };
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

/// A message to the person as an event's answer, the first time.
pub fn once(asked: &Asked, kind: &str, text: &str) -> Option<String> {
    let notice = is_first(kind, &asked.stream.session).then(|| text.to_owned());
    answer(asked, &Verdict::Pass, notice)
}

/// The same where it is not known which event it is, or of whom: then as most clients read it.
pub fn complaint(client: Option<Client>, kind: &str, text: &str) -> Option<String> {
    let protocol = client.unwrap_or(Client::Claude).protocol();
    (protocol.complaint)(is_first(kind, "").then_some(text))
}

/// The answer to an event. Where the client shows the person nothing, which is so for some answers and for all of a
/// sub-agent's, the notice waits for an event where it does.
pub fn answer(asked: &Asked, verdict: &Verdict, notice: Option<String>) -> Option<String> {
    let verdict = &with_warnings(asked, verdict);
    let protocol = asked.client.protocol();
    let session = &asked.stream.session;
    if !(protocol.shows_notice)(asked, verdict) || asked.stream.agent.is_some() {
        if let Some(notice) = notice {
            wait(&notices_name(session), &notice);
        }
        return (protocol.answer)(asked, verdict, None);
    }
    let notices: Vec<String> = waiting(&notices_name(session)).into_iter().chain(notice).collect();
    (protocol.answer)(asked, verdict, Some(&notices.join("\n")))
}

/// The verdict with the warnings that wait for an event whose answer the model reads. One that it would not read waits.
fn with_warnings(asked: &Asked, verdict: &Verdict) -> Verdict {
    let Warned::With(carries_warning) = asked.client.protocol().warned else { return verdict.clone() };
    let name = warnings_name(asked);
    match (verdict, carries_warning(asked.event)) {
        (Verdict::Warn(reason), false) => {
            wait(&name, &reason.text);
            Verdict::Pass
        }
        (Verdict::Warn(reason), true) => match waiting(&name) {
            Some(before) => Verdict::Warn(Reason { text: format!("{before}\n{}", reason.text), ..reason.clone() }),
            None => verdict.clone(),
        },
        (Verdict::Pass, true) => {
            let circuit = CircuitName::lane(&asked.stream.session, asked.stream.agent.as_deref());
            // What waited names its codes itself.
            let reason = |text| Reason { circuit, code: "", text, retry: Retry::Now };
            waiting(&name).map_or(Verdict::Pass, |text| Verdict::Warn(reason(text)))
        }
        (Verdict::Pass, false) | (Verdict::Deny(_) | Verdict::Stop(_), _) => verdict.clone(),
    }
}

fn notices_name(session: &str) -> String {
    digest_hex(&[b"waiting", session.as_bytes()], 8)
}

fn warnings_name(asked: &Asked) -> String {
    let agent = asked.stream.agent.as_deref().unwrap_or_default();
    digest_hex(&[b"warning", asked.stream.session.as_bytes(), agent.as_bytes()], 8)
}

fn wait(name: &str, text: &str) {
    let Some(folder) = own_folder() else { return };
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(name));
    // Where nothing can be left, the journal still has it.
    file.and_then(|mut file| writeln!(file, "{text}")).ok();
}

/// What waits, for the first that asks.
fn waiting(name: &str) -> Option<String> {
    let file = folder().join(name);
    // Nearly always there is none: one look is all that costs.
    let text = fs::read_to_string(&file).ok()?;
    own_folder()?;
    fs::remove_file(file).ok()?;
    Some(text.trim_end().to_owned())
}
