//! The words of a call and of a complaint: how alike two calls are, and what an error says about a call (L6).
//!
//! A call's words are kept as a small filter, never as text. A filter may take a word for another one; it never
//! overlooks one. Where it is more than half full it would find anything in anything, and says nothing instead.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::volatile::up_to;

/// How far into a call its words are read.
const CALL_BYTES: usize = 2048;
/// How far into an answer its complaint is read.
const COMPLAINT_BYTES: usize = 600;
/// Shorter words say nothing when they stand in a complaint and in the call.
const TELLING_LETTERS_MIN: usize = 3;
/// A quoted name has so many letters at least and at most.
const NAME_LETTERS: std::ops::RangeInclusive<usize> = 2..=80;
/// No complaint says more.
const COMPLAINT_WORDS_MAX: usize = 64;

/// No more of them are held against a call.
const SHARED_WORDS_MAX: usize = 16;

/// A word, by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Word(pub u32);

/// The words of a call, and which files it is about: the same done to another file is not the same in other words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, u64, u64)", into = "(u64, u64, u64, u64, u64)")]
pub struct Words {
    bits: [u64; 4],
    files: u64,
}

impl From<(u64, u64, u64, u64, u64)> for Words {
    fn from((a, b, c, d, files): (u64, u64, u64, u64, u64)) -> Self {
        Self { bits: [a, b, c, d], files }
    }
}

impl From<Words> for (u64, u64, u64, u64, u64) {
    fn from(Words { bits: [a, b, c, d], files }: Words) -> Self {
        (a, b, c, d, files)
    }
}

impl Words {
    /// The words at the beginning of a text.
    pub fn of(text: &str) -> Self {
        let mut words = Self::default();
        each_word(up_to(text, CALL_BYTES), |word, _| {
            let (place, bit) = word.place();
            words.bits[place] |= bit;
        });
        words
    }

    /// About the files that a command line names.
    pub(super) fn with_files_of(mut self, command: &str) -> Self {
        let is_between = |letter: char| letter.is_whitespace() || "'\"`;|&<>()=,".contains(letter);
        let is_file = |token: &&str| {
            let kind = token.rsplit_once('.').map_or("", |(_, kind)| kind);
            // Expressions are no names.
            let is_plain = !token.contains(['*', '?', '[', '{', '^', '$', '\\']) && !token.starts_with("s/");
            let has_kind = kind.len() <= 5 && kind.starts_with(|letter: char| letter.is_ascii_alphabetic());
            is_plain && (token.contains('/') || has_kind)
        };
        let mut entered = false;
        for token in up_to(command, CALL_BYTES).split(is_between).filter(|token| !token.is_empty()) {
            // The folder that is entered is what it is about as well.
            if is_file(&token) || std::mem::replace(&mut entered, token == "cd") {
                // Their order says nothing.
                self.files = self.files.wrapping_add(xxh3_64(token.as_bytes()));
            }
        }
        self
    }

    /// About one file.
    pub(super) fn with_file(mut self, path: &str) -> Self {
        self.files = xxh3_64(path.as_bytes());
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How alike two calls are, in percent. Calls about other files are not.
    pub fn likeness(self, other: Self) -> u32 {
        if self.files == other.files { self.overlap(other) } else { 0 }
    }

    /// How many of the words of both are in both, in percent.
    pub fn overlap(self, other: Self) -> u32 {
        if self.is_overfull() || other.is_overfull() {
            return 0;
        }
        let both: u32 = self.bits.iter().zip(other.bits).map(|(one, other)| (one & other).count_ones()).sum();
        let either: u32 = self.bits.iter().zip(other.bits).map(|(one, other)| (one | other).count_ones()).sum();
        (both * 100).checked_div(either).unwrap_or(0)
    }

    /// Whether both name files, and not the same ones: what is done to one thing after another is no repetition.
    pub fn is_elsewhere(self, other: Self) -> bool {
        self.files != 0 && other.files != 0 && self.files != other.files
    }

    /// Whether the word is among them.
    pub fn holds(self, word: Word) -> bool {
        let (place, bit) = word.place();
        !self.is_overfull() && self.bits[place] & bit != 0
    }

    fn is_overfull(self) -> bool {
        self.bits.iter().map(|bits| bits.count_ones()).sum::<u32>() > 128
    }
}

impl Word {
    fn place(self) -> (usize, u64) {
        let bit = (self.0 ^ (self.0 >> 15)) & 255;
        ((bit >> 6) as usize, 1 << (bit & 63))
    }
}

/// What an error says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// Its words.
    words: Vec<Word>,
    /// The names it quotes, each by its words.
    names: Vec<Vec<Word>>,
}

