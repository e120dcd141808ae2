//! What kind of error a failure reports: its text without the names, paths and numbers in it (L6). `no such column: a`
//! and `no such column: b` are of one kind.

use super::Digest;

/// A kind with fewer plain words says too little.
const WORDS_MIN: usize = 2;
/// Words of a test run's summary: its numbers say how many tests fail, so they are not details of one kind of error.
const SUMMARY: [&str; 7] = ["passed", "failed", "failures", "skipped", "tests", "examples", "specs"];

/// The kind of the error in the line that reports it; `None` if nothing is left of the line, or if it sums up a test run.
pub(super) fn error_kind(line: &str) -> Option<Digest> {
    let mut kind = String::with_capacity(line.len());
    let (mut plain_words, mut has_number, mut is_summary) = (0, false, false);
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_between = kind.chars().next_back().is_none_or(|last| !last.is_alphanumeric());
        if matches!(first, '\'' | '"' | '`') && is_between {
            rest = after_quote(&rest[1..], first);
            kind.push_str("'…'");
            continue;
        }
        let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        if length == 0 {
            if !(first.is_whitespace() && kind.ends_with(' ')) {
                kind.push(if first.is_whitespace() { ' ' } else { first });
            }
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let word = rest[..length].trim_end_matches(['.', ':', '-']);
        // A single word between two colons, or after the last one, is a name: `bash: foo: command not found`.
        let after_word = &rest[word.len()..];
        let ends = after_word.is_empty() || [": ", " (", ", ", ";"].iter().any(|end| after_word.starts_with(end));
        let is_name = kind.ends_with(": ") && ends;
        if word.bytes().any(|byte| byte.is_ascii_digit()) || word.contains(['/', '\\']) || is_dotted(word) || is_name {
            has_number |= word.bytes().all(|byte| byte.is_ascii_digit());
            kind.push('#');
        } else {
            let word = word.to_ascii_lowercase();
            is_summary |= SUMMARY.contains(&word.as_str());
            plain_words += usize::from(word.len() > 2);
            kind.push_str(&word);
        }
        rest = &rest[word.len()..];
        if let Some(point) = rest.chars().next().filter(|point| matches!(point, '.' | ':' | '-')) {
            kind.push(point);
            rest = &rest[1..];
        }
    }
    let says_enough = plain_words >= WORDS_MIN && !(is_summary && has_number);
    says_enough.then(|| Digest::from_parts(&[b"error kind", kind.trim().as_bytes()]))
}

/// The text after the closing quote, which ends a word; the quotation of a shortened line has no end.
fn after_quote(text: &str, quote: char) -> &str {
    let is_end = |index: usize| !text[index + 1..].starts_with(char::is_alphanumeric);
    text.match_indices(quote).find(|(index, _)| is_end(*index)).map_or("", |(index, _)| &text[index + 1..])
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '/' | '\\' | '-' | ':')
}

/// True for `module.name` and `file.txt`, which are names.
fn is_dotted(word: &str) -> bool {
    word.split_once('.').is_some_and(|(before, after)| !before.is_empty() && after.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_numbers_do_not_matter_and_everything_else_does() {
        for (one, other) in [
            ("no such column: T1.nam", "no such column: city"),
            (
                "1054 (42S22): Unknown column 'nam' in 'field list'",
                "1054 (42S22): Unknown column 'T2.id' in 'on clause'",
            ),
            ("syntax to use near 'GROUP BY x' at line 1", "syntax to use near 'LIMIT' at line 12"),
            ("bash: foo: command not found", "bash: bar: command not found"),
            ("ls: cannot access '/a/b': No such file or directory", "ls: cannot access 'c': No such file or directory"),
            ("src/a.rs:3:5: expected one of these", "src/b.rs:40:1: expected one of these"),
            ("KeyError at index 12 of 'x", "KeyError at index 7 of 'y z"),
        ] {
            assert_eq!(error_kind(one), error_kind(other), "{one} / {other}");
            assert!(error_kind(one).is_some(), "{one}");
        }
        for (one, other) in
            [("no such column: a", "no such table: a"), ("cannot open the file", "cannot close the file")]
        {
            assert_ne!(error_kind(one), error_kind(other), "{one} / {other}");
        }
        for nothing in ["", "Error", "Error: timeout", "12 failed, 3 passed", "Tests: 1 failed, 4 passed", "exit 1"] {
            assert_eq!(error_kind(nothing), None, "{nothing}");
        }
    }
}
