//! Encodes checkpoint names as ends of ref names. Any text can be encoded and decoded again.
//!
//! There are two encodings. The *escaped* one is a single part in which no two names collide, even on a file system that
//! ignores case. The *readable* one keeps `/` and capital letters, so that `S-3/begin` stays `S-3/begin`; it is used
//! where it collides with no other ref.

use super::error::{CheckpointError, NAME_BYTES_MAX};

pub(super) fn encode(name: &str) -> Result<String, CheckpointError> {
    let encoded = encode_bytes(name.as_bytes());
    if encoded.is_empty() || encoded.len() > NAME_BYTES_MAX {
        return Err(CheckpointError::InvalidName(name.chars().take(NAME_BYTES_MAX).collect()));
    }
    Ok(encoded)
}

pub(super) fn encode_bytes(name: &[u8]) -> String {
    escape(name, |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

fn escape(name: &[u8], is_kept: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(name.len());
    for &byte in name {
        if is_kept(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

/// The readable encoding, or `None` for a name with an empty part, which no ref can have.
pub(super) fn encode_readable(name: &str) -> Option<String> {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
    let encoded = escape(name.as_bytes(), is_kept);
    (encoded.split('/').all(|part| !part.is_empty()) && encoded.len() <= NAME_BYTES_MAX).then_some(encoded)
}

/// True if a file system that ignores case, or git, could not keep both refs.
pub(super) fn collide(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.split('/'), other.split('/'));
    loop {
        match (one.next(), other.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => return a.eq_ignore_ascii_case(b),
            (None, None) => return false,
            // One is a folder of the other.
            (None, Some(_)) | (Some(_), None) => return true,
        }
    }
}

/// The name that the end of a ref encodes, or `None` if haltline did not encode it.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || u8::try_from(char::from(rest.next()?).to_digit(16)?).ok();
            bytes.push(digit()? << 4 | digit()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().filter(|name| {
        encode(name).is_ok_and(|encoded| encoded == text)
            || encode_readable(name).is_some_and(|encoded| encoded == text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn every_name_round_trips_and_is_a_plain_part_of_a_ref(name in "\\PC{1,16}|[a-zA-Z./~^:@{} -]{1,40}") {
            let encoded = encode(&name).expect("short enough");
            proptest::prop_assert!(encoded.bytes().all(|byte| !byte.is_ascii_uppercase() && byte.is_ascii_graphic()));
            proptest::prop_assert!(!encoded.contains(['/', '.', '~', '^', ':', '@', '*', '?', '[', '\\']));
            proptest::prop_assert_eq!(decode(&encoded), Some(name.clone()));
            if let Some(readable) = encode_readable(&name) {
                proptest::prop_assert_eq!(decode(&readable), Some(name));
            }
        }

        #[test]
        fn any_part_of_a_ref_is_decoded_or_ignored(text: String) {
            if let Some(name) = decode(&text) {
                let encodings = [encode(&name).ok(), encode_readable(&name)];
                proptest::prop_assert!(encodings.contains(&Some(text)), "{encodings:?}");
            }
        }
    }

    #[test]
    fn refs_collide_if_they_differ_only_in_case_or_one_is_a_folder_of_the_other() {
        assert_eq!(encode_readable("S-3/begin").as_deref(), Some("S-3/begin"));
        assert_eq!((encode_readable("a//b"), encode_readable("/a"), encode_readable("")), (None, None, None));
        for (one, other, expected) in [
            ("S-3/begin", "S-3/last", false),
            ("S-3/begin", "S-3/begin", false),
            ("S-3/begin", "s-3/last", true),
            ("S-3/begin", "S-3", true),
            ("S-3/Begin", "S-3/begin", true),
            ("S-3/begin", "S-31/begin", false),
        ] {
            assert_eq!((collide(one, other), collide(other, one)), (expected, expected), "{one} and {other}");
        }
    }

    #[test]
    fn empty_and_too_long_names_are_rejected() {
        assert!(matches!(encode(""), Err(CheckpointError::InvalidName(_))));
        assert!(matches!(encode(&"a/".repeat(60)), Err(CheckpointError::InvalidName(_))));
        assert_eq!(encode(&"a".repeat(200)).map(|name| name.len()).expect("it fits"), 200);
    }
}
