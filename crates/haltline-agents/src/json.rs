//! Access to foreign JSON that parses a value only when somebody needs it.
//!
//! A payload is split once into raw values. Each raw value is then parsed as the expected type, or yields `None`.
//! Nothing here panics, and the caller decides whether a value of the wrong type matters.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;

use crate::hook::ReadError;

/// A value that has not been parsed, if there is one.
pub type Unread<'a> = Option<&'a RawValue>;

/// Declares records whose members are all [`Unread`]. A member that is missing or `null` is `None`.
macro_rules! unread {
    ($($(#[$attribute:meta])* $vis:vis struct $name:ident { $($(#[$rename:meta])* $member:ident),* $(,)? })*) => {$(
        #[derive(serde::Deserialize)]
        $(#[$attribute])*
        $vis struct $name<'a> {
            $($(#[$rename])* #[serde(borrow)] pub $member: $crate::json::Unread<'a>,)*
        }
    )*};
}
pub(crate) use unread;

/// The members of an object, by name. None of them has been parsed.
pub type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Parses the requested fields of the one object in a hook's input. Anything after the object is ignored: it is the
/// client's newline, or does not concern haltline.
pub fn payload<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ReadError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return Err(ReadError::NotAnObject);
    }
    T::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| ReadError::Malformed { line: error.line(), column: error.column() })
}

/// The text, if the value is a string.
pub fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let is_text = value.get().starts_with('"');
    if is_text { serde_json::from_str(value.get()).ok().map(|Text(text)| text) } else { None }
}

/// A string in a field where any other type is an error.
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes: an output that was cut inside a character ends in half a surrogate pair, which serde_json does not
        // accept as a `str`. Reading bytes also skips checks that this value, known to be well-formed, does not need.
        deserializer.deserialize_bytes(TextVisitor).map(Text)
    }
}

/// Decodes bytes as UTF-8 and replaces what is not valid.
pub fn decode_lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Try the strict decoder first: it costs a tenth of the lossy one and nearly always suffices.
    std::str::from_utf8(bytes).map_or_else(|_broken| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The text as an owned string, if the value is a string.
pub fn owned_text(value: Unread<'_>) -> Option<String> {
    value.and_then(text).map(Cow::into_owned)
}

/// Like [`owned_text`], but `None` for an empty string.
pub fn non_empty_text(value: Unread<'_>) -> Option<String> {
    owned_text(value).filter(|text| !text.is_empty())
}

pub fn is_true(value: Unread<'_>) -> bool {
    value.is_some_and(|value| value.get() == "true")
}

/// The elements, if the value is an array of `T`.
pub fn list<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<Vec<T>> {
    if value.get().starts_with('[') { serde_json::from_str(value.get()).ok() } else { None }
}

/// The requested fields, if the value is an object.
pub fn object<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    if value.get().starts_with('{') { serde_json::from_str(value.get()).ok() } else { None }
}

/// The member with this name, if the value is an object that has it and the member is not `null`.
pub fn member<'a>(value: Unread<'a>, name: &str) -> Unread<'a> {
    let members: Members<'a> = object(value?)?;
    members.get(name).copied().filter(|member| member.get() != "null")
}

/// The text of the member with this name, unless it is empty.
pub fn member_text(value: Unread<'_>, name: &str) -> Option<String> {
    non_empty_text(member(value, name))
}

/// The number, if the value is one that fits the type.
pub fn number<T: FromStr>(value: Unread<'_>) -> Option<T> {
    value.and_then(|value| value.get().parse().ok())
}

/// The JSON without white space between its tokens.
pub fn compact(value: &RawValue) -> Cow<'_, str> {
    let source = value.get();
    // A client that writes white space also writes it after the first bracket, so other values are already compact.
    if !source.as_bytes().get(1).is_some_and(u8::is_ascii_whitespace) {
        return Cow::Borrowed(source);
    }
    let mut kept = String::with_capacity(source.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for character in source.chars() {
        if is_text || !character.is_ascii_whitespace() {
            kept.push(character);
        }
        if is_escaped {
            is_escaped = false;
        } else if character == '"' {
            is_text = !is_text;
        } else {
            is_escaped = is_text && character == '\\';
        }
    }
    Cow::Owned(kept)
}

unread! {
    /// A content block of a message.
    pub struct Block { text }
}

/// The text that a model would read: the string, the texts of the content blocks, or else the JSON.
pub fn text_for_model(value: &RawValue) -> Cow<'_, str> {
    if let Some(text) = text(value) {
        return text;
    }
    let blocks: Vec<Block<'_>> = list(value).unwrap_or_default();
    let texts: Option<Vec<_>> = blocks.iter().map(|block| block.text.and_then(text)).collect();
    match texts {
        Some(texts) if !texts.is_empty() => Cow::Owned(texts.join("\n")),
        Some(_) | None => compact(value),
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(decode_lossy(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(decode_lossy(bytes).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(source: &str) -> &RawValue {
        serde_json::from_str(source).expect("valid JSON")
    }

    #[test]
    fn a_text_is_borrowed_if_possible_and_repaired_if_malformed() {
        assert!(matches!(text(raw(r#""plain""#)), Some(Cow::Borrowed("plain"))));
        assert_eq!(text(raw(r#""a\n\u0000b""#)).as_deref(), Some("a\n\0b"));
        let mended = text(raw(r#""cut \ud83d""#)).expect("a text");
        assert!(mended.starts_with("cut \u{fffd}"), "{mended:?}");
        for other in ["1", "null", "[\"a\"]", "{}", "true"] {
            assert_eq!(text(raw(other)), None, "{other}");
        }
    }

    #[test]
    fn compact_json_keeps_the_white_space_inside_texts_only() {
        assert_eq!(compact(raw("{\n \"a b\" : [ 1, \"c \\\" d\" ] }")), r#"{"a b":[1,"c \" d"]}"#);
        assert_eq!(compact(raw(r#"{"a":1}"#)), r#"{"a":1}"#);
    }
}
