//! One value of foreign JSON, read only as far as somebody asks for it.
//!
//! A payload is split once into unread values; each is then read as what it should be, or found to be something else.
//! Nothing here fails or panics: whether a wrong kind matters is the caller's rule.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;

use crate::hook::ReadError;

/// The fields asked for of the one object that a hook was told. What follows the object is not looked at: the client's
/// newline, or nothing that concerns us.
pub fn payload<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ReadError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return Err(ReadError::NotAnObject);
    }
    T::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| ReadError::Malformed { line: error.line(), column: error.column() })
}

/// The text, where the value is one.
pub fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let is_text = value.get().starts_with('"');
    if is_text { serde_json::from_str(value.get()).ok().map(|Text(text)| text) } else { None }
}

/// A text in a place where nothing else is expected: another kind is an error there.
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, because half of a surrogate pair, which an output cut in the middle of a character ends in, is no
        // text to serde_json; it also looks for less then, in a value that is known to be well-formed.
        deserializer.deserialize_bytes(TextVisitor).map(Text)
    }
}

/// The bytes as text; what is none is replaced.
pub fn mended(bytes: &[u8]) -> Cow<'_, str> {
    // The strict reading first: it costs a tenth of the other, and is nearly always enough.
    std::str::from_utf8(bytes).map_or_else(|_broken| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The text as one's own, where the value is one.
pub fn owned_text(value: Option<&RawValue>) -> Option<String> {
    value.and_then(text).map(Cow::into_owned)
}

/// The same, where an empty text says nothing.
pub fn name(value: Option<&RawValue>) -> Option<String> {
    owned_text(value).filter(|text| !text.is_empty())
}

/// Whether the value is `true`.
pub fn is_true(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| value.get() == "true")
}

/// The elements, where the value is a list of such.
pub fn list<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<Vec<T>> {
    if value.get().starts_with('[') { serde_json::from_str(value.get()).ok() } else { None }
}

/// The fields asked for, where the value is an object.
pub fn object<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    if value.get().starts_with('{') { serde_json::from_str(value.get()).ok() } else { None }
}

/// The JSON without the white space between its parts.
pub fn compact(value: &RawValue) -> Cow<'_, str> {
    let source = value.get();
    // A client that writes white space writes it after the first bracket too: what has none is taken as it is.
    if !source.as_bytes().get(1).is_some_and(u8::is_ascii_whitespace) {
        return Cow::Borrowed(source);
    }
    let mut kept = String::with_capacity(source.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for letter in source.chars() {
        if is_text || !letter.is_ascii_whitespace() {
            kept.push(letter);
        }
        if is_escaped {
            is_escaped = false;
        } else if letter == '"' {
            is_text = !is_text;
        } else {
            is_escaped = is_text && letter == '\\';
        }
    }
    Cow::Owned(kept)
}

/// A block of a message.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// What a model would read of it: the text, the texts of the blocks, or else the JSON.
pub fn shown(value: &RawValue) -> Cow<'_, str> {
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
        Ok(mended(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(mended(bytes).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(source: &str) -> &RawValue {
        serde_json::from_str(source).expect("valid JSON")
    }

    #[test]
    fn a_text_is_borrowed_where_it_can_be_and_mended_where_it_must_be() {
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
