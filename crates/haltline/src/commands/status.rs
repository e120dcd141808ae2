//! `haltline status`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use haltline_core::constraint::StateName;
use haltline_core::loop_::{CircuitState, Nature, Pattern};
use haltline_core::{CircuitName, Instant, State};
use haltline_engine::store::{SCHEMA_VERSION, Store};
use haltline_engine::{Incident, network_kind, set_aside_files};

use super::{constraint, memory, phase, trust};
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::attempt::SliceView;
use crate::view::claim::OpenDisputeView;
use crate::view::constraint::AllView;
use crate::view::session::{PatternView, ResourceView, SessionsView, TrippedCircuitView, agent_tree_row, state_name};
use crate::view::status::{StatusView, StoreView};

/// Shows the state of everything.
pub fn run(context: &Context) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    engine.import_mirror();
    let (store, project, config) = (engine.store(), engine.project(), engine.config());
    let all = AllView::new(constraint::all_circuits(context)?);
    let day_ago = engine.now().at.plus_millis(-86_400_000);
    let rows: BTreeMap<CircuitName, State> = store.circuits(project.key)?.into_iter().collect();
    let of_constraints = rows.values().filter_map(State::as_constraint).flat_map(|circuit| &circuit.trips);
    let mut incidents_24h = of_constraints.filter(|trip| trip.tripped > day_ago).count();
    let sessions = sessions(context, &rows, day_ago)?;
    incidents_24h += sessions.incidents_24h.iter().map(|one| one.incidents).sum::<usize>();
    let mut disputes = Vec::new();
    for (name, claim) in rows.iter().filter_map(|(name, state)| Some((name, state.as_claim()?))) {
        let over = claim.resolved_disputes.iter().map(|resolved| &resolved.dispute);
        incidents_24h += over.chain(claim.dispute()).filter(|dispute| dispute.since.at > day_ago).count();
        disputes.extend(OpenDisputeView::new(name, claim));
    }
    let mut phase_runs = Vec::new();
    for (name, state) in &rows {
        let State::PhaseRun(phase_run) = state else { continue };
        incidents_24h += phase_run.history.iter().filter(|line| line.is_trip && line.at > day_ago).count();
        if phase_run.is_tripped() || phase_run.last_seen.at > day_ago {
            phase_runs.push(phase::view(context, name, phase_run)?);
        }
    }
    let begun =
        rows.iter().filter_map(|(name, state)| Some((name, state.as_slice().filter(|slice| slice.is_begun())?)));
    let slices: Vec<SliceView> = begun.map(|(name, slice)| SliceView::new(name, slice)).collect();
    let trips = rows.values().filter_map(State::as_slice).filter_map(|slice| slice.trip());
    incidents_24h += trips.filter(|trip| trip.since.at > day_ago).count();
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
        attention: all.circuits.into_iter().filter(|circuit| circuit.state != StateName::Closed).collect(),
        waiting: trust::waiting(context)?,
        incidents_24h,
        store: StoreView {
            path: store.path().display().to_string(),
            bytes: bytes.sum(),
            bytes_max: config.state_bytes_max(),
            schema: SCHEMA_VERSION,
            newer_schema: store.newer_schema()?,
            network: network_kind(store.folder()),
            facts: head.seq,
            head: head.short_hash(),
        },
        phase_runs,
        slices,
        disputes,
        sessions,
        memory: memory::usual_folders(context).iter().map(|folder| memory::view(context, folder)).collect(),
        set_aside: set_aside.map(|file| file.display().to_string()).collect(),
    };
    context.print(&view, text::status)?;
    Ok(exit_code::SUCCESS)
}

/// The view of the sessions active after `since`; older ones are skipped.
fn sessions(context: &Context, rows: &BTreeMap<CircuitName, State>, since: Instant) -> Result<SessionsView, Failure> {
    let engine = &context.engine;
    let now = engine.now();
    let mut recent: BTreeMap<&CircuitName, &State> = BTreeMap::new();
    let mut trees = BTreeMap::new();
    let mut agents_24h = 0;
    let mut newest = None;
    for (name, state) in rows {
        let State::Agent(agent) = state else { continue };
        if agent.last_seen.at <= since {
            continue;
        }
        agents_24h += 1;
        recent.insert(name, state);
        let tree = agent_tree_row(name, agent);
        if newest.as_ref().is_none_or(|(seen, _)| agent.last_seen.at > *seen) {
            newest = Some((agent.last_seen.at, tree.clone()));
        }
        trees.insert(tree, ());
    }
    recent.extend(rows.iter().filter(|(name, _)| trees.contains_key(*name)));
    let mut breakers = Vec::new();
    let mut by_pattern: BTreeMap<Pattern, usize> = BTreeMap::new();
    for (name, state) in recent {
        let Some(circuits) = state.circuits().filter(|circuits| circuits.trips > 0) else { continue };
        let incidents = engine.incidents_in(name)?;
        let is_recent = |incident: &&Incident| incident.tripped.is_some_and(|tripped| tripped > since);
        for pattern in incidents.iter().filter(is_recent).filter_map(Incident::loop_pattern) {
            *by_pattern.entry(pattern).or_default() += 1;
        }
        for circuit in &circuits.tripped {
            let trip = &circuit.trip;
            let circuit_state = circuits.state_at(trip.key, now);
            if circuit_state == CircuitState::Closed {
                continue;
            }
            let (state, remaining_s) = state_name(circuit_state, now);
            let incident = incidents.iter().find(|incident| incident.id == trip.incident);
            breakers.push(TrippedCircuitView {
                incident: trip.incident.clone(),
                circuit: name.below(trip.pattern.as_str()).to_string(),
                pattern: trip.pattern.as_str(),
                state,
                remaining_s,
                until: trip.until().to_seconds_text(),
                streak: trip.streak,
                turn: incident.and_then(|incident| incident.turn),
                why: incident.and_then(|incident| incident.reason.clone()),
            });
        }
    }
    // Circuits that stay open longest come first.
    breakers.sort_by(|one, other| other.until.cmp(&one.until));
    let limits = &engine.config().policy().loop_;
    let resources = newest.map(|(_, name)| match rows.get(&name).and_then(State::as_tree) {
        Some(tree) => ResourceView::new(name.scope(), tree, limits, now),
        None => ResourceView::new(name.scope(), &haltline_core::loop_::AgentTree::new(now), limits, now),
    });
    let incidents_24h = by_pattern.into_iter().map(|(pattern, incidents)| PatternView {
        pattern: pattern.as_str(),
        incidents,
        is_resource: pattern.nature() == Nature::Resource,
    });
    Ok(SessionsView { agents_24h, breakers, resources, incidents_24h: incidents_24h.collect() })
}
