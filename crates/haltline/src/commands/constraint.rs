//! `haltline constraint` (C1).

use std::collections::BTreeMap;
use std::process::ExitCode;

use haltline_core::constraint::{Circuit, Happening, StandingAt};
use haltline_core::{CircuitName, ConstraintId, Operator, State};
use haltline_engine::config::Fail;
use haltline_engine::constraint_file::{ConstraintFile, active_ids};
use haltline_engine::store::{Committed, Store};

use crate::cli::{Constraint, Override};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::surroundings;
use crate::view::SCHEMA;
use crate::view::constraint::{
    AllView, AuditView, ChangeView, CheckView, CircuitView, ConfigView, HistoryView, OneView, configuration, listed,
};
use crate::workplace::Workplace;

/// How many violations `status ID` lists.
const RECENT_MAX: usize = 5;
/// How many facts a history looks at.
const HISTORY_FACTS_MAX: usize = 100_000;

/// Runs a constraint command.
pub fn run(workplace: &Workplace, command: Constraint) -> Result<ExitCode, Failure> {
    workplace.engine.mirror_in();
    match command {
        Constraint::Status { id: Some(id), .. } => status_one(workplace, &parse(&id)?),
        Constraint::Status { id: None, .. } => status_all(workplace),
        Constraint::Check { id } => check(workplace, &parse(&id)?),
        Constraint::Record(record) => {
            let what = Happening::Violation { action: action(&record.action)? };
            change(workplace, &parse(&record.id)?, "record", record.session, what)
        }
        Constraint::Pass { id, action: done, session, generation } => {
            let action = done.map(|done| action(&done)).transpose()?;
            change(workplace, &parse(&id)?, "pass", session, Happening::Clean { action, generation })
        }
        Constraint::Enforce(enforce) => {
            let what = Happening::Enforce { action: action(&enforce.action)?, violated: enforce.outcome.is_violated };
            change(workplace, &parse(&enforce.id)?, "enforce", enforce.session, what)
        }
        Constraint::Reset { id, reason } => {
            by_operator(workplace, &id, "reset", reason.as_deref(), Proof::Presence, Happening::Reset)
        }
        Constraint::Retire { id, reason } => {
            by_operator(workplace, &id, "retire", reason.as_deref(), Proof::Presence, Happening::Retire)
        }
        Constraint::Override(Override { id, is_revoked: true, reason, .. }) => {
            by_operator(workplace, &id, "revoke", reason.as_deref(), Proof::Presence, Happening::Revoke)
        }
        Constraint::Override(Override { id, reason, lifetime_ms, .. }) => {
            let grant = |operator| Happening::Override { lifetime_ms, operator };
            by_operator(workplace, &id, "override", reason.as_deref(), Proof::Token, grant)
        }
        Constraint::History { id, days } => history(workplace, &parse(&id)?, days),
        Constraint::Config { id } => config(workplace, &parse(&id)?),
    }
}

fn parse(id: &str) -> Result<ConstraintId, Failure> {
    ConstraintId::parse(id).map_err(|error| Failure::Plain(error.to_string()))
}

fn action(text: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::Plain(format!("--action {text:?}: expected a description of what was done")));
    }
    Ok(text.to_owned())
}

/// A constraint as it is known here: its circuit, its active file, or both.
struct Known {
    name: CircuitName,
    circuit: Option<Circuit>,
    file: Option<ConstraintFile>,
}

impl Known {
    /// The circuit alone, which has the rule in force; the file only where there is no circuit yet.
    fn find_quickly(workplace: &Workplace, id: &ConstraintId) -> Result<Self, Failure> {
        let engine = &workplace.engine;
        let name = CircuitName::constraint(id);
        match engine.store().circuit(engine.project().key, &name)? {
            Some(State::Constraint(circuit)) if !is_retired(Some(&circuit)) => {
                Ok(Self { name, circuit: Some(*circuit), file: None })
            }
            Some(_) | None => Self::find(workplace, id),
        }
    }

