//! Incidents of every breaker: what tripped, on what evidence, and how it ended.
//!
//! Notifications, `haltline why` and the incidents file are built from this one type and never from the rows
//! themselves, so that a field that one of them has is in all of them.

pub(crate) mod other_breakers;
mod record;
mod session;
mod timeline;

use std::io::Write;

use haltline_core::claim::{Claim, ListedStatus};
use haltline_core::constraint::CircuitState;
use haltline_core::identity::Digest;
use haltline_core::loop_::Pattern;
use haltline_core::{CircuitName, Decision, Instant, State};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use record::{IncidentLookup, IncidentRecord, one_per_cause};
pub use session::session_state;
pub(crate) use session::{from_history, from_trip, last_result, sample};

use crate::control::rows_with_providers;
use crate::engine::Engine;
use crate::file::{append_regular, reject_linked_folder};
use crate::mirror::violations;
use crate::store::{Store, StoreError};

/// Limit on the entries of evidence of one incident.
pub(crate) const EVIDENCE_MAX: usize = 10;
/// At most this many facts of a row are read for the line of an incident that has just happened.
const NEW_INCIDENT_FACTS_MAX: usize = 256;

/// At most this many facts of one row are read to collect its incidents.
const HISTORY_MAX: usize = 20_000;
/// File in which seed 002 keeps its incidents, in its memory folder.
pub const INCIDENTS_FILE: &str = "circuit_breaker_incidents.jsonl";

/// Something that happened before, during or after an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentEvent {
    pub at: Instant,
    /// The stable name of its kind; for a session the name of the fact.
    pub kind: &'static str,
    /// Its text, if it has one and was not purged.
    pub text: Option<String>,
    /// The person who did it, if one did.
    pub who: Option<String>,
}

/// One entry of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub event: IncidentEvent,
    /// What only this breaker knows, under the keys of version 1 of the notification.
    own_fields: Vec<(&'static str, Value)>,
}

/// The state of the circuit that tripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IncidentState {
    Closed,
    Open,
    HalfOpen,
    /// A constraint that was retired.
    Retired,
    /// A phase run that ended.
    Over,
    /// A slice that ended.
    Ended,
    /// A claim's OPEN.
    Disputed,
}

/// The breaker that tripped, with what only its incidents have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncidentBreaker {
    Loop {
        pattern: Pattern,
        /// What the circuit is about.
        key: Digest,
        /// The identities of the calls that it is about.
        calls: Vec<Digest>,
    },
    Constraint,
    Phase {
        phase: Option<String>,
    },
    Attempt,
    /// The texts have their secrets masked.
    Claim {
        status: ListedStatus,
        claim: String,
        dispute_reason: String,
        researcher_position: Option<String>,
        dispute_cycle: u64,
    },
}

/// One trip, with what led to it and what followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    pub id: String,
    /// The row whose circuit tripped.
    pub row: CircuitName,
    pub breaker: IncidentBreaker,
    /// What tripped it, in one word; `None` if the row has forgotten the trip.
    pub pattern: Option<&'static str>,
    /// A stable code with a page in the docs; `None` if the row has forgotten the trip.
    pub code: Option<&'static str>,
    pub state: IncidentState,
    /// When it tripped; `None` if the row has forgotten the trip.
    pub tripped: Option<Instant>,
    /// When the cooldown ends; `None` if only a person ends it.
    pub until: Option<Instant>,
    pub cooldown_ms: Option<u64>,
    /// Number of events that led to it.
    pub count: u32,
    /// Length of the streak of trips that this one continues, starting at 1; 0 for a limit and for breakers that count
    /// none.
    pub streak: u32,
    /// What it is about, such as a command; `None` if it was purged or is unknown.
    pub about: Option<String>,
    /// The agent's turn, if the row belongs to one agent.
    pub turn: Option<u64>,
    /// The reason, in words; `None` if it was purged or forgotten.
    pub reason: Option<String>,
    /// What the work has cost so far, in millionths of a dollar, if the row knows it.
    pub cost_micros: Option<u64>,
    /// What led to it, newest first where it has an order.
    pub evidence: Vec<Evidence>,
    /// What followed, oldest first.
    pub after: Vec<IncidentEvent>,
    /// Number of attempts denied since.
    pub denied: u32,
    /// The trip that replaced this one because its probe failed.
    pub followed_by: Option<String>,
    /// What closed it.
    pub closed: Option<IncidentEvent>,
    /// What a person can do, as commands.
    pub options: Vec<String>,
}

