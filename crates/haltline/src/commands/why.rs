//! `haltline why`: one incident, with everything that is known of it.

use std::process::ExitCode;

use haltline_core::constraint::{Circuit, Standing, Trip};
use haltline_core::{CircuitName, State, shorten};
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
    let incidents = engine.incidents()?;
    let constraints = constraints(workplace)?;
    let found = match wanted {
        Some(id) => incidents.iter().find(|incident| incident.id == id),
        None => incidents.first(),
    };
    let constraint = match wanted {
        Some(id) => constraints.iter().find(|constraint| constraint.trip.incident == id),
        None => constraints.iter().max_by_key(|constraint| constraint.trip.since.at),
    };
    let view = match (found, constraint) {
        (Some(incident), Some(constraint)) if wanted.is_none() && constraint.trip.since.at > incident.tripped => {
            of_constraint(workplace, constraint)
        }
        (Some(incident), _) => of_session(workplace, incident)?,
        (None, Some(constraint)) => of_constraint(workplace, constraint),
        (None, None) => {
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
        }
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
        Some(State::Tree(_) | State::Constraint(_) | State::Exempt(_) | State::Course(_) | State::Trust(_)) | None => {
            state.clone()
        }
    };
    let board = state.as_ref().and_then(State::board);
    let tree = tree.as_ref().and_then(State::as_tree);
    Ok(WhyView::of_session(incident, board, tree, engine.config(), engine.now()))
}

/// A constraint's trip that has not ended.
struct OfConstraint {
    name: CircuitName,
    trip: Trip,
    circuit: Box<Circuit>,
}

fn constraints(workplace: &Workplace) -> Result<Vec<OfConstraint>, Failure> {
    let engine = &workplace.engine;
    let mut found = Vec::new();
    for (name, state) in engine.store().circuits(engine.project().key)? {
        let State::Constraint(circuit) = state else { continue };
        let trip = match &circuit.standing {
            Standing::Open(trip) | Standing::HalfOpen(trip) => trip.clone(),
            Standing::Closed | Standing::Retired { .. } => continue,
        };
        found.push(OfConstraint { name, trip, circuit });
    }
    Ok(found)
}

fn of_constraint(workplace: &Workplace, constraint: &OfConstraint) -> WhyView {
    let OfConstraint { name, trip, circuit } = constraint;
    WhyView::of_constraint(name, trip, circuit, workplace.engine.now())
}
