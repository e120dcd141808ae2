//! When two strategies are the same: the words are, whatever their case, punctuation and spacing (A7).

use crate::identity::{Digest, plain_words};

/// A mark of a strategy; `None` where nothing was said.
pub(super) fn mark(strategy: &str) -> Option<Digest> {
    let words = plain_words(strategy);
    (!words.is_empty()).then(|| Digest::of(&[words.as_bytes()]))
}
