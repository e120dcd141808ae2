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

/// Refused until a person decides.
pub fn refused() -> ExitCode {
    ExitCode::from(77)
}
