//! What a model says, as far as it can be compared: whether it is the same again, and whether it goes round within
//! itself (L6, chanting).

use serde::{Deserialize, Serialize};

use super::{Digest, digest, volatile};

/// Shorter texts are said again for good reasons.
const SAID_BYTES_MIN: usize = 20;
/// How far into a text it is looked for what comes round.
const SAID_BYTES_MAX: usize = 32 * 1024;

/// What a response said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// All of it, without what changes from time to time.
    pub text: Digest,
    /// How often the same sentence or line came in a row, at most.
    pub repeats: u32,
}

impl Said {
    /// Reads a text; `None` where it is too short to say anything about.
    pub fn of(text: &str) -> Option<Self> {
        if text.trim().len() < SAID_BYTES_MIN {
            return None;
        }
        let normal = volatile::parts(text).normal;
        let sentences = volatile::up_to(text, SAID_BYTES_MAX).split(['\n', '.', '!', '?']).map(str::trim);
        let (mut repeats, mut row, mut last) = (1, 1, "");
        for sentence in sentences.filter(|sentence| !sentence.is_empty()) {
            row = if sentence == last { row + 1 } else { 1 };
            last = sentence;
            if sentence.len() >= SAID_BYTES_MIN {
                repeats = repeats.max(row);
            }
        }
        Some(Self { text: digest(&[b"said", &normal.to_be_bytes()]), repeats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_but_for_what_is_volatile_and_shows_what_comes_round_in_it() {
        let said = |text| Said::of(text).expect("long enough");
        assert_eq!(said("I will run the tests now.").text, said("I will run the  tests now.").text);
        assert_ne!(said("I will run the tests now.").text, said("I will read the tests now.").text);
        assert_eq!(said("I will run the tests now. Then I will commit.").repeats, 1);
        assert_eq!(said(&"The file has to be read first. ".repeat(7)).repeats, 7);
        assert_eq!(Said::of("Done."), None);
    }
}
