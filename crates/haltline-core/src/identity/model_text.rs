//! The text of a model response, reduced to what can be compared: whether it is the same again, and whether it repeats
//! itself (L6, repeated text).

use serde::{Deserialize, Serialize};

use super::{Digest, volatile};

/// Shorter texts are repeated for good reasons.
const TEXT_BYTES_MIN: usize = 20;
/// How far into a text repeated sentences are searched.
const TEXT_BYTES_MAX: usize = 32 * 1024;

/// The digest of a response's text, and how much the text repeats itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelText {
    /// The digest of the whole text without its volatile parts.
    #[serde(rename = "text")]
    pub digest: Digest,
    /// The longest run of the same sentence or line.
    pub repeats: u32,
}

impl ModelText {
    /// Reads a text; returns `None` if it is too short to compare.
    pub fn from_text(text: &str) -> Option<Self> {
        if text.trim().len() < TEXT_BYTES_MIN {
            return None;
        }
        let normal = volatile::hashes(text, false).normal;
        let sentences = volatile::up_to(text, TEXT_BYTES_MAX).split(['\n', '.', '!', '?']).map(str::trim);
        let (mut repeats, mut run, mut last) = (1, 1, "");
        for sentence in sentences.filter(|sentence| !sentence.is_empty()) {
            run = if sentence == last { run + 1 } else { 1 };
            last = sentence;
            if sentence.len() >= TEXT_BYTES_MIN {
                repeats = repeats.max(run);
            }
        }
        Some(Self { digest: Digest::from_parts(&[b"said", &normal.to_be_bytes()]), repeats })
    }
}
