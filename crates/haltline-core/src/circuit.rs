//! What the circuits of all breakers have in common: the name of a state, the wait of an OPEN circuit, the id of an
//! incident, the escalation of denials and the generation.
//!
//! Nothing here knows a breaker, and nothing here decides.

mod escalation;
mod incident_id;
mod open_period;
mod state_name;

pub use escalation::{Allowance, Escalation, EscalationLevel, Escalations};
pub(crate) use incident_id::{incident_id, incident_id_for_key, incident_id_of_state_file};
pub use open_period::{Cooldown, OpenPeriod, cooldown_ms_in_streak};
pub use state_name::StateName;

/// Adds one. It saturates because a tampered row may hold the largest number, and that must not crash the breaker.
pub(crate) fn increment(number: &mut u64) {
    *number = number.saturating_add(1);
}

/// Drops the oldest items, so that at most `max` are left.
pub(crate) fn keep_newest<T>(items: &mut Vec<T>, max: usize) {
    let excess = items.len().saturating_sub(max);
    items.drain(..excess);
}

/// True if something began in another generation of the circuit than the current one: it is recorded, but changes
/// nothing (E12). Something without a generation is never stale.
pub(crate) fn is_stale(began_in: Option<u64>, generation: u64) -> bool {
    began_in.is_some_and(|began_in| began_in != generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_began_in_another_generation_is_stale() {
        assert_eq!([None, Some(6), Some(7), Some(8)].map(|began_in| is_stale(began_in, 7)), [false, true, false, true]);
    }
}
