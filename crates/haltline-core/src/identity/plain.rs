//! Texts of people: the same words are the same text, whatever their case, spacing and sentence marks.

/// The words of a text with one blank between them. Marks within a word or on their own are kept: `x < 0` is not
/// `x > 0`.
pub fn plain_words(text: &str) -> String {
    let is_mark = |letter: char| ".,;:!?\"'`()[]{}«»“”‘’…".contains(letter);
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace().map(|word| word.trim_matches(is_mark)).filter(|word| !word.is_empty()) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(word.chars().flat_map(char::to_lowercase));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_spacing_and_sentence_marks_make_no_difference_and_words_do() {
        let same = [
            "Moved the check to the repository.",
            "moved  the\ncheck to the (repository)",
            "“Moved the check” to the repository!",
        ];
        assert!(same.iter().all(|text| plain_words(text) == "moved the check to the repository"));
        assert_ne!(plain_words("return when x < 0"), plain_words("return when x > 0"));
        assert_ne!(plain_words("call f(a, b)"), plain_words("call f(b, a)"));
        assert_eq!(plain_words(" … \n"), "");
        assert_eq!(plain_words("ДОБАВИТЬ проверку."), "добавить проверку");
    }
}
