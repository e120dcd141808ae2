//! The circuits of one agent, or of one tree of agents: which of them are OPEN or HALF_OPEN, how often each pattern
//! tripped in a row, and how far haltline has escalated its denials (L5, E5, E12).

use serde::{Deserialize, Serialize};

use super::Pattern;
use crate::circuit::{EscalationLevel, Escalations, OpenPeriod, increment};
use crate::fact::{FactKind, synced, unsynced};
use crate::identity::Digest;
use crate::{Elapsed, Instant, Moment};

/// From this length of a streak on, haltline alerts the person.
pub const ALERT_STREAK: u32 = 5;
/// After this long without a trip, streaks start again at 1, and an unused HALF_OPEN circuit may be dropped.
const DAY_MS: u64 = 86_400_000;
/// No row keeps more tripped circuits; the oldest HALF_OPEN one is dropped first.
const TRIPPED_MAX: usize = 32;
/// One change from CLOSED, or HALF_OPEN, to OPEN. Every trip is an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    pub incident: String,
    pub pattern: Pattern,
    /// What the circuit is about: a call's identity, or whatever else the pattern counts.
    pub key: Digest,
    /// The result that came again and again. A probe with another result succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Digest>,
    /// The identities of the calls that the trip is about: a person who declares a false positive exempts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Digest>,
    pub since: Moment,
    /// How long the circuit stays OPEN; fixed at the trip (E3).
    pub cooldown_ms: u64,
    /// How many events led to the trip.
    pub count: u32,
    /// Length of the current streak of trips of this pattern, starting at 1.
    #[serde(rename = "level")]
    pub streak: u32,
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

    /// The rest of the cooldown at `now`, in milliseconds; `None` once it is over.
    pub fn remaining_ms(&self, now: Moment) -> Option<u64> {
        self.open_period().remaining_ms(now)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HalfOpenCause {
    Cooldown,
    /// The agent wrote something new, so the same call may now have another result.
    Write,
    /// The agent learned something new.
    #[serde(rename = "answer")]
    NewResult,
    Person,
}

/// The one call that haltline lets through a HALF_OPEN circuit to see whether it can close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub call: Digest,
    /// When the call started.
    pub since: Moment,
    /// How long the probe may take before another call may replace it.
    pub lease_ms: u64,
    #[serde(rename = "by", default = "cooled_down", skip_serializing_if = "is_cooled_down")]
    pub cause: HalfOpenCause,
}

fn cooled_down() -> HalfOpenCause {
    HalfOpenCause::Cooldown
}

fn is_cooled_down(cause: &HalfOpenCause) -> bool {
    *cause == HalfOpenCause::Cooldown
}

impl Probe {
    /// True while the probe's lease runs. If the elapsed time is unknown, the lease still runs.
    pub fn is_pending(&self, now: Moment) -> bool {
        match now.since(self.since) {
            Elapsed::Known(elapsed) => elapsed < self.lease_ms,
            Elapsed::Unknown => true,
        }
    }
}

/// The stored state of a circuit that is not CLOSED.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrippedState {
    /// Denies calls. Once the cooldown is over, [`Circuits::state_at`] reads this as HALF_OPEN.
    Open,
    /// One call may run as the probe.
    HalfOpen(HalfOpenCause),
    /// HALF_OPEN, and the probe is running.
    Probing(Probe),
}

/// A circuit that is not CLOSED.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrippedCircuit {
    pub trip: Trip,
    #[serde(rename = "stage")]
    pub state: TrippedState,
    /// What a person wants the agent to know when it runs the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The state of a circuit at a given moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState<'a> {
    Closed,
    /// haltline denies the call until the cooldown ends.
    Open(&'a Trip),
    /// The next call may run as the probe. The second field says why.
    HalfOpen(&'a Trip, HalfOpenCause),
    /// A probe is running, so haltline denies other calls.
    Probing(&'a Trip),
}

impl<'a> CircuitState<'a> {
    /// The trip for which haltline denies calls now.
    pub fn denying_trip(self) -> Option<&'a Trip> {
        match self {
            CircuitState::Open(trip) | CircuitState::Probing(trip) => Some(trip),
            CircuitState::Closed | CircuitState::HalfOpen(..) => None,
        }
    }

    pub fn is_half_open(self) -> bool {
        matches!(self, CircuitState::HalfOpen(..))
    }
}

/// How often a pattern tripped in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripStreak {
    pub pattern: Pattern,
    #[serde(rename = "level")]
    pub length: u32,
    /// When the pattern last tripped.
    pub last: Moment,
}

