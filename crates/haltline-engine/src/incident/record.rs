//! The list of incidents: the store's table, completed by what the rows and the journal know.

use haltline_core::identity::Digest;
use haltline_core::loop_::{CircuitState, Pattern};
use haltline_core::{CircuitName, IncidentEnd, Instant, Moment, State, code_page, constraint};

use super::timeline::{Timeline, trip_of};
use super::{Incident, IncidentBreaker, IncidentEvent, IncidentState};
use crate::claims::claim_options;
use crate::control::everywhere;
use crate::engine::Engine;
use crate::notify::{phase_run_options, slice_options};
use crate::project::ProjectKey;
use crate::store::{Entry, Store, StoreError, StoredIncident};

/// One line of the list of incidents.
#[derive(Clone, Debug)]
pub struct IncidentRecord {
    pub id: String,
    /// The folder that identifies the project.
    pub project: String,
    pub project_key: ProjectKey,
    /// The row whose circuit tripped.
    pub row: CircuitName,
    /// What tripped, in one word.
    pub pattern: String,
    /// A stable code with a page in the docs.
    pub code: String,
    pub state: IncidentState,
    pub tripped: Instant,
    pub until: Option<Instant>,
    pub count: u32,
    /// What the circuit of a session is about.
    pub key: Option<Digest>,
    pub calls: Vec<Digest>,
    /// What it is about, such as a command; `None` if it was purged or is unknown.
    pub about: Option<String>,
    pub reason: Option<String>,
    /// How it ended; `None` while it is open.
    pub end: Option<IncidentEnd>,
    pub end_reason: Option<String>,
    /// The earlier trips of the same cause, newest first: each ended because its probe failed and the circuit opened
    /// again. Only [`one_per_cause`] fills it.
    pub earlier: Vec<String>,
    /// Number of the fact that began it, if the table has it.
    seq: Option<u64>,
}

/// Why no incident was found.
#[derive(Clone, Debug)]
pub enum IncidentLookup {
    /// Nothing here fits.
    Nothing,
    /// No incident has this id.
    Unknown,
    /// Several ids begin like this.
    Ambiguous(Vec<IncidentRecord>),
    /// The incident belongs to another project.
    Elsewhere(Box<IncidentRecord>),
}

impl IncidentRecord {
    fn from_stored(stored: StoredIncident, project: String) -> Self {
        let StoredIncident { project: project_key, row, seq, start, end, texts } = stored;
        let state = if end.is_some() { IncidentState::Closed } else { IncidentState::Open };
        Self {
            id: start.id,
            project,
            project_key,
            row,
            pattern: start.pattern,
            code: start.code,
            state,
            tripped: start.at,
            until: start.until,
            count: start.count,
            key: start.key,
            calls: start.calls,
            about: texts.about,
            reason: texts.reason,
            end,
            end_reason: texts.end_reason,
            earlier: Vec::new(),
            seq: Some(seq),
        }
    }

    /// An incident that began before the store had its table.
    fn from_incident(incident: &Incident, project: String, project_key: ProjectKey) -> Option<Self> {
        let (key, calls) = match &incident.breaker {
            IncidentBreaker::Loop { key, calls, .. } => (Some(*key), calls.clone()),
            IncidentBreaker::Constraint
            | IncidentBreaker::Phase { .. }
            | IncidentBreaker::Attempt
            | IncidentBreaker::Claim { .. } => (None, Vec::new()),
        };
        let end = |closed: &IncidentEvent| IncidentEnd {
            at: closed.at,
            how: closed.kind.to_owned(),
            who: closed.who.clone(),
            followed_by: None,
        };
        let replaced = incident.followed_by.as_ref().map(|follower| IncidentEnd {
            at: incident.after.last().map_or_else(|| incident.tripped.unwrap_or_default(), |event| event.at),
            how: "tripped".to_owned(),
            who: None,
            followed_by: Some(follower.clone()),
        });
        Some(Self {
            id: incident.id.clone(),
            project,
            project_key,
            row: incident.row.clone(),
            pattern: incident.pattern?.to_owned(),
            code: incident.code?.to_owned(),
            state: incident.state,
            tripped: incident.tripped?,
            until: incident.until,
            count: incident.count,
            key,
            calls,
            about: incident.about.clone(),
            reason: incident.reason.clone(),
            end: incident.closed.as_ref().map(end).or(replaced),
            end_reason: incident.closed.as_ref().and_then(|closed| closed.text.clone()),
            earlier: Vec::new(),
            seq: None,
        })
    }

