//! Failures as JSON, for callers that asked for JSON.

use std::io::Write;

use serde_json::{Value, json};

use crate::error::Failure;
use crate::view::SCHEMA;

/// A failure as one object.
pub fn failure(failure: &Failure) -> Value {
    json!({
        "schema": SCHEMA,
        "error": { "kind": failure.kind(), "message": failure.to_string(), "hint": failure.hint() },
    })
}

/// Prints why a command failed to standard output, as one line.
pub fn print_failure(of: &Failure) {
    if !matches!(of, Failure::Silent) {
        // A closed pipe is ignored.
        writeln!(std::io::stdout().lock(), "{}", failure(of)).ok();
    }
}
