//! What the person reads in the client when a circuit of a constraint, a phase run, a slice or a claim trips (E16). The
//! loop breaker writes its own notices, because its trips belong to the call that is being answered.

use haltline_core::{CircuitName, Decision, Effect};

use crate::engine::Engine;
use crate::store::Store;

/// Trips that a decision records.
pub(crate) type Trips = Vec<(CircuitName, String)>;

/// The trips of a decision, except those of the loop breaker.
pub(crate) fn trips(decision: &Decision) -> Trips {
    let mut found = Trips::new();
    for effect in &decision.effects {
        if let Effect::Notify { circuit, incident } = effect
            && !matches!(circuit.prefix(), "loop" | "tree")
        {
            found.push((circuit.clone(), incident.clone()));
        }
    }
    found
}

impl<S: Store> Engine<S> {
    /// Keeps a notice of each trip until [`Engine::take_trip_notices`].
    pub(crate) fn keep_trip_notices(&self, trips: Trips) {
        for (circuit, id) in trips {
            let state = self.store().circuit(self.project().key, &circuit).ok().flatten();
            let incident = state.and_then(|state| self.incident(&circuit, &state, &id).ok().flatten());
            let reason = incident.as_ref().and_then(|incident| incident.reason.clone());
            let code = incident.and_then(|incident| incident.code).unwrap_or_default();
            let cause = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            self.add_trip_notice(format!(
                "haltline: {circuit} tripped{cause} ({code}, incident {id}). More: haltline why {id}"
            ));
        }
    }
}
