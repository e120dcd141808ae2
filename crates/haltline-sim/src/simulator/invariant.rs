//! What must be true after every step.
//!
//! - An OPEN circuit stays OPEN until its cooldown ends or an operator resets it; a HALF_OPEN circuit stays HALF_OPEN
//!   until a violation, a clean action or an operator ends that (C4, C6).
//! - Totals and generations never fall, except after the store was damaged: then a CLOSED circuit may lose counts, and
//!   one that is not CLOSED keeps its trips and at least the counts from before the last trip, which is what its latch
//!   has. If damage took a circuit back to a state in which it was OPEN, it has no latch until it trips again.
//! - Nothing is counted that was not reported, and nothing twice, also after damage: a state file then lists violations
//!   whose facts are lost, and the circuit that was rescued counts them already.
//! - The journal folds to the state (E1).
//! - The state file agrees with the store (C6).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use haltline_core::constraint::{Circuit, CircuitState, CircuitStateAt, Totals, Weight};
use haltline_core::{CircuitName, Instant, Moment, State};
use haltline_engine::journal::verify;
use haltline_engine::mirror::violations;
use haltline_engine::store::Store;
use serde_json::{Map, Value, json};

use super::act::{Act, ActKind};
use super::damage::Disturbance;
use super::state_file;
use super::world::{PROJECTS, World, constraint_id};
use crate::chance::Chance;

/// A circuit, by project and id.
pub(super) type Key = (usize, String);

/// The number of older state files that are remembered for each project.
const OLDER_MAX: usize = 20;

/// What the checks have seen so far.
#[derive(Default)]
pub(super) struct Watch {
    circuits: BTreeMap<Key, Circuit>,
    /// The totals of each circuit when it was last seen before its newest trip.
    floors: BTreeMap<Key, Totals>,
    /// Circuits that were CLOSED, and are OPEN again because the store lost the change.
    unlatched: BTreeSet<Key>,
    /// The number of violations reported for each circuit, without duplicates.
    reported: BTreeMap<Key, u64>,
    /// Projects whose state file is out of date until the next write.
    behind: BTreeSet<usize>,
    older: BTreeMap<usize, Vec<String>>,
    notices: Vec<String>,
}

/// What changed in a step.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) opened: usize,
    pub(super) closed: usize,
}

impl Watch {
    pub(super) fn add_reported(&mut self, key: Key, violations: usize) {
        *self.reported.entry(key).or_default() += violations as u64;
    }

    pub(super) fn add_notices(&mut self, project: usize, notices: Vec<String>) {
        self.notices.extend(notices.into_iter().map(|notice| format!("project {project}: {notice}")));
    }

    pub(super) fn set_mirror_behind(&mut self, project: usize, is_behind: bool) {
        if is_behind {
            self.behind.insert(project);
        } else {
            self.behind.remove(&project);
        }
    }

    pub(super) fn older_mirror(&self, project: usize, chance: &mut Chance) -> Option<String> {
        let older = self.older.get(&project)?;
        Some(chance.pick(older).clone())
    }

    /// Checks everything; `act` is the act that was committed.
    pub(super) fn check(
        &mut self,
        world: &mut World,
        disturbances: &[Disturbance],
        act: Option<&Act>,
    ) -> Result<Changes, String> {
        let is_damaged = disturbances.iter().any(Disturbance::is_damage);
        if is_damaged {
            // The state file may name the same number of facts as a store that lost some and got others.
            self.behind.extend(0..PROJECTS);
        }
        let mut changes = Changes::default();
        for project in 0..PROJECTS {
            let now = world.now();
            let (found, notices) = world.in_process(project, true, |engine| {
                engine.import_mirror();
                (read_project(engine.store(), engine.project().key), engine.take_notices())
            });
            self.add_notices(project, notices);
            let ProjectState { circuits, lines, problems } = found?;
            expect(problems.is_empty(), || format!("the journal of project {project} does not fit: {problems:?}"))?;
            self.compare(project, &circuits, is_damaged, act, now, &mut changes)?;
            self.check_mirror(world, project, &circuits, &lines)?;
        }
        self.check_notices(disturbances)?;
        Ok(changes)
    }

