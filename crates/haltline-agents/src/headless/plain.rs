//! Finds out how a program that prints plain text ended, from its last lines.
//!
//! Agents read and print files that quote notices of their own clients. So a notice counts only where a client would
//! print it: at the start of a line, near the end, not quoted, and without prose of the agent after it. In doubt the
//! program said nothing, and its exit code and lack of progress decide.

use super::{Ending, fault, first_bytes};

/// How many lines at the end are examined, not counting empty ones.
const LINES_MAX: usize = 20;
/// How many lines may follow a notice: hints what to buy, and what a script prints when its command failed.
const LINES_BEHIND_MAX: usize = 5;
const NOTICE_BYTES_MAX: usize = 400;
/// A line with this many words and a full stop is a sentence of the agent.
const SENTENCE_WORDS: usize = 6;

/// How notices of a used-up allowance begin, in lower case.
const NOTICES: [&str; 11] = [
    "claude ai usage limit reached",
    "claude usage limit reached",
    "you've reached your usage limit",
    "you're out of extra usage",
    "you're now out of extra usage",
    "5-hour limit reached",
    "weekly limit reached",
    "session limit reached",
    "opus weekly limit reached",
    "usage limit reached",
    "you have exhausted your",
];

/// How hints after a notice begin, in lower case.
const HINTS: [&str; 6] = ["/", "or try again", "upgrade", "visit", "your limit will reset", "tokens used"];

/// How clients announce an error.
const ANNOUNCEMENTS: [&str; 4] = ["api error:", "error:", "stream error:", "codex error:"];

/// Symbols before a client's own message that do not mark a quotation.
const PREFIX_SYMBOLS: [char; 12] = ['■', '●', '⏺', '✗', '✖', '✘', '❌', '⚠', '🖐', '\u{fe0f}', '•', '!'];

struct Line<'a> {
    text: &'a str,
    is_code: bool,
}

pub(super) fn ending(output: &str) -> Ending {
    let lines = last_lines(output);
    for (index, line) in lines.iter().enumerate().rev() {
        let behind = &lines[index + 1..];
        if behind.len() > LINES_BEHIND_MAX || behind.iter().any(|line| is_prose(line.text)) {
            break;
        }
        let is_introduced = index > 0 && lines[index - 1].text.ends_with(':');
        if line.is_code || is_introduced || line.text.len() > NOTICE_BYTES_MAX {
            continue;
        }
        let (text, is_announced) = strip_prefixes(line.text);
        if is_limit(text) || is_announced {
            // A long notice continues on the next line.
            let whole: Vec<&str> = std::iter::once(text).chain(behind.iter().map(|line| line.text)).collect();
            if let Some(ending) = fault::ending(text, None, None) {
                return match ending {
                    Ending::ApiLimit { message, .. } => {
                        Ending::ApiLimit { resets: super::reset::find_in(&whole.join(" ")), message }
                    }
                    other => other,
                };
            }
        }
    }
    Ending::Silent
}

/// True when a text as a whole is the notice of a used-up allowance.
pub(super) fn is_notice(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_first = lines.next().is_some_and(|line| line.len() <= NOTICE_BYTES_MAX && is_limit(strip_prefixes(line).0));
    is_first && lines.all(is_hint)
}

/// The last lines that are not empty, and whether each is in a code block.
fn last_lines(output: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut is_fenced = false;
    for line in output.lines() {
        let text = line.trim();
        if text.is_empty() {
            continue;
        }
        let is_fence = text.starts_with("```") || text.starts_with("~~~");
        is_fenced ^= is_fence;
        let is_indented = line.starts_with("    ") || line.starts_with('\t');
        lines.push(Line { text, is_code: is_fenced || is_fence || is_indented });
    }
    let start = lines.len().saturating_sub(LINES_MAX);
    lines.split_off(start)
}

/// The line without symbols, time and announcement before it; and whether it was announced as an error.
fn strip_prefixes(line: &str) -> (&str, bool) {
    let mut text = line.trim_start_matches(|letter: char| PREFIX_SYMBOLS.contains(&letter) || letter == ' ');
    if let Some((stamp, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && stamp.len() < 40
        && stamp.starts_with(|letter: char| letter.is_ascii_digit())
    {
        text = rest.trim_start();
    }
    let lower = first_bytes(text, 32).to_ascii_lowercase();
    let announced = ANNOUNCEMENTS.iter().find(|announcement| lower.starts_with(**announcement));
    // For an API error the announcement is needed to find the status behind it, so it stays.
    match announced {
        Some(&"api error:") => (text, true),
        Some(announcement) => (text[announcement.len()..].trim_start(), true),
        None => (text, false),
    }
}

fn is_limit(text: &str) -> bool {
    let lower = first_bytes(text, 80).to_lowercase().replace('’', "'");
    let hit = lower.strip_prefix("you've hit your ");
    hit.is_some_and(|rest| rest.contains("limit")) || NOTICES.iter().any(|notice| lower.starts_with(notice))
}

fn is_hint(line: &str) -> bool {
    let lower = first_bytes(line, 32).to_lowercase();
    HINTS.iter().any(|hint| lower.starts_with(hint))
}

/// True for a sentence that the agent wrote, in contrast to a client's hint.
fn is_prose(line: &str) -> bool {
    let is_sentence = line.ends_with(['.', '!', '?', ':']) && line.split_whitespace().count() >= SENTENCE_WORDS;
    is_sentence && !is_hint(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_notice_only_as_a_whole() {
        assert!(is_notice("Claude AI usage limit reached|1749924000"));
        assert!(is_notice("You've hit your limit · resets 3pm\n/upgrade to increase your usage limit."));
        assert!(!is_notice("You've hit your limit is now shown in red.\nI also changed the tests."));
        assert!(!is_notice("I taught the parser what a usage limit is."));
    }
}
