//! Names of checkpoints as parts of ref names: any text goes in and comes back, and no two meet, not even where the
//! file system ignores case.

use super::error::{CheckpointError, NAME_BYTES_MAX};

/// The name as a part of a ref.
pub(super) fn encode(name: &str) -> Result<String, CheckpointError> {
    let encoded = encode_bytes(name.as_bytes());
    if encoded.is_empty() || encoded.len() > NAME_BYTES_MAX {
        return Err(CheckpointError::Name(name.chars().take(NAME_BYTES_MAX).collect()));
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

/// The name a part of a ref stands for, if it is one of ours.
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
        fn every_name_comes_back_and_is_a_plain_part_of_a_ref(name in "\\PC{1,16}|[a-zA-Z./~^:@{} -]{1,40}") {
            let encoded = encode(&name).expect("short enough");
            proptest::prop_assert!(encoded.bytes().all(|byte| !byte.is_ascii_uppercase() && byte.is_ascii_graphic()));
            proptest::prop_assert!(!encoded.contains(['/', '.', '~', '^', ':', '@', '*', '?', '[', '\\']));
            proptest::prop_assert_eq!(decode(&encoded), Some(name));
        }

        #[test]
        fn any_part_of_a_ref_is_read_or_passed_over(text: String) {
            if let Some(name) = decode(&text) {
                proptest::prop_assert_eq!(encode(&name).expect("it came from a ref"), text);
            }
        }
    }

    #[test]
    fn names_of_no_length_or_too_much_are_refused() {
        assert!(matches!(encode(""), Err(CheckpointError::Name(_))));
        assert!(matches!(encode(&"a/".repeat(60)), Err(CheckpointError::Name(_))));
        assert_eq!(encode(&"a".repeat(200)).map(|name| name.len()).expect("it fits"), 200);
    }
}
