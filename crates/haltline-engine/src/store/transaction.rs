//! One decision on the SQLite store: read, decide, write facts and state, commit.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use haltline_core::{CircuitName, Decision, Effect, Halt, Memory, State, apply, decide_with_rows};
use rusqlite::{Connection, params};

use super::entry::{Entry, Head};
use super::incident_table::{self, IncidentChanges};
use super::rows::{insert_entry, read_head};
use super::sqlite::Sqlite;
use super::{Committed, Provenance, StoreError, TransactionOutcome, latch, trim};
use crate::control::everywhere;
use crate::project::Project;

/// The size and age of the journal are checked every this many facts.
const TRIM_EVERY: u64 = 16;

/// A transaction's view of one project and, where a decision asks for them, of the rows that all projects share.
pub(super) struct Transaction<'a> {
    store: &'a Sqlite,
    connection: &'a Connection,
    project: &'a Project,
    /// The project that keeps what concerns everything.
    everything: OnceCell<Project>,
    /// Sequence number of the last fact of each row that was read.
    last: BTreeMap<CircuitName, u64>,
}

impl<'a> Transaction<'a> {
    /// Runs one decision, from the first read to the latches after the commit. The caller holds the writers' lock.
    pub(super) fn run(
        store: &'a Sqlite,
        connection: &'a Connection,
        project: &'a Project,
        provenance: Provenance<'_>,
        decide: &dyn Fn(&Memory) -> Result<Decision, Halt>,
    ) -> Result<TransactionOutcome, StoreError> {
        let fail = |error| store.database_error(error);
        connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
        let mut transaction = Self { store, connection, project, everything: OnceCell::new(), last: BTreeMap::new() };
        let mut before = Memory::default();
        let read = |names: &[CircuitName]| names.iter().map(|name| transaction.load(name)).collect();
        let decision = match decide_with_rows(&mut before, decide, read)? {
            Ok(decision) => decision,
            Err(rejection) => {
                connection.execute_batch("ROLLBACK").map_err(fail)?;
                return Ok(TransactionOutcome::Rejected(rejection));
            }
        };
        if decision.facts.is_empty() {
            let head = transaction.head(project)?.unwrap_or_default();
            connection.execute_batch("ROLLBACK").map_err(fail)?;
            let after = before.clone();
            return Ok(TransactionOutcome::Committed(Box::new(Committed { before, after, decision, head })));
        }
        let (after, head) = transaction.commit(&before, &decision, provenance)?;
        connection.execute_batch("COMMIT").map_err(fail)?;
        if decision.facts.iter().any(|recorded| recorded.fact.needs_sync()) {
            store.sync_log()?;
        }
        for name in decision.facts.iter().map(|recorded| &recorded.circuit).collect::<BTreeSet<_>>() {
            if let Some(state) = after.state(name) {
                latch::update(&store.latch_folder(), transaction.owner(name), name, before.state(name), state);
            }
        }
        Ok(TransactionOutcome::Committed(Box::new(Committed { before, after, decision, head })))
    }

    /// The project in whose journal the facts of a row are.
    fn owner(&self, name: &CircuitName) -> &Project {
        match name.is_machine_wide() {
            true => self.everything.get_or_init(|| everywhere(self.store.folder())),
            false => self.project,
        }
    }

    fn head(&self, project: &Project) -> Result<Option<Head>, StoreError> {
        read_head(self.connection, project.key).map_err(|error| self.store.database_error(error))
    }

    fn load(&mut self, name: &CircuitName) -> Result<Option<State>, StoreError> {
        let project = self.owner(name).key;
        let row = self.store.read_state(self.connection, project, name)?;
        self.store.check_latch(project, name, row.as_ref().map(|(_, state)| state))?;
        let Some((last, state)) = row else { return Ok(None) };
        self.last.insert(name.clone(), last);
        Ok(Some(state))
    }

