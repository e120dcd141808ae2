//! The state of a constraint's circuit.

use serde::{Deserialize, Serialize};

use super::{Limits, Rule, Source};
use crate::circuit::{Cooldown, OpenPeriod, StateName};
use crate::{Elapsed, Instant, Moment};

/// One transition of a circuit from CLOSED or HALF_OPEN to OPEN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    /// The incident id.
    pub incident: String,
    pub since: Moment,
    /// How long the circuit stays OPEN; fixed at the trip, so a later rule does not change it (E3).
    pub cooldown_ms: u64,
    /// The number of violations that counted at the trip.
    pub count: u32,
}

impl Trip {
    /// The wait of the circuit after this trip.
    pub fn open_period(&self) -> OpenPeriod {
        OpenPeriod { since: self.since, cooldown_ms: self.cooldown_ms }
    }

    /// When the cooldown ends, by the wall clock of the trip.
    pub fn until(&self) -> Instant {
        self.open_period().until()
    }
}

/// The stored state; [`CircuitStateAt`] says what it means at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// Violations are counted.
    #[default]
    Closed,
    /// Tripped. Once the cooldown is over, this state reads as HALF_OPEN.
    Open(Trip),
    /// HALF_OPEN after that trip.
    HalfOpen(Trip),
    /// Ended for good.
    Retired {
        at: Instant,
        /// The state before it was retired.
        from: StateName,
    },
}

/// The state at an instant: an ended cooldown shows as HALF_OPEN even before a fact records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitStateAt<'a> {
    Closed,
    /// Tripped, and the cooldown is not over.
    Open(&'a Trip, Cooldown),
    HalfOpen(&'a Trip),
    Retired(Instant),
}

impl CircuitStateAt<'_> {
    pub fn name(&self) -> StateName {
        match self {
            CircuitStateAt::Closed => StateName::Closed,
            CircuitStateAt::Open(..) => StateName::Open,
            CircuitStateAt::HalfOpen(_) => StateName::HalfOpen,
            CircuitStateAt::Retired(_) => StateName::Retired,
        }
    }
}

/// Permission from a person for one action although the circuit is OPEN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    pub since: Moment,
    pub lifetime_ms: u64,
    /// The account of the person who allowed it.
    pub who: String,
}

impl Override {
    /// The longest lifetime of an override: a day.
    pub const LIFETIME_MS_MAX: u64 = 86_400_000;

    /// Returns whether the override can be used at `now`. If the elapsed time is unknown, it cannot.
    pub fn is_ready(&self, now: Moment) -> bool {
        match now.since(self.since) {
            Elapsed::Known(elapsed) => elapsed < self.lifetime_ms,
            Elapsed::Unknown => false,
        }
    }

    pub fn until(&self) -> Instant {
        self.since.plus_millis(self.lifetime_ms).at
    }
}

/// Counts over the circuit's whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// All violations except deduplicated ones.
    pub violations: u64,
    /// Violations that counted towards a trip.
    pub counted: u64,
    /// Repeats within the dedup window.
    pub deduplicated: u64,
    /// Violations that came while OPEN: the agent ignored the denial.
    pub while_open: u64,
    /// Clean actions.
    pub passes: u64,
    /// Denied actions.
    #[serde(rename = "refused")]
    pub denied: u64,
    /// Trips, including re-openings.
    pub trips: u64,
    /// Used overrides.
    pub overrides: u64,
}

/// A trip and how it ended, as the archive keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripRecord {
    /// When the circuit opened.
    pub tripped: Instant,
    /// When the circuit closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Instant>,
    /// True if a person closed it, false if a clean action after the cooldown did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
}

/// Everything haltline keeps about one constraint's circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circuit {
    /// The rule in force.
    pub rule: Rule,
    /// The file that sets the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// A looser rule that the file asks for, waiting for the operator.
    #[serde(rename = "asked", default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<RequestedRule>,
    #[serde(rename = "phase")]
    pub state: CircuitState,
    /// A number that rises with every change of state (E12).
    pub generation: u64,
    /// The times of the newest counted violations since the last close; at most `violation_threshold` of them.
    pub counted: Vec<Moment>,
    pub totals: Totals,
    /// The time of the first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_trip: Option<Instant>,
    /// The time of the newest close, by a person or by a clean action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reset: Option<Instant>,
    /// The newest trips, oldest first; at most [`Circuit::TRIPS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trips: Vec<TripRecord>,
    /// The override a person granted, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Override>,
    /// When the constraint was created; known once it is retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Instant>,
}

