//! What an anchor keeps of violations whose facts were folded into it, or were lost with a damaged store: the time of the
//! newest.
//!
//! A state file may list such a violation again. Its fact is gone, and its time may be after that of facts that remain,
//! because a clock went back or another machine's clock is ahead. The time is kept beside the circuit in the anchor's
//! row, not in it: a row is what its facts say.

use haltline_core::constraint::Fact as ConstraintFact;
use haltline_core::{Fact, Instant, Moment, State};
use serde_json::Value;

/// Beside the fields of the circuit; readers of states skip it.
const KEY: &str = "folded_until_ms";

/// The time that an anchor's row has, if it has one.
pub(super) fn until(row: &str) -> Option<Instant> {
    let row: Value = serde_json::from_str(row).ok()?;
    row.as_object()?.values().find_map(|circuit| circuit.get(KEY)?.as_i64()).map(Instant::from_millis)
}

/// The anchor's row after a fact was folded into it, which makes `state` of it.
pub(super) fn row(before: Option<&str>, fact: &Fact, at: Moment, state: &State) -> String {
    let violated = match fact {
        Fact::Constraint(ConstraintFact::Violated { .. }) => Some(at.at),
        _other => None,
    };
    with_until(state, before.and_then(until).max(violated))
}

/// The anchor's row of a state in a store that was rebuilt. The state counts violations whose facts are lost; what a state
/// file lists from before the loss is among them. `now` is the time of the loss.
pub(super) fn rebuilt_row(before: Option<Instant>, state: &State, now: Instant) -> String {
    let newest = state.as_constraint().map(|circuit| {
        let counted = circuit.counted.iter().map(|moment| moment.at).max();
        [counted, circuit.last_trip, circuit.last_reset].into_iter().flatten().fold(now, Instant::max)
    });
    with_until(state, newest.max(before))
}

fn with_until(state: &State, until: Option<Instant>) -> String {
    let mut row = serde_json::to_value(state).expect("states hold nothing that JSON cannot");
    if let Some(until) = until
        && let Some(Value::Object(circuit)) = row.as_object_mut().and_then(|row| row.values_mut().next())
    {
        circuit.insert(KEY.to_owned(), until.as_millis().into());
    }
    row.to_string()
}
