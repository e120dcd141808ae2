//! What an engine does around a decision: it reads the rows that the decision asks for, and commits its facts.

use std::collections::BTreeMap;

use haltline_core::{
    CircuitName, Decision, Event, Halt, Memory, Moment, Operator, Policy, Recorded, Rejection, State, apply, decide,
};

/// How often a decision may ask for further rows.
const ROUNDS_MAX: usize = 8;

/// The rows of a store, by the name of their circuit.
pub type Rows = BTreeMap<CircuitName, State>;

/// Decides an event with the rows it asks for, and no others, and commits the facts.
pub fn handle(
    rows: &mut Rows,
    journal: &mut Vec<Recorded>,
    policy: &Policy,
    event: &Event,
    now: Moment,
) -> Result<Decision, Rejection> {
    let mut memory = Memory::default();
    for _round in 0..ROUNDS_MAX {
        let step = decide(&memory, policy, event, now);
        assert_eq!(step, decide(&memory, policy, event, now), "a decision run twice says the same");
        match step {
            Err(Halt::Needs(names)) => {
                for name in names {
                    assert!(memory.row(&name).is_none(), "{name} was given and is asked for again");
                    let state = rows.get(&name).cloned();
                    memory.insert(name, state);
                }
            }
            Err(Halt::Rejected(rejection)) => return Err(rejection),
            Ok(decision) => {
                fold(rows, &decision.facts);
                journal.extend(decision.facts.iter().cloned());
                return Ok(decision);
            }
        }
    }
    unreachable!("a decision asks for rows without end: {event:?}")
}

/// Decides an event that may read and change only the row with this name.
pub fn handle_alone(
    name: &CircuitName,
    rows: &mut Rows,
    journal: &mut Vec<Recorded>,
    policy: &Policy,
    event: &Event,
    now: Moment,
) -> Result<Decision, Rejection> {
    let first_step = decide(&Memory::default(), policy, event, now);
    assert_eq!(first_step, Err(Halt::Needs(vec![name.clone()])), "the row is asked for, and no other");
    let before = journal.len();
    let result = handle(rows, journal, policy, event, now);
    let is_own = journal[before..].iter().all(|recorded| recorded.circuit == *name);
    assert!(is_own, "an event of one circuit is no fact of another");
    result
}

/// Applies facts to the rows.
pub fn fold<'a>(rows: &mut Rows, facts: impl IntoIterator<Item = &'a Recorded>) {
    for Recorded { circuit, at, fact, .. } in facts {
        let state = apply(rows.remove(circuit), fact, *at);
        rows.insert(circuit.clone(), state);
    }
}

/// The person in these tests.
pub fn operator(reason: Option<String>) -> Operator {
    Operator { who: "anna".to_owned(), reason }
}
