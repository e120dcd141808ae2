//! `haltline why`: explains one incident with everything that is known about it.

use std::process::ExitCode;

use haltline_core::{State, shorten};
use haltline_engine::Incident;
use haltline_engine::replay::TripsFile;
use haltline_engine::store::Store;

use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::incident::{ReplayWhyView, SessionNow, WhyView};
use crate::view::session::agent_tree_row;

pub fn run(context: &Context, wanted: Option<&str>) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    engine.import_mirror();
    let mut incidents = engine.known_incidents()?;
    if let Some(id) = wanted {
        incidents.retain(|incident| incident.id == id);
    }
    // Without an id, explain the newest incident.
    let Some(found) = incidents.into_iter().max_by_key(|incident| incident.tripped) else {
        let state_folder = engine.store().folder();
        if let Some(trip) = wanted.and_then(|id| TripsFile::find(state_folder, id)) {
            context.print(&ReplayWhyView::new(trip), text::why_replay)?;
            return Ok(exit_code::SUCCESS);
        }
        return Err(Failure::Plain(match wanted {
            Some(id) => format!(
                "incident {}: nothing here has that name; `haltline why` shows the newest, `haltline status` what is open",
                shorten(id)
            ),
            None => "there is no incident in this project: nothing has tripped".to_owned(),
        }));
    };
    let view = match found.loop_pattern() {
        Some(_pattern) => session_view(context, &found)?,
        None => WhyView::new(&found),
    };
    context.print(&view, text::why)?;
    Ok(exit_code::SUCCESS)
}

fn session_view(context: &Context, incident: &Incident) -> Result<WhyView, Failure> {
    let engine = &context.engine;
    let (store, key) = (engine.store(), engine.project().key);
    let state = store.circuit(key, &incident.row)?;
    let tree = match &state {
        Some(State::Agent(agent)) => store.circuit(key, &agent_tree_row(&incident.row, agent))?,
        Some(
            State::Tree(_)
            | State::Constraint(_)
            | State::Exemptions(_)
            | State::PhaseRun(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_),
        )
        | None => state.clone(),
    };
    let circuits = state.as_ref().and_then(State::circuits);
    let tree = tree.as_ref().and_then(State::as_tree);
    let session = SessionNow { circuits, tree, config: engine.config(), now: engine.now() };
    Ok(WhyView::new(incident).with_session(incident, &session))
}