impl Evidence {
    fn new(event: IncidentEvent, own_fields: Vec<(&'static str, Value)>) -> Self {
        Self { event, own_fields }
    }

    /// `at`, the breaker's own keys, then `kind` and `text`, which every breaker has.
    fn to_json(&self) -> Value {
        let IncidentEvent { at, kind, text, .. } = &self.event;
        let mut entry = Map::new();
        entry.insert("at".to_owned(), at.to_string().into());
        entry.extend(self.own_fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        entry.insert("kind".to_owned(), (*kind).into());
        entry.insert("text".to_owned(), json!(text));
        Value::Object(entry)
    }
}

impl IncidentState {
    pub fn as_str(self) -> &'static str {
        match self {
            IncidentState::Closed => "CLOSED",
            IncidentState::Open => "OPEN",
            IncidentState::HalfOpen => "HALF_OPEN",
            IncidentState::Retired => "RETIRED",
            IncidentState::Over => "OVER",
            IncidentState::Ended => "ENDED",
            IncidentState::Disputed => "DISPUTED",
        }
    }
}

impl Incident {
    /// An incident of which nothing is known but its id.
    fn unknown(row: &CircuitName, id: &str, breaker: IncidentBreaker, state: IncidentState) -> Self {
        Self {
            id: id.to_owned(),
            row: row.clone(),
            breaker,
            pattern: None,
            code: None,
            state,
            tripped: None,
            until: None,
            cooldown_ms: None,
            count: 0,
            streak: 0,
            about: None,
            turn: None,
            reason: None,
            cost_micros: None,
            evidence: Vec::new(),
            after: Vec::new(),
            denied: 0,
            followed_by: None,
            closed: None,
            options: Vec::new(),
        }
    }

    /// The circuit's full name: a session's row has one circuit for each pattern, every other row is one circuit.
    pub fn circuit(&self) -> CircuitName {
        self.loop_pattern().map_or_else(|| self.row.clone(), |pattern| self.row.below(pattern.as_str()))
    }

    /// The pattern of the loop breaker, if that breaker tripped.
    pub fn loop_pattern(&self) -> Option<Pattern> {
        if let IncidentBreaker::Loop { pattern, .. } = self.breaker { Some(pattern) } else { None }
    }

    /// Since when the circuit is HALF_OPEN; `None` in any other state.
    pub fn half_open_since(&self) -> Option<Instant> {
        if self.state != IncidentState::HalfOpen {
            return None;
        }
        let opened = |event: &&IncidentEvent| matches!(event.kind, "half_opened" | "resumed");
        self.after.iter().rev().find(opened).map(|event| event.at).or(self.until)
    }

    /// What lets a HALF_OPEN circuit close.
    pub fn closing_text(&self) -> &'static str {
        match self.breaker {
            IncidentBreaker::Loop { pattern, .. } => pattern.closing_text(),
            IncidentBreaker::Constraint => "one clean action closes it, one violation opens it again",
            IncidentBreaker::Phase { .. } => "an iteration with progress closes it",
            IncidentBreaker::Attempt | IncidentBreaker::Claim { .. } => "a person decides",
        }
    }