/// The circuits of one row. A circuit that is not listed is CLOSED.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circuits {
    /// Increases with every change of a circuit's state (E12).
    #[serde(default)]
    pub generation: u64,
    /// The generation at the last close. Calls that started before it change nothing.
    #[serde(rename = "closed_at", default)]
    pub closed_generation: u64,
    /// The circuits that are not CLOSED.
    #[serde(rename = "held", default, skip_serializing_if = "Vec::is_empty")]
    pub tripped: Vec<TrippedCircuit>,
    #[serde(rename = "levels", default, skip_serializing_if = "Vec::is_empty")]
    pub streaks: Vec<TripStreak>,
    #[serde(rename = "rungs", default, skip_serializing_if = "Escalations::is_empty")]
    pub escalations: Escalations,
    /// Trips in total.
    #[serde(default)]
    pub trips: u64,
    /// Denials in total.
    #[serde(rename = "refused", default)]
    pub denied: u64,
    /// Warnings in total.
    #[serde(default)]
    pub warned: u64,
}

/// A fact about the circuits of one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitFact {
    /// haltline warned the agent and let the call run.
    Warned {
        pattern: Pattern,
        key: Digest,
        /// Ordinal of the attempt that was warned.
        count: u32,
    },
    /// A circuit opened, from CLOSED or HALF_OPEN.
    Tripped { trip: Trip },
    /// The agent reached a limit that has no circuit.
    Limited {
        incident: String,
        pattern: Pattern,
        key: Digest,
        /// The number that was compared with the limit.
        count: u32,
    },
    HalfOpened {
        incident: String,
        #[serde(rename = "by")]
        cause: HalfOpenCause,
        /// What a person wants the agent to know when it runs the probe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// The person who resumed the circuit, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<String>,
    },
    /// A person lets one call pass a limit that has no circuit.
    Allowed {
        incident: String,
        who: String,
        /// What the person wants the agent to know when it makes the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// The call that a person allowed passed the limit. The next one is denied again.
    AllowanceUsed { incident: String },
    /// A call started as the probe.
    ProbeTaken { incident: String, probe: Probe },
    /// A probe ended without a usable result; another call may become the probe.
    ProbeAbandoned { incident: String },
    /// A probe succeeded, and the circuit closed.
    Recovered { incident: String },
    /// A HALF_OPEN circuit closed because the agent moved on without a probe. The streak, and so the next cooldown,
    /// stays as long as it was. For a limit without a circuit: it is not in the way any more.
    Lapsed { incident: String },
    /// haltline denied a call, or ended the turn.
    #[serde(rename = "refused")]
    Denied {
        /// What was denied.
        key: Digest,
        pattern: Pattern,
        #[serde(rename = "step")]
        level: EscalationLevel,
        turn: u64,
        /// The call that was denied, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Digest>,
        /// The id of the response that the call belongs to, if the client says it.
        #[serde(rename = "message", default, skip_serializing_if = "Option::is_none")]
        response: Option<Digest>,
    },
    /// A person closed one circuit, or all of them.
    Reset {
        who: String,
        /// `None` means all circuits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incident: Option<String>,
    },
    /// A person declared a trip a false positive, and the circuit closed.
    #[serde(rename = "false_alarm")]
    FalsePositive { who: String, incident: String },
}

impl CircuitFact {
    /// The fact's stable name in listings, and whether it is synced: trips, and what people do are.
    pub(crate) fn kind(&self) -> FactKind {
        match self {
            CircuitFact::Warned { .. } => unsynced("warned"),
            CircuitFact::Tripped { .. } => synced("tripped"),
            CircuitFact::Limited { .. } => synced("limited"),
            CircuitFact::HalfOpened { cause, .. } => {
                FactKind { name: "half_opened", needs_sync: *cause == HalfOpenCause::Person }
            }
            CircuitFact::Allowed { .. } => synced("allowed"),
            CircuitFact::AllowanceUsed { .. } => synced("allowance_used"),
            CircuitFact::ProbeTaken { .. } => unsynced("probe_taken"),
            CircuitFact::ProbeAbandoned { .. } => unsynced("probe_abandoned"),
            CircuitFact::Recovered { .. } => synced("recovered"),
            CircuitFact::Lapsed { .. } => unsynced("lapsed"),
            CircuitFact::Denied { level: EscalationLevel::Deny, .. } => unsynced("refused"),
            CircuitFact::Denied { level: EscalationLevel::Stop, .. } => unsynced("stopped"),
            CircuitFact::Reset { .. } => synced("reset"),
            CircuitFact::FalsePositive { .. } => synced("false_alarm"),
        }
    }

