//! The words of a call and of an error: how similar two calls are, and which words of a call an error mentions (L6).
//!
//! A call's words are kept as a small Bloom filter, never as text. A filter may confuse two words, but it never misses
//! one. A filter that is more than half full would match almost anything, so it matches nothing instead.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::volatile::up_to;

/// How far into a call its words are read.
const CALL_BYTES: usize = 2048;
/// How far into an output its error is read.
const ERROR_BYTES: usize = 600;
/// Shorter words carry no information when an error and a call share them.
const ERROR_WORD_BYTES_MIN: usize = 3;
/// The allowed length of a quoted name, in characters.
const NAME_CHARACTERS: std::ops::RangeInclusive<usize> = 2..=80;
/// At most this many words of an error are kept.
const ERROR_WORDS_MAX: usize = 64;

/// If more words than this are exchanged, the call is not the same question about something else.
const EXCHANGED_MAX: u32 = 2;

/// At most this many shared words are returned.
const SHARED_WORDS_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WordHash(pub u32);

/// The words of a call, and the files it is about: the same action on another file is not a rephrasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, u64, u64)", into = "(u64, u64, u64, u64, u64)")]
pub struct WordSet {
    bits: [u64; 4],
    files: u64,
}

impl From<(u64, u64, u64, u64, u64)> for WordSet {
    fn from((a, b, c, d, files): (u64, u64, u64, u64, u64)) -> Self {
        Self { bits: [a, b, c, d], files }
    }
}

impl From<WordSet> for (u64, u64, u64, u64, u64) {
    fn from(WordSet { bits: [a, b, c, d], files }: WordSet) -> Self {
        (a, b, c, d, files)
    }
}

impl WordSet {
    /// Reads the words at the beginning of a text.
    pub fn from_text(text: &str) -> Self {
        let mut words = Self::default();
        each_word(up_to(text, CALL_BYTES), |word, _| {
            let (position, bit) = word.position();
            words.bits[position] |= bit;
        });
        words
    }

    /// Adds the files that a command line names.
    pub(super) fn with_files_in(mut self, command: &str) -> Self {
        let is_between = |character: char| character.is_whitespace() || "'\"`;|&<>()=,".contains(character);
        let is_file = |token: &&str| {
            let kind = token.rsplit_once('.').map_or("", |(_, kind)| kind);
            // Glob patterns, variables and expressions are not file names.
            let is_plain = !token.contains(['*', '?', '[', '{', '^', '$', '\\']) && !token.starts_with("s/");
            let has_kind = kind.len() <= 5 && kind.starts_with(|character: char| character.is_ascii_alphabetic());
            is_plain && (token.contains('/') || has_kind)
        };
        let mut entered = false;
        for token in up_to(command, CALL_BYTES).split(is_between).filter(|token| !token.is_empty()) {
            // A folder that the command enters counts as well.
            if is_file(&token) || std::mem::replace(&mut entered, token == "cd") {
                // The order of the files does not matter.
                self.files = self.files.wrapping_add(xxh3_64(token.as_bytes()));
            }
        }
        self
    }

    /// Sets the one file that the call is about.
    pub(super) fn with_file(mut self, path: &str) -> Self {
        self.files = xxh3_64(path.as_bytes());
        self
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The similarity of two calls, in percent. It is 0 for calls about different files.
    pub fn similarity(self, other: Self) -> u32 {
        if self.files == other.files { self.overlap(other) } else { 0 }
    }

    /// The share of their combined words that both contain, in percent.
    pub fn overlap(self, other: Self) -> u32 {
        if self.is_overfull() || other.is_overfull() {
            return 0;
        }
        let both: u32 = self.bits.iter().zip(other.bits).map(|(one, other)| (one & other).count_ones()).sum();
        let either: u32 = self.bits.iter().zip(other.bits).map(|(one, other)| (one | other).count_ones()).sum();
        (both * 100).checked_div(either).unwrap_or(0)
    }

    /// The words of both.
    pub fn union(self, other: Self) -> Self {
        let mut union = self;
        union.bits.iter_mut().zip(other.bits).for_each(|(one, other)| *one |= other);
        union
    }

    /// True if a few words of `last` gave way to as many words that are in none of the calls that `known` stands for.
    pub fn exchanges(self, last: Self, known: Self) -> bool {
        let count = |one: [u64; 4], other: [u64; 4]| -> u32 {
            one.iter().zip(other).map(|(one, other)| (one & !other).count_ones()).sum()
        };
        let (added, removed) = (count(self.bits, last.bits), count(last.bits, self.bits));
        let added_new = count(self.bits, known.bits);
        added > 0 && added == removed && added <= EXCHANGED_MAX && added_new == added
    }

    /// True if both name files, but different ones: doing the same to one file after another is not a repetition.
    pub fn names_other_files(self, other: Self) -> bool {
        self.files != 0 && other.files != 0 && self.files != other.files
    }

    /// Returns whether the word is in the set. False positives are possible.
    pub fn contains(self, word: WordHash) -> bool {
        let (position, bit) = word.position();
        !self.is_overfull() && self.bits[position] & bit != 0
    }

    fn is_overfull(self) -> bool {
        self.bits.iter().map(|bits| bits.count_ones()).sum::<u32>() > 128
    }
}

impl WordHash {
    fn position(self) -> (usize, u64) {
        let bit = (self.0 ^ (self.0 >> 15)) & 255;
        ((bit >> 6) as usize, 1 << (bit & 63))
    }
}

/// The words and quoted names of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorText {
    words: Vec<WordHash>,
    /// The names that the error quotes, each as its words.
    quoted_names: Vec<Vec<WordHash>>,
}

