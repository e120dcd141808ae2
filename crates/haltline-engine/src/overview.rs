//! The circuits of a project that are not CLOSED, and its trips: the one place that counts over all five breakers.
//!
//! `haltline status`, the status line and their JSON show these values, so no two of them can differ.

use std::collections::BTreeSet;

use haltline_core::constraint::{CircuitStateAt, Cooldown};
use haltline_core::loop_::{AgentFact, AgentState, CircuitFact, Circuits, Pattern};
use haltline_core::phase::RunState;
use haltline_core::{CircuitName, ConstraintId, Fact, Instant, Moment, State, counted};
use serde::Serialize;

use crate::incident::{self, Incident, IncidentEvent, IncidentState, other_breakers};
use crate::mirror::violations;
use crate::project::ProjectKey;
use crate::store::{Store, StoreError};

/// Sessions that were silent for longer are over: nothing in them is halted any more.
pub const SESSION_MS: i64 = 86_400_000;
/// At most this many facts of one row are read to say why it tripped.
const REASON_FACTS_MAX: usize = 20_000;
/// Facts are read in pieces of this many.
const FACTS_CHUNK: u64 = 2_000;
/// At most this many facts are searched for trips.
const FACTS_MAX: u64 = 400_000;

/// One of the five kinds of breakers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BreakerName {
    Loop,
    Constraint,
    Phase,
    Attempt,
    Claim,
}

impl BreakerName {
    pub const ALL: [BreakerName; 5] =
        [BreakerName::Loop, BreakerName::Constraint, BreakerName::Phase, BreakerName::Attempt, BreakerName::Claim];

    pub fn as_str(self) -> &'static str {
        match self {
            BreakerName::Loop => "loop",
            BreakerName::Constraint => "constraint",
            BreakerName::Phase => "phase",
            BreakerName::Attempt => "attempt",
            BreakerName::Claim => "claim",
        }
    }

    /// The breaker whose circuits a row holds; `None` for rows without circuits.
    fn of(state: &State) -> Option<Self> {
        match state {
            State::Agent(_) | State::Tree(_) | State::Provider(_) => Some(BreakerName::Loop),
            State::Constraint(_) => Some(BreakerName::Constraint),
            State::PhaseRun(_) => Some(BreakerName::Phase),
            State::Slice(_) => Some(BreakerName::Attempt),
            State::Claim(_) => Some(BreakerName::Claim),
            State::Exemptions(_) | State::Pipeline(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => None,
        }
    }
}

/// A circuit that is OPEN or HALF_OPEN.
#[derive(Clone, Debug)]
pub struct UnclosedCircuit {
    pub breaker: BreakerName,
    /// Its incident with its current state. A phase run that is HALF_OPEN without a trip has an incident without an id.
    pub incident: Incident,
    /// The rest of the cooldown.
    pub remaining_ms: Option<u64>,
}

impl UnclosedCircuit {
    /// True if work is halted: the circuit is OPEN, or its claim is DISPUTED.
    pub fn is_open(&self) -> bool {
        match self.incident.state {
            IncidentState::Open | IncidentState::Disputed => true,
            IncidentState::HalfOpen
            | IncidentState::Closed
            | IncidentState::Retired
            | IncidentState::Over
            | IncidentState::Ended => false,
        }
    }
}

/// Number of circuits in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CircuitCounts {
    /// Constraints, phase runs, slices and claims that are CLOSED, and agents of the last 24 hours without a tripped
    /// circuit.
    pub closed: usize,
    /// A claim's DISPUTED counts as OPEN.
    pub open: usize,
    pub half_open: usize,
}

/// What the circuits of one project are.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The circuits that are not CLOSED: OPEN before HALF_OPEN, the newest trip first.
    pub unclosed: Vec<UnclosedCircuit>,
    pub counts: CircuitCounts,
    /// Agents that were active in the last 24 hours.
    pub agents_24h: usize,
    /// When an agent last did something in this project.
    pub last_report: Option<Instant>,
}

impl Overview {
    /// Reads the circuits of a project. `constraints` names those with an active file, which may have no row yet.
    pub fn read(
        store: &impl Store,
        project: ProjectKey,
        now: Moment,
        constraints: impl IntoIterator<Item = ConstraintId>,
    ) -> Result<Self, StoreError> {
        let rows = store.circuits(project)?;
        Self::from_rows(store, project, &rows, now, constraints)
    }

