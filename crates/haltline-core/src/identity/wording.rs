//! When two texts are the same words: letter case, white space and the punctuation of sentences do not matter.
//!
//! What can carry meaning stays: operators, signs, brackets, decimal points, so that `p < 0.05` is not `p > 0.05`. Linear
//! in the text, and it never fails.

use super::Digest;

/// Rises whenever the same text would get another digest, so that old digests match nothing new.
const WORDING_VERSION: u8 = 1;

/// What tells the words of a text from others.
pub fn wording(text: &str) -> Digest {
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
                // Which of the two small forms follows from the place in the word.
                'ς' => normal.push('σ'),
                letter => normal.extend(letter.to_lowercase()),
            }
        }
    }
    Digest::of(&[b"wording", &[WORDING_VERSION], normal.as_bytes()])
}

/// Whether two texts are the same words.
pub fn is_same_wording(one: &str, other: &str) -> bool {
    one == other || wording(one) == wording(other)
}

/// A word without the marks around it. The point of `.5` is part of the number.
fn bare(word: &str) -> &str {
    let word = word.trim_end_matches(is_mark);
    let rest = word.trim_start_matches(is_mark);
    let marks = &word[..word.len() - rest.len()];
    let is_fraction = marks.ends_with(['.', ',']) && rest.starts_with(|letter: char| letter.is_ascii_digit());
    if is_fraction { &word[marks.len() - 1..] } else { rest }
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace()
}

/// Marks that end, open or quote a sentence, at the edge of a word.
fn is_mark(letter: char) -> bool {
    is_invisible(letter)
        || matches!(
            letter,
            '.' | ','
                | ';'
                | ':'
                | '!'
                | '?'
                | '…'
                | '"'
                | '\''
                | '`'
                | '“'
                | '”'
                | '‘'
                | '’'
                | '«'
                | '»'
                | '„'
                | '¿'
                | '¡'
                | '؟'
                | '،'
                | '؛'
                | '।'
                | '。'
                | '、'
                | '，'
                | '；'
                | '：'
                | '！'
                | '？'
        )
}

/// Characters nobody sees.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_the_same_however_they_are_set() {
        for (one, other) in [
            ("Run the confounder harness.", "run  the\nconfounder harness"),
            ("Run it!", "Run it?"),
            ("the reviewer’s test", "the reviewer's test"),
            ("“Quoted”, then.", "Quoted then"),
            ("ÄRGER über ΣΊΣΥΦΟΣ", "ärger über σίσυφος"),
            ("soft\u{ad}ly", "softly"),
            ("检验。", "检验"),
            ("¿Dónde está?", "dónde está"),
            ("هل أجريت الاختبار؟", "هل أجريت الاختبار"),
        ] {
            assert!(is_same_wording(one, other), "{one:?} and {other:?}");
        }
    }

    #[test]
    fn what_can_carry_meaning_makes_another_text() {
        for (one, other) in [
            ("p < 0.05", "p > 0.05"),
            ("an effect of 0.5", "an effect of 05"),
            ("an effect of .5", "an effect of 5"),
            ("an effect of \"...5\"", "an effect of 5"),
            ("an effect of -1", "an effect of 1"),
            ("A (not B)", "A not B"),
            ("naïve", "naive"),
            ("run the test", "run the tests"),
            ("", "a"),
        ] {
            assert!(!is_same_wording(one, other), "{one:?} and {other:?}");
        }
    }
}