    fn find(workplace: &Workplace, id: &ConstraintId) -> Result<Self, Failure> {
        let engine = &workplace.engine;
        let name = CircuitName::constraint(id);
        let circuit = match engine.store().circuit(engine.project().key, &name)? {
            Some(State::Constraint(circuit)) => Some(*circuit),
            Some(_) | None => None,
        };
        let now = engine.now();
        if let Some(StandingAt::Retired(at)) = circuit.as_ref().map(|circuit| circuit.standing_at(now)) {
            return Err(not_found(id, Some(at)));
        }
        let file = engine.constraint_file(id, circuit.as_ref()).filter(|file| file.is_active);
        if circuit.is_none() && file.is_none() {
            return Err(not_found(id, None));
        }
        Ok(Self { name, circuit, file })
    }

    fn view(&self, workplace: &Workplace) -> CircuitView {
        let engine = &workplace.engine;
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
    Failure::of_constraint(id, haltline_engine::EngineError::Rejected(rejection))
}

fn status_all(workplace: &Workplace) -> Result<ExitCode, Failure> {
    let view = AllView::new(all_circuits(workplace)?);
    workplace.answer(&view, text::all)?;
    Ok(exit_code::FINE)
}

/// Every circuit that is not retired, and every active file nobody violated yet, by name.
pub fn all_circuits(workplace: &Workplace) -> Result<Vec<CircuitView>, Failure> {
    let engine = &workplace.engine;
    let (config, project) = (engine.config(), engine.project());
    let defaults = config.policy().constraint;
    let mut views = BTreeMap::new();
    let mut known = BTreeMap::new();
    for (name, state) in engine.store().circuits(project.key)? {
        if let State::Constraint(circuit) = state {
            known.insert(name.scope().to_owned(), circuit);
        }
    }
    let now = engine.now();
    for id in active_ids(&project.root, config.constraint_directory(), &defaults) {
        let circuit = known.remove(id.as_str());
        let file = engine.constraint_file(&id, circuit.as_deref());
        if !is_retired(circuit.as_deref()) {
            let view = CircuitView::new(id.as_str(), circuit.as_deref(), file.as_ref(), &defaults, now);
            views.insert(id.as_str().to_owned(), view);
        }
    }
    for (id, circuit) in known {
        if !is_retired(Some(&circuit)) {
            let view = CircuitView::new(&id, Some(&circuit), None, &defaults, now);
            views.insert(id, view);
        }
    }
    Ok(views.into_values().collect())
}

fn is_retired(circuit: Option<&Circuit>) -> bool {
    matches!(circuit.map(|circuit| &circuit.standing), Some(haltline_core::constraint::Standing::Retired { .. }))
}

fn status_one(workplace: &Workplace, id: &ConstraintId) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let known = Known::find(workplace, id)?;
    let circuit = known.view(workplace);
    let history = engine.store().history(engine.project().key, &known.name, RECENT_MAX * 20)?;
    let mut recent = listed(&history);
    recent.truncate(RECENT_MAX);
    let defaults = engine.config().policy().constraint;
    let view = OneView {
        schema: SCHEMA,
        configuration: configuration(&circuit.limits, &defaults, known.source()),
        guards: known.guards(),
        circuit,
        recent,
    };
    workplace.answer(&view, text::one)?;
    Ok(exit_code::FINE)
}

fn check(workplace: &Workplace, id: &ConstraintId) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let known = Known::find_quickly(workplace, id).map_err(|failure| fail_closed(workplace, failure))?;
    let circuit = known.view(workplace);
    let mode = engine.config().policy().mode;
    let view = CheckView::new(&circuit, known.circuit.as_ref(), &known.name, mode, engine.now());
    workplace.answer(&view, text::check)?;
    Ok(if view.result == "BLOCKED" { exit_code::refused() } else { exit_code::FINE })
}

