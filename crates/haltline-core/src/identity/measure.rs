//! Tells what a program measured from what its run happened to take (L4). A figure that a benchmark reports is its
//! answer; the same figure beside a test's name, in a progress bar or in a failure says nothing.

/// Words on a line that reports a statistic.
const STATISTICS: [&[u8]; 18] = [
    b"mean",
    b"median",
    b"avg",
    b"average",
    b"latency",
    b"p50",
    b"p75",
    b"p90",
    b"p95",
    b"p99",
    b"stddev",
    b"std dev",
    "±".as_bytes(),
    b"throughput",
    b"percentile",
    b"per loop",
    b"best of",
    b"bench",
];
/// Words on a line that reports a transfer.
const TRANSFERS: [&[u8]; 9] =
    [b"%", b"eta", b"saved", b"fetched", b"download", b"receiving", b"upload", b"unpack", b"done"];

/// True if the figure with a unit that takes `taken` bytes at `at` was measured.
pub(super) fn is_measured(line: &[u8], at: usize, taken: usize) -> bool {
    let (figure, after) = (&line[at..at + taken], &line[at + taken..]);
    let is_per_something = after.first() == Some(&b'/') && after.get(1).is_some_and(u8::is_ascii_alphabetic);
    if is_per_something || after.starts_with(b" per ") {
        return true;
    }
    if figure.ends_with(b"/s") {
        return !says_any(line, &TRANSFERS);
    }
    // `time:   [1.2 ms 1.3 ms 1.4 ms]`
    let is_bracketed = line.windows(5).any(|part| part == b"time:") && line[..at].contains(&b'[');
    is_bracketed || says_any(line, &STATISTICS)
}

/// True if the hash at `at` is what the line says: a checksum of a file, or the name of a commit.
pub(super) fn is_answer(line: &[u8], at: usize, length: usize) -> bool {
    let after = &line[at + length..];
    let is_start = line[..at].iter().all(|byte| matches!(byte, b' ' | b'\t'));
    let names_file = after.starts_with(b"  ") || after.starts_with(b" *") || after.starts_with(b"\t");
    let is_commit = length == 40 && after.trim_ascii().is_empty();
    let is_hash = line[at..at + length].iter().all(u8::is_ascii_hexdigit);
    is_start && is_hash && matches!(length, 32 | 40 | 56 | 64 | 96 | 128) && (names_file || is_commit)
}

fn says_any(line: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word)))
}
