//! State and journal, kept together (E1, E2). Nothing outside this folder opens the store.
//!
//! A store takes the pure decision as a function, runs it on what it read, and commits facts and state only if what it
//! read is unchanged; it may run the decision again. [`Sqlite`] keeps one file for all projects of a user, [`InMemory`]
//! serves embedders and tests; `tests/it/store_contract.rs` holds both to the same promises.

mod alone;
mod connection;
mod entry;
mod folded;
mod foreign_lock;
mod in_memory;
mod incident_table;
mod latch;
mod rows;
mod salvage;
mod schema;
mod sqlite;
mod stall;
mod transaction;
mod trim;

use std::collections::BTreeMap;
use std::path::PathBuf;

use haltline_core::{CircuitName, Decision, Halt, Instant, Memory, ROW_REQUESTS_MAX, Rejection, RowsError, State};

use crate::project::{Project, ProjectKey};

pub use entry::{Entry, EntryContent, Head, chain_hash};
pub use in_memory::InMemory;
pub use incident_table::{INCIDENTS_MAX, StoredIncident};
pub use salvage::Salvage;
pub use schema::SCHEMA_VERSION;
pub use sqlite::{Hold, Sqlite, SqliteOptions};

/// What every fact of a decision is recorded with.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'a> {
    /// Name of the event that caused the facts.
    pub cause: &'a str,
    /// Digest of the policy in force.
    pub policy: &'a str,
}

#[derive(Clone, Debug)]
pub struct Committed {
    /// The rows the decision read.
    pub before: Memory,
    /// The same rows after the commit.
    pub after: Memory,
    pub decision: Decision,
    /// The end of the project's journal after the commit.
    pub head: Head,
}

#[derive(Clone, Debug)]
pub enum TransactionOutcome {
    /// Facts and state are written.
    Committed(Box<Committed>),
    /// The event cannot happen; nothing was written.
    Rejected(Rejection),
}

/// The point a fold of the journal starts from.
#[derive(Clone, Debug, Default)]
pub struct Anchor {
    /// Facts after this one are folded.
    pub head: Head,
    /// The circuits as they were at `head`.
    pub states: Vec<(CircuitName, State)>,
    /// The time of the newest violation of a circuit whose fact was folded.
    pub folded_until: BTreeMap<CircuitName, Instant>,
}

/// A project that has a journal in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredProject {
    pub key: ProjectKey,
    pub identity: PathBuf,
    /// The end of its journal.
    pub head: Head,
}

/// A notification that has not reached a person yet (E16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    pub id: i64,
    /// The row whose circuit tripped.
    pub circuit: CircuitName,
    pub incident: String,
    /// Number of failed delivery attempts.
    pub attempts: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Other processes held the lock too long.
    #[error("the store {path} was busy for {waited_ms} ms{}; haltline wrote nothing, try again", describe_stall(*.is_stalled, .holder))]
    Busy {
        path: PathBuf,
        waited_ms: u128,
        /// True if nobody wrote to the store during the wait, so that the holder of the lock is not just slow.
        is_stalled: bool,
        /// The process that holds the lock, if it is stuck and the system says which one it is.
        holder: Option<String>,
    },
    /// A newer haltline wrote the store.
    #[error(
        "the store {path} has schema {found}, this haltline knows up to {known}; haltline reads it and never writes to it: upgrade haltline"
    )]
    Newer {
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest schema version this haltline knows.
        known: i64,
    },
    /// SQLite's shared memory does not work over a network.
    #[error(
        "the state folder {path} is on a network file system ({kind}), where concurrent counts can be lost; set HALTLINE_STATE_DIR to a local folder"
    )]
    Network {
        path: PathBuf,
        /// The kind of network file system.
        kind: &'static str,
    },
    #[error("the store {path}: {source}; {hint}")]
    Io {
        path: PathBuf,
        /// What the person can do about it.
        hint: &'static str,
        source: std::io::Error,
    },
    #[error("the store {path}: {source}; {hint}")]
    Database {
        path: PathBuf,
        /// What the person can do about it.
        hint: &'static str,
        source: rusqlite::Error,
    },
    /// A row cannot be read.
    #[error("the store {path}: circuit {circuit} cannot be read ({reason}); run `haltline journal verify`")]
    Row { path: PathBuf, circuit: String, reason: String },
    /// A decision asked for rows more often than any decision needs to, which is a bug in haltline.
    #[error("a decision asked for rows more than {ROW_REQUESTS_MAX} times; haltline wrote nothing: please report this")]
    EndlessDecision,
}

fn describe_stall(is_stalled: bool, holder: &Option<String>) -> String {
    match (is_stalled, holder) {
        (true, Some(holder)) => format!(": {holder} holds its lock and writes nothing; end that process"),
        (true, None) => ": another process holds its lock and writes nothing".to_owned(),
        (false, _) => String::new(),
    }
}

impl From<RowsError<StoreError>> for StoreError {
    fn from(error: RowsError<StoreError>) -> Self {
        match error {
            RowsError::Read(error) => error,
            RowsError::Endless => StoreError::EndlessDecision,
        }
    }
}

/// The promises every store keeps.
pub trait Store {
    /// Runs `decide` on the rows it asks for and commits the decision atomically. It may run `decide` several times.
    fn transact(
        &self,
        project: &Project,
        provenance: Provenance<'_>,
        decide: &dyn Fn(&Memory) -> Result<Decision, Halt>,
    ) -> Result<TransactionOutcome, StoreError>;

    fn circuit(&self, project: ProjectKey, name: &CircuitName) -> Result<Option<State>, StoreError>;

    /// All rows of a project, sorted by name.
    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError>;

    /// The newest facts of one row, newest first.
    fn history(&self, project: ProjectKey, name: &CircuitName, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// The facts of a project after a sequence number, oldest first; at most `limit`.
    fn journal(&self, project: ProjectKey, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// The state from which the project's remaining facts can be folded.
    fn anchor(&self, project: ProjectKey) -> Result<Anchor, StoreError>;

    /// The end of a project's journal.
    fn head(&self, project: ProjectKey) -> Result<Head, StoreError>;

    fn projects(&self) -> Result<Vec<StoredProject>, StoreError>;

    /// Deletes the texts of a session in all projects and returns the number of facts that lost theirs. Counts stay.
    fn purge(&self, session: &str) -> Result<usize, StoreError>;

    /// The records of incidents, of one project or of all, in no order.
    fn incidents(&self, project: Option<ProjectKey>) -> Result<Vec<StoredIncident>, StoreError>;

    /// The notifications of a project that are still to be sent.
    fn undelivered(&self, project: ProjectKey) -> Result<Vec<Undelivered>, StoreError>;

    /// Removes a message that was delivered, or counts a failed attempt; after [`DELIVERY_ATTEMPTS_MAX`] it is dropped.
    fn record_delivery(&self, id: i64, is_delivered: bool) -> Result<(), StoreError>;
}

pub const DELIVERY_ATTEMPTS_MAX: u32 = 5;