    /// The name of the breaker.
    pub fn breaker(&self) -> &'static str {
        match self.row.prefix() {
            "constraint" => "constraint",
            "phase" => "phase",
            "attempt" => "attempt",
            "claim" => "claim",
            _session => "loop",
        }
    }

    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// The pattern of the loop breaker, if that breaker tripped.
    pub fn loop_pattern(&self) -> Option<Pattern> {
        let parsed = serde_json::from_value(serde_json::Value::String(self.pattern.clone())).ok();
        parsed.filter(|_| self.breaker() == "loop")
    }

    /// Orders incidents by age, the newest last. Of one moment's incidents the cause counts as the newest.
    fn age_rank(&self) -> (Instant, bool, Option<u64>) {
        (self.tripped, !self.is_consequence(), self.seq)
    }

    /// True if haltline only made external services wait because another limit was reached (L10): that limit is the
    /// cause, and has an incident of its own.
    fn is_consequence(&self) -> bool {
        self.count == 0 && self.loop_pattern() == Some(Pattern::ExternalApi)
    }

    /// The circuit as people see it.
    pub fn circuit(&self) -> CircuitName {
        if self.breaker() == "loop" { self.row.below(&self.pattern) } else { self.row.clone() }
    }

    /// Brings the state up to date with the row.
    fn with_row(mut self, row: Option<&State>, now: Moment) -> Self {
        if self.end.is_some() {
            return self;
        }
        match row.and_then(|row| live_state(row, &self.id, now)) {
            Some(state) => self.state = state,
            None => {
                self.state = IncidentState::Closed;
                let (at, how) = (self.tripped, "session_over".to_owned());
                self.end = Some(IncidentEnd { at, how, who: None, followed_by: None });
            }
        }
        self
    }

    /// The incident with everything that is known of it. `known` is what the row or the journal says, `history` the row's
    /// facts, newest first.
    pub(super) fn complete(&self, known: Option<Incident>, history: &[Entry]) -> Incident {
        let is_loop = self.breaker() == "loop";
        let has_row = known.is_some();
        let mut incident = known.unwrap_or_else(|| {
            let breaker = match (self.loop_pattern(), self.key) {
                (Some(pattern), Some(key)) => IncidentBreaker::Loop { pattern, key, calls: self.calls.clone() },
                (Some(_) | None, _) if self.breaker() == "phase" => IncidentBreaker::Phase { phase: None },
                (Some(_) | None, _) if self.breaker() == "attempt" => IncidentBreaker::Attempt,
                (Some(_) | None, _) => IncidentBreaker::Constraint,
            };
            Incident::unknown(&self.row, &self.id, breaker, self.state)
        });
        incident.state = self.state;
        incident.about = incident.about.take().or_else(|| self.about.clone());
        incident.code = code_page(&self.code).map(|page| page.code);
        incident.pattern = incident.pattern.or_else(|| code_page(&self.code).map(|page| page.pattern));
        incident.tripped = Some(self.tripped);
        incident.until = self.until;
        incident.count = self.count;
        incident.reason = self.reason.clone().or_else(|| incident.reason.take());
        if !is_loop || !has_row {
            let trip = self.seq.or_else(|| trip_of(history, &self.id));
            if let Some(trip) = trip.filter(|_| !is_loop) {
                let timeline = Timeline::read(history, trip, self.end.as_ref().map(|end| end.at));
                if incident.evidence.is_empty() {
                    incident.evidence = timeline.evidence;
                }
                incident.after = timeline.after;
                incident.denied = timeline.denied;
            }
        }
        if let Some(end) = &self.end {
            incident.followed_by = end.followed_by.clone();
            let (at, text, who) = (end.at, self.end_reason.clone(), end.who.clone());
            incident.closed =
                end.followed_by.is_none().then(|| IncidentEvent { at, kind: ending_name(&end.how), text, who });
        }
        incident.options = match self.breaker() {
            "phase" => phase_run_options(&self.row),
            "attempt" => slice_options(&self.row),
            "claim" => claim_options(&self.row),
            _other => incident.options,
        };
        incident
    }
}