    /// Like [`Overview::read`], for rows that were read already.
    pub fn from_rows(
        store: &impl Store,
        project: ProjectKey,
        rows: &[(CircuitName, State)],
        now: Moment,
        constraints: impl IntoIterator<Item = ConstraintId>,
    ) -> Result<Self, StoreError> {
        let mut overview = Self::default();
        let active = active_sessions(rows, now);
        for (name, state) in rows {
            let Some(breaker) = BreakerName::of(state) else { continue };
            if let State::Agent(agent) = state {
                overview.last_report = overview.last_report.max(Some(agent.last_seen.at));
                overview.agents_24h += usize::from(active.contains(name));
            }
            if breaker == BreakerName::Loop && !active.contains(name) {
                continue;
            }
            let found = unclosed(store, project, name, state, now)?;
            if found.is_empty() {
                overview.counts.closed += usize::from(is_closed(state));
            }
            overview.unclosed.extend(found.into_iter().map(|(incident, remaining_ms)| UnclosedCircuit {
                breaker,
                incident,
                remaining_ms,
            }));
        }
        overview.remove_consequences();
        let has_row =
            |id: &ConstraintId| rows.binary_search_by(|(name, _)| name.cmp(&CircuitName::constraint(id))).is_ok();
        overview.counts.closed += constraints.into_iter().filter(|id| !has_row(id)).count();
        overview.counts.open = overview.unclosed.iter().filter(|circuit| circuit.is_open()).count();
        overview.counts.half_open = overview.unclosed.len() - overview.counts.open;
        overview.unclosed.sort_by_key(|circuit| (!circuit.is_open(), std::cmp::Reverse(circuit.incident.tripped)));
        Ok(overview)
    }
}

impl Overview {
    /// Removes the wait of external services where the limit that caused it is listed.
    fn remove_consequences(&mut self) {
        let is_consequence =
            |incident: &Incident| incident.count == 0 && incident.loop_pattern() == Some(Pattern::ExternalApi);
        let causes: Vec<Option<Instant>> = self
            .unclosed
            .iter()
            .filter(|circuit| !is_consequence(&circuit.incident))
            .map(|circuit| circuit.incident.tripped)
            .collect();
        self.unclosed
            .retain(|circuit| !is_consequence(&circuit.incident) || !causes.contains(&circuit.incident.tripped));
    }
}

/// The rows of agents that were active in the last 24 hours, and of their trees.
fn active_sessions(rows: &[(CircuitName, State)], now: Moment) -> BTreeSet<CircuitName> {
    let since = now.at.plus_millis(-SESSION_MS);
    let mut active = BTreeSet::new();
    for (name, state) in rows {
        match state {
            State::Agent(agent) if agent.last_seen.at > since => {
                active.insert(name.clone());
                active.insert(agent_tree_row(name, agent));
            }
            State::Tree(tree) if tree.last_seen.at > since => {
                active.insert(name.clone());
            }
            // What a model service said concerns every agent that begins something.
            State::Provider(_) => {
                active.insert(name.clone());
            }
            State::Agent(_)
            | State::Tree(_)
            | State::Constraint(_)
            | State::Exemptions(_)
            | State::PhaseRun(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_)
            | State::Control(_)
            | State::Ledger(_) => {}
        }
    }
    active
}

/// Returns the name of the row of the agent tree that an agent belongs to.
pub fn agent_tree_row(row: &CircuitName, agent: &AgentState) -> CircuitName {
    match &agent.root_session {
        Some(root) => CircuitName::tree(root),
        // The session is spelled the same in both names.
        None => {
            let session = row.scope().split('/').next().unwrap_or_default();
            CircuitName::from_stored(format!("tree/{session}"))
        }
    }
}

/// True if a row without an unclosed circuit counts as a closed one. What is over or retired is no circuit any more.
fn is_closed(state: &State) -> bool {
    match state {
        State::Agent(_) | State::Claim(_) => true,
        State::Constraint(circuit) => !circuit.is_retired(),
        State::PhaseRun(phase_run) => !matches!(phase_run.state, RunState::Over(_)),
        State::Slice(slice) => slice.is_begun(),
        // A tree belongs to agents that are counted themselves.
        State::Tree(_)
        | State::Provider(_)
        | State::Exemptions(_)
        | State::Pipeline(_)
        | State::Trust(_)
        | State::Control(_)
        | State::Ledger(_) => false,
    }
}

