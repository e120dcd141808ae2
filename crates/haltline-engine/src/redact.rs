//! Keeps secrets out of stored texts, and stored texts short (E10).
//!
//! A secret is found by its own form (`token.rs`), by the name it is given (`assignment.rs`, `header.rs`), by the program
//! that takes it (`command.rs`), by its place in an address (`address.rs`) or as the lines of a key (`block.rs`). Nothing is
//! compiled and every pass takes linear time, because a hook is a fresh process that masks a few short texts.

mod address;
mod assignment;
mod block;
mod character;
mod command;
mod header;
mod literal;
mod name;
mod program;
mod token;
mod token_kinds;
mod value;

use std::borrow::Cow;
use std::ops::Range;

use haltline_core::digest_hex;

/// The longest text that is stored.
pub const TEXT_BYTES_MAX: usize = 4096;

/// Replaces a secret.
const MASK: &str = "[redacted]";

/// The text as it may be stored: secrets masked, and at most [`TEXT_BYTES_MAX`] bytes, with a hash of the whole text if
/// it was cut. Idempotent, because haltline compares the texts of a state file with those in the journal.
pub fn storable(text: &str) -> String {
    // The note of an earlier cut belongs to no secret.
    let (body, note) = split_note(text);
    // Of a long text only the beginning is kept, so only that is read.
    let read = &body[..body.floor_char_boundary(READ_BYTES_MAX)];
    let masked = mask_all(read);
    if read.len() == body.len() && masked.len() + note.len() <= TEXT_BYTES_MAX {
        return masked + note;
    }
    let note = format!("{NOTE_START}{} bytes, sha256 {}]", text.len(), digest_hex(&[text.as_bytes()], 8));
    let end = masked.floor_char_boundary(TEXT_BYTES_MAX - note.len() - CUT_BYTES_SPARE);
    mask_all(&masked[..end]) + &note
}

/// The space separates the note from a word that the cut goes through.
const NOTE_START: &str = " … [";
/// A word that was cut may look like a secret that it was not before; masking it can make the text longer.
const CUT_BYTES_SPARE: usize = 64;
/// How much of a text is searched for secrets before it is cut: much more than is kept, so that a secret at the cut is
/// recognised.
const READ_BYTES_MAX: usize = 16 * TEXT_BYTES_MAX;
/// How often a text is masked again because what is left next to a mask looks like a secret.
const PASSES_MAX: usize = 16;

/// The text, and the note at its end that says what was cut off.
fn split_note(text: &str) -> (&str, &str) {
    let is_note = |note: &str| {
        let inner = note.strip_prefix(NOTE_START).and_then(|rest| rest.strip_suffix(']'));
        inner.and_then(|inner| inner.split_once(" bytes, sha256 ")).is_some_and(|(bytes, digest)| {
            bytes.bytes().all(|byte| byte.is_ascii_digit()) && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    match text.ends_with(']').then(|| text.rfind(NOTE_START)).flatten() {
        Some(at) if is_note(&text[at..]) => text.split_at(at),
        _ => (text, ""),
    }
}

fn mask_all(text: &str) -> String {
    let mut masked = match mask(text) {
        // Nothing was masked, so another pass would find nothing either.
        Cow::Borrowed(text) => return text.to_owned(),
        Cow::Owned(masked) => masked,
    };
    for _pass in 1..PASSES_MAX {
        match mask(&masked) {
            Cow::Borrowed(_) => break,
            Cow::Owned(again) => masked = again,
        }
    }
    masked
}

/// The text with its secrets masked.
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut spans = secrets(text);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_by_key(|span| (span.start, span.end));
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    let mut spans = spans.into_iter().peekable();
    while let Some(mut span) = spans.next() {
        while let Some(next) = spans.next_if(|next| next.start <= span.end) {
            span.end = span.end.max(next.end);
        }
        masked.push_str(&text[copied..span.start]);
        masked.push_str(MASK);
        copied = span.end;
    }
    masked.push_str(&text[copied..]);
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

/// Where the secrets of a text are, in any order.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut found = |span: Range<usize>| {
        let start = text.floor_char_boundary(span.start);
        let end = text.ceil_char_boundary(span.end.min(text.len()));
        // A mask is no secret.
        if start < end && &text[start..end] != MASK {
            spans.push(start..end);
        }
    };
    // What a text cannot hold is not looked for: most texts are short and hold none of it.
    let mut bytes = [false; 256];
    text.bytes().for_each(|byte| bytes[usize::from(byte)] = true);
    let has = |byte: u8| bytes[usize::from(byte)];
    block::find(text, &mut found);
    token::find(text, &mut found);
    if has(b'/') {
        token::find_addresses(text, &mut found);
    }
    if has(b'=') || has(b':') || has(b'>') || has(b',') || has(b'(') {
        assignment::find(text, &mut found);
    }
    header::schemes(text, &mut found);
    command::find(text, &mut found);
    if has(b'@') {
        address::find(text, &mut found);
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        for (text, expected) in [
            ("git push --force origin main", "git push --force origin main"),
            ("curl -H 'Authorization: Bearer abcdef0123456789' x", "curl -H 'Authorization: Bearer [redacted]' x"),
            ("export OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuv", "export OPENAI_API_KEY=[redacted]"),
            ("mysql -u root password=hunter2 db", "mysql -u root password=[redacted] db"),
            ("clone https://ana:s3cr3t@host/x.git", "clone https://ana:[redacted]@host/x.git"),
            ("token: ghp_0123456789abcdefghijABCDEFGHIJ", "token: [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE in log", "[redacted] in log"),
            ("{\"password\": \"hunter22\"}", "{\"password\": \"[redacted]\"}"),
            ("gh auth login --token abcd1234 now", "gh auth login --token [redacted] now"),
            ("cookie eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln end", "cookie [redacted] end"),
            ("the token expired", "the token expired"),
            ("the tokenizer passed 12 tests", "the tokenizer passed 12 tests"),
        ] {
            assert_eq!(mask(text), expected);
        }
        let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- tail";
        assert_eq!(mask(key), "[redacted] tail");
    }

    #[test]
    fn long_texts_are_cut_at_a_character_with_a_hash_of_the_whole() {
        let text = "é".repeat(4000);
        let stored = storable(&text);
        assert!(stored.len() <= TEXT_BYTES_MAX && stored.contains("8000 bytes, sha256 "), "{}", stored.len());
        assert_eq!(storable("short"), "short");
        let exact = "a".repeat(TEXT_BYTES_MAX);
        assert_eq!(storable(&exact), exact);
    }
}
