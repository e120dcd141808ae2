//! The id of an incident: eight hexadecimal digits that depend only on what is stored, so that a decision that runs
//! twice gives the same id.

use crate::identity::Digest;
use crate::{CircuitName, Moment, digest_hex};

/// The length of the digest, in bytes.
const BYTES: usize = 4;

/// The id of the incident that begins in a circuit at a moment. `generation` tells two incidents of one millisecond
/// apart.
pub(crate) fn incident_id(circuit: &CircuitName, generation: u64, at: Moment) -> String {
    let at = at.at.as_millis().to_be_bytes();
    digest_hex(&[circuit.as_str().as_bytes(), &generation.to_be_bytes(), &at], BYTES)
}

/// The id of an incident in a row that holds many circuits, each with its key. `trips` is the number of earlier trips
/// in the row.
pub(crate) fn incident_id_for_key(row: &CircuitName, trips: u64, at: Moment, key: Digest) -> String {
    let (at, key) = (at.at.as_millis().to_be_bytes(), key.0.to_be_bytes());
    digest_hex(&[row.as_str().as_bytes(), &trips.to_be_bytes(), &at, &key], BYTES)
}

/// The id of an incident that another program's state file reports.
pub(crate) fn incident_id_of_state_file(reason: &str, since: Moment) -> String {
    digest_hex(&[b"found", reason.as_bytes(), &since.at.as_millis().to_be_bytes()], BYTES)
}
