//! Determines the outcome of a call from its text: denials, interruptions, rate limits and commands that are still
//! running, as clients report them. Only what a client itself writes counts, at the start of a text or in a short one:
//! a test that prints "rate limit" is a failing test.

use super::call_result::find_denier;
use super::volatile::{back_to, up_to};
use super::{DeniedBy, Outcome};

/// How far into a text the client's own phrases are searched.
const HEAD_BYTES: usize = 600;
/// A text of at most this length is a message, not the output of a program.
const MESSAGE_BYTES_MAX: usize = 400;

/// The header that a client writes above the output.
pub(super) struct Envelope {
    /// Its length in bytes.
    pub length: usize,
    /// The exit code it reports.
    pub exit: Option<i32>,
    /// True if it reports that the command has not ended.
    pub is_still_running: bool,
}

/// Returns whether a client reports above the output that the command has not ended.
pub fn is_still_running(output: &str) -> bool {
    let envelope = envelope(output);
    envelope.is_still_running && envelope.exit.is_none()
}

pub(super) fn envelope(output: &str) -> Envelope {
    let mut found = Envelope { length: 0, exit: None, is_still_running: false };
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
            found.is_still_running = true;
        } else if line == "Output:" {
            found.length = at;
            // If a command line only applies a patch, a second header with the exit code follows.
            if found.exit.is_some() || found.is_still_running {
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
        || (head.contains("<retrieval_status>not_ready") || head.contains("<retrieval_status>timeout"))
        || (is_message && head.contains("\"timed_out\":") && head.contains("\"running\""));
    found.is_still_running |= waits;
    if found.exit.is_none() {
        let tail = back_to(output, 200);
        let index = tail.rfind("completed with exit code ").map(|index| index + 25);
        let index = index.or_else(|| tail.rfind("\nExit Code: ").map(|index| index + 12));
        let digits = index
            .and_then(|index| tail.get(index..))
            .map(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
        found.exit = digits.flatten().and_then(|digits| digits.parse().ok());
    }
    found
}

/// Returns whether a wait ended because its time was up.
pub(super) fn is_time_up(output: &str) -> bool {
    let without_blanks = || output.split_whitespace().collect::<String>();
    output.len() <= MESSAGE_BYTES_MAX && output.starts_with('{') && without_blanks().contains("\"timed_out\":true")
}

/// Returns the outcome, made more precise by the text, and who denied the call.
pub(super) fn refine_outcome(
    outcome: Outcome,
    exit: Option<i32>,
    output: &str,
    envelope: &Envelope,
) -> (Outcome, Option<DeniedBy>) {
    match outcome {
        // A command that is still running has no result yet, whatever the client reports.
        Outcome::Ok | Outcome::Unknown if envelope.is_still_running && exit.is_none() => (Outcome::Unknown, None),
        Outcome::Ok | Outcome::Rejected | Outcome::Cancelled | Outcome::RateLimited => (outcome, None),
        Outcome::Denied => (outcome, Some(find_denier(output))),
        Outcome::Failed | Outcome::Unknown => outcome_from_text(exit, output).unwrap_or(match (outcome, exit) {
            (Outcome::Unknown, Some(0)) => (Outcome::Ok, None),
            (Outcome::Unknown, Some(_)) => (Outcome::Failed, None),
            (Outcome::Unknown, None) if says_failed(output) => (Outcome::Failed, None),
            (outcome, _) => (outcome, None),
        }),
    }
}

/// Returns whether the client's own phrase reports a failure, for clients that give no other sign of one.
fn says_failed(output: &str) -> bool {
    let starts = ["<tool_use_error>", "Error: ", "apply_patch verification failed", "exec_command failed", "ERROR: "];
    starts.iter().any(|start| output.trim_start().starts_with(start))
}

fn outcome_from_text(exit: Option<i32>, output: &str) -> Option<(Outcome, Option<DeniedBy>)> {
    let head = up_to(output, HEAD_BYTES);
    let starts = |phrases: &[&str]| {
        let message = head.trim_start().trim_start_matches("<tool_use_error>").trim_start_matches("Error: ");
        phrases.iter().any(|phrase| message.starts_with(phrase))
    };
    if up_to(output, 2048).contains("HALTLINE HL-") {
        return Some((Outcome::Denied, Some(DeniedBy::Haltline)));
    }
    if exit.is_some() {
        // A program ran, so nothing denied it: text that sounds like a denial is the program's own output.
        return is_rate_limit(output).then_some((Outcome::RateLimited, None));
    }
    if is_hook_denial(head) {
        return Some((Outcome::Denied, Some(DeniedBy::Hook)));
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
    ]) || short_message_contains(
        output,
        &["rejected by user", "rejected by the user", "denied by the user", "user rejected"],
    ) {
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
    ]) || short_message_contains(output, &["aborted by user", "cancelled by user", "interrupted by user"])
    {
        return Some((Outcome::Cancelled, None));
    }
    if starts(&[
        "Permission to use ",
        "Permission for this ",
        "Claude requested permissions ",
        "This command requires approval",
    ]) || short_message_contains(
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
        return Some((Outcome::Denied, Some(DeniedBy::Permission)));
    }
    is_rate_limit(output).then_some((Outcome::RateLimited, None))
}

/// Returns whether the first line is a hook's denial, as clients report it.
pub(super) fn is_hook_denial(head: &str) -> bool {
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

fn short_message_contains(output: &str, phrases: &[&str]) -> bool {
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
    // Program output mentions rate limits when it tests them; the service's own message is short, or comes last.
    let text = back_to(output, HEAD_BYTES).to_ascii_lowercase();
    let is_message = output.len() <= MESSAGE_BYTES_MAX;
    let is_test =
        ["--- fail", "panicked", "assert", "test result:", " failed,"].iter().any(|marker| text.contains(marker));
    !is_test
        && (PHRASES.iter().any(|phrase| text.contains(phrase))
            || (is_message && SHORT.iter().any(|phrase| text.contains(phrase))))
}
