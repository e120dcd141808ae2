//! Tests of `claim/change.rs`.

use haltline_core::claim::Confidence;

#[test]
fn equal_confidences_may_be_spelled_differently() {
    assert_eq!(Confidence::parse("0.70"), Confidence::parse("7e-1"));
    assert_eq!(Confidence::parse(" 1 ").expect("good").number(), 1.0);
    assert_eq!(Confidence::parse("0.85").expect("good").to_string(), "0.85");
    for bad in ["", "1.01", "-0.1", "NaN", "inf", "85%", "high"] {
        assert!(Confidence::parse(bad).is_err(), "{bad}");
    }
}
