//! Tests of `glob.rs`.

use haltline_core::glob_matches;

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
