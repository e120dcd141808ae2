//! A checksum before the content of a cache, so that a cache that another program changed is not believed.
//!
//! It is no signature: somebody who writes a new seal is found by nothing but the inputs' stamps. It finds damage and edits.

use xxhash_rust::xxh3::xxh3_64;

/// Length of a seal: 16 hexadecimal digits and a line end.
const SEAL_BYTES: usize = 17;

/// What is inside a sealed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed<'a> {
    Whole(&'a [u8]),
    /// The content is not what was sealed.
    Altered,
    /// An earlier version wrote the file, without a seal.
    Unsealed,
}

/// The content with its seal.
pub(crate) fn seal(content: &[u8]) -> Vec<u8> {
    [seal_of(content).as_bytes(), content].concat()
}

fn seal_of(content: &[u8]) -> String {
    format!("{:016x}\n", xxh3_64(content))
}

pub(crate) fn unseal(file: &[u8]) -> Sealed<'_> {
    if file.starts_with(b"{") {
        return Sealed::Unsealed;
    }
    let Some((seal, content)) = file.split_at_checked(SEAL_BYTES) else { return Sealed::Altered };
    if seal == seal_of(content).as_bytes() { Sealed::Whole(content) } else { Sealed::Altered }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_cut_or_added_byte_is_found() {
        let content = br#"{"command":"git push*"}"#;
        let sealed = seal(content);
        assert_eq!(unseal(&sealed), Sealed::Whole(content));
        for index in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[index] ^= 0x10;
            assert_eq!(unseal(&flipped), Sealed::Altered, "byte {index}");
            assert_eq!(unseal(&sealed[..index]), Sealed::Altered, "cut at {index}");
        }
        assert_eq!(unseal(&[&sealed, &b" "[..]].concat()), Sealed::Altered);
        assert_eq!(unseal(content), Sealed::Unsealed);
    }
}
