//! Tests of `claim/name.rs`.

use haltline_core::claim::{ClaimId, PipelineName, StageName};

#[test]
fn names_are_plain_and_stages_are_in_capitals() {
    assert_eq!(StageName::parse("s5").expect("good"), StageName::parse("S5").expect("good"));
    assert_eq!(ClaimId::numbered(7).as_str(), "C-007");
    assert_eq!(ClaimId::numbered(1234).as_str(), "C-1234");
    for bad in ["", "a/b", "-x", "é", "a b", "x\n", &"x".repeat(65)] {
        let message = ClaimId::parse(bad).expect_err(bad).to_string();
        assert!(message.starts_with("claim ") && !message.contains('\n'), "{message}");
        assert!(StageName::parse(bad).is_err() && PipelineName::parse(bad).is_err(), "{bad:?}");
    }
}
