//! `haltline incidents`: the list of incidents of all breakers.

use std::process::ExitCode;

use haltline_engine::one_per_cause;

use crate::cli::Incidents;
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::view::incidents::IncidentsView;

pub fn run(context: &Context, command: &Incidents) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    engine.import_mirror();
    let records = one_per_cause(engine.incident_records(command.is_all)?);
    let view = IncidentsView::new(&records, command.limit, command.is_all, engine.now().at);
    context.print(&view, text::incidents)
}