    /// Writes facts, states and heads. Returns the rows as they are now, and the new head of the project.
    fn commit(
        &mut self,
        before: &Memory,
        decision: &Decision,
        provenance: Provenance<'_>,
    ) -> Result<(Memory, Head), StoreError> {
        let mut after = before.clone();
        let head = self.write_facts(false, before, &mut after, decision, provenance)?;
        if decision.facts.iter().any(|recorded| recorded.circuit.is_machine_wide()) {
            self.write_facts(true, before, &mut after, decision, provenance)?;
        }
        for effect in &decision.effects {
            if let Effect::Notify { circuit, incident } = effect {
                self.connection
                    .prepare_cached("INSERT INTO outbox (project, name, incident, attempts) VALUES (?1, ?2, ?3, 0)")
                    .and_then(|mut put| put.execute(params![self.owner(circuit).key.0, circuit.as_str(), incident]))
                    .map_err(|error| self.store.database_error(error))?;
            }
        }
        Ok((after, head))
    }

    /// Writes the facts of one journal: the project's, or that of what concerns everything.
    fn write_facts(
        &mut self,
        is_machine_wide: bool,
        before: &Memory,
        after: &mut Memory,
        decision: &Decision,
        provenance: Provenance<'_>,
    ) -> Result<Head, StoreError> {
        let fail = |error| self.store.database_error(error);
        let facts = || decision.facts.iter().filter(|recorded| recorded.circuit.is_machine_wide() == is_machine_wide);
        let project = match facts().next() {
            Some(recorded) => self.owner(&recorded.circuit).clone(),
            None => return Ok(self.head(self.project)?.unwrap_or_default()),
        };
        let stored_head = self.head(&project)?;
        let first_head = stored_head.unwrap_or_default();
        let mut head = first_head;
        let mut changed: BTreeMap<&CircuitName, State> = BTreeMap::new();
        for recorded in facts() {
            let name = &recorded.circuit;
            let previous = self.last.get(name).copied().unwrap_or_default();
            let entry = Entry::new(head, previous, recorded, provenance);
            insert_entry(self.connection, project.key.0, &entry).map_err(fail)?;
            head = Head { seq: entry.seq, hash: entry.hash };
            self.last.insert(name.clone(), entry.seq);
            let state = changed.remove(name).or_else(|| before.state(name).cloned());
            // Only a row that has, or gets, an open incident can change the table of incidents.
            let earlier = state.as_ref().filter(|state| !state.open_incidents().is_empty()).cloned();
            let state = apply(state, &recorded.fact, recorded.at);
            let changes = IncidentChanges::between(earlier.as_ref(), recorded, &state);
            if !changes.is_empty() {
                incident_table::write(self.connection, project.key, entry.seq, recorded, changes).map_err(fail)?;
            }
            changed.insert(name, state);
        }
        for (name, state) in changed {
            let text = serde_json::to_string(&state).expect("states hold nothing that JSON cannot");
            self.connection
                .prepare_cached(
                    "INSERT INTO circuit (project, name, last, state) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET last = ?3, state = ?4",
                )
                .and_then(|mut put| put.execute(params![project.key.0, name.as_str(), self.last[name], text]))
                .map_err(fail)?;
            after.insert(name.clone(), Some(state));
        }
        self.put_head(&project, stored_head.is_none(), head).map_err(fail)?;
        if head.seq / TRIM_EVERY != first_head.seq / TRIM_EVERY {
            trim::trim(self.store, self.connection, project.key)?;
        }
        Ok(head)
    }

    fn put_head(&self, project: &Project, is_new: bool, head: Head) -> rusqlite::Result<usize> {
        if is_new {
            return self.connection.execute(
                "INSERT INTO project (id, identity, seq, hash, anchor_seq, anchor_hash, oldest_seq)
                 VALUES (?1, ?2, ?3, ?4, 0, zeroblob(32), 1)",
                params![project.key.0, project.identity.as_os_str().as_encoded_bytes(), head.seq, head.hash],
            );
        }
        // The identity is written too: salvaging a damaged store may have lost it.
        let mut update =
            self.connection.prepare_cached("UPDATE project SET seq = ?2, hash = ?3, identity = ?4 WHERE id = ?1")?;
        let identity = project.identity.as_os_str().as_encoded_bytes();
        update.execute(params![project.key.0, head.seq, head.hash, identity])
    }
}
