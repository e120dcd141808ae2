//! The shipped binary: runs the command line on the system clock. It must never offer a way to use another clock.

use std::process::ExitCode;

fn main() -> ExitCode {
    haltline::run(haltline_engine::clock::Clock::System)
}
