//! What the process ends with.

use std::process::ExitCode;

/// Done, or allowed.
pub const FINE: ExitCode = ExitCode::SUCCESS;
/// Something went wrong.
pub const ERROR: ExitCode = ExitCode::FAILURE;

/// The command line makes no sense.
pub fn usage() -> ExitCode {
    ExitCode::from(2)
}

/// haltline is installed nowhere.
pub fn not_installed() -> ExitCode {
    ExitCode::from(3)
}

/// Refused until a person decides.
pub fn refused() -> ExitCode {
    ExitCode::from(77)
}

/// Ended by a signal or by a person.
pub fn interrupted() -> ExitCode {
    ExitCode::from(130)
}

/// Refused for now: trying later makes sense.
pub fn later() -> ExitCode {
    ExitCode::from(75)
}