/// A failing store refuses only where the owner wants it so (E7).
fn fail_closed(workplace: &Workplace, failure: Failure) -> Failure {
    match (failure, workplace.engine.config().fail()) {
        (Failure::Plain(text), Fail::Closed) if !text.starts_with("Constraint not found") => Failure::Closed(text),
        (failure, Fail::Closed | Fail::Open) => failure,
    }
}

fn change(
    workplace: &Workplace,
    id: &ConstraintId,
    verb: &'static str,
    session: Option<String>,
    what: Happening,
) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let session = session.or_else(surroundings::session);
    let committed = engine.constraint(id, session.as_deref(), what).map_err(|error| Failure::of_constraint(id, error));
    let committed = match verb {
        "enforce" => committed.map_err(|failure| fail_closed(workplace, failure))?,
        _record_or_pass => committed?,
    };
    let view = ChangeView::new(id.as_str(), verb, &committed, engine.now());
    workplace.answer(&view, text::change)?;
    // `record` and `pass` report what happened; only `enforce` asks.
    Ok(if verb == "enforce" && view.verdict == "deny" { exit_code::refused() } else { exit_code::FINE })
}

fn by_operator(
    workplace: &Workplace,
    id: &str,
    verb: &'static str,
    reason: Option<&str>,
    proof: Proof,
    what: impl FnOnce(Operator) -> Happening,
) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let id = parse(id)?;
    // What cannot be done is said before a person is asked to confirm it.
    Known::find(workplace, &id)?;
    let operator = confirm(&format!("constraint {verb} {id}"), reason, proof, engine.config())?;
    let who = operator.who.clone();
    let committed = engine.constraint(&id, None, what(operator)).map_err(|error| Failure::of_constraint(&id, error))?;
    let mut view = ChangeView::new(id.as_str(), verb, &committed, engine.now());
    view.audit = Some(audit(&committed, who, reason));
    workplace.answer(&view, text::change)?;
    Ok(exit_code::FINE)
}

/// A person's act as the journal has it.
pub fn audit(committed: &Committed, who: String, reason: Option<&str>) -> AuditView {
    let when = committed.decision.facts.last().map(|recorded| recorded.at.at.to_seconds_text()).unwrap_or_default();
    AuditView {
        who,
        when,
        reason: reason.map(str::to_owned),
        journal_seq: committed.head.seq,
        journal_head: committed.head.short(),
    }
}

fn history(workplace: &Workplace, id: &ConstraintId, days: u32) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let known = Known::find(workplace, id)?;
    let limits = known.view(workplace).limits;
    let entries = engine.store().history(engine.project().key, &known.name, HISTORY_FACTS_MAX)?;
    let now = engine.now().at;
    let began = |days: u32| now.plus_millis(-i64::from(days) * 86_400_000);
    let window_began = began(limits.window_days);
    let mut violations = listed(&entries);
    violations.retain(|violation| violation.at > began(days));
    let in_window = violations.iter().filter(|violation| violation.at > window_began).count();
    let circuit = known.circuit.unwrap_or_default();
    let view = HistoryView {
        schema: SCHEMA,
        id: id.to_string(),
        days,
        window_days: limits.window_days,
        window_start: window_began.to_seconds_text(),
        in_window,
        outside_window: violations.len() - in_window,
        violations,
        totals: circuit.totals,
        resets: circuit.trips.iter().filter(|trip| trip.by_person).count(),
        window_began,
    };
    workplace.answer(&view, text::history)?;
    Ok(exit_code::FINE)
}

fn config(workplace: &Workplace, id: &ConstraintId) -> Result<ExitCode, Failure> {
    let known = Known::find(workplace, id)?;
    let circuit = known.view(workplace);
    let defaults = workplace.engine.config().policy().constraint;
    let view = ConfigView {
        schema: SCHEMA,
        id: id.to_string(),
        file: known.source().map(str::to_owned),
        configuration: configuration(&circuit.limits, &defaults, known.source()),
        guards: known.guards(),
        waiting: circuit.waiting,
    };
    workplace.answer(&view, text::configuration)?;
    Ok(exit_code::FINE)
}
