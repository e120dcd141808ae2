//! `haltline constraint` (C1).

pub mod new;

use std::collections::BTreeMap;
use std::process::ExitCode;

use haltline_core::constraint::{Check, Circuit, CircuitStateAt, ConstraintEvent};
use haltline_core::{CircuitName, ConstraintId, Operator, State};
use haltline_engine::config::FailMode;
use haltline_engine::constraint_file::{ConstraintFile, active_ids, unusable_files};
use haltline_engine::store::Store;

use crate::cli::{Constraint, Override};
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::Proof;
use crate::view::constraint::{
    AllView, ChangeView, CheckView, CircuitView, ConfigView, ConstraintVerb, HistoryView, OneView, configuration,
    listed,
};
use crate::view::{SCHEMA, VerdictName};

/// How many violations `status ID` lists.
const RECENT_MAX: usize = 5;
/// How many facts a history reads.
const HISTORY_FACTS_MAX: usize = 100_000;

pub fn run(context: &Context, command: Constraint) -> Result<ExitCode, Failure> {
    // The engine imports the state file itself before an event; a command that reads first must ask for it.
    if !matches!(command, Constraint::Record(_) | Constraint::Pass { .. } | Constraint::Enforce(_)) {
        context.engine.import_mirror();
    }
    match command {
        Constraint::New(command) => new::run(context, &command),
        Constraint::Status { id: Some(id), .. } => status_one(context, &parse(&id)?),
        Constraint::Status { id: None, .. } => status_all(context),
        Constraint::Check { id } => check(context, &parse(&id)?),
        Constraint::Record(record) => {
            let event = ConstraintEvent::Violation { action: action(&record.action)? };
            change(context, &parse(&record.id)?, ConstraintVerb::Record, record.session, event)
        }
        Constraint::Pass { id, action: done, session, generation } => {
            let action = done.map(|done| action(&done)).transpose()?;
            change(context, &parse(&id)?, ConstraintVerb::Pass, session, ConstraintEvent::Clean { action, generation })
        }
        Constraint::Enforce(enforce) => {
            let event =
                ConstraintEvent::Enforce { action: action(&enforce.action)?, violated: enforce.outcome.is_violated };
            change(context, &parse(&enforce.id)?, ConstraintVerb::Enforce, enforce.session, event)
        }
        Constraint::Reset { id, reason } => {
            by_operator(context, &id, ConstraintVerb::Reset, reason.as_deref(), ConstraintEvent::Reset)
        }
        Constraint::Retire { id, reason } => {
            by_operator(context, &id, ConstraintVerb::Retire, reason.as_deref(), ConstraintEvent::Retire)
        }
        Constraint::Override(Override { id, is_revoked: true, reason, .. }) => {
            by_operator(context, &id, ConstraintVerb::Revoke, reason.as_deref(), ConstraintEvent::Revoke)
        }
        Constraint::Override(Override { id, reason, lifetime_ms, .. }) => {
            let grant = |operator| ConstraintEvent::Override { lifetime_ms, operator };
            by_operator(context, &id, ConstraintVerb::Override, reason.as_deref(), grant)
        }
        Constraint::History { id, days } => history(context, &parse(&id)?, days),
        Constraint::Config { id } => config(context, &parse(&id)?),
    }
}

fn parse(id: &str) -> Result<ConstraintId, Failure> {
    ConstraintId::parse(id).map_err(Failure::plain)
}

fn action(text: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::Plain(format!("--action {text:?}: expected a description of what was done")));
    }
    Ok(text.to_owned())
}

/// A constraint that exists here: its circuit, its active file, or both.
struct LoadedConstraint {
    name: CircuitName,
    circuit: Option<Circuit>,
    file: Option<ConstraintFile>,
}

impl LoadedConstraint {
    /// Loads only the circuit, which holds the rule in force; reads the file only if there is no circuit yet.
    fn find_quickly(context: &Context, id: &ConstraintId) -> Result<Self, Failure> {
        let engine = &context.engine;
        let name = CircuitName::constraint(id);
        match engine.store().circuit(engine.project().key, &name)? {
            Some(State::Constraint(circuit)) if !is_retired(Some(&circuit)) => {
                Ok(Self { name, circuit: Some(*circuit), file: None })
            }
            Some(_) | None => Self::find(context, id),
        }
    }

