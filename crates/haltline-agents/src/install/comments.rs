//! Comments and trailing commas in JSON settings: haltline reads past them and keeps every byte of them.

use std::borrow::Cow;
use std::ops::Range;

/// The text with comments and trailing commas replaced by blanks, so that every other byte keeps its position. Text
/// without them comes back as it is.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    let blanks = extras(text);
    if blanks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in blanks {
        for byte in &mut bytes[span] {
            if !matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    // Whole characters were replaced, because comments and commas end between characters.
    Cow::Owned(String::from_utf8(bytes).expect("blanks in place of whole characters are text"))
}

/// The comments of a text, in order. A line comment does not include its line end.
pub(super) fn comments(text: &str) -> Vec<Range<usize>> {
    let is_comment = |span: &Range<usize>| text.as_bytes()[span.start] == b'/';
    extras(text).into_iter().filter(is_comment).collect()
}

/// The spans of comments and trailing commas, in order.
fn extras(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut comma = None;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match bytes[at] {
            b'"' => {
                at += string_length(rest);
                comma = None;
                continue;
            }
            b'/' if rest.starts_with(b"//") => {
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                spans.push(at..at + length);
                at += length;
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4);
                spans.push(at..at + end);
                at += end;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => spans.extend(comma.take().map(|comma| comma..comma + 1)),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _other => comma = None,
        }
        at += 1;
    }
    spans.sort_by_key(|span| span.start);
    spans
}

/// The length of the string at the beginning of the bytes, with its quotes.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _other => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_blanks_and_strings_stay() {
        for (text, expected) in [
            ("{}", "{}"),
            ("{ // ü\n}", "{      \n}"),
            ("[1, /* a\nb */ 2,\n]", "[1,     \n     2 \n]"),
            (r#"{"a": "// no", "b": "/*\\"}"#, r#"{"a": "// no", "b": "/*\\"}"#),
            ("{\"a\": [1,], // x\n}", "{\"a\": [1 ]      \n}"),
            ("/* open", "       "),
            ("[,1]", "[,1]"),
            ("/*/ */1", "      1"),
        ] {
            assert_eq!(without_comments(text), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_its_length_and_json_stays_as_it_is(text in "\\PC{0,40}|[{}\\[\\],:/*\"a \n]{0,60}") {
            proptest::prop_assert_eq!(without_comments(&text).len(), text.len());
            if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
                proptest::prop_assert_eq!(&*without_comments(&text), text.as_str());
            }
        }
    }
}