impl ErrorText {
    /// Reads the beginning of an error.
    pub(super) fn from_text(text: &str) -> Self {
        let text = up_to(text, ERROR_BYTES);
        let mut error = Self::default();
        each_word(text, |word, length| {
            let is_room = error.words.len() < ERROR_WORDS_MAX;
            if length >= ERROR_WORD_BYTES_MIN && is_room && !error.words.contains(&word) {
                error.words.push(word);
            }
        });
        for (start, quote) in text.char_indices().filter(|(_, character)| matches!(character, '`' | '\'' | '"')) {
            let rest = &text[start + 1..];
            let end = rest.find(|character: char| character == quote || character.is_whitespace());
            let Some(name) = end.filter(|end| rest[*end..].starts_with(quote)).map(|end| &rest[..end]) else {
                continue;
            };
            if NAME_CHARACTERS.contains(&name.chars().count()) {
                let mut words = Vec::new();
                each_word(name, |word, _| words.push(word));
                error.quoted_names.push(words);
            }
        }
        error
    }

    /// Returns the error's words that also occur in the call.
    pub fn words_shared_with(&self, call: WordSet) -> Vec<WordHash> {
        self.words.iter().copied().filter(|word| call.contains(*word)).take(SHARED_WORDS_MAX).collect()
    }

    /// Returns whether the error quotes a name that occurs in the call.
    pub fn quotes_name_in(&self, call: WordSet) -> bool {
        self.quoted_names.iter().any(|name| !name.is_empty() && name.iter().all(|word| call.contains(*word)))
    }
}

/// Passes each run of letters, digits and underscores, ignoring case, to `visit`, with its length in bytes.
fn each_word(text: &str, mut visit: impl FnMut(WordHash, usize)) {
    // FNV-1a: suited to short keys, and the same on every machine.
    const START: u32 = 0x811c_9dc5;
    let (mut hash, mut length) = (START, 0);
    for byte in text.bytes().chain([b' ']) {
        if byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii() {
            hash = (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193);
            length += 1;
        } else if length > 0 {
            visit(WordHash(hash), length);
            (hash, length) = (START, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_as_similar_as_the_words_they_share() {
        let one = WordSet::from_text("select name from users where id = 1");
        assert_eq!(one.similarity(WordSet::from_text("SELECT name FROM users WHERE id=1;")), 100);
        assert!(one.similarity(WordSet::from_text("select name from users where id = 2")) >= 70);
        assert!(one.similarity(WordSet::from_text("ls -la /srv/www")) < 20);
        assert_eq!(WordSet::default().similarity(WordSet::default()), 0);
        let check = |file: &str| {
            let command = format!("kubeconform -strict -summary {file}");
            WordSet::from_text(&command).with_files_in(&command)
        };
        assert_eq!(check("k8s/a.yaml").similarity(check("k8s/b.yaml")), 0, "another file is another matter");
        assert!(check("k8s/a.yaml").names_other_files(check("k8s/b.yaml")));
        assert_eq!(check("k8s/a.yaml").similarity(check("k8s/a.yaml")), 100);
        assert!(!check("k8s/a.yaml").names_other_files(check("")));
        let many: String = (0..600).map(|number| format!("w{number} ")).collect();
        assert_eq!(WordSet::from_text(&many).similarity(WordSet::from_text(&many)), 0, "too full to say anything");
    }

    #[test]
    fn an_error_names_what_it_quotes() {
        let call = WordSet::from_text("python -c 'import yamll; print(1)'");
        let error = ErrorText::from_text("ModuleNotFoundError: No module named 'yamll'");
        assert!(error.quotes_name_in(call));
        assert_eq!(error.words_shared_with(call).len(), 1);
        assert!(!error.quotes_name_in(WordSet::from_text("python -c 'import json'")));
        // An apostrophe does not open a quotation.
        assert!(
            !ErrorText::from_text("can't open file that isn't there")
                .quotes_name_in(WordSet::from_text("t open file that isn"))
        );
        assert!(!ErrorText::from_text("expected '' or 'a'").quotes_name_in(WordSet::from_text("a")));
    }
}
