//! Two strategies are the same if their wording is the same (A7).

use crate::identity::{Digest, wording_digest};

/// Digest of a strategy's wording; `None` if the text is empty.
pub(super) fn strategy_digest(strategy: &str) -> Option<Digest> {
    let digest = wording_digest(strategy);
    (digest != wording_digest("")).then_some(digest)
}
