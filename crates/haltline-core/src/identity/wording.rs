//! Decides when two texts have the same wording: letter case, white space and the punctuation of sentences do not
//! matter.
//!
//! Characters that can carry meaning stay: operators, signs, brackets, decimal points, so that `p < 0.05` is not
//! `p > 0.05`. Takes linear time and never fails.

use super::Digest;

/// Must be raised whenever the digest of the same text would change, so that old digests match nothing new.
const WORDING_VERSION: u8 = 1;

pub fn wording_digest(text: &str) -> Digest {
    let mut normal = String::with_capacity(text.len());
    for word in text.split(is_space) {
        let word = bare(word);
        if word.is_empty() {
            continue;
        }
        if !normal.is_empty() {
            normal.push(' ');
        }
        for letter in word.chars().filter(|letter| !is_invisible(*letter)) {
            match letter {
                '\u{2018}' | '\u{2019}' => normal.push('\''),
                // Greek sigma has two small forms; the position in the word decides which is used.
                'ς' => normal.push('σ'),
                letter => normal.extend(letter.to_lowercase()),
            }
        }
    }
    Digest::from_parts(&[b"wording", &[WORDING_VERSION], normal.as_bytes()])
}

/// Returns whether two texts have the same wording.
pub fn is_same_wording(one: &str, other: &str) -> bool {
    one == other || wording_digest(one) == wording_digest(other)
}

/// Strips the punctuation around a word. The point of `.5` is part of the number.
fn bare(word: &str) -> &str {
    let word = word.trim_end_matches(is_punctuation);
    let rest = word.trim_start_matches(is_punctuation);
    let punctuation = &word[..word.len() - rest.len()];
    let is_fraction = punctuation.ends_with(['.', ',']) && rest.starts_with(|letter: char| letter.is_ascii_digit());
    if is_fraction { &word[punctuation.len() - 1..] } else { rest }
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace()
}

/// Punctuation that ends, opens or quotes a sentence, at the edge of a word.
fn is_punctuation(letter: char) -> bool {
    is_invisible(letter) || ".,;:!?…\"'`“”‘’«»„¿¡؟،؛।。、，；：！？".contains(letter)
}

/// Characters that are not visible.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}
