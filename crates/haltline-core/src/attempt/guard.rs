//! A tool is about to change a file while slices are under way (A5): may it?

use serde::{Deserialize, Serialize};

use super::{Covered, Happening, Letters, Question, Slice, Stand, Touch, decide};
use crate::identity::Digest;
use crate::{CircuitName, Decision, Memory, Moment, Policy, State, Step};

/// A file that a tool is about to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The slices of the work tree that are under way.
    pub slices: Vec<CircuitName>,
    /// The path within the project, or the whole path where it lies outside.
    pub path: String,
    /// Where it lies.
    pub place: Place,
    /// Whether names that differ by capitals only are one file there.
    pub letters: Letters,
}

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Within the project.
    Inside,
    /// Somewhere else.
    Outside,
}

/// What a slice has to say of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stake {
    /// It is the slice's work.
    Own,
    /// It is not.
    Foreign,
    /// The slice says nothing of any path.
    Silent,
}

/// Asks the slices. `Err`: these rows must be read first. `None`: nobody objects.
///
/// One slice that may change the file is enough: several are worked on side by side, and nobody says which one an agent
/// is at. Otherwise the slice that began last is asked.
pub(crate) fn guard(
    memory: &Memory,
    policy: &Policy,
    touched: &Touched,
    asker: Option<Digest>,
    session: Option<&str>,
    now: Moment,
) -> Result<Option<Decision>, Vec<CircuitName>> {
    let missing: Vec<CircuitName> = touched.slices.iter().filter(|name| memory.row(name).is_none()).cloned().collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let rows = touched.slices.iter().filter_map(|name| Some((name, memory.state(name).and_then(State::as_slice)?)));
    let begun: Vec<(&CircuitName, &Slice)> = rows.filter(|(_, slice)| slice.is_begun()).collect();
    let is_free = |slice: &&(&CircuitName, &Slice)| matches!(slice.1.stand, Stand::UnderWay);
    let is_staked = |wanted: Stake| begun.iter().filter(is_free).any(|(_, slice)| stake(slice, touched) == wanted);
    let is_halted = |slice: &Slice| {
        let is_refused = slice.refusal(&touched.path, touched.letters).is_some();
        slice.trip().is_some() && (is_refused || stake(slice, touched) == Stake::Own)
    };
    let halted = begun.iter().find(|(_, slice)| is_halted(slice));
    // A slice that says nothing of any path does not set free what another was halted with.
    if is_staked(Stake::Own) || (halted.is_none() && is_staked(Stake::Silent)) {
        return Ok(None);
    }
    let newest = begun.iter().filter(is_free).max_by_key(|(_, slice)| slice.begun.at);
    let Some((name, slice)) = halted.or(newest) else { return Ok(None) };
    let touch =
        Touch { path: touched.path.clone(), place: touched.place, justification: None, is_unjustifiable: false, asker };
    let what = Happening::Touch(touch);
    let question = Question { name: (*name).clone(), session, letters: touched.letters, what: &what };
    match decide(Some(slice), policy, &question, now) {
        Step::Decided(decision) => Ok(Some(decision)),
        Step::Needs(rows) => Err(rows),
        Step::Rejected(_) => Ok(None),
    }
}

fn stake(slice: &Slice, touched: &Touched) -> Stake {
    if slice.justification(&touched.path, touched.letters).is_some() {
        return Stake::Own;
    }
    match (slice.scope.covers(&touched.path, touched.letters), touched.place) {
        (Covered::LockOff, _) => Stake::Silent,
        (Covered::By(_), Place::Inside) => Stake::Own,
        (Covered::By(_), Place::Outside) | (Covered::Outside, _) => Stake::Foreign,
    }
}
