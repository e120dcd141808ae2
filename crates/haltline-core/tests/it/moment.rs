//! Tests of `moment.rs`.

use haltline_core::{Boot, ClockDoubt, Elapsed, Instant, Moment};

fn moment(at: i64, boot: Option<(u64, u64)>) -> Moment {
    Moment { at: Instant::from_millis(at), boot: boot.map(|(id, uptime_ms)| Boot::new(id, uptime_ms)) }
}

#[test]
fn within_one_boot_the_wall_clock_does_not_matter() {
    let (first, second) = (moment(1_000_000, Some((7, 500))), moment(0, Some((7, 800))));
    assert_eq!(second.since(first), Elapsed::Known(300));
}

#[test]
fn across_boots_a_wall_clock_that_went_back_gives_an_unknown_duration() {
    let (first, second) = (moment(1_000, Some((7, 500))), moment(900, Some((8, 1))));
    assert_eq!(second.since(first), Elapsed::Unknown);
    assert_eq!(first.since(second), Elapsed::Known(100));
    assert_eq!(second.doubt_since(first), Some(ClockDoubt::WallClockBehind));
}

#[test]
fn a_shifted_boot_clock_gives_an_unknown_duration_whatever_it_shows() {
    let trip = moment(1_000, Some((7, 500)));
    let shifted = |namespace| {
        let boot = Some(Boot { namespace, ..Boot::new(7, u64::MAX) });
        Moment { boot, ..moment(9_000_000, None) }
    };
    assert_eq!(shifted(0).since(trip), Elapsed::Known(u64::MAX - 500));
    assert_eq!(shifted(3).doubt_since(trip), Some(ClockDoubt::OtherTimeNamespace));
    assert_eq!(shifted(3).since(shifted(3)), Elapsed::Known(0), "inside one namespace its clock is as good as any");
    assert_eq!(trip.doubt_since(shifted(3)), Some(ClockDoubt::OtherTimeNamespace));
}

#[test]
fn a_process_that_reads_no_boot_clock_cannot_judge_a_moment_that_has_one() {
    let trip = moment(1_000, Some((7, 500)));
    assert_eq!(moment(9_000_000, None).doubt_since(trip), Some(ClockDoubt::NoBootClock));
    assert_eq!(trip.since(moment(900, None)), Elapsed::Known(100), "an imported moment has only a wall clock");
}

#[test]
fn a_moment_survives_serialization() {
    let shifted = Moment { boot: Some(Boot { namespace: 4, ..Boot::new(3, 9) }), ..moment(1, None) };
    for moment in [moment(12, None), moment(-5, Some((3, 9))), shifted] {
        let text = serde_json::to_string(&moment).expect("a moment can be written");
        assert_eq!(serde_json::from_str::<Moment>(&text).expect("and read"), moment);
    }
    assert_eq!(serde_json::to_string(&moment(12, Some((3, 9)))).expect("json"), "[12,3,9]");
    assert_eq!(serde_json::to_string(&shifted).expect("json"), "[1,3,9,4]");
}

#[test]
fn instants_read_and_print_as_rfc_3339() {
    let instant = Instant::parse("2026-02-12T10:30:00.250Z").expect("valid");
    assert_eq!(instant.to_string(), "2026-02-12T10:30:00.250Z");
    assert_eq!(instant.to_seconds_text(), "2026-02-12T10:30:00Z");
    assert_eq!(instant.to_date_text(), "2026-02-12");
    assert_eq!(instant.whole_second().as_millis() % 1000, 0);
    assert!(Instant::parse("yesterday").is_err());
}

#[test]
fn a_moment_moves_on_both_clocks() {
    assert_eq!(moment(5, Some((1, 2))).plus_millis(10), moment(15, Some((1, 12))));
}
