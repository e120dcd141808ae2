//! SHA-256, used by the journal's chain, by incident ids and by content stamps.

use sha2::{Digest, Sha256};

/// Hashes `parts`, each preceded by its length so that no two lists of parts collide.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Returns the first `bytes` bytes of [`sha256`] as lower-case hex.
pub fn digest_hex(parts: &[&[u8]], bytes: usize) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes * 2);
    for byte in sha256(parts).iter().take(bytes) {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
    }
    text
}
