//! The shipped binary: the command line on the machine's own clock, and no door to another one.

use std::process::ExitCode;

fn main() -> ExitCode {
    haltline::run(haltline_engine::clock::Clock::System)
}
