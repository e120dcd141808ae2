//! Hashes outputs without what changes from run to run (L4), so that the same output is recognised as the same.
//!
//! Removed: timestamps, clock times, durations and rates of transfers, numbers of processes, workers, requests and
//! attempts, seeds, uuids, hashes, addresses, random names of temporary files and pods, the use of memory, line numbers of
//! `sh -c` texts, terminal escapes, blanks and the length of rules. Kept: every other number, so counts of tests, source
//! positions and sizes still distinguish two outputs; and what a program that succeeded measured or hashed, because that
//! is what it was run for. `testdata/identity/results.txt` has a row for each form.
//!
//! The order of lines does not matter, because parallel tools print the same lines in a different order every time.
//!
//! An output may have megabytes. Only its first and last [`WINDOW_BYTES`] are normalized; the middle is hashed
//! unchanged. Two long outputs that differ in the middle are therefore different, even if only by a time of day: other
//! patterns detect a loop with such outputs later, and progress is never missed.

use xxhash_rust::xxh3::xxh3_64;

use super::Digest;
use super::token::{self, Measures};

/// How much of each end of a long output is normalized. What clients show to a model is usually shorter.
const WINDOW_BYTES: usize = 32 * 1024;
/// How far the end of a window may move to reach the end of a line.
const LINE_BYTES_MAX: usize = 4096;

pub(super) struct OutputHashes {
    /// Without volatile parts.
    pub normal: u64,
    /// Of the unchanged output.
    pub raw: u64,
    /// The first and the last line: the shape, and what the line adds to `normal`.
    pub edges: [Option<(Digest, u64)>; 2],
}

/// Hashes an output. What a program measures is part of what it says, unless it failed.
pub(super) fn hashes(output: &str, is_failed: bool) -> OutputHashes {
    let bytes = output.as_bytes();
    let measures = if is_failed { Measures::Volatile } else { Measures::Kept };
    let hash_lines = |bytes: &[u8], is_start| hash_lines(bytes, is_start, measures);
    if bytes.len() <= 2 * WINDOW_BYTES {
        let lines = || bytes.split(|byte| *byte == b'\n').map(visible);
        let is_text = |line: &&[u8]| line.iter().any(|byte| !byte.is_ascii_whitespace());
        let edge = |line: Option<&[u8]>| line.map(|line| (line_shape(line), hash_lines(line, false)));
        let (first, last) = (lines().find(|line| is_text(line) && !is_envelope(line)), lines().rev().find(is_text));
        let edges = [edge(first), edge(last)];
        return OutputHashes { normal: hash_lines(bytes, true), raw: xxh3_64(bytes), edges };
    }
    // Cut between lines: a duration that is one digit longer must not move the cut into another line.
    let head_end = WINDOW_BYTES + line_break(&bytes[WINDOW_BYTES..][..LINE_BYTES_MAX.min(WINDOW_BYTES)]);
    let tail_from = bytes.len() - WINDOW_BYTES;
    let search_range = &bytes[tail_from..][..LINE_BYTES_MAX];
    let tail_start = (tail_from + line_break(search_range)).max(head_end);
    let (head, middle, tail) = (&bytes[..head_end], &bytes[head_end..tail_start], &bytes[tail_start..]);
    let between = xxh3_64(middle);
    let joined = |head: u64, tail: u64| {
        let mut whole = [0; 24];
        whole[..8].copy_from_slice(&head.to_be_bytes());
        whole[8..16].copy_from_slice(&between.to_be_bytes());
        whole[16..].copy_from_slice(&tail.to_be_bytes());
        xxh3_64(&whole)
    };
    OutputHashes {
        normal: joined(hash_lines(head, true), hash_lines(tail, false)),
        raw: joined(xxh3_64(head), xxh3_64(tail)),
        edges: [None, None],
    }
}

/// The position after the first line break, or 0 if there is none.
fn line_break(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(0, |index| index + 1)
}

/// Hashes the lines of a text, regardless of their order.
fn hash_lines(bytes: &[u8], is_start: bool, measures: Measures) -> u64 {
    let mut sum: u64 = 0;
    let mut line_buffer = Vec::with_capacity(256);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        line_buffer.clear();
        if is_start && number < 8 && is_envelope(line) {
            continue;
        }
        token::normalise(visible(line), measures, &mut line_buffer);
        if !line_buffer.is_empty() {
            sum = sum.wrapping_add(xxh3_64(&line_buffer));
        }
    }
    sum
}

/// The digest of a line in which no number matters.
pub(super) fn line_shape(line: &[u8]) -> Digest {
    let mut normal = Vec::with_capacity(line.len());
    token::normalise(line, Measures::Volatile, &mut normal);
    let mut shape: Vec<u8> = Vec::with_capacity(normal.len());
    for byte in normal {
        let byte = if byte.is_ascii_digit() { b'#' } else { byte };
        if byte != b'#' || shape.last() != Some(&b'#') {
            shape.push(byte);
        }
    }
    Digest::from_parts(&[b"line", &shape])
}

/// Returns whether the line belongs to the header that a client writes above the output, which is new every time.
fn is_envelope(line: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [
        b"Chunk ID: ",
        b"Wall time: ",
        b"Original token count: ",
        b"Process running with session ID ",
        b"Process exited with code ",
        b"Total output lines: ",
    ];
    starts.iter().any(|start| line.starts_with(start))
}

/// The part of a line that stays visible on a terminal: a progress bar overwrites itself.
fn visible(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.rsplit(|byte| *byte == b'\r').find(|part| !part.is_empty()).unwrap_or_default()
}

/// Returns at most the first `bytes` of the text, cut at a character boundary.
pub(super) fn up_to(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns at most the last `bytes` of the text, cut at a character boundary.
pub(super) fn back_to(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns the characters of a text without terminal escapes.
pub(super) fn without_escapes(text: &str) -> Vec<char> {
    let mut characters = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if character == '\u{1b}' {
            at += token::escape_length(&text.as_bytes()[at..]);
            while !text.is_char_boundary(at) {
                at += 1;
            }
            continue;
        }
        characters.push(character);
        at += character.len_utf8();
    }
    characters
}