impl Complaint {
    /// Reads the beginning of an error.
    pub(super) fn of(text: &str) -> Self {
        let text = up_to(text, COMPLAINT_BYTES);
        let mut complaint = Self::default();
        each_word(text, |word, letters| {
            let is_room = complaint.words.len() < COMPLAINT_WORDS_MAX;
            if letters >= TELLING_LETTERS_MIN && is_room && !complaint.words.contains(&word) {
                complaint.words.push(word);
            }
        });
        for (start, quote) in text.char_indices().filter(|(_, letter)| matches!(letter, '`' | '\'' | '"')) {
            let rest = &text[start + 1..];
            let end = rest.find(|letter: char| letter == quote || letter.is_whitespace());
            let Some(name) = end.filter(|end| rest[*end..].starts_with(quote)).map(|end| &rest[..end]) else {
                continue;
            };
            if NAME_LETTERS.contains(&name.chars().count()) {
                let mut words = Vec::new();
                each_word(name, |word, _| words.push(word));
                complaint.names.push(words);
            }
        }
        complaint
    }

    /// The words of it that are in the call.
    pub fn shared(&self, call: Words) -> Vec<Word> {
        self.words.iter().copied().filter(|word| call.holds(*word)).take(SHARED_WORDS_MAX).collect()
    }

    /// Whether it names something that is in the call.
    pub fn names(&self, call: Words) -> bool {
        self.names.iter().any(|name| !name.is_empty() && name.iter().all(|word| call.holds(*word)))
    }
}

/// Hands over each run of letters, digits and underscores, capitals or not, with its length.
fn each_word(text: &str, mut take: impl FnMut(Word, usize)) {
    // FNV-1a: short keys, and the same on every machine.
    const START: u32 = 0x811c_9dc5;
    let (mut hash, mut letters) = (START, 0);
    for byte in text.bytes().chain([b' ']) {
        if byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii() {
            hash = (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193);
            letters += 1;
        } else if letters > 0 {
            take(Word(hash), letters);
            (hash, letters) = (START, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_as_alike_as_the_words_they_share() {
        let one = Words::of("select name from users where id = 1");
        assert_eq!(one.likeness(Words::of("SELECT name FROM users WHERE id=1;")), 100);
        assert!(one.likeness(Words::of("select name from users where id = 2")) >= 70);
        assert!(one.likeness(Words::of("ls -la /srv/www")) < 20);
        assert_eq!(Words::default().likeness(Words::default()), 0);
        let check = |file: &str| {
            let command = format!("kubeconform -strict -summary {file}");
            Words::of(&command).with_files_of(&command)
        };
        assert_eq!(check("k8s/a.yaml").likeness(check("k8s/b.yaml")), 0, "another file is another matter");
        assert!(check("k8s/a.yaml").is_elsewhere(check("k8s/b.yaml")));
        assert_eq!(check("k8s/a.yaml").likeness(check("k8s/a.yaml")), 100);
        assert!(!check("k8s/a.yaml").is_elsewhere(check("")));
        let many: String = (0..600).map(|number| format!("w{number} ")).collect();
        assert_eq!(Words::of(&many).likeness(Words::of(&many)), 0, "too full to say anything");
    }

    #[test]
    fn a_complaint_names_what_it_quotes() {
        let call = Words::of("python -c 'import yamll; print(1)'");
        let complaint = Complaint::of("ModuleNotFoundError: No module named 'yamll'");
        assert!(complaint.names(call));
        assert_eq!(complaint.shared(call).len(), 1);
        assert!(!complaint.names(Words::of("python -c 'import json'")));
        // An apostrophe opens nothing.
        assert!(!Complaint::of("can't open file that isn't there").names(Words::of("t open file that isn")));
        assert!(!Complaint::of("expected '' or 'a'").names(Words::of("a")));
    }
}