/// The circuits of one row that are not CLOSED, with the rest of their cooldowns.
fn unclosed(
    store: &impl Store,
    project: ProjectKey,
    name: &CircuitName,
    state: &State,
    now: Moment,
) -> Result<Vec<(Incident, Option<u64>)>, StoreError> {
    let left = |until: Option<Instant>| {
        until.and_then(|until| u64::try_from(until.as_millis() - now.at.as_millis()).ok()).filter(|left| *left > 0)
    };
    let one = |incident: Incident| {
        let remaining = left(incident.until).filter(|_| incident.state == IncidentState::Open);
        vec![(incident, remaining)]
    };
    Ok(match state {
        State::Agent(agent) => of_session(store, project, name, &agent.circuits, now)?,
        State::Tree(tree) => of_session(store, project, name, &tree.circuits, now)?,
        State::Provider(provider) => of_session(store, project, name, &provider.circuits, now)?,
        State::Constraint(circuit) => match circuit.trip() {
            Some(trip) => {
                let history = store.history(project, name, incident::EVIDENCE_MAX * 4)?;
                let incident = other_breakers::of_constraint(name, &trip.incident, circuit, &violations(&history), now);
                // Where the clocks are in doubt, nobody knows when the cooldown ends.
                let remaining = match circuit.state_at(now) {
                    CircuitStateAt::Open(_, Cooldown::Running { remaining_ms }) => Some(remaining_ms),
                    CircuitStateAt::Open(_, Cooldown::Unreadable | Cooldown::Over)
                    | CircuitStateAt::HalfOpen(_)
                    | CircuitStateAt::Closed
                    | CircuitStateAt::Retired(_) => None,
                };
                vec![(incident, remaining)]
            }
            None => Vec::new(),
        },
        State::PhaseRun(phase_run) => match &phase_run.state {
            RunState::Open(trip) => one(other_breakers::of_phase_run(name, &trip.incident, phase_run, now)),
            RunState::Warned => {
                let mut incident = other_breakers::of_phase_run(name, "", phase_run, now);
                let (at, kind) = (phase_run.changed.at, "half_opened");
                incident.after.push(IncidentEvent { at, kind, text: None, who: None });
                incident.reason = Some(match phase_run.no_progress {
                    0 => "the cooldown is over, and the next iteration decides".to_owned(),
                    count => format!("no progress for {}", counted(count, "iteration")),
                });
                one(incident)
            }
            RunState::Closed | RunState::Over(_) => Vec::new(),
        },
        State::Slice(slice) => {
            slice.trip().map(|trip| one(other_breakers::of_slice(name, &trip.incident, slice))).unwrap_or_default()
        }
        State::Claim(claim) => {
            let dispute = claim.dispute().and_then(|dispute| other_breakers::of_claim(name, &dispute.incident, claim));
            dispute.map(one).unwrap_or_default()
        }
        State::Exemptions(_) | State::Pipeline(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => {
            Vec::new()
        }
    })
}

fn of_session(
    store: &impl Store,
    project: ProjectKey,
    name: &CircuitName,
    circuits: &Circuits,
    now: Moment,
) -> Result<Vec<(Incident, Option<u64>)>, StoreError> {
    let ids: Vec<String> = circuits
        .tripped
        .iter()
        .map(|tripped| tripped.trip.incident.as_str())
        .chain(circuits.escalations.denying_limits())
        .map(str::to_owned)
        .collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let known = incident::from_history(name, &store.history(project, name, REASON_FACTS_MAX)?);
    let mut found = Vec::new();
    for id in ids {
        let tripped = circuits.tripped_by(&id).map(|tripped| &tripped.trip);
        let journaled = known.iter().find(|incident| incident.id == id).cloned();
        let Some(mut incident) = journaled.or_else(|| tripped.map(|trip| incident::from_trip(name, trip))) else {
            continue;
        };
        let (state, remaining_ms) = incident::session_state(Some(circuits), &incident, now);
        if state != IncidentState::Closed {
            incident.state = state;
            found.push((incident, remaining_ms));
        }
    }
    Ok(found)
}

/// A trip that the journal records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTrip {
    pub incident: String,
    pub circuit: CircuitName,
    pub breaker: BreakerName,
    /// The pattern, for the loop breaker.
    pub pattern: Option<Pattern>,
    pub at: Instant,
    /// External services wait because another limit was reached, which has an incident of its own (L10).
    is_consequence: bool,
}

