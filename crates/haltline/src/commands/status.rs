//! `haltline status`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use haltline_core::constraint::StateName;
use haltline_core::loop_::{AgentTree, Nature, Pattern};
use haltline_core::{CircuitName, ConstraintId, Instant, State};
use haltline_engine::constraint_file::active_ids;
use haltline_engine::project::{Project, ProjectKey};
use haltline_engine::store::{SCHEMA_VERSION, Store};
use haltline_engine::{
    BreakerName, ConfigReading, Engine, Overview, OwnFiles, RecordedTrips, SESSION_MS, agent_tree_row, network_kind,
    set_aside_files,
};

use super::{constraint, doctor, memory, pause, phase, trust};
use crate::cli::Status;
use crate::context::{Context, PROJECT_MARKERS, STORE_TIMEOUT};
use crate::environment;
use crate::error::Failure;
use crate::front::text;
use crate::unwatched;
use crate::view::SCHEMA;
use crate::view::attempt::SliceView;
use crate::view::claim::OpenDisputeView;
use crate::view::overview::{OverviewView, ProjectView, ProjectsView};
use crate::view::session::{PatternView, ResourceView, SessionView, SessionsView, TrippedCircuitView};
use crate::view::status::{StatusView, StoreView, UnwatchedView};

type Rows = Vec<(CircuitName, State)>;

/// Shows what needs the person, then everything else.
pub fn run(context: &Context, command: &Status) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    engine.import_mirror();
    if command.is_all {
        return all_projects(context);
    }
    let (store, project, config) = (engine.store(), engine.project(), engine.config());
    let day_ago = engine.now().at.plus_millis(-SESSION_MS);
    let rows = engine.rows()?;
    let constraints = active_ids(&project.root, config.constraint_directory(), &config.policy().constraint);
    let overview = Overview::from_rows(store, project.key, &rows, engine.now(), constraints)?;
    let recorded = RecordedTrips::read(store, project.key, day_ago)?;
    let circuits = constraint::all_circuits(context)?;
    let mut phase_runs = Vec::new();
    for (name, state) in &rows {
        let State::PhaseRun(phase_run) = state else { continue };
        if phase_run.is_tripped() || phase_run.last_seen.at > day_ago {
            phase_runs.push(phase::view(context, name, phase_run)?);
        }
    }
    let begun =
        rows.iter().filter_map(|(name, state)| Some((name, state.as_slice().filter(|slice| slice.is_begun())?)));
    let claims = rows.iter().filter_map(|(name, state)| OpenDisputeView::new(name, state.as_claim()?));
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
        paused: pause::paused(context)?,
        clients_off: unwatched::clients_off(engine.state_folder()),
        unwatched: unwatched_sessions(context)?,
        at: engine.now().at.to_string(),
        is_installed: doctor::is_installed(context)?,
        overview: OverviewView::new(&overview, &recorded),
        attention: circuits.into_iter().filter(|circuit| circuit.state != StateName::Closed).collect(),
        waiting: trust::waiting(context)?,
        store: store_view(context)?,
        slices: begun.map(|(name, slice)| SliceView::new(name, slice)).collect(),
        disputes: claims.collect(),
        phase_runs,
        sessions: sessions(context, &rows, day_ago, &overview, &recorded),
        memory: memory::usual_folders(context).iter().map(|folder| memory::view(context, folder)).collect(),
        set_aside: set_aside.map(|file| file.display().to_string()).collect(),
    };
    context.print(&view, |view| text::status(view, command.is_verbose))
}

/// Shows what needs the person in every project of the store.
fn all_projects(context: &Context) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let (store, now) = (engine.store(), engine.now());
    let mut projects = Vec::new();
    for project in store.projects()? {
        let constraints = constraints_of(context, &project.identity, project.key)?;
        let overview = Overview::read(store, project.key, now, constraints)?;
        let recorded = RecordedTrips::read(store, project.key, now.at.plus_millis(-SESSION_MS))?;
        let overview = OverviewView::new(&overview, &recorded);
        projects.push(ProjectView { project: project.identity.display().to_string(), overview });
    }
    projects.sort_by_key(|one| (one.overview.needs.is_empty(), std::cmp::Reverse(one.overview.last_report.clone())));
    let is_installed = doctor::is_installed(context)?;
    let view = ProjectsView { schema: SCHEMA, at: now.at.to_string(), is_installed, projects };
    context.print(&view, text::all_projects)
}

