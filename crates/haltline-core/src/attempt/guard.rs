//! Decides whether a tool may change a file while slices are under way (A5).

use serde::{Deserialize, Serialize};

use super::{AttemptEvent, AttemptRequest, CaseSensitivity, Covered, Slice, SliceState, Touch, decide};
use crate::identity::Digest;
use crate::{CircuitName, Decision, Halt, Memory, Moment, Policy, State};

/// A file that a tool is about to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The slices of the work tree that are under way.
    pub slices: Vec<CircuitName>,
    /// Path within the project, or the whole path if the file lies outside.
    pub path: String,
    pub location: FileLocation,
    /// Whether names that differ only in case are one file on that file system.
    pub case_sensitivity: CaseSensitivity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLocation {
    Inside,
    Outside,
}

/// How a slice relates to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stake {
    /// The slice may change it.
    Own,
    /// The slice may not change it.
    Foreign,
    /// The slice has no scope, so it says nothing about any path.
    Silent,
}

/// Checks the change against the slices. `None`: no slice objects.
///
/// One slice that may change the file is enough: several slices can be under way at once, and haltline does not know
/// which one an agent works on. Otherwise the slice that began last decides.
pub(crate) fn guard(
    memory: &Memory,
    policy: &Policy,
    touched: &Touched,
    requester: Option<Digest>,
    session: Option<&str>,
    now: Moment,
) -> Result<Option<Decision>, Halt> {
    memory.require_all(&touched.slices)?;
    let rows = touched.slices.iter().filter_map(|name| Some((name, memory.state(name).and_then(State::as_slice)?)));
    let begun: Vec<(&CircuitName, &Slice)> = rows.filter(|(_, slice)| slice.is_begun()).collect();
    let is_free = |slice: &&(&CircuitName, &Slice)| matches!(slice.1.state, SliceState::UnderWay);
    let is_staked = |wanted: Stake| begun.iter().filter(is_free).any(|(_, slice)| stake(slice, touched) == wanted);
    let touch = Touch {
        path: touched.path.clone(),
        location: touched.location,
        justification: None,
        is_unjustifiable: false,
        requester,
    };
    let is_own = |slice: &Slice| {
        let is_denied = slice.denial(&touched.path, touched.case_sensitivity).is_some();
        is_denied || slice.has_attempted(&touched.path, touched.case_sensitivity) || stake(slice, touched) == Stake::Own
    };
    let halted = || begun.iter().filter(|(_, slice)| slice.halts(&touch, touched.case_sensitivity));
    let own_halted = halted().find(|(_, slice)| is_own(slice));
    // A slice without a scope does not allow what another slice was stopped for.
    if is_staked(Stake::Own) || (own_halted.is_none() && is_staked(Stake::Silent)) {
        return Ok(None);
    }
    // The lock outlives the trip: what no slice under way may change, a halted slice does not set free.
    let newest = begun.iter().filter(is_free).max_by_key(|(_, slice)| slice.begun.at);
    let Some((name, slice)) = own_halted.or(newest).or_else(|| halted().next()) else { return Ok(None) };
    let event = AttemptEvent::Touch(touch);
    let request = AttemptRequest {
        name: (*name).clone(),
        session,
        case_sensitivity: touched.case_sensitivity,
        others: &[],
        event: &event,
    };
    match decide(Some(slice), policy, &request, now) {
        Ok(decision) => Ok(Some(decision)),
        Err(needs @ Halt::Needs(_)) => Err(needs),
        Err(Halt::Rejected(_)) => Ok(None),
    }
}

fn stake(slice: &Slice, touched: &Touched) -> Stake {
    if slice.justification(&touched.path, touched.case_sensitivity).is_some() {
        return Stake::Own;
    }
    match (slice.scope.covers(&touched.path, touched.case_sensitivity), touched.location) {
        (Covered::LockOff, _) => Stake::Silent,
        (Covered::By(_), FileLocation::Inside) => Stake::Own,
        (Covered::By(_), FileLocation::Outside) | (Covered::Outside, _) => Stake::Foreign,
    }
}