/// What the journal says about a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTrips {
    /// The trips of all breakers, oldest first.
    pub trips: Vec<RecordedTrip>,
    /// How often haltline cleaned a memory folder.
    pub memory_cleanups: usize,
}

impl RecordedTrips {
    /// Searches the journal of a project for trips after `since`.
    pub fn read(store: &impl Store, project: ProjectKey, since: Instant) -> Result<Self, StoreError> {
        let mut found = Self::default();
        let mut end = store.head(project)?.seq;
        let oldest = end.saturating_sub(FACTS_MAX);
        while end > oldest {
            let start = end.saturating_sub(FACTS_CHUNK);
            let facts = store.journal(project, start, usize::try_from(end - start).unwrap_or(usize::MAX))?;
            let is_old = |entry: &crate::store::Entry| entry.read().is_ok_and(|content| content.at.at <= since);
            let is_over = facts.first().is_none_or(is_old) && facts.last().is_none_or(is_old);
            // Where old facts were deleted, the piece reaches into the one that was read before.
            for entry in facts.iter().filter(|entry| entry.seq <= end) {
                // Most facts are neither: they are told by their text before they are parsed.
                if !["\"tripped\"", "\"limited\"", "\"disputed\"", "\"trip\"", "\"memory_cleaned\""]
                    .iter()
                    .any(|name| entry.body.contains(name))
                {
                    continue;
                }
                let Ok(content) = entry.read() else { continue };
                let Some(fact) = content.fact else { continue };
                if let Fact::Agent(AgentFact::MemoryCleaned { .. }) = fact {
                    found.memory_cleanups += usize::from(content.at.at > since);
                }
                let Some((incident, tripped)) = fact.trip() else { continue };
                let at = tripped.unwrap_or(content.at).at;
                if at > since
                    && let Some(breaker) = breaker_of_fact(&fact)
                {
                    found.trips.push(RecordedTrip {
                        incident: incident.to_owned(),
                        circuit: entry.circuit.clone(),
                        breaker,
                        pattern: fact.as_circuit().and_then(CircuitFact::pattern),
                        at,
                        is_consequence: fact.as_circuit().is_some_and(is_consequence),
                    });
                }
            }
            if is_over {
                break;
            }
            end = start;
        }
        found.trips.sort_by(|one, other| (one.at, &one.incident).cmp(&(other.at, &other.incident)));
        // A state file that another program writes can bring the same trip again.
        found.trips.dedup_by(|one, other| one.incident == other.incident);
        // One cause counts once: a trip that another one followed is part of it.
        let followed: BTreeSet<String> = store
            .incidents(Some(project))?
            .into_iter()
            .filter(|stored| stored.end.as_ref().is_some_and(|end| end.followed_by.is_some()))
            .map(|stored| stored.start.id)
            .collect();
        found.trips.retain(|trip| !followed.contains(&trip.incident));
        let causes: BTreeSet<Instant> =
            found.trips.iter().filter(|trip| !trip.is_consequence).map(|trip| trip.at).collect();
        found.trips.retain(|trip| !trip.is_consequence || !causes.contains(&trip.at));
        Ok(found)
    }
}

/// True for the trip that only makes external services wait.
fn is_consequence(fact: &CircuitFact) -> bool {
    matches!(fact, CircuitFact::Tripped { trip } if trip.pattern == Pattern::ExternalApi && trip.count == 0)
}

fn breaker_of_fact(fact: &Fact) -> Option<BreakerName> {
    match fact {
        Fact::Agent(_) | Fact::Tree(_) | Fact::Provider(_) => Some(BreakerName::Loop),
        Fact::Constraint(_) => Some(BreakerName::Constraint),
        Fact::Phase(_) => Some(BreakerName::Phase),
        Fact::Attempt(_) => Some(BreakerName::Attempt),
        Fact::Claim(_) => Some(BreakerName::Claim),
        Fact::Exemption(_) | Fact::Pipeline(_) | Fact::Trust(_) | Fact::Control(_) | Fact::Ledger(_) => None,
    }
}
