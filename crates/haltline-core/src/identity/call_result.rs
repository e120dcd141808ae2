//! The result of a call: its outcome, as reported by the client and as its text shows it, and one line to show.

use std::borrow::Cow;

use super::tool::ToolKind;
use super::{CallResult, DeniedBy, Digest, ErrorText, Outcome, denial, error_kind, volatile};
use crate::shell::program_digest;

/// How many bytes at each end of the output are searched for the line to show.
const SHOWN_FROM_BYTES: usize = 4096;
/// The maximum length of the line to show, in characters.
pub(super) const SHOWN_CHARACTERS_MAX: usize = 160;
/// Shorter outputs are `ok`, `[]`, `0 rows`.
const MEANINGFUL_BYTES_MIN: usize = 12;
/// Longer outputs are not acknowledgements.
const ACKNOWLEDGEMENT_BYTES_MAX: usize = 120;

impl CallResult {
    /// Reads the result of a call of this tool. If the tool waits for something and its output reports that the waiting
    /// time is up, the outcome is unknown: what it waits for is still running.
    pub fn for_tool(tool: &str, outcome: Outcome, exit: Option<i32>, output: &str) -> Self {
        let is_still_running =
            outcome == Outcome::Ok && ToolKind::from_name(tool) == ToolKind::Poll && denial::is_time_up(output);
        Self::new(if is_still_running { Outcome::Unknown } else { outcome }, exit, output)
    }

    /// Reads a result as the model saw it.
    ///
    /// If the text shows it, the outcome is more precise than the one the client reported: a denial, a rate limit, or a
    /// command that is still running and so has no known result.
    pub fn new(outcome: Outcome, exit: Option<i32>, output: &str) -> Self {
        let envelope = denial::envelope(output);
        let exit = exit.or(envelope.exit);
        let (outcome, denied_by) = denial::refine_outcome(outcome, exit, output, &envelope);
        let is_failed = outcome == Outcome::Failed;
        let hashes = volatile::hashes(output, is_failed);
        let body = &output[envelope.length..];
        let error_text = if is_failed { ErrorText::from_text(body) } else { ErrorText::default() };
        let shown = summary_line(outcome, body);
        let has_edges = hashes.edges.iter().any(Option::is_some);
        Self {
            outcome,
            denied_by,
            exit,
            normal: normal_digest(outcome, exit, hashes.normal),
            raw: Digest::from_parts(&[b"raw", &hashes.raw.to_be_bytes()]),
            edges: has_edges.then_some(Edges { whole: hashes.normal, lines: hashes.edges }),
            error_kind: is_failed.then(|| error_kind::error_kind(&shown)).flatten(),
            shown,
            error_text,
            finds_nothing: finds_nothing(body.trim()),
            missing_program: is_failed.then(|| missing_program(exit, body)).flatten(),
            is_terse: is_terse(body.trim()),
            cost: None,
            sub_agent: None,
            is_sub_agent_running: false,
        }
    }
}

/// The first and the last line of an output, which may be what a command printed only for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edges {
    /// The sum of the hashes of all lines.
    whole: u64,
    /// The shape and the hash of the first and the last line.
    lines: [Option<(Digest, u64)>; 2],
}

impl CallResult {
    /// The result without a first and a last line of these shapes. Nearly all calls print no such line, and nothing is
    /// copied for them.
    pub fn without_lines(&self, printed: &[Digest]) -> Cow<'_, Self> {
        let Some(Edges { mut whole, lines: [first, last] }) = self.edges.filter(|_| !printed.is_empty()) else {
            return Cow::Borrowed(self);
        };
        let last = last.filter(|last| Some(*last) != first);
        for (_, hash) in [first, last].into_iter().flatten().filter(|(shape, _)| printed.contains(shape)) {
            whole = whole.wrapping_sub(hash);
        }
        Cow::Owned(Self { normal: normal_digest(self.outcome, self.exit, whole), ..self.clone() })
    }
}

fn normal_digest(outcome: Outcome, exit: Option<i32>, lines: u64) -> Digest {
    let exit = exit.map_or([0; 5], |exit| {
        let [a, b, c, d] = exit.to_be_bytes();
        [1, a, b, c, d]
    });
    Digest::from_parts(&[b"answer", &[outcome as u8], &exit, &lines.to_be_bytes()])
}