    /// The pattern that the fact is about, if it names one.
    pub fn pattern(&self) -> Option<Pattern> {
        match self {
            CircuitFact::Tripped { trip } => Some(trip.pattern),
            CircuitFact::Warned { pattern, .. }
            | CircuitFact::Limited { pattern, .. }
            | CircuitFact::Denied { pattern, .. } => Some(*pattern),
            CircuitFact::HalfOpened { .. }
            | CircuitFact::Allowed { .. }
            | CircuitFact::AllowanceUsed { .. }
            | CircuitFact::ProbeTaken { .. }
            | CircuitFact::ProbeAbandoned { .. }
            | CircuitFact::Recovered { .. }
            | CircuitFact::Lapsed { .. }
            | CircuitFact::Reset { .. }
            | CircuitFact::FalsePositive { .. } => None,
        }
    }

    /// The incident that the fact is about, if it names one.
    pub fn incident(&self) -> Option<&str> {
        match self {
            CircuitFact::Tripped { trip } => Some(&trip.incident),
            CircuitFact::Limited { incident, .. }
            | CircuitFact::HalfOpened { incident, .. }
            | CircuitFact::Allowed { incident, .. }
            | CircuitFact::AllowanceUsed { incident }
            | CircuitFact::ProbeTaken { incident, .. }
            | CircuitFact::ProbeAbandoned { incident }
            | CircuitFact::Recovered { incident }
            | CircuitFact::Lapsed { incident }
            | CircuitFact::FalsePositive { incident, .. } => Some(incident),
            CircuitFact::Reset { incident, .. } => incident.as_deref(),
            CircuitFact::Warned { .. } | CircuitFact::Denied { .. } => None,
        }
    }
}

