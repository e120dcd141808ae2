//! `haltline why`: explains one incident with everything that is known about it.

use std::process::ExitCode;

use haltline_core::{State, code_page};
use haltline_engine::replay::TripsFile;
use haltline_engine::store::Store;
use haltline_engine::{IncidentLookup, IncidentRecord, agent_tree_row, one_per_cause};

use super::{circuits, explain};
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::view::constraint::configuration;
use crate::view::incident::{ReplayWhyView, WhyView};

pub fn run(context: &Context, wanted: Option<&str>) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    engine.import_mirror();
    if let Some(code) = wanted.filter(|wanted| code_page(wanted).is_some()) {
        return explain::run(context, code);
    }
    if let Some(id) = wanted
        && let Err(IncidentLookup::Unknown) = engine.find_incident(wanted, |_| true)?
        && let Some(trip) = TripsFile::find(engine.store().folder(), id)
    {
        return context.print(&ReplayWhyView::new(trip), text::why_replay);
    }
    let nothing = "Nothing has tripped in this project.";
    if let Err(IncidentLookup::Nothing) = engine.find_incident(wanted, |_| true)? {
        return context.print_nothing(nothing);
    }
    let record = circuits::find(context, wanted, nothing, |_| true)?;
    context.print(&view(context, &record)?, text::why)
}

fn view(context: &Context, record: &IncidentRecord) -> Result<WhyView, Failure> {
    let engine = &context.engine;
    let (store, key) = (engine.store(), engine.project().key);
    let incident = engine.explain_incident(record)?;
    let whole = one_per_cause(engine.incident_records(false)?).into_iter().find(|whole| whole.id == record.id);
    let record = whole.as_ref().unwrap_or(record);
    let mut view = WhyView::new(&incident, record, engine.config(), engine.now());
    match store.circuit(key, &record.row)? {
        Some(State::Agent(agent)) => {
            let tree = store.circuit(key, &agent_tree_row(&record.row, &agent))?;
            view.set_cost(tree.as_ref().and_then(State::as_tree));
        }
        Some(State::Tree(tree)) => view.set_cost(Some(&tree)),
        Some(State::Constraint(circuit)) => {
            let defaults = engine.config().policy().constraint;
            let id = haltline_core::ConstraintId::parse(record.row.scope()).ok();
            let file = id.and_then(|id| engine.constraint_file(&id, Some(&circuit)));
            view.set_limits(configuration(circuit.limits(), &defaults, file.as_ref()));
        }
        Some(
            State::Exemptions(_)
            | State::PhaseRun(_)
            | State::Slice(_)
            | State::Claim(_)
            | State::Pipeline(_)
            | State::Trust(_)
            | State::Control(_)
            | State::Ledger(_)
            | State::Provider(_),
        )
        | None => {}
    }
    Ok(view)
}
