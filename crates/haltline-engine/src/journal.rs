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
        let kept_problems = check_kept(store, project, anchored)?;
        let mut found = Fold::new(StoredState { stored, begin, end }, anchor).run(store, project)?;
        found.problems.splice(0..0, kept_problems);
        let is_unchanged = || -> Result<bool, StoreError> {
            Ok(store.head(project)? == begin && store.anchor(project)?.head == anchored)
        };
        if found.problems.is_empty() || attempts == ATTEMPTS_MAX || is_unchanged()? {
            return Ok(found);
        }
    }
}

/// Checks the facts up to the anchor that are still there: a rescue keeps them, and folds none of them again. A gap is no
/// problem, because the rescue reported what was lost; a changed fact is.
fn check_kept(store: &dyn Store, project: ProjectKey, anchor: Head) -> Result<Vec<String>, StoreError> {
    let (mut problems, mut before, mut after) = (Vec::new(), Head::default(), 0);
    loop {
        let entries = store.journal(project, after, FACTS_PER_READ)?;
        let is_last = entries.len() < FACTS_PER_READ;
        for entry in entries {
            if entry.seq > anchor.seq {
                return Ok(problems);
            }
            if entry.seq == before.seq + 1 {
                check_link(&before, &entry, &mut problems);
            }
            check_texts(&entry, &mut problems);
            before = Head { seq: entry.seq, hash: entry.hash };
            after = entry.seq;
        }
        if is_last {
            return Ok(problems);
        }
    }
}

fn check_link(before: &Head, entry: &Entry, problems: &mut Vec<String>) {
    let Entry { seq, previous, circuit, body, texts_digest, hash, .. } = entry;
    if chain_hash(&before.hash, *seq, *previous, circuit.as_str(), body, texts_digest) != *hash {
        problems.push(format!("fact {seq} ({circuit}) does not match the hash chain: somebody changed it"));
    }
}

fn check_texts(entry: &Entry, problems: &mut Vec<String>) {
    if !entry.has_intact_texts() {
        problems.push(format!("fact {} ({}): somebody changed its texts", entry.seq, entry.circuit));
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
                        self.found.problems.push(format!("fact {} comes after the journal's end", entry.seq));
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
        let seq = entry.seq;
        if seq != head.seq + 1 {
            found.problems.push(format!("facts {} to {} are missing", head.seq + 1, seq - 1));
        }
        check_link(head, &entry, &mut found.problems);
        check_texts(&entry, &mut found.problems);
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
                None => {
                    found.problems.push(format!("fact {seq} has a type that this version of haltline does not know"))
                }
            },
            Err(problem) => found.problems.push(format!("fact {seq} cannot be read: {problem}")),
        }
    }

    fn finish(self) -> Verification {
        let Self { expected, states, mut found, comparison, .. } = self;
        let (existing, sound) = comparison.unwrap_or_default();
        for name in expected.stored.keys().filter(|name| !sound.contains(*name)) {
            found.problems.push(match states.get(name) {
                Some(_) => format!("circuit {name} differs from its facts"),
                None => format!("circuit {name} has no facts"),
            });
        }
        let lost = existing.iter().filter(|name| !expected.stored.contains_key(*name));
        found.problems.extend(lost.map(|name| format!("circuit {name} is missing, though it has facts")));
        found
    }
}