    fn compare(
        &mut self,
        project: usize,
        found: &BTreeMap<String, Circuit>,
        is_damaged: bool,
        act: Option<&Act>,
        now: Moment,
        changes: &mut Changes,
    ) -> Result<(), String> {
        let known = self.circuits.keys().filter(|(owner, _)| *owner == project).map(|(_, id)| id.clone());
        let ids: BTreeSet<String> = known.chain(found.keys().cloned()).collect();
        for id in ids {
            let key = (project, id.clone());
            let act = act.filter(|act| act.key() == key);
            let before = self.circuits.remove(&key);
            let after = found.get(&id);
            let (was_tripped, is_tripped) = (before.as_ref().is_some_and(is_tripped), after.is_some_and(is_tripped));
            if let Some(before) = &before {
                let is_latched = was_tripped && !self.unlatched.contains(&key);
                if is_latched || !is_damaged {
                    check_stays_tripped(&key, before, after, act, now)?;
                    self.check_counts(&key, before, after, is_damaged)?;
                } else {
                    self.floors.remove(&key);
                    self.unlatched.insert(key.clone());
                }
                if !is_tripped || (!is_damaged && after.map(|after| after.totals.trips) != Some(before.totals.trips)) {
                    self.unlatched.remove(&key);
                }
            }
            changes.opened += usize::from(!was_tripped && is_tripped);
            changes.closed += usize::from(was_tripped && !is_tripped);
            if let Some(after) = after {
                let reported = self.reported.get(&key).copied().unwrap_or_default();
                let counted = after.totals.violations;
                expect(counted <= reported, || format!("{key:?} counts {counted} violations, {reported} were told"))?;
                self.circuits.insert(key, after.clone());
            }
        }
        Ok(())
    }

    fn check_counts(
        &mut self,
        key: &Key,
        before: &Circuit,
        after: Option<&Circuit>,
        is_damaged: bool,
    ) -> Result<(), String> {
        let Some(after) = after else { return Err(format!("{key:?} is gone")) };
        let trips = before.totals.trips;
        let floor = || Totals { trips, ..self.floors.get(key).copied().unwrap_or_default() };
        let kept = if is_damaged { floor() } else { before.totals };
        expect(is_at_least(&after.totals, &kept), || {
            format!("{key:?} lost counts: to be kept {kept:?}\n  before {before:?}\n  after {after:?}")
        })?;
        expect(is_damaged || before.generation <= after.generation, || {
            format!("{key:?} went back from generation {} to {}", before.generation, after.generation)
        })?;
        if is_damaged {
            self.floors.insert(key.clone(), kept);
        } else if trips < after.totals.trips {
            self.floors.insert(key.clone(), before.totals);
        }
        Ok(())
    }

    fn check_mirror(
        &mut self,
        world: &World,
        project: usize,
        circuits: &BTreeMap<String, Circuit>,
        lines: &BTreeMap<String, Value>,
    ) -> Result<(), String> {
        let path = world.mirror(project);
        let mirror = state_file::read(&path);
        if let Ok(content) = fs::read_to_string(&path) {
            let older = self.older.entry(project).or_default();
            if older.last() != Some(&content) {
                older.push(content);
                older.drain(..older.len().saturating_sub(OLDER_MAX));
            }
        }
        if self.behind.contains(&project) {
            return Ok(());
        }
        check_mirror(project, &mirror, circuits, lines)
    }

    /// haltline notifies people of damage, and of nothing else.
    fn check_notices(&mut self, disturbances: &[Disturbance]) -> Result<(), String> {
        let notices = std::mem::take(&mut self.notices);
        let is_expected = |notice: &String| notice.contains("; haltline kept it as ") && !disturbances.is_empty();
        match notices.iter().find(|notice| !is_expected(notice)) {
            Some(notice) => Err(format!("a person was told: {notice}")),
            None => Ok(()),
        }
    }
}

/// A project as it is in the store.
struct ProjectState {
    circuits: BTreeMap<String, Circuit>,
    /// The violations of each circuit, as its state file should list them.
    lines: BTreeMap<String, Value>,
    problems: Vec<String>,
}