/// The incidents with one line for each cause. A trip whose probe failed is part of the trip that followed, and the wait
/// of external services is part of the limit that was reached. The order stays.
pub fn one_per_cause(records: Vec<IncidentRecord>) -> Vec<IncidentRecord> {
    let is_part = |record: &IncidentRecord| {
        let follower = record.end.as_ref().and_then(|end| end.followed_by.as_deref());
        records.iter().any(|other| {
            let is_follower = follower == Some(other.id.as_str());
            let is_cause = record.is_consequence() && !other.is_consequence() && other.tripped == record.tripped;
            other.project_key == record.project_key && (is_follower || is_cause)
        })
    };
    let earlier_than = |record: &IncidentRecord| {
        let mut chain = Vec::new();
        let mut last = record.id.as_str();
        // Each step finds an older trip, so the chain ends; the limit guards against a damaged table.
        while chain.len() < records.len() {
            let leads_to = |other: &&IncidentRecord| {
                other.project_key == record.project_key
                    && other.end.as_ref().is_some_and(|end| end.followed_by.as_deref() == Some(last))
            };
            let Some(before) = records.iter().find(leads_to) else { break };
            last = &before.id;
            chain.push(before.id.clone());
        }
        chain
    };
    let whole = records.iter().filter(|record| !is_part(record));
    whole.map(|record| IncidentRecord { earlier: earlier_than(record), ..record.clone() }).collect()
}

/// How an incident ended, in words.
fn ending_name(how: &str) -> &'static str {
    match how {
        "recovered" => "recovered",
        "lapsed" => "lapsed",
        "allowance_used" => "allowed one call",
        "reset" => "reset",
        "false_alarm" => "false positive",
        "retired" => "retired",
        "modified" => "resumed with guidance",
        "skipped" => "phase skipped",
        "aborted" => "aborted",
        "began" => "new run",
        "finished" => "run finished",
        "half_opened" => "cooldown over",
        "ended" => "slice ended",
        "new_data" => "resolved by new data",
        "drop" => "claim dropped",
        "override" => "decided by a person",
        "reexamination" => "answered by a re-examination",
        "adopted" => "imported from a state file",
        "session_over" => "session over",
        _other => "ended",
    }
}

impl IncidentRecord {
    /// How it ended, in words; `None` while it is open.
    pub fn ending(&self) -> Option<&'static str> {
        let end = self.end.as_ref()?;
        Some(if end.followed_by.is_some() { "opened again" } else { ending_name(&end.how) })
    }
}

