//! Where state and journal live together (E1, E2). Nothing outside this folder opens the store.
//!
//! A store takes the pure decision as a function, runs it on what it read, and commits facts and state only if
//! what was read is unchanged; it may run the decision again. [`Sqlite`] keeps one file for all projects of a
//! user, [`InMemory`] serves embedders and tests; `tests/store_contract.rs` holds both to the same promises.

mod entry;
mod in_memory;
mod latch;
mod rows;
mod salvage;
mod schema;
mod sqlite;
mod transaction;
mod trim;

use std::path::PathBuf;

use haltline_core::{CircuitName, Decision, Memory, Rejection, State, Step};

use crate::project::{Project, ProjectKey};

pub use entry::{Entry, Head, Link, link};
pub use in_memory::InMemory;
pub use salvage::Salvage;
pub use schema::SCHEMA_VERSION;
pub use sqlite::{Sqlite, SqliteOptions};

/// What a decision is written down under.
#[derive(Clone, Copy, Debug)]
pub struct Writing<'a> {
    /// The event that caused the facts.
    pub cause: &'a str,
    /// The policy's digest.
    pub policy: &'a str,
}

/// A committed decision.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The rows the decision read.
    pub before: Memory,
    /// The same rows after it.
    pub after: Memory,
    /// The decision.
    pub decision: Decision,
    /// The end of the project's journal after it.
    pub head: Head,
}

/// How a transaction ended.
#[derive(Clone, Debug)]
pub enum Outcome {
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
    /// The circuits as they were there.
    pub states: Vec<(CircuitName, State)>,
}

/// A project the store knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub key: ProjectKey,
    /// Its identity.
    pub identity: PathBuf,
    /// The end of its journal.
    pub head: Head,
}

/// A message that has not reached a person yet (E16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Its number.
    pub id: i64,
    /// The circuit that tripped.
    pub circuit: CircuitName,
    /// The trip.
    pub incident: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Others held it too long.
    #[error("the store {path} was busy for {waited_ms} ms; nothing was written, try again")]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited.
        waited_ms: u128,
    },
    /// A newer haltline wrote it.
    #[error(
        "the store {path} has schema {found}, this haltline knows up to {known}; it is read but never written: upgrade haltline"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// SQLite's shared memory does not work over a network.
    #[error(
        "the state folder {path} is on a network file system ({kind}), where concurrent counts can be lost; set HALTLINE_STATE_DIR to a local folder"
    )]
    Network {
        /// The folder.
        path: PathBuf,
        /// What kind.
        kind: &'static str,
    },
    /// The disk said no.
    #[error("the store {path}: {source}; {hint}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What to do.
        hint: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// SQLite said no.
    #[error("the store {path}: {source}; {hint}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What to do.
        hint: &'static str,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// A row cannot be read.
    #[error("the store {path}: circuit {circuit} cannot be read ({reason}); run `haltline journal verify`")]
    Row {
        /// The file.
        path: PathBuf,
        /// Whose row.
        circuit: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The promises every store keeps.
pub trait Store {
    /// Runs `decide` on the rows it asks for and commits what it decides, atomically.
    fn transact(
        &self,
        project: &Project,
        writing: Writing<'_>,
        decide: &dyn Fn(&Memory) -> Step,
    ) -> Result<Outcome, StoreError>;

    /// One circuit.
    fn circuit(&self, project: ProjectKey, name: &CircuitName) -> Result<Option<State>, StoreError>;

    /// All circuits of a project, by name.
    fn circuits(&self, project: ProjectKey) -> Result<Vec<(CircuitName, State)>, StoreError>;

    /// The newest facts of one circuit, newest first.
    fn history(&self, project: ProjectKey, name: &CircuitName, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// The facts of a project after a number, oldest first; at most `limit`.
    fn journal(&self, project: ProjectKey, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Where a fold starts.
    fn anchor(&self, project: ProjectKey) -> Result<Anchor, StoreError>;

    /// The end of a project's journal.
    fn head(&self, project: ProjectKey) -> Result<Head, StoreError>;

    /// All projects.
    fn projects(&self) -> Result<Vec<Known>, StoreError>;

    /// Forgets the texts of a session in all projects; says how many facts lost theirs. Counts stay.
    fn purge(&self, session: &str) -> Result<usize, StoreError>;

    /// What people have not been told yet.
    fn undelivered(&self, project: ProjectKey) -> Result<Vec<Undelivered>, StoreError>;

    /// Ends a message that was delivered, or notes a failed attempt; after [`DELIVERY_ATTEMPTS_MAX`] it is dropped.
    fn delivered(&self, id: i64, reached: bool) -> Result<(), StoreError>;
}

/// How often a message is tried.
pub const DELIVERY_ATTEMPTS_MAX: u32 = 5;
