//! Globs with `*` and `?` that match a whole text. The `guards` in a constraint's file use them (C8).

/// Returns whether `pattern` matches all of `text`: `*` is any run of characters, `?` exactly one.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut pattern_index, mut text_index) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while text_index < text.len() {
        match pattern.get(pattern_index) {
            Some('*') => {
                retry = Some((pattern_index, text_index));
                pattern_index += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == text[text_index] => {
                pattern_index += 1;
                text_index += 1;
            }
            Some(_) | None => match retry {
                // Let the last star match one more character; earlier stars never need another try.
                Some((star, swallowed)) => {
                    pattern_index = star + 1;
                    text_index = swallowed + 1;
                    retry = Some((star, swallowed + 1));
                }
                None => return false,
            },
        }
    }
    pattern[pattern_index..].iter().all(|&rest| rest == '*')
}