/// The state of an open incident; `None` if the row does not have it any more.
fn live_state(row: &State, id: &str, now: Moment) -> Option<IncidentState> {
    if !row.open_incidents().contains(&id) {
        return None;
    }
    Some(match row {
        State::Agent(_) | State::Tree(_) | State::Provider(_) => {
            let circuits = row.circuits()?;
            match circuits.tripped_by(id).map(|tripped| circuits.state_at(tripped.trip.key, now)) {
                Some(CircuitState::HalfOpen(..) | CircuitState::Probing(_)) => IncidentState::HalfOpen,
                Some(CircuitState::Open(_) | CircuitState::Closed) | None => IncidentState::Open,
            }
        }
        State::Constraint(circuit) => match circuit.state_at(now).name() {
            constraint::StateName::HalfOpen => IncidentState::HalfOpen,
            constraint::StateName::Open | constraint::StateName::Closed | constraint::StateName::Retired => {
                IncidentState::Open
            }
        },
        State::PhaseRun(phase_run) => match phase_run.trip().and_then(|trip| trip.cooldown_ended_at(now)) {
            Some(_) => IncidentState::HalfOpen,
            None => IncidentState::Open,
        },
        State::Claim(_) => IncidentState::Disputed,
        State::Slice(_)
        | State::Exemptions(_)
        | State::Pipeline(_)
        | State::Trust(_)
        | State::Control(_)
        | State::Ledger(_) => IncidentState::Open,
    })
}

impl<S: Store> Engine<S> {
    /// The incidents of this project, or of all projects: open ones first, then the newest first.
    pub fn incident_records(&self, is_all: bool) -> Result<Vec<IncidentRecord>, StoreError> {
        let (own, now) = (self.project().key, self.now());
        let projects = self.store().projects()?;
        let name = |key: ProjectKey| {
            let known = projects.iter().find(|project| project.key == key);
            known.map_or_else(String::new, |project| project.identity.display().to_string())
        };
        let mut records = Vec::new();
        let mut stored = self.store().incidents((!is_all).then_some(own))?;
        let everything = everywhere(self.state_folder()).key;
        if !is_all && everything != own {
            stored.extend(self.store().incidents(Some(everything))?);
        }
        for mut stored in stored {
            if stored.row.is_machine_wide() {
                // It concerns every project of the machine, and a person can act on it in each.
                stored.project = own;
            }
            let (key, row) = (stored.project, stored.row.clone());
            let state = if stored.end.is_none() { self.store().circuit(key, &row)? } else { None };
            records.push(IncidentRecord::from_stored(stored, name(key)).with_row(state.as_ref(), now));
        }
        for incident in self.known_incidents()? {
            if records.iter().any(|known: &IncidentRecord| known.project_key == own && known.id == incident.id) {
                continue;
            }
            let state = self.store().circuit(own, &incident.row)?;
            let record = IncidentRecord::from_incident(&incident, name(own), own);
            records.extend(record.map(|record| record.with_row(state.as_ref(), now)));
        }
        records.sort_by_key(|record| {
            let rank = match record.state {
                _ if !record.is_open() => 2,
                IncidentState::HalfOpen => 1,
                _waits => 0,
            };
            (rank, std::cmp::Reverse((record.tripped, record.seq)))
        });
        Ok(records)
    }

    /// The incident with this id or unique prefix or, without one, the newest of this project that fits.
    pub fn find_incident(
        &self,
        wanted: Option<&str>,
        fits: impl Fn(&IncidentRecord) -> bool,
    ) -> Result<Result<IncidentRecord, IncidentLookup>, StoreError> {
        let mut records = self.incident_records(wanted.is_some())?;
        let Some(wanted) = wanted.map(str::to_ascii_lowercase) else {
            let newest = records.into_iter().filter(|record| fits(record)).max_by_key(IncidentRecord::age_rank);
            return Ok(newest.ok_or(IncidentLookup::Nothing));
        };
        if let Some(index) = records.iter().position(|record| record.id == wanted) {
            let record = records.swap_remove(index);
            return Ok(if record.project_key == self.project().key {
                Ok(record)
            } else {
                Err(IncidentLookup::Elsewhere(Box::new(record)))
            });
        }
        let own = self.project().key;
        records.retain(|record| record.project_key == own && !wanted.is_empty() && record.id.starts_with(&wanted));
        Ok(match (records.pop(), records.is_empty()) {
            (None, _) => Err(IncidentLookup::Unknown),
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                records.push(last);
                Err(IncidentLookup::Ambiguous(records))
            }
        })
    }
}