/// A rule that waits for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedRule {
    pub rule: Rule,
    pub source: Source,
}

impl Circuit {
    /// How many trips the circuit keeps.
    pub const TRIPS_MAX: usize = 100;

    /// The state at `now`.
    pub fn state_at(&self, now: Moment) -> CircuitStateAt<'_> {
        match &self.state {
            CircuitState::Closed => CircuitStateAt::Closed,
            CircuitState::Open(trip) => match trip.open_period().cooldown(now) {
                Cooldown::Over => CircuitStateAt::HalfOpen(trip),
                cooldown @ (Cooldown::Running { .. } | Cooldown::Unreadable) => CircuitStateAt::Open(trip, cooldown),
            },
            CircuitState::HalfOpen(trip) => CircuitStateAt::HalfOpen(trip),
            CircuitState::Retired { at, .. } => CircuitStateAt::Retired(*at),
        }
    }

    /// The trip that opened the circuit, unless it has closed or was retired.
    pub fn trip(&self) -> Option<&Trip> {
        match &self.state {
            CircuitState::Open(trip) | CircuitState::HalfOpen(trip) => Some(trip),
            CircuitState::Closed | CircuitState::Retired { .. } => None,
        }
    }

    pub fn is_retired(&self) -> bool {
        match self.state {
            CircuitState::Retired { .. } => true,
            CircuitState::Closed | CircuitState::Open(_) | CircuitState::HalfOpen(_) => false,
        }
    }

    /// The generation at `now`: a HALF_OPEN state that no fact has recorded yet already has the next generation.
    pub fn generation_at(&self, now: Moment) -> u64 {
        match (&self.state, self.state_at(now)) {
            (CircuitState::Open(_), CircuitStateAt::HalfOpen(_)) => self.generation.saturating_add(1),
            (
                CircuitState::Open(_) | CircuitState::Closed | CircuitState::HalfOpen(_) | CircuitState::Retired { .. },
                _,
            ) => self.generation,
        }
    }

    /// The number of counted violations that lie in the window at `now`.
    pub fn in_window(&self, now: Moment) -> u32 {
        let window = self.rule.limits.window_ms();
        let count = self.counted.iter().filter(|&&then| is_in_window(now, then, window)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns whether a violation at `now` repeats the last counted one (C3).
    pub fn repeats_last(&self, now: Moment) -> bool {
        let Some(&last) = self.counted.last() else { return false };
        match now.since(last) {
            Elapsed::Known(age) => age < self.rule.limits.dedup_ms(),
            Elapsed::Unknown => false,
        }
    }

    /// The override that can be used at `now`.
    pub fn ready_override(&self, now: Moment) -> Option<&Override> {
        self.granted.as_ref().filter(|granted| granted.is_ready(now))
    }

    pub fn limits(&self) -> &Limits {
        &self.rule.limits
    }
}

/// Returns whether a violation at `then` counts at `now`. One that is exactly a window old does not count (E13); one
/// of unknown age does (E3).
pub(super) fn is_in_window(now: Moment, then: Moment, window_ms: u64) -> bool {
    match now.since(then) {
        Elapsed::Known(age) => age < window_ms,
        Elapsed::Unknown => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_open_state_without_a_fact_yet_has_the_next_generation() {
        let tripped = Moment::from_wall_clock(Instant::from_millis(0));
        let trip = Trip { incident: "1".to_owned(), since: tripped, cooldown_ms: 1000, count: 5 };
        let generation_of = |state: CircuitState, millis: u64| {
            let circuit = Circuit { state, generation: 7, ..Circuit::default() };
            circuit.generation_at(tripped.plus_millis(millis))
        };
        assert_eq!(generation_of(CircuitState::Open(trip.clone()), 999), 7);
        assert_eq!(generation_of(CircuitState::Open(trip.clone()), 1000), 8);
        assert_eq!(generation_of(CircuitState::HalfOpen(trip), 1000), 7);
        assert_eq!(generation_of(CircuitState::Closed, 1000), 7);
    }
}
