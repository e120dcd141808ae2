//! A store without a disk, for embedders and tests.
//!
//! It decides without holding its lock and commits only if nothing it read has changed meanwhile; otherwise it decides
//! again. This is the optimistic half of the contract that [`super::Sqlite`] keeps with a lock.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haltline_core::{CircuitName, Decision, Effect, Halt, Memory, Recorded, State, apply, decide_with_rows};

use super::entry::{Entry, Head};
use super::incident_table::{INCIDENTS_MAX, IncidentChanges, StoredIncident, short, storable};
use super::{
    Anchor, Committed, DELIVERY_ATTEMPTS_MAX, Provenance, Store, StoreError, StoredProject, TransactionOutcome,
    Undelivered,
};
use crate::control::everywhere;
use crate::project::{Project, ProjectKey};

/// A store that keeps everything in memory.
#[derive(Debug, Default)]
pub struct InMemory {
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    projects: BTreeMap<ProjectKey, OneProject>,
    outbox: Vec<(ProjectKey, Undelivered)>,
    /// Oldest first.
    incidents: Vec<StoredIncident>,
    last_message_id: i64,
}

#[derive(Debug, Default)]
struct OneProject {
    identity: std::path::PathBuf,
    circuits: BTreeMap<CircuitName, Row>,
    facts: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Row {
    last: u64,
    state: State,
}

impl OneProject {
    fn head(&self) -> Head {
        self.facts.last().map_or_else(Head::default, |entry| Head { seq: entry.seq, hash: entry.hash })
    }
}

impl InMemory {
    fn content(&self) -> MutexGuard<'_, Content> {
        // A panic elsewhere cannot have left half a commit: a commit consists of operations that cannot fail.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows with these names; each carries the number of its last fact.
    fn rows(&self, project: ProjectKey, names: &[CircuitName]) -> Vec<Option<Row>> {
        let content = self.content();
        let row = |name: &CircuitName| content.projects.get(&owner(project, name))?.circuits.get(name).cloned();
        names.iter().map(row).collect()
    }

    fn with_project<T>(&self, project: ProjectKey, read: impl Fn(&OneProject) -> T) -> Option<T> {
        self.content().projects.get(&project).map(read)
    }
}

/// The project in whose journal the facts of a row are; what concerns everything has one of its own.
fn owner(project: ProjectKey, name: &CircuitName) -> ProjectKey {
    if name.is_machine_wide() { everywhere(Path::new("")).key } else { project }
}

/// Keeps what a fact changed, as the table of the SQLite store does.
fn keep_incidents(
    incidents: &mut Vec<StoredIncident>,
    project: ProjectKey,
    seq: u64,
    recorded: &Recorded,
    changes: IncidentChanges,
) {
    let IncidentChanges { begun, ended } = changes;
    for (id, end) in ended {
        let known = incidents.iter_mut().find(|known| known.project == project && known.start.id == id);
        if let Some(incident) = known {
            incident.texts.end_reason = IncidentChanges::end_reason(recorded).as_deref().map(short);
            incident.end = Some(end);
        }
    }
    if let Some((start, texts)) = begun {
        let (row, texts) = (recorded.circuit.clone(), storable(texts));
        incidents.push(StoredIncident { project, row, seq, start, end: None, texts });
        let count = incidents.iter().filter(|known| known.project == project).count();
        let oldest = |known: &StoredIncident| known.project == project && known.end.is_some();
        if let Some(index) = incidents.iter().position(oldest).filter(|_| count > INCIDENTS_MAX) {
            incidents.remove(index);
        }
    }
}

impl Store for InMemory {
    fn transact(
        &self,
        project: &Project,
        provenance: Provenance<'_>,
        decide: &dyn Fn(&Memory) -> Result<Decision, Halt>,
    ) -> Result<TransactionOutcome, StoreError> {
        'again: loop {
            let mut before = Memory::default();
            let mut versions: BTreeMap<CircuitName, u64> = BTreeMap::new();
            let read = |names: &[CircuitName]| {
                let rows = self.rows(project.key, names);
                for (name, row) in names.iter().zip(&rows) {
                    versions.insert(name.clone(), row.as_ref().map_or(0, |row| row.last));
                }
                Ok(rows.into_iter().map(|row| row.map(|row| row.state)).collect())
            };
            let decision = match decide_with_rows(&mut before, decide, read)? {
                Ok(decision) => decision,
                Err(rejection) => return Ok(TransactionOutcome::Rejected(rejection)),
            };
            if decision.facts.is_empty() {
                let head = self.with_project(project.key, OneProject::head).unwrap_or_default();
                let after = before.clone();
                return Ok(TransactionOutcome::Committed(Box::new(Committed { before, after, decision, head })));
            }
            let mut content = self.content();
            let Content { projects, outbox, incidents, last_message_id } = &mut *content;
            for (name, version) in &versions {
                let row = projects.get(&owner(project.key, name)).and_then(|project| project.circuits.get(name));
                if row.map_or(0, |row| row.last) != *version {
                    continue 'again;
                }
            }
            let mut after = before.clone();
            for recorded in &decision.facts {
                let key = owner(project.key, &recorded.circuit);
                let stored = projects.entry(key).or_default();
                if key == project.key {
                    stored.identity.clone_from(&project.identity);
                }
                let row = stored.circuits.remove(&recorded.circuit);
                let previous = row.as_ref().map_or(0, |row| row.last);
                let entry = Entry::new(stored.head(), previous, recorded, provenance);
                let earlier = row.as_ref().map(|row| row.state.clone());
                let state = apply(row.map(|row| row.state), &recorded.fact, recorded.at);
                let changes = IncidentChanges::between(earlier.as_ref(), recorded, &state);
                keep_incidents(incidents, key, entry.seq, recorded, changes);
                after.insert(recorded.circuit.clone(), Some(state.clone()));
                stored.circuits.insert(recorded.circuit.clone(), Row { last: entry.seq, state });
                stored.facts.push(entry);
            }
            for effect in &decision.effects {
                if let Effect::Notify { circuit, incident } = effect {
                    *last_message_id += 1;
                    let message = Undelivered {
                        id: *last_message_id,
                        circuit: circuit.clone(),
                        incident: incident.clone(),
                        attempts: 0,
                    };
                    outbox.push((owner(project.key, circuit), message));
                }
            }
            let head = projects.get(&project.key).map(OneProject::head).unwrap_or_default();
            return Ok(TransactionOutcome::Committed(Box::new(Committed { before, after, decision, head })));
        }
    }

