//! The stored form of an agent's completed calls: one text instead of three hundred numbers, because every hook reads and
//! writes them, and a row that fits into one page of the store is written three times as fast.
//!
//! Each call is its four digests as eight bytes each, then its turn and its flags in groups of seven bits, lowest first;
//! the bytes of all calls are written as base64 without padding. Rows of earlier versions hold a list of lists of
//! numbers, which is read forever.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserializer, Serializer};

use super::completed_call::{CompletedCall, Numbers};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The value of each byte as a digit.
const VALUES: [Option<u8>; 256] = {
    let mut values = [None; 256];
    let mut value = 0;
    while value < 64 {
        values[DIGITS[value] as usize] = Some(value as u8);
        value += 1;
    }
    values
};
/// The usual length of a packed call.
const BYTES_PER_CALL: usize = 36;

pub(super) fn serialize<S: Serializer>(calls: &[CompletedCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_text(&pack(calls)))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CompletedCall>, D::Error> {
    struct Calls;

    impl<'de> Visitor<'de> for Calls {
        type Value = Vec<CompletedCall>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("completed calls, packed or as lists of numbers")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            from_text(text).and_then(|bytes| unpack(&bytes)).ok_or_else(|| E::custom("completed calls are damaged"))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut calls = Vec::new();
            while let Some(numbers) = list.next_element::<Numbers>()? {
                calls.push(numbers.into());
            }
            Ok(calls)
        }
    }

    deserializer.deserialize_any(Calls)
}

fn pack(calls: &[CompletedCall]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(calls.len() * BYTES_PER_CALL);
    for &call in calls {
        let (id, tool, identity, normal, turn, flags) = call.into();
        [id, tool, identity, normal].iter().for_each(|digest: &u64| bytes.extend(digest.to_le_bytes()));
        for mut number in [turn, u64::from(flags)] {
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
    }
    bytes
}

/// `None` if these are not the bytes of whole calls.
fn unpack(mut bytes: &[u8]) -> Option<Vec<CompletedCall>> {
    let mut calls = Vec::with_capacity(bytes.len() / BYTES_PER_CALL + 1);
    while !bytes.is_empty() {
        let mut digest = || {
            let (digest, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            Some(u64::from_le_bytes(*digest))
        };
        let (id, tool, identity, normal) = (digest()?, digest()?, digest()?, digest()?);
        let mut number = || {
            let mut value = 0_u64;
            for shift in (0..u64::BITS).step_by(7) {
                let (&byte, rest) = bytes.split_first()?;
                bytes = rest;
                let bits = u64::from(byte & 0x7f);
                if bits << shift >> shift != bits {
                    return None;
                }
                value |= bits << shift;
                if byte < 0x80 {
                    return Some(value);
                }
            }
            None
        };
        let (turn, flags) = (number()?, u32::try_from(number()?).ok()?);
        calls.push((id, tool, identity, normal, turn, flags).into());
    }
    Some(calls)
}

fn to_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=group.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    text
}

/// `None` if the text is not one that [`to_text`] makes.
fn from_text(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for (index, &digit) in group.iter().enumerate() {
            bits |= u32::from(VALUES[usize::from(digit)]?) << (18 - 6 * index);
        }
        let [_, whole @ ..] = bits.to_be_bytes();
        let length = group.len().checked_sub(1).filter(|&length| length > 0)?;
        bytes.extend_from_slice(&whole[..length]);
        if whole[length..].iter().any(|&rest| rest != 0) {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row(#[serde(with = "super")] Vec<CompletedCall>);

    fn any_call() -> impl Strategy<Value = CompletedCall> {
        any::<Numbers>().prop_map(CompletedCall::from)
    }

    proptest! {
        #[test]
        fn calls_are_read_back_as_they_were_packed(calls in prop::collection::vec(any_call(), 0..6)) {
            let text = serde_json::to_string(&Row(calls.clone())).expect("written");
            prop_assert_eq!(serde_json::from_str::<Row>(&text).expect("read"), Row(calls.clone()));
            let numbers: Vec<Numbers> = calls.iter().map(|&call| call.into()).collect();
            let earlier = serde_json::to_string(&numbers).expect("written");
            prop_assert_eq!(serde_json::from_str::<Row>(&earlier).expect("the form of earlier versions"), Row(calls));
        }

        #[test]
        fn any_other_text_is_an_error_or_another_list(calls in prop::collection::vec(any_call(), 1..4), cut in 1_usize..8) {
            let text = to_text(&pack(&calls));
            let shorter = from_text(&text[..text.len() - cut]).and_then(|bytes| unpack(&bytes));
            prop_assert!(shorter.is_none_or(|read| read != calls));
        }
    }

    #[test]
    fn text_that_no_version_wrote_is_an_error() {
        for text in ["A", "AA", "A!AA", "____________________________________________________________"] {
            let row = serde_json::to_string(text).expect("a string");
            assert!(serde_json::from_str::<Row>(&row).is_err(), "{text}");
        }
    }
}
