//! Why a decision ends early, and how a store supplies the rows that a decision asks for.

use crate::claim::Problem;
use crate::{CircuitName, Decision, Memory, Rejection, State};

/// Why a decision cannot be made. Nothing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The store must read these rows and then run the decision again from the start.
    Needs(Vec<CircuitName>),
    /// The event is not possible in the current state.
    Rejected(Rejection),
}

impl From<Rejection> for Halt {
    fn from(rejection: Rejection) -> Self {
        Halt::Rejected(rejection)
    }
}

impl From<Problem> for Halt {
    fn from(problem: Problem) -> Self {
        Halt::Rejected(Rejection::Claim(problem))
    }
}

/// Limit on how often one decision may ask for rows. A claim that falls asks once for each level of claims above it.
pub const ROW_REQUESTS_MAX: usize = 4096;

/// Why [`decide_with_rows`] did not get a decision.
#[derive(Debug)]
pub enum RowsError<E> {
    Read(E),
    /// The decision asked for rows more often than any decision needs to: a bug.
    Endless,
}

/// Runs a decision again and again until it has all the rows it needs. `read` returns what a store holds under each of
/// the names; the rows end up in `memory`.
pub fn decide_with_rows<E>(
    memory: &mut Memory,
    decide: impl Fn(&Memory) -> Result<Decision, Halt>,
    mut read: impl FnMut(&[CircuitName]) -> Result<Vec<Option<State>>, E>,
) -> Result<Result<Decision, Rejection>, RowsError<E>> {
    for _request in 0..=ROW_REQUESTS_MAX {
        match decide(memory) {
            Ok(decision) => return Ok(Ok(decision)),
            Err(Halt::Rejected(rejection)) => return Ok(Err(rejection)),
            Err(Halt::Needs(names)) => {
                let rows = read(&names).map_err(RowsError::Read)?;
                names.into_iter().zip(rows).for_each(|(name, row)| memory.insert(name, row));
            }
        }
    }
    Err(RowsError::Endless)
}