/// The program that a shell did not find, by its own message.
fn missing_program(exit: Option<i32>, body: &str) -> Option<Digest> {
    if exit.is_some_and(|exit| exit != 127) {
        return None;
    }
    volatile::up_to(body, SHOWN_FROM_BYTES).lines().find_map(|line| {
        let before = |phrase| line.trim_end().strip_suffix(phrase).map(|head: &str| head.rsplit(": ").next());
        let name = before(": command not found").or_else(|| before(": not found").filter(|_| exit == Some(127)));
        let name = name.or_else(|| line.split_once("command not found: ").map(|(_, name)| Some(name)));
        let name = name.flatten()?.trim();
        (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| program_digest(name))
    })
}

/// True for what a search says that finds nothing: no more than that, in one line.
fn finds_nothing(text: &str) -> bool {
    const NOTHING: [&str; 13] = [
        "no match",
        "no files",
        "no results",
        "no lines",
        "not found",
        "nothing found",
        "none found",
        "nothing matches",
        "0 match",
        "0 results",
        "0 files",
        "found 0",
        "0 hits",
    ];
    if text.is_empty() || matches!(text, "[]" | "{}" | "()" | "0" | "(empty)" | "(no output)" | "None" | "null") {
        return true;
    }
    if text.len() > ACKNOWLEDGEMENT_BYTES_MAX || text.contains('\n') {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    NOTHING.iter().any(|nothing| lower.contains(nothing))
}

/// True for an acknowledgement or less: many different calls get the same one, so it carries no information.
fn is_terse(text: &str) -> bool {
    const DONE: [&str; 22] = [
        "ok",
        "pass",
        "passed",
        "success",
        "successful",
        "successfully",
        "succeeded",
        "valid",
        "created",
        "updated",
        "added",
        "inserted",
        "affected",
        "saved",
        "sent",
        "closed",
        "done",
        "true",
        "deleted",
        "removed",
        "set",
        "changed",
    ];
    let is_done = || {
        let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let is_one = |word: &str| DONE.iter().any(|done| word.eq_ignore_ascii_case(done));
        // Rows of data may contain any word.
        !text.starts_with(['[', '(']) && (words.next().is_some_and(is_one) || words.next_back().is_some_and(is_one))
    };
    text.len() < MEANINGFUL_BYTES_MIN || (text.len() <= ACKNOWLEDGEMENT_BYTES_MAX && !text.contains('\n') && is_done())
}

/// Returns the line that reports the failure, or else the first line that is not empty.
fn summary_line(outcome: Outcome, output: &str) -> String {
    let head = volatile::up_to(output, SHOWN_FROM_BYTES);
    let tail = volatile::back_to(&output[head.len()..], SHOWN_FROM_BYTES);
    let bare = |line| str::trim(line).trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let mut lines = head.lines().chain(tail.lines()).map(bare).filter(|line| !line.is_empty());
    let first_line = lines.next().unwrap_or_default();
    if matches!(outcome, Outcome::Ok | Outcome::Unknown) || mentions_failure(first_line) {
        return one_line(first_line);
    }
    one_line(lines.find(|line| mentions_failure(line)).unwrap_or(first_line))
}

fn mentions_failure(line: &str) -> bool {
    const WORDS: [&str; 12] = [
        "error",
        "Error",
        "ERROR",
        "failed",
        "Failed",
        "FAIL",
        "panicked",
        "fatal",
        "not found",
        "No such",
        "denied",
        "Exception",
    ];
    WORDS.iter().any(|word| line.contains(word))
}

/// Returns at most [`SHOWN_CHARACTERS_MAX`] characters on one line, without terminal escapes.
pub(super) fn one_line(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    let mut characters =
        volatile::without_escapes(volatile::up_to(text, 4 * SHOWN_CHARACTERS_MAX * 4)).into_iter().peekable();
    while let Some(character) = characters.next() {
        let character = if character.is_whitespace() || character.is_control() { ' ' } else { character };
        if character == ' ' && (shown.ends_with(' ') || shown.is_empty()) {
            continue;
        }
        if count == SHOWN_CHARACTERS_MAX - 1 && characters.peek().is_some() {
            // Half a secret is not recognised as a secret any more, so the word at the cut is left out.
            let whole = shown.rfind(' ').filter(|blank| *blank >= SHOWN_CHARACTERS_MAX / 4);
            shown.truncate(whole.map_or(shown.len(), |blank| blank + 1));
            shown.push('…');
            break;
        }
        shown.push(character);
        count += 1;
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// Determines who denied the call when the client only reports a denial.
pub(super) fn find_denier(output: &str) -> DeniedBy {
    let head = volatile::up_to(output, SHOWN_FROM_BYTES);
    if head.contains("HALTLINE HL-") {
        DeniedBy::Haltline
    } else if denial::is_hook_denial(head) {
        DeniedBy::Hook
    } else {
        DeniedBy::Permission
    }
}