/// The active constraints of a project, if its folder is still there.
fn constraints_of(context: &Context, identity: &Path, key: ProjectKey) -> Result<Vec<ConstraintId>, Failure> {
    let engine = &context.engine;
    let folder = identity.parent().filter(|_| identity.ends_with(".git")).unwrap_or(identity);
    let Some(project) = Project::find(folder, PROJECT_MARKERS).ok().filter(|found| found.key == key) else {
        return Ok(Vec::new());
    };
    let own_files =
        OwnFiles { state_folder: engine.state_folder().to_owned(), user_config: environment::user_config()? };
    let root = project.root.clone();
    let other = Engine::open(own_files, project, STORE_TIMEOUT, ConfigReading::Files, engine.clock());
    let config = other.config();
    Ok(active_ids(&root, config.constraint_directory(), &config.policy().constraint))
}

fn store_view(context: &Context) -> Result<StoreView, Failure> {
    let engine = &context.engine;
    let store = engine.store();
    let head = store.head(engine.project().key)?;
    let bytes = ["", "-wal"].iter().filter_map(|suffix| {
        let mut path = store.path().into_os_string();
        path.push(suffix);
        std::fs::metadata(path).ok().map(|file| file.len())
    });
    Ok(StoreView {
        path: store.path().display().to_string(),
        bytes: bytes.sum::<u64>() + haltline_engine::spool::bytes_waiting(store.folder()),
        bytes_max: engine.config().state_bytes_max(),
        schema: SCHEMA_VERSION,
        newer_schema: store.newer_schema()?,
        network: network_kind(store.folder()),
        facts: head.seq,
        head: head.short_hash(),
    })
}

/// The sessions that no hook reports.
fn unwatched_sessions(context: &Context) -> Result<Vec<UnwatchedView>, Failure> {
    let found = unwatched::find(&context.engine)?;
    let view = |one: unwatched::Unwatched| UnwatchedView {
        client: one.client.name(),
        session: one.session,
        transcript: one.transcript.display().to_string(),
        last_report: one.last_report.map(|at| at.to_string()),
    };
    Ok(found.into_iter().map(view).collect())
}

/// The view of the sessions active after `since`; older ones are skipped.
fn sessions(
    context: &Context,
    rows: &Rows,
    since: Instant,
    overview: &Overview,
    recorded: &RecordedTrips,
) -> SessionsView {
    let engine = &context.engine;
    let (limits, now) = (&engine.config().policy().loop_, engine.now());
    let tree_of = |name: &CircuitName| {
        let found = rows.iter().find(|(row, _)| row == name);
        found.and_then(|(_, state)| state.as_tree())
    };
    // By the row of its tree: when the session was last active, and how many agents it had.
    let mut active: BTreeMap<CircuitName, (Instant, usize)> = BTreeMap::new();
    for (name, state) in rows {
        let State::Agent(agent) = state else { continue };
        if agent.last_seen.at > since {
            let (last, agents) = active.entry(agent_tree_row(name, agent)).or_default();
            *last = (*last).max(agent.last_seen.at);
            *agents += 1;
        }
    }
    let mut active: Vec<(CircuitName, (Instant, usize))> = active.into_iter().collect();
    active.sort_by_key(|(_, (last, _))| std::cmp::Reverse(*last));
    let list = active
        .iter()
        .map(|(name, (last, agents))| SessionView::new(name.scope(), *last, *agents, tree_of(name), limits, now));
    let resources = active.first().map(|(name, _)| {
        let none = AgentTree::new(now);
        ResourceView::new(name.scope(), tree_of(name).unwrap_or(&none), limits, now)
    });
    let of_sessions = overview.unclosed.iter().filter(|circuit| circuit.breaker == BreakerName::Loop);
    let mut breakers: Vec<TrippedCircuitView> = of_sessions.map(TrippedCircuitView::new).collect();
    // Circuits that stay open longest come first.
    breakers.sort_by(|one, other| other.until.cmp(&one.until));
    let mut by_pattern: BTreeMap<Pattern, usize> = BTreeMap::new();
    for pattern in recorded.trips.iter().filter_map(|trip| trip.pattern) {
        *by_pattern.entry(pattern).or_default() += 1;
    }
    let incidents_24h = by_pattern.into_iter().map(|(pattern, incidents)| PatternView {
        pattern: pattern.as_str(),
        incidents,
        is_resource: pattern.nature() == Nature::Resource,
    });
    SessionsView {
        agents_24h: overview.agents_24h,
        breakers,
        resources,
        incidents_24h: incidents_24h.collect(),
        memory_cleanups_24h: recorded.memory_cleanups,
        list: list.collect(),
    }
}