impl Circuits {
    pub fn state_at(&self, key: Digest, now: Moment) -> CircuitState<'_> {
        let Some(tripped) = self.tripped_for(key) else { return CircuitState::Closed };
        match &tripped.state {
            TrippedState::Open if tripped.trip.remaining_ms(now).is_some() => CircuitState::Open(&tripped.trip),
            TrippedState::Open => CircuitState::HalfOpen(&tripped.trip, HalfOpenCause::Cooldown),
            TrippedState::HalfOpen(cause) => CircuitState::HalfOpen(&tripped.trip, *cause),
            TrippedState::Probing(probe) if probe.is_pending(now) => CircuitState::Probing(&tripped.trip),
            TrippedState::Probing(_) => CircuitState::HalfOpen(&tripped.trip, HalfOpenCause::Cooldown),
        }
    }

    /// The tripped circuit of an incident; `None` if it has closed.
    pub fn tripped_by(&self, incident: &str) -> Option<&TrippedCircuit> {
        self.tripped.iter().find(|tripped| tripped.trip.incident == incident)
    }

    /// The circuit for `key`, unless it is CLOSED.
    pub fn tripped_for(&self, key: Digest) -> Option<&TrippedCircuit> {
        self.tripped.iter().find(|tripped| tripped.trip.key == key)
    }

    /// True if the circuit for `key` is not CLOSED.
    pub fn is_tripped(&self, key: Digest) -> bool {
        self.tripped_for(key).is_some()
    }

    /// True if the incident has not ended: its circuit is not CLOSED, or it is a limit's incident with an escalation.
    pub fn has_incident(&self, incident: &str) -> bool {
        self.tripped_by(incident).is_some() || self.escalations.has_incident(incident)
    }

    pub fn probed_by(&self, call: Digest) -> Option<&TrippedCircuit> {
        self.tripped.iter().find(|tripped| matches!(&tripped.state, TrippedState::Probing(probe) if probe.call == call))
    }

    /// The length that the streak of this pattern would have after one more trip.
    pub fn next_streak(&self, pattern: Pattern, now: Moment) -> u32 {
        let known = self.streaks.iter().find(|streak| streak.pattern == pattern);
        match known.map(|streak| (streak.length, now.since(streak.last))) {
            Some((_, Elapsed::Known(idle))) if idle >= DAY_MS => 1,
            Some((streak, Elapsed::Known(_) | Elapsed::Unknown)) => streak.saturating_add(1),
            None => 1,
        }
    }

    /// The incidents that have not ended.
    pub fn open_incidents(&self) -> impl Iterator<Item = &str> {
        let tripped = self.tripped.iter().map(|tripped| tripped.trip.incident.as_str());
        tripped.chain(self.escalations.incidents().map(|(_, incident)| incident))
    }

    /// True if any circuit is OPEN or HALF_OPEN.
    pub fn has_tripped(&self) -> bool {
        !self.tripped.is_empty()
    }

    pub(super) fn apply(&mut self, fact: &CircuitFact, at: Moment) {
        match fact {
            CircuitFact::Warned { .. } => increment(&mut self.warned),
            CircuitFact::Tripped { trip } => self.trip(trip, at),
            CircuitFact::Limited { incident, key, .. } => {
                increment(&mut self.trips);
                increment(&mut self.generation);
                self.escalations.entry(*key).incident = Some(incident.clone());
            }
            CircuitFact::Allowed { incident, hint, .. } => self.escalations.allow(incident, hint.as_deref()),
            CircuitFact::AllowanceUsed { incident } => self.escalations.end_incident(incident),
            CircuitFact::HalfOpened { incident, cause, hint, .. } => {
                self.set_state(incident, TrippedState::HalfOpen(*cause));
                if let Some(tripped) = self.tripped.iter_mut().find(|tripped| tripped.trip.incident == *incident) {
                    tripped.hint.clone_from(hint);
                }
            }
            CircuitFact::ProbeTaken { incident, probe } => self.set_state(incident, TrippedState::Probing(*probe)),
            CircuitFact::ProbeAbandoned { incident } => {
                self.set_state(incident, TrippedState::HalfOpen(HalfOpenCause::Cooldown))
            }
            CircuitFact::Recovered { incident }
            | CircuitFact::FalsePositive { incident, .. }
            | CircuitFact::Reset { incident: Some(incident), .. } => self.close(incident, true),
            CircuitFact::Lapsed { incident } => self.close(incident, false),
            CircuitFact::Denied { key, level, turn, .. } => {
                increment(&mut self.denied);
                self.escalations.record(*key, *level, *turn);
            }
            CircuitFact::Reset { incident: None, .. } => {
                self.tripped.clear();
                self.streaks.clear();
                self.escalations.clear();
                increment(&mut self.generation);
                self.closed_generation = self.generation;
            }
        }
    }

    fn trip(&mut self, trip: &Trip, at: Moment) {
        increment(&mut self.trips);
        increment(&mut self.generation);
        let is_again = self.is_tripped(trip.key);
        self.tripped.retain(|tripped| tripped.trip.key != trip.key && !is_stale(tripped, at));
        if self.tripped.len() >= TRIPPED_MAX {
            let waiting =
                self.tripped.iter().position(|tripped| matches!(tripped.state, TrippedState::HalfOpen(_))).unwrap_or(0);
            self.tripped.remove(waiting);
        }
        self.tripped.push(TrippedCircuit { trip: trip.clone(), state: TrippedState::Open, hint: None });
        self.streaks.retain(|streak| streak.pattern != trip.pattern);
        self.streaks.push(TripStreak { pattern: trip.pattern, length: trip.streak, last: trip.since });
        if is_again {
            // A failed probe counts as a denial: waiting out a short cooldown does not restart the escalation (E5).
            let escalation = self.escalations.entry(trip.key);
            escalation.level = escalation.level.or(Some(EscalationLevel::Deny));
        }
    }

    fn set_state(&mut self, incident: &str, state: TrippedState) {
        if let Some(tripped) = self.tripped.iter_mut().find(|tripped| tripped.trip.incident == incident) {
            tripped.state = state;
            increment(&mut self.generation);
        }
    }

    fn close(&mut self, incident: &str, has_recovered: bool) {
        let Some(index) = self.tripped.iter().position(|tripped| tripped.trip.incident == incident) else {
            match has_recovered {
                true => self.escalations.end_incident(incident),
                // The limit is not in the way any more. The number of denials stays, so that no two have the same text.
                false => self.escalations.forget_incident(incident),
            }
            return;
        };
        let trip = self.tripped.remove(index).trip;
        self.escalations.end_key(trip.key);
        if has_recovered && let Some(streak) = self.streaks.iter_mut().find(|streak| streak.pattern == trip.pattern) {
            streak.length = streak.length.saturating_sub(1);
        }
        increment(&mut self.generation);
        self.closed_generation = self.generation;
    }
}

/// True if the cooldown has been over for a day and no probe has closed the circuit.
fn is_stale(tripped: &TrippedCircuit, now: Moment) -> bool {
    let over = tripped.trip.cooldown_ms.saturating_add(DAY_MS);
    matches!(now.since(tripped.trip.since), Elapsed::Known(elapsed) if elapsed >= over)
}
