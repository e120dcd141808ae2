//! Folding the journal again and comparing (E1).
//!
//! Others may write meanwhile. A stored circuit is therefore sound if it is what its facts said at any point
//! between the heads read before and after it; facts beyond the second head are left for the next time.

use std::collections::{BTreeMap, BTreeSet};

use haltline_core::{CircuitName, State, apply};

use crate::project::ProjectKey;
use crate::store::{Anchor, Entry, Head, Store, StoreError, link};

/// How many facts are read at once.
const FACTS_AT_ONCE: usize = 4096;
/// How often the fold begins anew where the store moved meanwhile: facts were folded into the anchor, or rescued.
const ATTEMPTS_MAX: usize = 10;

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The fact the fold began after; 0 for the very beginning.
    pub anchor: u64,
    /// How many facts were folded.
    pub facts: u64,
    /// How many circuits were compared.
    pub circuits: usize,
    /// The end of the journal.
    pub head: Head,
    /// Everything that does not fit, one line each.
    pub problems: Vec<String>,
}

/// Folds a project's facts from the last anchor, checks their chain, and compares with the stored circuits.
pub fn verify(store: &dyn Store, project: ProjectKey) -> Result<Verification, StoreError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let begin = store.head(project)?;
        let stored = store.circuits(project)?.into_iter().collect();
        let end = store.head(project)?;
        let anchor = store.anchor(project)?;
        let anchored = anchor.head;
        let found = Fold::new(Compared { stored, begin, end }, anchor).run(store, project)?;
        let is_at_rest = || -> Result<bool, StoreError> {
            Ok(store.head(project)? == begin && store.anchor(project)?.head == anchored)
        };
        if found.problems.is_empty() || attempts == ATTEMPTS_MAX || is_at_rest()? {
            return Ok(found);
        }
    }
}

/// What the fold is held against.
struct Compared {
    stored: BTreeMap<CircuitName, State>,
    /// The end of the journal before the circuits were read.
    begin: Head,
    /// And after.
    end: Head,
}

struct Fold {
    compared: Compared,
    states: BTreeMap<CircuitName, State>,
    head: Head,
    found: Verification,
    /// From the first head on: the circuits there were then, and those that have been what the store says.
    settled: Option<(BTreeSet<CircuitName>, BTreeSet<CircuitName>)>,
}

impl Fold {
    fn new(compared: Compared, anchor: Anchor) -> Self {
        let (head, circuits) = (anchor.head, compared.stored.len());
        let found = Verification { anchor: head.seq, facts: 0, circuits, head, problems: Vec::new() };
        Self { compared, states: anchor.states.into_iter().collect(), head, found, settled: None }
    }

    fn run(mut self, store: &dyn Store, project: ProjectKey) -> Result<Verification, StoreError> {
        let end = self.compared.end;
        'journal: loop {
            let entries = store.journal(project, self.head.seq, FACTS_AT_ONCE)?;
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
                if entry.seq > self.compared.begin.seq {
                    self.settle();
                }
                self.take(entry);
            }
        }
        self.settle();
        if self.head != end {
            let (last, end) = (self.head.seq, end.seq);
            self.found.problems.push(format!("the journal ends at fact {last}, the store says {end}"));
        }
        Ok(self.finish())
    }

    fn is_as_stored(&self, name: &CircuitName) -> bool {
        self.compared.stored.get(name).is_some_and(|stored| self.states.get(name) == Some(stored))
    }

    fn settle(&mut self) {
        if self.settled.is_none() {
            let there = self.states.keys().cloned().collect();
            let sound = self.states.keys().filter(|name| self.is_as_stored(name)).cloned().collect();
            self.settled = Some((there, sound));
        }
    }

    fn take(&mut self, entry: Entry) {
        let Self { head, found, .. } = self;
        let (seq, name) = (entry.seq, entry.circuit.as_str());
        if seq != head.seq + 1 {
            found.problems.push(format!("facts {} to {} are missing", head.seq + 1, seq - 1));
        }
        if link(&head.hash, seq, entry.previous, name, &entry.body, &entry.texts_digest) != entry.hash {
            found.problems.push(format!("fact {seq} ({}) does not fit the chain: it was changed", entry.circuit));
        }
        if !entry.texts_fit() {
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
                    if let Some((_, sound)) = &mut self.settled
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
        let Self { compared, states, mut found, settled, .. } = self;
        let (there, sound) = settled.unwrap_or_default();
        for name in compared.stored.keys().filter(|name| !sound.contains(*name)) {
            found.problems.push(match states.get(name) {
                Some(_) => format!("circuit {name} is not what its facts say"),
                None => format!("circuit {name} has no facts"),
            });
        }
        let lost = there.iter().filter(|name| !compared.stored.contains_key(*name));
        found.problems.extend(lost.map(|name| format!("circuit {name} is missing, though it has facts")));
        found
    }
}
