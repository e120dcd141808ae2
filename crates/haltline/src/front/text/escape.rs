//! The terminal escaper: every text that an agent, a file or a transcript supplied passes through it before it is
//! printed.
//!
//! Control characters could move the cursor or recolour the screen, and bidirectional marks could make a command read
//! differently from what it does. Both are shown as their Rust escapes. Escaping twice changes nothing.

use std::borrow::Cow;

/// Escapes a text for one line: newlines and tabs are escaped too.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, is_unsafe)
}

/// Escapes a text that may have several lines: newlines and tabs stay.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape(text, |letter| is_unsafe(letter) && !matches!(letter, '\n' | '\t'))
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_escaped(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// True for control characters, line separators and marks that change the direction of text.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_direction_marks_are_escaped_and_other_scripts_stay() {
        assert_eq!(escape_line("a\u{202e}b\u{2066}c\u{200f}\u{61c}"), r"a\u{202e}b\u{2066}c\u{200f}\u{61c}");
        assert_eq!(escape_line("\u{1b}[31m\u{9b}\r\n\t"), r"\u{1b}[31m\u{9b}\r\n\t");
        assert_eq!(escape_lines("one\n\ttwo\r\u{202d}"), "one\n\ttwo\\r\\u{202d}");
        for plain in ["שלום", "مرحبا", "日本語", "👩‍💻", "a → b …"] {
            assert_eq!(escape_line(plain), plain);
        }
    }

    #[test]
    fn every_direction_mark_is_escaped() {
        let marks = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain(['\u{200e}', '\u{200f}', '\u{61c}']);
        for mark in marks {
            assert!(escape_lines(&mark.to_string()).starts_with("\\u{"), "{mark:?}");
        }
    }

    #[test]
    fn escaping_twice_changes_nothing() {
        let once = escape_line("a\u{202e}\u{1b}\n").into_owned();
        assert_eq!(escape_line(&once), once);
    }
}
