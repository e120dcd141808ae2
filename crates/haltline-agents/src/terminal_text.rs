//! What a terminal would show of a line: no colours, and of a line that overwrites itself the last writing.

use std::borrow::Cow;

/// The line without escapes and without what it overwrote itself.
pub(crate) fn shown(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.rfind('\r').map_or(line, |place| &line[place + 1..]);
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(place) = rest.find('\u{1b}') {
        kept.push_str(&rest[..place]);
        rest = &rest[place + escape_length(&rest[place..])..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// How long the escape at the start is, in bytes; it ends where a character does.
fn escape_length(text: &str) -> usize {
    let end_after = |is_end: fn(char) -> bool| {
        text.char_indices().skip(2).find(|&(_, letter)| is_end(letter)).map(|(place, letter)| place + letter.len_utf8())
    };
    let length = match text.chars().nth(1) {
        Some('[') => end_after(|letter| ('\u{40}'..='\u{7e}').contains(&letter)),
        Some(']') => end_after(|letter| letter == '\u{7}' || letter == '\\'),
        Some(letter) => Some(1 + letter.len_utf8()),
        None => Some(1),
    };
    length.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_overwritten_beginnings_are_gone() {
        for (line, expected) in [
            ("plain\r\n", "plain"),
            ("\u{1b}[1;31mred\u{1b}[0m end", "red end"),
            ("10 %\r50 %\r100 %", "100 %"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("cut \u{1b}[38;5", "cut "),
            ("end \u{1b}", "end "),
            ("odd \u{1b}é!", "odd !"),
        ] {
            assert_eq!(shown(line), expected, "{line:?}");
        }
    }
}
