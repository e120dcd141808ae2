//! Tests of `identity/model_text.rs`.

use haltline_core::identity::ModelText;

#[test]
fn texts_that_differ_in_volatile_parts_only_are_equal_and_repeated_sentences_are_counted() {
    let model_text = |text| ModelText::from_text(text).expect("long enough");
    assert_eq!(model_text("I will run the tests now.").digest, model_text("I will run the  tests now.").digest);
    assert_ne!(model_text("I will run the tests now.").digest, model_text("I will read the tests now.").digest);
    assert_eq!(model_text("I will run the tests now. Then I will commit.").repeats, 1);
    assert_eq!(model_text(&"The file has to be read first. ".repeat(7)).repeats, 7);
    assert_eq!(ModelText::from_text("Done."), None);
}
