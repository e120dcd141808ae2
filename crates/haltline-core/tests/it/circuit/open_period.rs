//! Tests of `circuit/open_period.rs`.

use haltline_core::circuit::{Cooldown, OpenPeriod, cooldown_ms_in_streak};
use haltline_core::{Instant, Moment};

fn at(millis: i64) -> Moment {
    Moment::from_wall_clock(Instant::from_millis(millis))
}

#[test]
fn a_cooldown_is_over_at_its_end_and_not_before() {
    let period = OpenPeriod { since: at(5_000), cooldown_ms: 1_000 };
    assert_eq!(period.until(), Instant::from_millis(6_000));
    assert_eq!((period.remaining_ms(at(5_999)), period.ended_at(at(5_999))), (Some(1), None));
    assert_eq!((period.remaining_ms(at(6_000)), period.ended_at(at(9_000))), (None, Some(at(6_000))));
}

#[test]
fn a_cooldown_that_starts_in_the_future_stays() {
    let period = OpenPeriod { since: at(5_000), cooldown_ms: 1_000 };
    assert_eq!(period.cooldown(at(4_000)), Cooldown::Unreadable);
    assert_eq!((period.remaining_ms(at(4_000)), period.ended_at(at(4_000))), (Some(1_000), None));
}

#[test]
fn cooldowns_grow_with_the_streak_up_to_sixty_times_the_base() {
    assert_eq!([1, 2, 3, 4, 5, 6].map(|streak| cooldown_ms_in_streak(1, streak) / 1000), [1, 2, 6, 12, 60, 60]);
}