fn read_project(store: &dyn Store, project: haltline_engine::project::ProjectKey) -> Result<ProjectState, String> {
    let fail = |error: haltline_engine::store::StoreError| format!("the store cannot be read: {error}");
    let problems = verify(store, project).map_err(fail)?.problems;
    let (mut circuits, mut lines) = (BTreeMap::new(), BTreeMap::new());
    for (name, state) in store.circuits(project).map_err(fail)? {
        let State::Constraint(circuit) = state else { continue };
        let id = name.scope().to_owned();
        expect(name == CircuitName::constraint(&constraint_id(&id)), || format!("a circuit named {name}"))?;
        let history = store.history(project, &name, usize::MAX).map_err(fail)?;
        let listed = violations(&history).into_iter().filter(|violation| violation.weight != Weight::Deduplicated);
        let line = |violation: haltline_engine::mirror::Violation| {
            json!({
                "timestamp": violation.at.to_seconds_text(),
                "action": violation.action,
                "session": violation.session,
            })
        };
        lines.insert(id.clone(), listed.map(line).collect());
        circuits.insert(id, *circuit);
    }
    Ok(ProjectState { circuits, lines, problems })
}

fn expect(is_kept: bool, or: impl FnOnce() -> String) -> Result<(), String> {
    if is_kept { Ok(()) } else { Err(or()) }
}

fn is_tripped(circuit: &Circuit) -> bool {
    matches!(circuit.state, CircuitState::Open(_) | CircuitState::HalfOpen(_))
}

fn check_stays_tripped(
    key: &Key,
    before: &Circuit,
    after: Option<&Circuit>,
    act: Option<&Act>,
    now: Moment,
) -> Result<(), String> {
    if act.is_some_and(|act| act.kind == ActKind::Reset) && after.is_some() {
        return Ok(());
    }
    let is_clean = act.is_some_and(Act::is_clean);
    let after = after.map(|after| (after.state_at(now), &after.state));
    let is_allowed = match (before.state_at(now), after) {
        (CircuitStateAt::Open(..), Some((CircuitStateAt::Open(..), _))) => true,
        (CircuitStateAt::HalfOpen(_), Some((CircuitStateAt::Open(..) | CircuitStateAt::HalfOpen(_), _))) => true,
        (CircuitStateAt::HalfOpen(_), Some((CircuitStateAt::Closed, _))) => is_clean,
        (CircuitStateAt::Open(..) | CircuitStateAt::HalfOpen(_), _) => false,
        (CircuitStateAt::Closed | CircuitStateAt::Retired(_), _) => true,
    };
    let after = after.map(|(_, state)| state);
    expect(is_allowed, || format!("{key:?} was let go: before {:?}, after {after:?}", before.state))
}

/// True when `after` has at least the counts of `before`.
fn is_at_least(after: &Totals, before: &Totals) -> bool {
    let counts = |totals: &Totals| {
        let Totals { violations, counted, deduplicated, while_open, passes, denied, trips, overrides } = *totals;
        [violations, counted, deduplicated, while_open, passes, denied, trips, overrides]
    };
    std::iter::zip(counts(before), counts(after)).all(|(before, after)| before <= after)
}

fn check_mirror(
    project: usize,
    mirror: &Map<String, Value>,
    circuits: &BTreeMap<String, Circuit>,
    lines: &BTreeMap<String, Value>,
) -> Result<(), String> {
    let (listed, stored): (BTreeSet<_>, BTreeSet<_>) = (mirror.keys().collect(), circuits.keys().collect());
    expect(listed == stored, || format!("the state file of project {project} lists {listed:?}, not {stored:?}"))?;
    for (id, circuit) in circuits {
        let states: &[&str] = match circuit.state {
            CircuitState::Closed => &["CLOSED"],
            CircuitState::Open(_) => &["OPEN", "HALF-OPEN"],
            CircuitState::HalfOpen(_) => &["HALF-OPEN"],
            CircuitState::Retired { .. } => &[],
        };
        let entry = &mirror[id];
        expect(states.iter().any(|state| entry["state"] == **state), || {
            format!("the state file of project {project} says {id} is {}, not {states:?}", entry["state"])
        })?;
        let limits = serde_json::to_value(circuit.limits()).expect("limits are numbers");
        let expected = json!({
            "state": entry["state"],
            "violations": lines[id],
            "last_trip": circuit.last_trip.map(Instant::to_seconds_text),
            "last_reset": circuit.last_reset.map(Instant::to_seconds_text),
            "config": limits,
        });
        expect(*entry == expected, || {
            format!("the state file of project {project} has for {id}\n    {entry}\n  but should have\n    {expected}")
        })?;
    }
    Ok(())
}