    /// The incident as notifications carry it.
    pub(crate) fn to_json(&self, project: &str) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        put("schema", 1.into());
        put("incident", self.id.as_str().into());
        put("circuit", self.circuit().as_str().into());
        put("project", project.into());
        put("code", json!(self.code));
        if let IncidentBreaker::Phase { phase } = &self.breaker {
            put("phase", json!(phase));
        }
        // A claim's state is its status, also after a dispute.
        let state = match &self.breaker {
            IncidentBreaker::Claim { status, .. } => status.as_str(),
            _other => self.state.as_str(),
        };
        put("state", state.into());
        put("tripped", json!(self.tripped.map(|at| at.to_string())));
        put("until", json!(self.until.map(|at| at.to_string())));
        put("reason", json!(self.reason));
        put("cost_usd", json!(self.cost_micros.map(|micros| micros as f64 / 1e6)));
        if let IncidentBreaker::Claim { claim, dispute_reason, researcher_position, dispute_cycle, .. } = &self.breaker
        {
            put("claim", claim.as_str().into());
            put("dispute_reason", dispute_reason.as_str().into());
            put("researcher_position", json!(researcher_position));
            put("dispute_cycle", (*dispute_cycle).into());
        }
        put("evidence", self.evidence_json());
        put("options", json!(self.options));
        Value::Object(out)
    }

    /// The incident as a line of seed 002's incidents file.
    fn to_file_line(&self) -> String {
        let line = json!({
            "timestamp": self.tripped.map(|at| at.to_string()),
            "incident": self.id,
            "circuit": self.circuit().as_str(),
            "type": self.pattern,
            "reason": self.reason,
            "count": self.count,
            "cooldown_seconds": self.cooldown_ms.map(|millis| millis.div_ceil(1000)),
            "code": self.code,
            "until": self.until.map(|at| at.to_string()),
            "evidence": self.evidence_json(),
        });
        format!("{line}\n")
    }

    fn evidence_json(&self) -> Value {
        self.evidence.iter().map(Evidence::to_json).collect()
    }
}

impl<S: Store> Engine<S> {
    /// Every incident of this project that haltline still knows: all of the sessions and all disputes; of a constraint,
    /// a phase run and a slice the one that has not ended.
    pub fn known_incidents(&self) -> Result<Vec<Incident>, StoreError> {
        let mut found = self.incidents()?;
        for (name, state) in self.store().circuits(self.project().key)? {
            let ids: Vec<String> = match &state {
                State::Constraint(circuit) => match &circuit.state {
                    CircuitState::Open(trip) | CircuitState::HalfOpen(trip) => vec![trip.incident.clone()],
                    CircuitState::Closed | CircuitState::Retired { .. } => Vec::new(),
                },
                State::PhaseRun(phase_run) => phase_run.trip().map(|trip| trip.incident.clone()).into_iter().collect(),
                State::Slice(slice) => slice.trip().map(|trip| trip.incident.clone()).into_iter().collect(),
                State::Claim(claim) => disputes(claim),
                // Those of the sessions come from the journal.
                State::Agent(_) | State::Tree(_) | State::Provider(_) => Vec::new(),
                State::Exemptions(_) | State::Pipeline(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => {
                    Vec::new()
                }
            };
            for id in ids {
                found.extend(self.incident(&name, &state, &id)?);
            }
        }
        Ok(found)
    }

    /// The whole of an incident: what led to it and what followed, as far as the journal still has it.
    pub fn explain_incident(&self, record: &IncidentRecord) -> Result<Incident, StoreError> {
        let key = self.project().key;
        let history = self.store().history(key, &record.row, HISTORY_MAX)?;
        let state = self.store().circuit(key, &record.row)?;
        let known = match &state {
            Some(State::Agent(_) | State::Tree(_) | State::Provider(_)) => {
                from_history(&record.row, &history).into_iter().find(|known| known.id == record.id)
            }
            Some(state) => self.incident(&record.row, state, &record.id)?,
            None => None,
        };
        Ok(record.complete(known, &history))
    }

    /// The rows of this project, and those of the accounts that all projects share.
    pub fn rows(&self) -> Result<Vec<(CircuitName, State)>, StoreError> {
        rows_with_providers(self.store(), self.state_folder(), self.project().key)
    }

    /// All incidents of the agents in this project, newest first.
    pub fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        let mut incidents = Vec::new();
        for (name, state) in self.rows()? {
            if state.circuits().is_some_and(|circuits| circuits.trips > 0) {
                incidents.extend(self.incidents_in(&name)?);
            }
        }
        incidents.sort_by_key(|incident| std::cmp::Reverse(incident.tripped));
        Ok(incidents)
    }

