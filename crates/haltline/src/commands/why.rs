//! `haltline why`: one incident, with everything that is known of it.

use std::process::ExitCode;

use haltline_core::attempt::{self, Slice};
use haltline_core::claim::{Claim, Dispute};
use haltline_core::constraint::{self, Circuit, Standing};
use haltline_core::phase::{self, Course};
use haltline_core::{CircuitName, Instant, State, shorten};
use haltline_engine::Incident;
use haltline_engine::replay::TripsFile;
use haltline_engine::store::Store;

use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::incident::{ReplayWhyView, WhyView};
use crate::view::session::tree_of;
use crate::workplace::Workplace;

/// Explains an incident.
pub fn run(workplace: &Workplace, wanted: Option<&str>) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    engine.mirror_in();
    let mut candidates = candidates(workplace)?;
    if let Some(id) = wanted {
        candidates.retain(|candidate| candidate.id() == id);
    }
    // Without a name the newest is meant.
    let Some(found) = candidates.into_iter().max_by_key(Candidate::tripped) else {
        let state_folder = engine.store().folder();
        if let Some(trip) = wanted.and_then(|id| TripsFile::find(state_folder, id)) {
            workplace.answer(&ReplayWhyView::new(trip), text::why_replay)?;
            return Ok(exit_code::FINE);
        }
        return Err(Failure::Plain(match wanted {
            Some(id) => format!(
                "incident {}: nothing here has that name; `haltline why` shows the newest, `haltline status` what is open",
                shorten(id)
            ),
            None => "there is no incident in this project: nothing has tripped".to_owned(),
        }));
    };
    let now = engine.now();
    let view = match &found {
        Candidate::Session(incident) => of_session(workplace, incident)?,
        Candidate::Constraint(name, trip, circuit) => WhyView::of_constraint(name, trip, circuit, now),
        Candidate::Course(name, trip, course) => WhyView::of_course(name, trip, course, now),
        Candidate::Slice(name, trip, slice) => WhyView::of_slice(name, trip, slice),
        Candidate::Claim(name, dispute, claim) => WhyView::of_claim(name, dispute, claim),
    };
    workplace.answer(&view, text::why)?;
    Ok(exit_code::FINE)
}

fn of_session(workplace: &Workplace, incident: &Incident) -> Result<WhyView, Failure> {
    let engine = &workplace.engine;
    let (store, key) = (engine.store(), engine.project().key);
    let state = store.circuit(key, &incident.row)?;
    let tree = match &state {
        Some(State::Lane(lane)) => store.circuit(key, &tree_of(&incident.row, lane))?,
        Some(
            State::Tree(_)
            | State::Constraint(_)
            | State::Exempt(_)
            | State::Course(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_),
        )
        | None => state.clone(),
    };
    let board = state.as_ref().and_then(State::board);
    let tree = tree.as_ref().and_then(State::as_tree);
    Ok(WhyView::of_session(incident, board, tree, engine.config(), engine.now()))
}

/// A trip that can be explained. Those of constraints and courses are known while they have not ended.
enum Candidate {
    Session(Box<Incident>),
    Constraint(CircuitName, constraint::Trip, Box<Circuit>),
    Course(CircuitName, phase::Trip, Box<Course>),
    Slice(CircuitName, attempt::Trip, Box<Slice>),
    Claim(CircuitName, Box<Dispute>, Box<Claim>),
}

/// The disputes of a claim, those that are over as well.
fn disputes(name: &CircuitName, claim: Box<Claim>) -> Vec<Candidate> {
    let settled = claim.settled.iter().map(|settled| &settled.dispute);
    let all: Vec<Dispute> = settled.chain(claim.dispute()).cloned().collect();
    let candidate = |dispute| Candidate::Claim(name.clone(), Box::new(dispute), claim.clone());
    all.into_iter().map(candidate).collect()
}

impl Candidate {
    fn id(&self) -> &str {
        match self {
            Candidate::Session(incident) => &incident.id,
            Candidate::Constraint(_, trip, _) => &trip.incident,
            Candidate::Course(_, trip, _) => &trip.incident,
            Candidate::Slice(_, trip, _) => &trip.incident,
            Candidate::Claim(_, dispute, _) => &dispute.incident,
        }
    }

    fn tripped(&self) -> Instant {
        match self {
            Candidate::Session(incident) => incident.tripped,
            Candidate::Constraint(_, trip, _) => trip.since.at,
            Candidate::Course(_, trip, _) => trip.since.at,
            Candidate::Slice(_, trip, _) => trip.since.at,
            Candidate::Claim(_, dispute, _) => dispute.since.at,
        }
    }
}

fn candidates(workplace: &Workplace) -> Result<Vec<Candidate>, Failure> {
    let engine = &workplace.engine;
    let incidents = engine.incidents()?.into_iter().map(|incident| Candidate::Session(Box::new(incident)));
    let mut found: Vec<Candidate> = incidents.collect();
    for (name, state) in engine.store().circuits(engine.project().key)? {
        match state {
            State::Constraint(circuit) => {
                let trip = match &circuit.standing {
                    Standing::Open(trip) | Standing::HalfOpen(trip) => trip.clone(),
                    Standing::Closed | Standing::Retired { .. } => continue,
                };
                found.push(Candidate::Constraint(name, trip, circuit));
            }
            State::Course(course) => {
                if let Some(trip) = course.trip().cloned() {
                    found.push(Candidate::Course(name, trip, course));
                }
            }
            State::Slice(slice) => {
                if let Some(trip) = slice.trip().cloned() {
                    found.push(Candidate::Slice(name, trip, slice));
                }
            }
            State::Claim(claim) => found.extend(disputes(&name, claim)),
            State::Lane(_) | State::Tree(_) | State::Exempt(_) | State::Pipeline(_) | State::Trust(_) => {}
        }
    }
    Ok(found)
}
