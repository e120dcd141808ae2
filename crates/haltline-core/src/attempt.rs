//! The attempt family: honest counts of tries at a test, a lock on the files in scope, and the report after a trip
//! (seed 000; A1–A8).

mod justification;
mod report;
mod scope;

pub use justification::{Justification, form};
pub use report::{FIELDS, Known, Listed, LogLine, RecoveryOption, Report, ScopeViolation};
pub use scope::{Covered, Entry, EntryError, Letters, Origin, Scope, Source, file_digest, normalise};
