//! What every suite here starts from: instants by hand, and a store that waits for nobody's clock.

use std::time::Duration;

use haltline_core::{ConstraintId, Instant, Moment};
use haltline_engine::clock::Clock;
use haltline_engine::store::SqliteOptions;

/// The moment a text names, as a recorded one: no boot clock.
pub fn moment(text: &str) -> Moment {
    Moment::recorded(Instant::parse(text).expect("a valid instant"))
}

/// A constraint's id.
pub fn constraint(id: &str) -> ConstraintId {
    ConstraintId::parse(id).expect("a valid id")
}

/// The defaults of the configuration, at a fixed moment.
pub fn options(now: Moment) -> SqliteOptions {
    SqliteOptions {
        patience: Duration::from_secs(60),
        bytes_max: 64 * 1024 * 1024,
        journal_days: 400,
        clock: Clock::Fixed(now),
    }
}