    fn circuit(&self, project: ProjectKey, name: &CircuitName) -> Result<Option<State>, StoreError> {
        let project = owner(project, name);
        Ok(self.with_project(project, |project| project.circuits.get(name).map(|row| row.state.clone())).flatten())
    }

    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError> {
        let all = |project: &OneProject| {
            project.circuits.iter().map(|(name, row)| (name.clone(), row.state.clone())).collect()
        };
        Ok(self.with_project(project, all).unwrap_or_default())
    }

    fn history(&self, project: ProjectKey, name: &CircuitName, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let newest = |project: &OneProject| {
            project.facts.iter().rev().filter(|entry| entry.circuit == *name).take(limit).cloned().collect()
        };
        Ok(self.with_project(owner(project, name), newest).unwrap_or_default())
    }

    fn journal(&self, project: ProjectKey, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let later = |project: &OneProject| {
            project.facts.iter().filter(|entry| entry.seq > after).take(limit).cloned().collect()
        };
        Ok(self.with_project(project, later).unwrap_or_default())
    }

    fn anchor(&self, _project: ProjectKey) -> Result<Anchor, StoreError> {
        Ok(Anchor::default())
    }

    fn head(&self, project: ProjectKey) -> Result<Head, StoreError> {
        Ok(self.with_project(project, OneProject::head).unwrap_or_default())
    }

    fn projects(&self) -> Result<Vec<StoredProject>, StoreError> {
        let content = self.content();
        let stored_project = |(key, project): (&ProjectKey, &OneProject)| StoredProject {
            key: *key,
            identity: project.identity.clone(),
            head: project.head(),
        };
        Ok(content.projects.iter().map(stored_project).collect())
    }

    fn purge(&self, session: &str) -> Result<usize, StoreError> {
        let mut content = self.content();
        let mut purged = 0;
        for entry in content.projects.values_mut().flat_map(|project| &mut project.facts) {
            let belongs_to_session =
                entry.circuit.belongs_to_session(session) || entry.texts().session.as_deref() == Some(session);
            if entry.texts.as_ref().is_some_and(|texts| texts != "{}") && belongs_to_session {
                entry.texts = None;
                purged += 1;
            }
        }
        for incident in content.incidents.iter_mut().filter(|incident| incident.row.belongs_to_session(session)) {
            incident.texts = haltline_core::IncidentTexts::default();
        }
        Ok(purged)
    }

    fn incidents(&self, project: Option<ProjectKey>) -> Result<Vec<StoredIncident>, StoreError> {
        let content = self.content();
        let found = content.incidents.iter().filter(|incident| project.is_none_or(|key| incident.project == key));
        Ok(found.cloned().collect())
    }

    fn undelivered(&self, project: ProjectKey) -> Result<Vec<Undelivered>, StoreError> {
        let content = self.content();
        let waiting = content.outbox.iter().filter(|(owner, _)| *owner == project);
        Ok(waiting.map(|(_, message)| message.clone()).collect())
    }

    fn record_delivery(&self, id: i64, is_delivered: bool) -> Result<(), StoreError> {
        let mut content = self.content();
        for (_, message) in &mut content.outbox {
            message.attempts += u32::from(message.id == id);
        }
        content
            .outbox
            .retain(|(_, message)| message.id != id || (!is_delivered && message.attempts < DELIVERY_ATTEMPTS_MAX));
        Ok(())
    }
}
