//! What came back from a call: how it ended, by the client's word and by its text, and one line to show.

use super::tool::Kind;
use super::{Answer, By, Complaint, Outcome, digest, refusal, volatile};

/// How far into an answer, and back from its end, the telling line is looked for.
const SHOWN_FROM_BYTES: usize = 4096;
/// The longest line that is shown, in characters.
pub(super) const SHOWN_LETTERS_MAX: usize = 160;
/// Shorter answers are `ok`, `[]`, `0 rows`.
const TELLING_BYTES_MIN: usize = 12;
/// No acknowledgement is longer.
const ACKNOWLEDGED_BYTES_MAX: usize = 120;

impl Answer {
    /// Reads the answer of a call of this tool: one that waits for something says in words of its own that its time was
    /// up, and what it waits for goes on.
    pub fn of(tool: &str, outcome: Outcome, exit: Option<i32>, output: &str) -> Self {
        let goes_on = outcome == Outcome::Ok && Kind::of(tool) == Kind::Poll && refusal::is_time_up(output);
        Self::new(if goes_on { Outcome::Unknown } else { outcome }, exit, output)
    }

    /// Reads an answer as the model saw it.
    ///
    /// Where the text shows it, the outcome is told more exactly than the client said it: a refusal, a rate limit, a
    /// command that still runs and so has no known result.
    pub fn new(outcome: Outcome, exit: Option<i32>, output: &str) -> Self {
        let envelope = refusal::envelope(output);
        let exit = exit.or(envelope.exit);
        let (outcome, by) = refusal::settled(outcome, exit, output, &envelope);
        let parts = volatile::parts(output);
        let said = &output[envelope.length..];
        let complaint = if outcome == Outcome::Failed { Complaint::of(said) } else { Complaint::default() };
        Self {
            outcome,
            by,
            exit,
            normal: digest(&[
                b"answer",
                &[word(outcome)],
                &exit.map_or([0; 5], |exit| {
                    let [a, b, c, d] = exit.to_be_bytes();
                    [1, a, b, c, d]
                }),
                &parts.normal.to_be_bytes(),
            ]),
            raw: digest(&[b"raw", &parts.raw.to_be_bytes()]),
            shown: telling_line(outcome, said),
            complaint,
            is_terse: is_terse(said.trim()),
            cost: None,
            child: None,
            is_running: false,
        }
    }
}

/// An acknowledgement, or less: it is the same for many questions, and says nothing about them.
fn is_terse(said: &str) -> bool {
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
        let mut words = said.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let is_one = |word: &str| DONE.iter().any(|done| word.eq_ignore_ascii_case(done));
        // Rows of data may hold any word.
        !said.starts_with(['[', '(']) && (words.next().is_some_and(is_one) || words.next_back().is_some_and(is_one))
    };
    said.len() < TELLING_BYTES_MIN || (said.len() <= ACKNOWLEDGED_BYTES_MAX && !said.contains('\n') && is_done())
}

fn word(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::Failed => 1,
        Outcome::Rejected => 2,
        Outcome::Denied => 3,
        Outcome::Cancelled => 4,
        Outcome::RateLimited => 5,
        Outcome::Unknown => 6,
    }
}

/// The line that says what went wrong, or else the first that says anything.
fn telling_line(outcome: Outcome, output: &str) -> String {
    let head = volatile::up_to(output, SHOWN_FROM_BYTES);
    let tail = volatile::back_to(&output[head.len()..], SHOWN_FROM_BYTES);
    let bare = |line| str::trim(line).trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let mut lines = head.lines().chain(tail.lines()).map(bare).filter(|line| !line.is_empty());
    let said = lines.next().unwrap_or_default();
    let succeeded = match outcome {
        Outcome::Ok | Outcome::Unknown => true,
        Outcome::Failed | Outcome::Rejected | Outcome::Denied | Outcome::Cancelled | Outcome::RateLimited => false,
    };
    if succeeded || tells(said) {
        return one_line(said);
    }
    one_line(lines.find(|line| tells(line)).unwrap_or(said))
}

fn tells(line: &str) -> bool {
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

/// At most [`SHOWN_LETTERS_MAX`] letters on one line, without escapes.
pub(super) fn one_line(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    let mut letters =
        volatile::without_escapes(volatile::up_to(text, 4 * SHOWN_LETTERS_MAX * 4)).into_iter().peekable();
    while let Some(letter) = letters.next() {
        let letter = if letter.is_whitespace() || letter.is_control() { ' ' } else { letter };
        if letter == ' ' && (shown.ends_with(' ') || shown.is_empty()) {
            continue;
        }
        if count == SHOWN_LETTERS_MAX - 1 && letters.peek().is_some() {
            // Half a secret does not look like one any more: the word that the cut goes through is left out.
            let whole = shown.rfind(' ').filter(|blank| *blank >= SHOWN_LETTERS_MAX / 4);
            shown.truncate(whole.map_or(shown.len(), |blank| blank + 1));
            shown.push('…');
            break;
        }
        shown.push(letter);
        count += 1;
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// Who refused, where the client says only that somebody did.
pub(super) fn refuser(output: &str) -> By {
    let head = volatile::up_to(output, SHOWN_FROM_BYTES);
    if head.contains("HALTLINE HL-") {
        By::Haltline
    } else if refusal::is_by_hook(head) {
        By::Hook
    } else {
        By::Permission
    }
}
