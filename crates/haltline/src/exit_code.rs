//! The exit codes of the process.

use std::process::ExitCode;

/// The command succeeded, or the action is allowed.
pub const SUCCESS: ExitCode = ExitCode::SUCCESS;
/// Something went wrong.
pub const ERROR: ExitCode = ExitCode::FAILURE;

/// The command line is invalid.
pub fn usage() -> ExitCode {
    ExitCode::from(2)
}

/// haltline is not installed in any client.
pub fn not_installed() -> ExitCode {
    ExitCode::from(3)
}

/// Denied until a person decides.
pub fn denied() -> ExitCode {
    ExitCode::from(77)
}

/// Ended by a signal or by a person.
pub fn interrupted() -> ExitCode {
    ExitCode::from(130)
}

/// Denied until a person decides, or success.
pub fn unless_denied(is_denied: bool) -> ExitCode {
    if is_denied { denied() } else { SUCCESS }
}

/// Denied for now; trying again later can succeed.
pub fn retry_later() -> ExitCode {
    ExitCode::from(75)
}
