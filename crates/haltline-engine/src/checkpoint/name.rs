//! Encodes checkpoint names as parts of ref names. Any text can be encoded and decoded again, and no two names collide,
//! even on a file system that ignores case.

use super::error::{CheckpointError, NAME_BYTES_MAX};

pub(super) fn encode(name: &str) -> Result<String, CheckpointError> {
    let encoded = encode_bytes(name.as_bytes());
    if encoded.is_empty() || encoded.len() > NAME_BYTES_MAX {
        return Err(CheckpointError::InvalidName(name.chars().take(NAME_BYTES_MAX).collect()));
    }
    Ok(encoded)
}

pub(super) fn encode_bytes(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

/// The name that a part of a ref encodes, or `None` if haltline did not encode it.
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
    String::from_utf8(bytes).ok().filter(|name| encode(name).is_ok_and(|encoded| encoded == text))
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
            proptest::prop_assert_eq!(decode(&encoded), Some(name));
        }

        #[test]
        fn any_part_of_a_ref_is_decoded_or_ignored(text: String) {
            if let Some(name) = decode(&text) {
                proptest::prop_assert_eq!(encode(&name).expect("it came from a ref"), text);
            }
        }
    }

    #[test]
    fn empty_and_too_long_names_are_rejected() {
        assert!(matches!(encode(""), Err(CheckpointError::InvalidName(_))));
        assert!(matches!(encode(&"a/".repeat(60)), Err(CheckpointError::InvalidName(_))));
        assert_eq!(encode(&"a".repeat(200)).map(|name| name.len()).expect("it fits"), 200);
    }
}
