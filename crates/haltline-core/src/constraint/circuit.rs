//! The state of a constraint's circuit.

use serde::{Deserialize, Serialize};

use super::{Limits, Rule, Source};
use crate::{Elapsed, Instant, Moment};

/// The word for a state. `HALF-OPEN` is read as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// Normal: violations are counted.
    #[serde(rename = "CLOSED")]
    Closed,
    /// Tripped: actions are refused.
    #[serde(rename = "OPEN")]
    Open,
    /// On trial.
    #[serde(rename = "HALF_OPEN", alias = "HALF-OPEN")]
    HalfOpen,
    /// Ended for good.
    #[serde(rename = "RETIRED")]
    Retired,
}

impl Condition {
    /// As seed 003's screens and files spell it.
    pub fn dashed(self) -> &'static str {
        match self {
            Condition::Closed => "CLOSED",
            Condition::Open => "OPEN",
            Condition::HalfOpen => "HALF-OPEN",
            Condition::Retired => "RETIRED",
        }
    }
}

/// One opening of a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    /// Names it everywhere.
    pub incident: String,
    /// When it opened.
    pub since: Moment,
    /// How long it stays open; fixed at the trip, so a later rule changes nothing (E3).
    pub cooldown_ms: u64,
    /// How many violations counted then.
    pub count: u32,
}

/// Where a cooldown stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooldown {
    /// It ended.
    Over,
    /// It ends in this many milliseconds.
    Running {
        /// Milliseconds left.
        remaining_ms: u64,
    },
    /// Its start lies in the future of this clock; the circuit stays OPEN (E3).
    Unreadable,
}

impl Trip {
    /// When the cooldown ends, by the wall clock of the trip.
    pub fn until(&self) -> Instant {
        self.since.plus_millis(self.cooldown_ms).at
    }

    /// Where the cooldown stands at `now`. It is over at its end instant (E13).
    pub fn cooldown(&self, now: Moment) -> Cooldown {
        match now.since(self.since) {
            Elapsed::Known(elapsed) if elapsed >= self.cooldown_ms => Cooldown::Over,
            Elapsed::Known(elapsed) => Cooldown::Running { remaining_ms: self.cooldown_ms - elapsed },
            Elapsed::Unknown => Cooldown::Unreadable,
        }
    }
}

/// The stored state; what it means at an instant is [`StandingAt`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Counting.
    #[default]
    Closed,
    /// Tripped. Once the cooldown is over this reads as on trial.
    Open(Trip),
    /// On trial after that trip.
    HalfOpen(Trip),
    /// Ended for good.
    Retired {
        /// When.
        at: Instant,
        /// The state it was in.
        from: Condition,
    },
}

/// The state as it is at an instant: a cooldown that has ended is seen, though nobody wrote it down yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingAt<'a> {
    /// Counting.
    Closed,
    /// Tripped, and the cooldown is not over.
    Open(&'a Trip, Cooldown),
    /// On trial.
    HalfOpen(&'a Trip),
    /// Ended, when.
    Retired(Instant),
}

impl StandingAt<'_> {
    /// The word for it.
    pub fn condition(&self) -> Condition {
        match self {
            StandingAt::Closed => Condition::Closed,
            StandingAt::Open(..) => Condition::Open,
            StandingAt::HalfOpen(_) => Condition::HalfOpen,
            StandingAt::Retired(_) => Condition::Retired,
        }
    }
}

/// One action a person allowed although the circuit is OPEN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// Since when.
    pub since: Moment,
    /// For how long.
    pub lifetime_ms: u64,
    /// Who allowed it.
    pub who: String,
}

impl Override {
    /// The longest life of an override: a day.
    pub const LIFETIME_MS_MAX: u64 = 86_400_000;

    /// Whether it can be used at `now`. A clock that cannot tell does not let it be used.
    pub fn is_ready(&self, now: Moment) -> bool {
        match now.since(self.since) {
            Elapsed::Known(elapsed) => elapsed < self.lifetime_ms,
            Elapsed::Unknown => false,
        }
    }

    /// When it ends.
    pub fn until(&self) -> Instant {
        self.since.plus_millis(self.lifetime_ms).at
    }
}

/// Counts over the circuit's whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Every violation of any weight but deduplicated ones.
    pub violations: u64,
    /// Those that counted towards a trip.
    pub counted: u64,
    /// Repeats within the dedup window.
    pub deduplicated: u64,
    /// Those that came while OPEN: stops that were ignored.
    pub while_open: u64,
    /// Clean actions.
    pub passes: u64,
    /// Actions refused.
    pub refused: u64,
    /// Trips, re-openings included.
    pub trips: u64,
    /// Overrides spent.
    pub overrides: u64,
}