    fn find(context: &Context, id: &ConstraintId) -> Result<Self, Failure> {
        let engine = &context.engine;
        let name = CircuitName::constraint(id);
        let circuit = match engine.store().circuit(engine.project().key, &name)? {
            Some(State::Constraint(circuit)) => Some(*circuit),
            Some(_) | None => None,
        };
        let now = engine.now();
        if let Some(CircuitStateAt::Retired(at)) = circuit.as_ref().map(|circuit| circuit.state_at(now)) {
            return Err(not_found(id, Some(at)));
        }
        let file = engine.constraint_file(id, circuit.as_ref()).filter(|file| file.is_active);
        if circuit.is_none() && file.is_none() {
            return Err(not_found(id, None));
        }
        Ok(Self { name, circuit, file })
    }

    fn view(&self, context: &Context) -> CircuitView {
        let engine = &context.engine;
        let defaults = engine.config().policy().constraint;
        CircuitView::new(self.name.scope(), self.circuit.as_ref(), self.file.as_ref(), &defaults, engine.now())
    }

    fn guards(&self) -> Vec<haltline_core::constraint::Guard> {
        let rule = self.circuit.as_ref().map(|circuit| &circuit.rule);
        let rule = rule.or(self.file.as_ref().map(|file| &file.seen.rule));
        rule.map(|rule| rule.guards.clone()).unwrap_or_default()
    }

    fn source(&self) -> Option<&str> {
        let source = self.circuit.as_ref().and_then(|circuit| circuit.source.as_ref());
        let source = source.or(self.file.as_ref().map(|file| &file.seen.source));
        source.map(|source| source.path.as_str())
    }
}

fn not_found(id: &ConstraintId, retired: Option<haltline_core::Instant>) -> Failure {
    let rejection = haltline_core::Rejection::NotFound { retired };
    Failure::for_constraint(id, haltline_engine::EngineError::Rejected(rejection))
}

fn status_all(context: &Context) -> Result<ExitCode, Failure> {
    let (config, root) = (context.engine.config(), &context.engine.project().root);
    let unusable = unusable_files(root, config.constraint_directory(), &config.policy().constraint);
    let view = AllView::new(all_circuits(context)?, unusable);
    context.print(&view, text::all)
}

/// Returns every circuit that is not retired and every active file without violations, by name.
pub fn all_circuits(context: &Context) -> Result<Vec<CircuitView>, Failure> {
    let engine = &context.engine;
    let (config, project) = (engine.config(), engine.project());
    let defaults = config.policy().constraint;
    let mut views = BTreeMap::new();
    let mut circuits = BTreeMap::new();
    for (name, state) in engine.store().circuits(project.key)? {
        if let State::Constraint(circuit) = state {
            circuits.insert(name.scope().to_owned(), circuit);
        }
    }
    let now = engine.now();
    for id in active_ids(&project.root, config.constraint_directory(), &defaults) {
        let circuit = circuits.remove(id.as_str());
        let file = engine.constraint_file(&id, circuit.as_deref());
        if !is_retired(circuit.as_deref()) {
            let view = CircuitView::new(id.as_str(), circuit.as_deref(), file.as_ref(), &defaults, now);
            views.insert(id.as_str().to_owned(), view);
        }
    }
    for (id, circuit) in circuits {
        if !is_retired(Some(&circuit)) {
            let view = CircuitView::new(&id, Some(&circuit), None, &defaults, now);
            views.insert(id, view);
        }
    }
    Ok(views.into_values().collect())
}

fn is_retired(circuit: Option<&Circuit>) -> bool {
    matches!(circuit.map(|circuit| &circuit.state), Some(haltline_core::constraint::CircuitState::Retired { .. }))
}

fn status_one(context: &Context, id: &ConstraintId) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let constraint = LoadedConstraint::find(context, id)?;
    let circuit = constraint.view(context);
    let history = engine.store().history(engine.project().key, &constraint.name, RECENT_MAX * 20)?;
    let mut recent = listed(&history);
    recent.truncate(RECENT_MAX);
    let defaults = engine.config().policy().constraint;
    let view = OneView {
        schema: SCHEMA,
        configuration: configuration(&circuit.limits, &defaults, constraint.file.as_ref()),
        guards: constraint.guards(),
        circuit,
        recent,
    };
    context.print(&view, text::one)
}

