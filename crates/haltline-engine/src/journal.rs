//! Folding the journal again and comparing (E1).

use std::collections::BTreeMap;

use haltline_core::{CircuitName, State, apply};

use crate::project::ProjectKey;
use crate::store::{Head, Store, StoreError, link};

/// How many facts are read at once.
const FACTS_AT_ONCE: usize = 4096;

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
    let anchor = store.anchor(project)?;
    let mut states: BTreeMap<CircuitName, State> = anchor.states.into_iter().collect();
    let mut head = anchor.head;
    let mut found = Verification { anchor: head.seq, facts: 0, circuits: 0, head, problems: Vec::new() };
    loop {
        let entries = store.journal(project, head.seq, FACTS_AT_ONCE)?;
        if entries.is_empty() {
            break;
        }
        for entry in entries {
            if entry.seq != head.seq + 1 {
                found.problems.push(format!("facts {} to {} are missing", head.seq + 1, entry.seq - 1));
            }
            let name = entry.circuit.as_str();
            if link(&head.hash, entry.seq, entry.previous, name, &entry.body, &entry.texts_digest) != entry.hash {
                found.problems.push(format!("fact {} ({name}) does not fit the chain: it was changed", entry.seq));
            }
            if !entry.texts_fit() {
                found.problems.push(format!("fact {} ({name}): its texts were changed", entry.seq));
            }
            head = Head { seq: entry.seq, hash: entry.hash };
            found.facts += 1;
            match entry.read() {
                Ok(read) => match read.fact {
                    Some(fact) => {
                        let state = states.remove(&entry.circuit);
                        states.insert(entry.circuit, apply(state, &fact, read.at));
                    }
                    None => found.problems.push(format!("fact {} is of a kind this haltline does not know", entry.seq)),
                },
                Err(problem) => found.problems.push(format!("fact {} cannot be read: {problem}", entry.seq)),
            }
        }
    }
    let end = store.head(project)?;
    if end != head {
        found.problems.push(format!("the journal ends at fact {}, the store says {}", head.seq, end.seq));
    }
    found.head = head;
    let stored: BTreeMap<CircuitName, State> = store.circuits(project)?.into_iter().collect();
    found.circuits = stored.len();
    for (name, state) in &stored {
        match states.get(name) {
            Some(folded) if folded == state => {}
            Some(_) => found.problems.push(format!("circuit {name} is not what its facts say")),
            None => found.problems.push(format!("circuit {name} has no facts")),
        }
    }
    let lost = states.keys().filter(|name| !stored.contains_key(name));
    found.problems.extend(lost.map(|name| format!("circuit {name} is missing, though it has facts")));
    Ok(found)
}
