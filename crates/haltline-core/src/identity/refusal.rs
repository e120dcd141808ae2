//! How a call ended, by its text: refusals, interruptions, rate limits and commands that still run, as clients put
//! them. Only what a client itself writes is believed, at the start of a text or in a short one: a test that prints
//! "rate limit" is a failing test.

use super::answer::refuser;
use super::volatile::{back_to, up_to};
use super::{By, Outcome};

/// How far into a text a client's own words are looked for.
const HEAD_BYTES: usize = 600;
/// A text this short is a message, not the output of a program.
const MESSAGE_BYTES_MAX: usize = 400;

/// What a client wrote above the output.
pub(super) struct Envelope {
    /// How long it is.
    pub length: usize,
    /// The exit code it tells.
    pub exit: Option<i32>,
    /// The command has not ended.
    pub still_runs: bool,
}

/// Whether a client says above the output that the command has not ended.
pub fn still_runs(output: &str) -> bool {
    let envelope = envelope(output);
    envelope.still_runs && envelope.exit.is_none()
}

/// Reads the envelope of an answer.
pub(super) fn envelope(output: &str) -> Envelope {
    let mut found = Envelope { length: 0, exit: None, still_runs: false };
    let head = up_to(output, HEAD_BYTES);
    let mut at = 0;
    for line in head.split_inclusive('\n').take(8) {
        at += line.len();
        let line = line.trim_end();
        let number = |start: &str| line.strip_prefix(start).and_then(|rest| rest.trim().parse::<i32>().ok());
        if let Some(exit) = ["Exit code ", "Exit code: ", "Exit Code: ", "Process exited with code "]
            .iter()
            .find_map(|start| number(start))
        {
            found.exit = Some(exit);
        } else if line.starts_with("Process running with session ID ") {
            found.still_runs = true;
        } else if line == "Output:" {
            found.length = at;
            // Where a command line only applies a patch, a second one stands below, and the exit code there.
            if found.exit.is_some() || found.still_runs {
                break;
            }
        } else if !["Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            break;
        }
        found.length = at;
    }
    let is_message = output.len() <= MESSAGE_BYTES_MAX;
    let waits = head.contains("<status>running</status>")
        || head.starts_with("<retrieval_status>not_ready")
        || (is_message && head.contains("\"timed_out\":") && head.contains("\"running\""));
    found.still_runs |= waits;
    if found.exit.is_none() {
        let tail = back_to(output, 200);
        let place = tail.rfind("completed with exit code ").map(|place| place + 25);
        let place = place.or_else(|| tail.rfind("\nExit Code: ").map(|place| place + 12));
        let digits = place
            .and_then(|place| tail.get(place..))
            .map(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
        found.exit = digits.flatten().and_then(|digits| digits.parse().ok());
    }
    found
}

/// Whether a wait ended because its time was up.
pub(super) fn is_time_up(output: &str) -> bool {
    let said = || output.split_whitespace().collect::<String>();
    output.len() <= MESSAGE_BYTES_MAX && output.starts_with('{') && said().contains("\"timed_out\":true")
}

/// The outcome, told more exactly by the text, and who refused.
pub(super) fn settled(outcome: Outcome, exit: Option<i32>, output: &str, envelope: &Envelope) -> (Outcome, Option<By>) {
    match outcome {
        // A command that still runs has no result yet, whatever the client calls it.
        Outcome::Ok | Outcome::Unknown if envelope.still_runs && exit.is_none() => (Outcome::Unknown, None),
        Outcome::Ok | Outcome::Rejected | Outcome::Cancelled | Outcome::RateLimited => (outcome, None),
        Outcome::Denied => (outcome, Some(refuser(output))),
        Outcome::Failed | Outcome::Unknown => by_text(exit, output).unwrap_or(match (outcome, exit) {
            (Outcome::Unknown, Some(0)) => (Outcome::Ok, None),
            (Outcome::Unknown, Some(_)) => (Outcome::Failed, None),
            (Outcome::Unknown, None) if says_failed(output) => (Outcome::Failed, None),
            (outcome, _) => (outcome, None),
        }),
    }
}

/// The client's own word for a failure, where it gives no other sign of one.
fn says_failed(output: &str) -> bool {
    let starts = ["<tool_use_error>", "Error: ", "apply_patch verification failed", "exec_command failed", "ERROR: "];
    starts.iter().any(|start| output.trim_start().starts_with(start))
}

fn by_text(exit: Option<i32>, output: &str) -> Option<(Outcome, Option<By>)> {
    let head = up_to(output, HEAD_BYTES);
    let starts = |phrases: &[&str]| {
        let said = head.trim_start().trim_start_matches("<tool_use_error>").trim_start_matches("Error: ");
        phrases.iter().any(|phrase| said.starts_with(phrase))
    };
    if up_to(output, 2048).contains("HALTLINE HL-") {
        return Some((Outcome::Denied, Some(By::Haltline)));
    }
    if exit.is_some() {
        // A program ran, so nobody kept it from running: what sounds like a refusal is its own output.
        return is_rate_limit(output).then_some((Outcome::RateLimited, None));
    }
    if is_by_hook(head) {
        return Some((Outcome::Denied, Some(By::Hook)));
    }
    if starts(&[
        "The user doesn't want to ",
        "The user rejected",
        "The user denied",
        "User rejected",
        "User denied",
        "User declined",
        "User did not allow",
        "Tool call rejected by user",
        "[Operation Cancelled] Reason: User denied",
        "[Operation Cancelled] Reason: User did not allow",
    ]) || says_short(output, &["rejected by user", "rejected by the user", "denied by the user", "user rejected"])
    {
        return Some((Outcome::Rejected, None));
    }
    if starts(&[
        "Sibling tool call errored",
        "Cancelled: parallel tool call",
        "[Request interrupted by user",
        "Tool execution aborted",
        "Tool call cancelled",
        "[Operation Cancelled]",
        "Interrupted by user",
    ]) || says_short(output, &["aborted by user", "cancelled by user", "interrupted by user"])
    {
        return Some((Outcome::Cancelled, None));
    }
    if starts(&[
        "Permission to use ",
        "Permission for this ",
        "Claude requested permissions ",
        "This command requires approval",
    ]) || says_short(
        output,
        &[
            "rule which prevents you from using",
            "approval policy is never",
            "blocked by policy",
            "could not request permission from user",
            "haven't granted it yet",
            "denied by policy",
            "tool execution denied",
        ],
    ) {
        return Some((Outcome::Denied, Some(By::Permission)));
    }
    is_rate_limit(output).then_some((Outcome::RateLimited, None))
}

/// A hook's refusal, as clients announce it.
pub(super) fn is_by_hook(head: &str) -> bool {
    const PHRASES: [&str; 6] = [
        "hook error: ",
        "blocked by PreToolUse hook",
        "Tool execution blocked: ",
        "hook exited with code 2",
        "denied by hook",
        "Hook PreToolUse",
    ];
    let first = head.lines().next().unwrap_or_default();
    PHRASES.iter().any(|phrase| first.contains(phrase))
}

fn says_short(output: &str, phrases: &[&str]) -> bool {
    if output.len() > MESSAGE_BYTES_MAX {
        return false;
    }
    let text = output.to_ascii_lowercase();
    phrases.iter().any(|phrase| text.contains(phrase))
}

fn is_rate_limit(output: &str) -> bool {
    const PHRASES: [&str; 17] = [
        "rate limit exceeded",
        "rate limit reached",
        "rate_limit_error",
        "rate_limit_exceeded",
        "ratelimiterror",
        "api rate limit",
        "secondary rate limit",
        "being rate limited",
        "too many requests",
        "overloaded_error",
        "quota exceeded",
        "exceeded your current quota",
        "insufficient_quota",
        "resource_exhausted",
        "resource has been exhausted",
        "status code 429",
        "http 429",
    ];
    const SHORT: [&str; 6] = ["rate limit", "rate-limit", "overloaded", "quota", "error 429", "429 "];
    // Program output names rate limits when it tests them; the service's own words are short, or stand last.
    let text = back_to(output, HEAD_BYTES).to_ascii_lowercase();
    let is_message = output.len() <= MESSAGE_BYTES_MAX;
    let is_test = ["--- fail", "panicked", "assert", "test result:", " failed,"].iter().any(|mark| text.contains(mark));
    !is_test
        && (PHRASES.iter().any(|phrase| text.contains(phrase))
            || (is_message && SHORT.iter().any(|phrase| text.contains(phrase))))
}