fn check(context: &Context, id: &ConstraintId) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let constraint = LoadedConstraint::find_quickly(context, id).map_err(|failure| fail_closed(context, failure))?;
    let circuit = constraint.view(context);
    let mode = engine.config().policy().mode;
    let check = Check::new(&constraint.name, constraint.circuit.as_ref(), mode, engine.now());
    let view = CheckView::new(&circuit, &check);
    context.print(&view, text::check)?;
    Ok(exit_code::unless_denied(check.verdict.denies()))
}

/// A failing store denies only where the user set `fail = "closed"` (E7).
fn fail_closed(context: &Context, failure: Failure) -> Failure {
    match context.engine.config().fail_mode() {
        FailMode::Closed => failure.closed(),
        FailMode::Open => failure,
    }
}

fn change(
    context: &Context,
    id: &ConstraintId,
    verb: ConstraintVerb,
    session: Option<String>,
    event: ConstraintEvent,
) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let session = session.or_else(environment::session);
    let committed =
        engine.constraint(id, session.as_deref(), event).map_err(|error| Failure::for_constraint(id, error));
    // `record` and `pass` report what happened; only `enforce` asks for permission.
    let asks = verb == ConstraintVerb::Enforce;
    let committed = if asks { committed.map_err(|failure| fail_closed(context, failure))? } else { committed? };
    let view = ChangeView::new(id.as_str(), verb, &committed, engine.now());
    context.print(&view, text::change)?;
    Ok(exit_code::unless_denied(asks && view.verdict == VerdictName::Deny))
}

fn by_operator(
    context: &Context,
    id: &str,
    verb: ConstraintVerb,
    reason: Option<&str>,
    event: impl FnOnce(Operator) -> ConstraintEvent,
) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let id = parse(id)?;
    // Check before asking the person to confirm something that cannot be done.
    LoadedConstraint::find(context, &id)?;
    // An override lets a denied action through, so it takes more than somebody's presence.
    let proof = if verb == ConstraintVerb::Override { Proof::Token } else { Proof::Presence };
    let name = format!("constraint {} {id}", verb.as_str());
    let (committed, audit) = context.operate_with(proof, &name, reason, |operator| {
        engine.constraint(&id, None, event(operator)).map_err(|error| Failure::for_constraint(&id, error))
    })?;
    let mut view = ChangeView::new(id.as_str(), verb, &committed, engine.now());
    view.audit = Some(audit);
    context.print(&view, text::change)
}

fn history(context: &Context, id: &ConstraintId, days: u32) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let constraint = LoadedConstraint::find(context, id)?;
    let limits = constraint.view(context).limits;
    let entries = engine.store().history(engine.project().key, &constraint.name, HISTORY_FACTS_MAX)?;
    let now = engine.now().at;
    let began = |days: u32| now.plus_millis(-i64::from(days) * 86_400_000);
    let window_began = began(limits.window_days);
    let mut violations = listed(&entries);
    violations.retain(|violation| violation.at > began(days));
    let in_window = violations.iter().filter(|violation| violation.at > window_began).count();
    let circuit = constraint.circuit.unwrap_or_default();
    let view = HistoryView {
        schema: SCHEMA,
        id: id.to_string(),
        days,
        window_days: limits.window_days,
        window_start: window_began.to_string(),
        in_window,
        outside_window: violations.len() - in_window,
        violations,
        totals: circuit.totals,
        resets: circuit.trips.iter().filter(|trip| trip.by_person).count(),
    };
    context.print(&view, text::history)
}

fn config(context: &Context, id: &ConstraintId) -> Result<ExitCode, Failure> {
    let constraint = LoadedConstraint::find(context, id)?;
    let circuit = constraint.view(context);
    let defaults = context.engine.config().policy().constraint;
    let view = ConfigView {
        schema: SCHEMA,
        id: id.to_string(),
        file: constraint.source().map(str::to_owned),
        configuration: configuration(&circuit.limits, &defaults, constraint.file.as_ref()),
        guards: constraint.guards(),
        waiting: circuit.waiting,
    };
    context.print(&view, text::configuration)
}
