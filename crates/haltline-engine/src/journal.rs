//! Verifies the journal by folding it again and comparing the result with the stored rows (E1).
//!
//! Other processes may write meanwhile. A stored row is therefore sound if it equals the fold of its facts at any point
//! between the heads read before and after it; facts beyond the second head are left for the next verification.

use std::collections::{BTreeMap, BTreeSet};

use haltline_core::{CircuitName, State, apply};

use crate::project::ProjectKey;
use crate::store::{Anchor, Entry, Head, Store, StoreError, chain_hash};

/// How many facts are read at once.
const FACTS_PER_READ: usize = 4096;
/// How often the fold starts again because the store changed meanwhile: facts were folded into the anchor, or salvaged.
const ATTEMPTS_MAX: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The fact after which the fold began; 0 for the beginning of the journal.
    pub anchor: u64,
    /// Number of facts that were folded.
    pub facts: u64,
    /// Number of rows that were compared.
    pub circuits: usize,
    pub head: Head,
    /// Everything that is inconsistent, one line each.
    pub problems: Vec<String>,
}

/// Folds a project's facts from the last anchor, checks their hash chain, and compares the result with the stored rows.
pub fn verify(store: &dyn Store, project: ProjectKey) -> Result<Verification, StoreError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let begin = store.head(project)?;
        let stored = store.circuits(project)?.into_iter().collect();
        let end = store.head(project)?;
        let anchor = store.anchor(project)?;
        let anchored = anchor.head;
        let found = Fold::new(StoredState { stored, begin, end }, anchor).run(store, project)?;
        let is_unchanged = || -> Result<bool, StoreError> {
            Ok(store.head(project)? == begin && store.anchor(project)?.head == anchored)
        };
        if found.problems.is_empty() || attempts == ATTEMPTS_MAX || is_unchanged()? {
            return Ok(found);
        }
    }
}

/// What the fold is compared with.
struct StoredState {
    stored: BTreeMap<CircuitName, State>,
    /// The end of the journal before the rows were read.
    begin: Head,
    /// The end of the journal after the rows were read.
    end: Head,
}

struct Fold {
    expected: StoredState,
    states: BTreeMap<CircuitName, State>,
    head: Head,
    found: Verification,
    /// From the first head on: the rows that existed then, and the rows that have equalled the stored state since.
    comparison: Option<(BTreeSet<CircuitName>, BTreeSet<CircuitName>)>,
}

impl Fold {
    fn new(expected: StoredState, anchor: Anchor) -> Self {
        let (head, circuits) = (anchor.head, expected.stored.len());
        let found = Verification { anchor: head.seq, facts: 0, circuits, head, problems: Vec::new() };
        Self { expected, states: anchor.states.into_iter().collect(), head, found, comparison: None }
    }

    fn run(mut self, store: &dyn Store, project: ProjectKey) -> Result<Verification, StoreError> {
        let end = self.expected.end;
        'journal: loop {
            let entries = store.journal(project, self.head.seq, FACTS_PER_READ)?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                if entry.seq > end.seq {
                    if store.head(project)? == end {
                        self.found.problems.push(format!("fact {} stands after the journal's end", entry.seq));
                    }
                    break 'journal;
                }
                if entry.seq > self.expected.begin.seq {
                    self.begin_comparison();
                }
                self.fold_entry(entry);
            }
        }
        self.begin_comparison();
        if self.head != end {
            let (last, end) = (self.head.seq, end.seq);
            self.found.problems.push(format!("the journal ends at fact {last}, the store says {end}"));
        }
        Ok(self.finish())
    }

    fn is_as_stored(&self, name: &CircuitName) -> bool {
        self.expected.stored.get(name).is_some_and(|stored| self.states.get(name) == Some(stored))
    }

    fn begin_comparison(&mut self) {
        if self.comparison.is_none() {
            let existing = self.states.keys().cloned().collect();
            let sound = self.states.keys().filter(|name| self.is_as_stored(name)).cloned().collect();
            self.comparison = Some((existing, sound));
        }
    }

    fn fold_entry(&mut self, entry: Entry) {
        let Self { head, found, .. } = self;
        let (seq, name) = (entry.seq, entry.circuit.as_str());
        if seq != head.seq + 1 {
            found.problems.push(format!("facts {} to {} are missing", head.seq + 1, seq - 1));
        }
        if chain_hash(&head.hash, seq, entry.previous, name, &entry.body, &entry.texts_digest) != entry.hash {
            found.problems.push(format!("fact {seq} ({}) does not fit the chain: it was changed", entry.circuit));
        }
        if !entry.has_intact_texts() {
            found.problems.push(format!("fact {seq} ({}): its texts were changed", entry.circuit));
        }
        *head = Head { seq, hash: entry.hash };
        found.head = *head;
        found.facts += 1;
        match entry.read() {
            Ok(read) => match read.fact {
                Some(fact) => {
                    let state = self.states.remove(&entry.circuit);
                    self.states.insert(entry.circuit.clone(), apply(state, &fact, read.at));
                    let is_as_stored = self.is_as_stored(&entry.circuit);
                    if let Some((_, sound)) = &mut self.comparison
                        && is_as_stored
                    {
                        sound.insert(entry.circuit);
                    }
                }
                None => found.problems.push(format!("fact {seq} is of a kind this haltline does not know")),
            },
            Err(problem) => found.problems.push(format!("fact {seq} cannot be read: {problem}")),
        }
    }

    fn finish(self) -> Verification {
        let Self { expected, states, mut found, comparison, .. } = self;
        let (existing, sound) = comparison.unwrap_or_default();
        for name in expected.stored.keys().filter(|name| !sound.contains(*name)) {
            found.problems.push(match states.get(name) {
                Some(_) => format!("circuit {name} is not what its facts say"),
                None => format!("circuit {name} has no facts"),
            });
        }
        let lost = existing.iter().filter(|name| !expected.stored.contains_key(*name));
        found.problems.extend(lost.map(|name| format!("circuit {name} is missing, though it has facts")));
        found
    }
}