/// A trip and how it ended, as the archive keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripRecord {
    /// When it opened.
    pub tripped: Instant,
    /// When it closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Instant>,
    /// Closed by a person, not by a clean action after the cooldown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
}

/// Everything haltline knows of one constraint's circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circuit {
    /// The rule in force.
    pub rule: Rule,
    /// The file it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// A looser rule the file asks for, waiting for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<RuleAsked>,
    /// The state.
    #[serde(rename = "phase")]
    pub standing: Standing,
    /// Rises with every change of state (E12).
    pub generation: u64,
    /// When the newest counted violations since the last close happened; at most `violation_threshold` of them.
    pub counted: Vec<Moment>,
    /// Over the whole life.
    pub totals: Totals,
    /// The first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Instant>,
    /// The newest trip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_trip: Option<Instant>,
    /// The newest close, by whoever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reset: Option<Instant>,
    /// The newest trips, oldest first; at most [`Circuit::TRIPS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trips: Vec<TripRecord>,
    /// An action a person allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Override>,
    /// When the constraint was made, known once it is retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Instant>,
}

/// A rule that waits for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleAsked {
    /// What the file says.
    pub rule: Rule,
    /// The file.
    pub source: Source,
}

impl Circuit {
    /// How many trips are kept with their ends.
    pub const TRIPS_MAX: usize = 100;

    /// The state at `now`.
    pub fn standing_at(&self, now: Moment) -> StandingAt<'_> {
        match &self.standing {
            Standing::Closed => StandingAt::Closed,
            Standing::Open(trip) => match trip.cooldown(now) {
                Cooldown::Over => StandingAt::HalfOpen(trip),
                cooldown @ (Cooldown::Running { .. } | Cooldown::Unreadable) => StandingAt::Open(trip, cooldown),
            },
            Standing::HalfOpen(trip) => StandingAt::HalfOpen(trip),
            Standing::Retired { at, .. } => StandingAt::Retired(*at),
        }
    }

    /// The generation at `now`: a trial that nobody wrote down yet has begun a new one.
    pub fn generation_at(&self, now: Moment) -> u64 {
        match (&self.standing, self.standing_at(now)) {
            (Standing::Open(_), StandingAt::HalfOpen(_)) => self.generation.saturating_add(1),
            (Standing::Open(_) | Standing::Closed | Standing::HalfOpen(_) | Standing::Retired { .. }, _) => {
                self.generation
            }
        }
    }

    /// How many counted violations lie in the window at `now`.
    pub fn in_window(&self, now: Moment) -> u32 {
        let window = self.rule.limits.window_ms();
        let counts = self.counted.iter().filter(|&&then| is_in_window(now, then, window)).count();
        u32::try_from(counts).unwrap_or(u32::MAX)
    }

    /// Whether a violation at `now` repeats the last counted one (C3).
    pub fn repeats_last(&self, now: Moment) -> bool {
        let Some(&last) = self.counted.last() else { return false };
        match now.since(last) {
            Elapsed::Known(age) => age < self.rule.limits.dedup_ms(),
            Elapsed::Unknown => false,
        }
    }

    /// The override that could be spent at `now`.
    pub fn ready_override(&self, now: Moment) -> Option<&Override> {
        self.granted.as_ref().filter(|granted| granted.is_ready(now))
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.rule.limits
    }
}

/// Whether a violation at `then` counts at `now`. One exactly a window old does not (E13); one whose age cannot be
/// told does (E3).
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
    fn a_trial_that_nobody_wrote_down_yet_is_a_generation_of_its_own() {
        let tripped = Moment::recorded(Instant::from_millis(0));
        let trip = Trip { incident: "1".to_owned(), since: tripped, cooldown_ms: 1000, count: 5 };
        let at = |standing: Standing, millis: u64| {
            let circuit = Circuit { standing, generation: 7, ..Circuit::default() };
            circuit.generation_at(tripped.plus_millis(millis))
        };
        assert_eq!(at(Standing::Open(trip.clone()), 999), 7);
        assert_eq!(at(Standing::Open(trip.clone()), 1000), 8);
        assert_eq!(at(Standing::HalfOpen(trip), 1000), 7);
        assert_eq!(at(Standing::Closed, 1000), 7);
    }
}
