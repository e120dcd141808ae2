//! What a terminal would show of a line: without colours, and only the last text of a line that overwrites itself.

use std::borrow::Cow;

/// The line without escape sequences and without the text that it overwrote.
pub(crate) fn visible_text(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.rfind('\r').map_or(line, |position| &line[position + 1..]);
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(position) = rest.find('\u{1b}') {
        kept.push_str(&rest[..position]);
        rest = &rest[position + escape_length(&rest[position..])..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Length in bytes of the escape sequence at the start; it always ends on a character boundary.
fn escape_length(text: &str) -> usize {
    let end_after = |is_end: fn(char) -> bool| {
        text.char_indices()
            .skip(2)
            .find(|&(_, letter)| is_end(letter))
            .map(|(position, letter)| position + letter.len_utf8())
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
    fn colours_titles_and_overwritten_text_are_removed() {
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
            assert_eq!(visible_text(line), expected, "{line:?}");
        }
    }
}
