//! Tests of `phase/metrics.rs`.

use haltline_core::phase::{Measure, MetricError, Metrics};

#[test]
fn numbers_are_printed_as_they_are_parsed() {
    for (text, printed) in [("3", "3"), ("12.5", "12.5"), ("0.0019", "0.001"), ("007", "7"), ("true", "1")] {
        assert_eq!(Measure::parse(text).expect(text).to_string(), printed);
    }
    for wrong in ["", "-1", "1e3", ".5", "5.", "NaN", "1000000000001", "9".repeat(40).as_str()] {
        assert_eq!(Measure::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn the_number_of_metrics_is_limited() {
    let mut metrics = Metrics::default();
    for number in 0..Metrics::MAX {
        metrics.set(&format!("m{number}"), "1").expect("room");
    }
    assert_eq!(metrics.set("one_more", "1"), Err(MetricError::TooMany));
    metrics.set("m0", "2").expect("a known name has its place");
    assert!(matches!(metrics.set("a b", "1"), Err(MetricError::Name { .. })));
}
