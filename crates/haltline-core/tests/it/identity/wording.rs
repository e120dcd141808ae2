//! Tests of `identity/wording.rs`.

use haltline_core::identity::is_same_wording;

#[test]
fn case_space_and_punctuation_do_not_change_the_wording() {
    for (one, other) in [
        ("Run the confounder harness.", "run  the\nconfounder harness"),
        ("Run it!", "Run it?"),
        ("the reviewer’s test", "the reviewer's test"),
        ("“Quoted”, then.", "Quoted then"),
        ("ÄRGER über ΣΊΣΥΦΟΣ", "ärger über σίσυφος"),
        ("soft\u{ad}ly", "softly"),
        ("检验。", "检验"),
        ("¿Dónde está?", "dónde está"),
        ("هل أجريت الاختبار؟", "هل أجريت الاختبار"),
    ] {
        assert!(is_same_wording(one, other), "{one:?} and {other:?}");
    }
}

#[test]
fn what_can_carry_meaning_makes_another_text() {
    for (one, other) in [
        ("p < 0.05", "p > 0.05"),
        ("an effect of 0.5", "an effect of 05"),
        ("an effect of .5", "an effect of 5"),
        ("an effect of \"...5\"", "an effect of 5"),
        ("an effect of -1", "an effect of 1"),
        ("A (not B)", "A not B"),
        ("naïve", "naive"),
        ("run the test", "run the tests"),
        ("", "a"),
    ] {
        assert!(!is_same_wording(one, other), "{one:?} and {other:?}");
    }
}
