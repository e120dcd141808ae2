//! `*` and `?` over a whole text: what `guards` in a constraint's file are written in (C8).

/// Whether `pattern` describes all of `text`: `*` is any run of characters, `?` exactly one.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some('*') => {
                retry = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == text[at_text] => {
                at_pattern += 1;
                at_text += 1;
            }
            Some(_) | None => match retry {
                // Let the last star swallow one character more; earlier stars never need another try.
                Some((star, swallowed)) => {
                    at_pattern = star + 1;
                    at_text = swallowed + 1;
                    retry = Some((star, swallowed + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at_pattern..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_cover_the_whole_text() {
        for (pattern, text, expected) in [
            ("git push*--force*", "git push origin main --force", true),
            ("git push*--force*", "git push origin main", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*.rs", "src/main.rs", true),
            ("*a*b", "xaxxb", true),
            ("*ab", "aab", true),
            ("é*", "école", true),
            ("a", "ab", false),
        ] {
            assert_eq!(glob_matches(pattern, text), expected, "{pattern:?} on {text:?}");
        }
    }
}