    /// The row whose circuits have this incident, if it has not ended.
    pub fn row_with_incident(&self, incident: &str) -> Result<Option<CircuitName>, StoreError> {
        let found = self
            .rows()?
            .into_iter()
            .find(|(_, state)| state.circuits().is_some_and(|circuits| circuits.has_incident(incident)));
        Ok(found.map(|(name, _)| name))
    }

    /// The incidents of one row, newest first.
    pub fn incidents_in(&self, row: &CircuitName) -> Result<Vec<Incident>, StoreError> {
        Ok(from_history(row, &self.store().history(self.project().key, row, HISTORY_MAX)?))
    }

    /// One incident of a row; `None` if the row does not know it any more.
    pub(crate) fn incident(&self, row: &CircuitName, state: &State, id: &str) -> Result<Option<Incident>, StoreError> {
        Ok(match state {
            State::Agent(_) | State::Tree(_) | State::Provider(_) => {
                self.incidents_in(row)?.into_iter().find(|known| known.id == id)
            }
            State::Constraint(circuit) => {
                let history = self.store().history(self.project().key, row, HISTORY_MAX)?;
                let incident = other_breakers::of_constraint(row, id, circuit, &violations(&history), self.now());
                Some(timeline::with_evidence(incident, &history))
            }
            State::PhaseRun(phase_run) => {
                let history = self.store().history(self.project().key, row, HISTORY_MAX)?;
                let incident = other_breakers::of_phase_run(row, id, phase_run, self.now());
                Some(timeline::with_evidence(incident, &history))
            }
            State::Slice(slice) => {
                let history = self.store().history(self.project().key, row, HISTORY_MAX)?;
                Some(timeline::with_evidence(other_breakers::of_slice(row, id, slice), &history))
            }
            State::Claim(claim) => {
                let history = self.store().history(self.project().key, row, HISTORY_MAX)?;
                let incident = other_breakers::of_claim(row, id, claim);
                incident.map(|incident| timeline::with_evidence(incident, &history))
            }
            State::Exemptions(_) | State::Pipeline(_) | State::Trust(_) | State::Control(_) | State::Ledger(_) => None,
        })
    }

    /// Appends trips to seed 002's incidents file if the project has seed 002's memory folder (L10).
    pub(crate) fn write_incidents(&self, decision: &Decision) {
        let tripped = recorded_trips(decision);
        if tripped.is_empty() {
            return;
        }
        let folder = self.project().root.join(self.config().memory_directory());
        if !folder.is_dir() {
            return;
        }
        let lines: String = tripped.into_iter().map(|incident| self.incident_line(incident)).collect();
        let file = folder.join(INCIDENTS_FILE);
        let append = || {
            reject_linked_folder(&self.project().root, &folder)?;
            append_regular(&file)?.write_all(lines.as_bytes())
        };
        if let Err(error) = append() {
            self.add_notice(format!("{}: {error}", file.display()));
        }
    }

    /// The line of seed 002's incidents file for a trip that was just recorded, with the evidence of its row.
    fn incident_line(&self, recorded: Incident) -> String {
        let row = &recorded.row;
        let history = self.store().history(self.project().key, row, NEW_INCIDENT_FACTS_MAX).unwrap_or_default();
        let found = from_history(row, &history).into_iter().find(|known| known.id == recorded.id);
        found.unwrap_or(recorded).to_file_line()
    }
}

/// The trips of sessions that a decision records, without evidence.
fn recorded_trips(decision: &Decision) -> Vec<Incident> {
    decision.facts.iter().filter_map(session::from_fact).collect()
}

/// The ids of a claim's disputes, including resolved ones.
fn disputes(claim: &Claim) -> Vec<String> {
    let resolved = claim.resolved_disputes.iter().map(|resolved| &resolved.dispute);
    resolved.chain(claim.dispute()).map(|dispute| dispute.incident.clone()).collect()
}
