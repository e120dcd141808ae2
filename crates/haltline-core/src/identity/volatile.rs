//! Answers without what changes from run to run (L4), so that the same answer is recognised as the same.
//!
//! Taken out: timestamps, clock times, durations and rates, process numbers, seeds, uuids, hashes, addresses, random
//! names of temporary files, line numbers of `sh -c` texts, terminal escapes, blanks and the length of rules. Kept:
//! every other number, so counts of tests, source positions and sizes still tell two answers apart.
//!
//! Lines are compared as a bag: parallel tools print the same lines in another order every time.
//!
//! An answer may have megabytes. Only its first and last [`WINDOW_BYTES`] are read closely; what lies between counts
//! as it is, by its hash. Two long answers that differ in the middle are therefore different, be it only by a time of
//! day: a loop with such answers is seen later, by other patterns, and no progress is ever overlooked.

use xxhash_rust::xxh3::xxh3_64;

use super::token;

/// How much of each end of a long answer is read closely. What clients let a model see is shorter as a rule.
const WINDOW_BYTES: usize = 32 * 1024;
/// How far the end of a window may move to meet the end of a line.
const LINE_BYTES_MAX: usize = 4096;

/// The two hashes of an answer.
pub(super) struct Parts {
    /// Without volatile parts.
    pub normal: u64,
    /// As it is.
    pub raw: u64,
}

/// Hashes an answer.
pub(super) fn parts(output: &str) -> Parts {
    let bytes = output.as_bytes();
    if bytes.len() <= 2 * WINDOW_BYTES {
        return Parts { normal: bag(bytes, true), raw: xxh3_64(bytes) };
    }
    // Cut between lines: a duration that is a digit longer must not move the cut into another line.
    let head_end = WINDOW_BYTES + line_break(&bytes[WINDOW_BYTES..][..LINE_BYTES_MAX.min(WINDOW_BYTES)]);
    let tail_from = bytes.len() - WINDOW_BYTES;
    let reach = &bytes[tail_from..][..LINE_BYTES_MAX];
    let tail_start = (tail_from + line_break(reach)).max(head_end);
    let (head, middle, tail) = (&bytes[..head_end], &bytes[head_end..tail_start], &bytes[tail_start..]);
    let between = xxh3_64(middle);
    let joined = |head: u64, tail: u64| {
        let mut whole = [0; 24];
        whole[..8].copy_from_slice(&head.to_be_bytes());
        whole[8..16].copy_from_slice(&between.to_be_bytes());
        whole[16..].copy_from_slice(&tail.to_be_bytes());
        xxh3_64(&whole)
    };
    Parts { normal: joined(bag(head, true), bag(tail, false)), raw: joined(xxh3_64(head), xxh3_64(tail)) }
}

/// Where the next line begins, or 0 where none does.
fn line_break(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(0, |place| place + 1)
}

/// The lines of a text, whatever their order.
fn bag(bytes: &[u8], begins: bool) -> u64 {
    let mut sum: u64 = 0;
    let mut line_buffer = Vec::with_capacity(256);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        line_buffer.clear();
        if begins && number < 8 && is_envelope(line) {
            continue;
        }
        token::normalise(visible(line), &mut line_buffer);
        if !line_buffer.is_empty() {
            sum = sum.wrapping_add(xxh3_64(&line_buffer));
        }
    }
    sum
}

/// What a client writes above the output, new every time.
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

/// What is left of a line on a terminal: a progress bar overwrites itself.
fn visible(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.rsplit(|byte| *byte == b'\r').find(|part| !part.is_empty()).unwrap_or_default()
}

/// The text up to `bytes`, ended between characters.
pub(super) fn up_to(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last `bytes` of the text, begun between characters.
pub(super) fn back_to(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The letters of a text without terminal escapes.
pub(super) fn without_escapes(text: &str) -> Vec<char> {
    let mut letters = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if letter == '\u{1b}' {
            at += token::escape_length(&text.as_bytes()[at..]);
            while !text.is_char_boundary(at) {
                at += 1;
            }
            continue;
        }
        letters.push(letter);
        at += letter.len_utf8();
    }
    letters
}
