//! `haltline status`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use haltline_core::constraint::Condition;
use haltline_core::loop_::{Nature, Pattern, Standing};
use haltline_core::{CircuitName, Instant, State};
use haltline_engine::store::{SCHEMA_VERSION, Store};
use haltline_engine::{network_kind, set_aside_files};

use super::{constraint, memory, phase, trust};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::attempt::SliceView;
use crate::view::claim::StandingDisputeView;
use crate::view::constraint::AllView;
use crate::view::session::{BreakerView, PatternView, ResourceView, SessionsView, stands, tree_of};
use crate::view::status::{StatusView, StoreView};
use crate::workplace::Workplace;

/// Shows everything at a glance.
pub fn run(workplace: &Workplace) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    engine.mirror_in();
    let (store, project, config) = (engine.store(), engine.project(), engine.config());
    let all = AllView::new(constraint::all_circuits(workplace)?);
    let day_ago = engine.now().at.plus_millis(-86_400_000);
    let rows: BTreeMap<CircuitName, State> = store.circuits(project.key)?.into_iter().collect();
    let of_constraints = rows.values().filter_map(State::as_constraint).flat_map(|circuit| &circuit.trips);
    let mut incidents_24h = of_constraints.filter(|trip| trip.tripped > day_ago).count();
    let sessions = sessions(workplace, &rows, day_ago)?;
    incidents_24h += sessions.incidents_24h.iter().map(|one| one.incidents).sum::<usize>();
    let mut disputes = Vec::new();
    for (name, claim) in rows.iter().filter_map(|(name, state)| Some((name, state.as_claim()?))) {
        let over = claim.settled.iter().map(|settled| &settled.dispute);
        incidents_24h += over.chain(claim.dispute()).filter(|dispute| dispute.since.at > day_ago).count();
        disputes.extend(StandingDisputeView::new(name, claim));
    }
    let mut courses = Vec::new();
    for (name, state) in &rows {
        let State::Course(course) = state else { continue };
        incidents_24h += course.history.iter().filter(|line| line.is_trip && line.at > day_ago).count();
        if course.is_held() || course.seen.at > day_ago {
            courses.push(phase::view(workplace, name, course)?);
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
        courses,
        slices,
        disputes,
        sessions,
        memory: memory::usual_folders(workplace).iter().map(|folder| memory::view(workplace, folder)).collect(),
        set_aside: set_aside.map(|file| file.display().to_string()).collect(),
    };
    workplace.answer(&view, text::status)?;
    Ok(exit_code::FINE)
}

/// The rows of sessions seen since `since`; older ones are not looked at.
fn sessions(
    workplace: &Workplace,
    rows: &BTreeMap<CircuitName, State>,
    since: Instant,
) -> Result<SessionsView, Failure> {
    let engine = &workplace.engine;
    let now = engine.now();
    let mut recent: BTreeMap<&CircuitName, &State> = BTreeMap::new();
    let mut trees = BTreeMap::new();
    let mut streams_24h = 0;
    let mut newest = None;
    for (name, state) in rows {
        let State::Lane(lane) = state else { continue };
        if lane.seen.at <= since {
            continue;
        }
        streams_24h += 1;
        recent.insert(name, state);
        let tree = tree_of(name, lane);
        if newest.as_ref().is_none_or(|(seen, _)| lane.seen.at > *seen) {
            newest = Some((lane.seen.at, tree.clone()));
        }
        trees.insert(tree, ());
    }
    recent.extend(rows.iter().filter(|(name, _)| trees.contains_key(*name)));
    let mut breakers = Vec::new();
    let mut by_pattern: BTreeMap<Pattern, usize> = BTreeMap::new();
    for (name, state) in recent {
        let Some(board) = state.board().filter(|board| board.trips > 0) else { continue };
        let incidents = engine.incidents_of(name)?;
        for incident in incidents.iter().filter(|incident| incident.tripped > since) {
            *by_pattern.entry(incident.pattern).or_default() += 1;
        }
        for held in &board.held {
            let trip = &held.trip;
            let standing = board.standing(trip.key, now);
            if standing == Standing::Closed {
                continue;
            }
            let (state, remaining_s) = stands(standing, now);
            let incident = incidents.iter().find(|incident| incident.id == trip.incident);
            breakers.push(BreakerView {
                incident: trip.incident.clone(),
                circuit: name.below(trip.pattern.word()).to_string(),
                pattern: trip.pattern.word(),
                state,
                remaining_s,
                until: trip.until().to_seconds_text(),
                level: trip.level,
                turn: incident.and_then(|incident| incident.turn),
                why: incident.and_then(|incident| incident.why.clone()),
            });
        }
    }
    // Those that are open longest come first.
    breakers.sort_by(|one, other| other.until.cmp(&one.until));
    let limits = &engine.config().policy().loop_;
    let resources = newest.map(|(_, name)| match rows.get(&name).and_then(State::as_tree) {
        Some(tree) => ResourceView::new(name.scope(), tree, limits, now),
        None => ResourceView::new(name.scope(), &haltline_core::loop_::Tree::new(now), limits, now),
    });
    let incidents_24h = by_pattern.into_iter().map(|(pattern, incidents)| PatternView {
        pattern: pattern.word(),
        incidents,
        is_resource: pattern.nature() == Nature::Resource,
    });
    Ok(SessionsView { streams_24h, breakers, resources, incidents_24h: incidents_24h.collect() })
}
