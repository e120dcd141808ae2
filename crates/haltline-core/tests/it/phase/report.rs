//! Tests of `phase/report.rs`.

use haltline_core::phase::{ReportedError, Spent};

#[test]
fn the_hash_equals_the_seeds_and_a_timestamp_makes_no_new_error() {
    let reported = ReportedError::new("TypeError", "Cannot read property 'x' of undefined");
    // printf %s "Cannot read property 'x' of undefinedTypeError" | sha256sum
    assert_eq!(reported.fingerprint.raw, "78cbf0c0bdcb64f99bd416b286dfa8084a29d0830d1e25a5e8189970618c7882");
    assert_eq!(reported.shown, "TypeError: Cannot read property 'x' of undefined");
    let one = ReportedError::new("Timeout", "2026-11-16T10:00:00Z request 1234 timed out after 3.2s");
    let other = ReportedError::new("Timeout", "2026-11-16T10:05:31Z request 1234 timed out after 7.9s");
    assert!(one.fingerprint.raw != other.fingerprint.raw && one.fingerprint.is_same(&other.fingerprint));
    assert!(!one.fingerprint.is_same(&reported.fingerprint));
    assert!(
        !one.fingerprint.is_same(
            &ReportedError::new("Refused", "2026-11-16T10:00:00Z request 1234 timed out after 3.2s").fingerprint
        )
    );
}

#[test]
fn unknown_costs_stay_unknown_in_a_sum() {
    let known = Spent { wall_ms: 5, tokens: Some(3), micros: None };
    assert_eq!(known.plus(Spent::default()), known);
    assert_eq!(known.plus(known), Spent { wall_ms: 10, tokens: Some(6), micros: None });
}
