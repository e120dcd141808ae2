//! The haltline command line with the clock fixed to `HALTLINE_AT`. Never shipped: an agent must not be able to end its
//! own cooldown with a variable.

use std::process::ExitCode;

use haltline_core::{Instant, Moment};
use haltline_engine::clock::Clock;

fn main() -> ExitCode {
    let text = std::env::var("HALTLINE_AT").unwrap_or_default();
    match Instant::parse(&text) {
        Ok(at) => haltline::run(Clock::Fixed(Moment::from_wall_clock(at))),
        Err(error) => {
            eprintln!("error: HALTLINE_AT: {error}");
            ExitCode::FAILURE
        }
    }
}
