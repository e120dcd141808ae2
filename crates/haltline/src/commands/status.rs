//! `haltline status`.

use std::process::ExitCode;

use haltline_core::State;
use haltline_core::constraint::Condition;
use haltline_engine::store::{SCHEMA_VERSION, Store};
use haltline_engine::{network_kind, set_aside_files};

use super::{constraint, trust};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::constraint::AllView;
use crate::view::status::{StatusView, StoreView};
use crate::workplace::Workplace;

/// Shows everything at a glance.
pub fn run(workplace: &Workplace) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    engine.mirror_in();
    let (store, project, config) = (engine.store(), engine.project(), engine.config());
    let all = AllView::new(constraint::all_circuits(workplace)?);
    let day_ago = engine.now().at.plus_millis(-86_400_000);
    let mut incidents_24h = 0;
    for (_, state) in store.circuits(project.key)? {
        if let State::Constraint(circuit) = state {
            incidents_24h += circuit.trips.iter().filter(|trip| trip.tripped > day_ago).count();
        }
    }
    let head = store.head(project.key)?;
    let bytes = ["", "-wal"].iter().filter_map(|suffix| {
        let mut path = store.path().into_os_string();
        path.push(suffix);
        std::fs::metadata(path).ok().map(|file| file.len())
    });
    let mirrors = project.root.join(config.constraint_directory());
    let set_aside = set_aside_files(store.folder(), "state.db.corrupt-")
        .into_iter()
        .chain(set_aside_files(&mirrors, ".circuit-state"))
        .filter(|file| file.to_string_lossy().contains(".corrupt-"));
    let view = StatusView {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        project: project.identity.display().to_string(),
        mode: config.policy().mode,
        summary: all.summary,
        attention: all.circuits.into_iter().filter(|circuit| circuit.state != Condition::Closed).collect(),
        waiting: trust::waiting(workplace)?,
        incidents_24h,
        store: StoreView {
            path: store.path().display().to_string(),
            bytes: bytes.sum(),
            bytes_max: config.state_bytes_max(),
            schema: SCHEMA_VERSION,
            newer_schema: store.newer_schema()?,
            network: network_kind(store.folder()),
            facts: head.seq,
            head: head.short(),
        },
        set_aside: set_aside.map(|file| file.display().to_string()).collect(),
    };
    workplace.answer(&view, text::status)?;
    Ok(exit_code::FINE)
}
