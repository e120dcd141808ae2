//! `haltline resume`, `reset` and `false-positive`: what a person does about an incident of any breaker (E6, X4).

use std::process::ExitCode;

use haltline_core::loop_::{TripSubject, Verb};
use haltline_core::{CircuitName, Event, Rejection, State};
use haltline_engine::claims::claim_options;
use haltline_engine::store::Store;
use haltline_engine::{EngineError, IncidentLookup, IncidentRecord, IncidentState};

use super::{attempt, constraint, phase};
use crate::cli::{Attempt, AttemptReset, Constraint, FalsePositive, Reset, Resume, SliceArgument};
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::view::incident::{CircuitsView, ExemptionView, FalsePositivesView, IncidentVerb};
use crate::view::{AuditView, SCHEMA};

/// Finds the incident that a person means, by its id, by the beginning of it, or the newest one that fits.
pub fn find(
    context: &Context,
    wanted: Option<&str>,
    nothing: &str,
    fits: impl Fn(&IncidentRecord) -> bool,
) -> Result<IncidentRecord, Failure> {
    let shown = || haltline_core::shorten(wanted.unwrap_or_default());
    context.engine.find_incident(wanted, fits)?.map_err(|lookup| {
        Failure::Plain(match lookup {
            IncidentLookup::Nothing => nothing.to_owned(),
            IncidentLookup::Unknown => {
                format!("there is no incident {}; `haltline incidents --all` lists them", shown())
            }
            IncidentLookup::Elsewhere(record) => {
                let IncidentRecord { id, project, .. } = *record;
                format!("incident {id} belongs to the project {project}: run this there, or with -C FOLDER")
            }
            IncidentLookup::Ambiguous(records) => {
                let line = |record: &IncidentRecord| {
                    let about = record.about.as_deref().or(record.reason.as_deref()).unwrap_or_default();
                    format!("\n  {}  {} {}", record.id, record.pattern, text::fit(about, 50))
                };
                format!("several incidents begin with {}:{}", shown(), records.iter().map(line).collect::<String>())
            }
        })
    })
}

/// True if an incident of this project fits. A verb that finds none where the person named none has nothing to do, which
/// is no error.
fn is_any(context: &Context, fits: impl Fn(&IncidentRecord) -> bool) -> Result<bool, Failure> {
    Ok(!matches!(context.engine.find_incident(None, fits)?, Err(IncidentLookup::Nothing)))
}

/// Lets work go on after an incident, in the way that its breaker has.
pub fn resume(context: &Context, command: &Resume) -> Result<ExitCode, Failure> {
    context.engine.import_mirror();
    let nothing = "haltline stops nothing in this project now; `haltline incidents` lists earlier incidents.";
    if command.incident.is_none() && !is_any(context, IncidentRecord::is_open)? {
        return context.print_nothing(nothing);
    }
    let record = find(context, command.incident.as_deref(), nothing, IncidentRecord::is_open)?;
    let (hint, reason) = (command.hint.as_deref(), command.reason.as_deref());
    if record.breaker() == "loop" {
        let verb = Verb::Resume { incident: record.id.clone(), hint: hint.map(str::to_owned) };
        return act_on_session(context, &record, IncidentVerb::Resume, verb, reason);
    }
    go_on(context, &record, "resume", hint, reason)
}

/// Closes one circuit, those of a session, or all.
pub fn reset(context: &Context, command: &Reset) -> Result<ExitCode, Failure> {
    let which = &command.which;
    if which.session.is_some() || which.is_all {
        return reset_sessions(context, command);
    }
    context.engine.import_mirror();
    let nothing = "Every circuit of this project is CLOSED; `haltline incidents` lists what tripped.";
    if which.incident.is_none() && !is_any(context, IncidentRecord::is_open)? {
        return context.print_nothing(nothing);
    }
    let record = find(context, which.incident.as_deref(), nothing, IncidentRecord::is_open)?;
    let reason = command.reason.as_deref();
    if record.breaker() == "loop" {
        let verb = Verb::Reset { incident: Some(record.id.clone()) };
        return act_on_session(context, &record, IncidentVerb::Reset, verb, reason);
    }
    go_on(context, &record, "reset", None, reason)
}

/// Lets the work of a constraint, a phase run or a slice go on; names the ways to resolve a claim's dispute.
fn go_on(
    context: &Context,
    record: &IncidentRecord,
    verb: &str,
    hint: Option<&str>,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let IncidentRecord { id, row, .. } = record;
    if !record.is_open() {
        return Err(Failure::for_incident(id, EngineError::Rejected(Rejection::NoIncident)));
    }
    let scope = row.scope();
    let which = || context.note(&format!("Incident {id} of {row}:"));
    match record.breaker() {
        "constraint" => {
            which();
            let reason = reason.or(hint).map(str::to_owned);
            constraint::run(context, Constraint::Reset { id: scope.to_owned(), reason })
        }
        "phase" => {
            which();
            phase::resume(context, row, &format!("{verb} {id}"), hint, reason)
        }
        "attempt" => {
            let slice = scope.split('@').next().unwrap_or(scope);
            let Some(hint) = hint else {
                return Err(Failure::Plain(format!(
                    "incident {id} of {row}: the next attempt needs guidance: `haltline resume {id} --hint TEXT`"
                )));
            };
            which();
            let slice = SliceArgument { id: Some(slice.to_owned()) };
            let (guidance, reason) = (hint.to_owned(), reason.map(str::to_owned));
            // Going on must not take away what somebody wrote: only `attempt reset` rolls the tree back.
            let reset = AttemptReset { slice, hint: guidance, keep_tree: true, with_commits: false, reason };
            let code = attempt::run(context, Attempt::Reset(reset))?;
            if !context.is_json {
                context.note(
                    "Your files stay as they are. `haltline attempt rollback` restores them from the checkpoint.",
                );
            }
            Ok(code)
        }
        _claim => {
            let options = claim_options(row).join("\n  ");
            Err(Failure::Plain(format!("incident {id} of {row} is a dispute; one of these resolves it:\n  {options}")))
        }
    }
}

fn reset_sessions(context: &Context, command: &Reset) -> Result<ExitCode, Failure> {
    let which = &command.which;
    let engine = &context.engine;
    let mut rows = Vec::new();
    for (name, state) in engine.store().circuits(engine.project().key)? {
        let is_selected =
            which.is_all || which.session.as_deref().is_some_and(|session| belongs_to_session(&name, session));
        let has_any =
            state.circuits().is_some_and(|circuits| circuits.has_tripped() || !circuits.escalations.is_empty());
        if is_selected && has_any {
            rows.push(name);
        }
    }
    let Some((last, others)) = rows.split_last() else {
        return match &which.session {
            Some(session) => Err(Failure::Plain(format!(
                "all circuits of session {session:?} are CLOSED; `haltline incidents` lists what is open"
            ))),
            None => context.print_nothing(
                "Every circuit of every session is CLOSED; `haltline incidents` lists what else is open.",
            ),
        };
    };
    let (_, audit) = context.operate("reset", command.reason.as_deref(), |operator| {
        let reset = |row: &CircuitName| {
            let verb = Verb::Reset { incident: None };
            let event = Event::Circuits { row: row.clone(), verb, operator: operator.clone() };
            engine.handle(event).map_err(|error| Failure::for_incident(row.as_str(), error))
        };
        others.iter().try_for_each(|row| reset(row).map(drop))?;
        reset(last)
    })?;
    let circuits = rows.iter().map(ToString::to_string).collect();
    print_action(context, CircuitsView { circuits, ..CircuitsView::new(IncidentVerb::Reset, audit) })
}

/// True if the row belongs to the session: to its root agent, its sub-agents, or its agent tree.
fn belongs_to_session(name: &CircuitName, session: &str) -> bool {
    let agent_row = CircuitName::agent(session, None);
    let below = agent_row.below("");
    *name == agent_row || name.as_str().starts_with(below.as_str()) || *name == CircuitName::tree(session)
}

/// Declares a false positive, revokes one, or lists them.
pub fn false_positive(context: &Context, command: FalsePositive) -> Result<ExitCode, Failure> {
    let reason = command.reason.as_deref();
    if command.which.is_list {
        let view = FalsePositivesView { schema: SCHEMA, false_positives: exemptions(context)? };
        return context.print(&view, text::false_positives);
    }
    if let Some(wanted) = &command.which.revoke {
        return revoke(context, wanted, reason);
    }
    let nothing = "no session of this project has tripped a circuit; `haltline incidents` lists what has";
    let is_exemptible = |record: &IncidentRecord| subject(record).is_some();
    let record = find(context, command.which.incident.as_deref(), nothing, is_exemptible)?;
    let id = &record.id;
    let Some(subject) = subject(&record) else {
        return Err(Failure::Plain(match record.breaker() {
            "loop" => format!(
                "incident {id}: the session reached a limit, so there is no call to exempt; `haltline explain {}` says how to raise it, `haltline resume {id}` lets one more through",
                record.code
            ),
            _other => format!(
                "incident {id} of {}: you can exempt only calls; `haltline why {id}` says what you can do",
                record.row
            ),
        }));
    };
    let verb = Verb::FalsePositive { incident: id.clone(), subject: Some(subject) };
    act_on_session(context, &record, IncidentVerb::FalsePositive, verb, reason)
}

/// What a trip was about; `None` if it was a limit's, or another breaker's.
fn subject(record: &IncidentRecord) -> Option<TripSubject> {
    let (pattern, key) = (record.loop_pattern()?, record.key?);
    // A limit has no cooldown: nothing tripped.
    record.until?;
    Some(TripSubject { pattern, key, calls: record.calls.clone(), about: record.about.clone() })
}

fn revoke(context: &Context, wanted: &str, reason: Option<&str>) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let wanted = wanted.to_ascii_lowercase();
    let mut found = exemptions(context)?;
    found.retain(|exemption| exemption.incident.starts_with(&wanted));
    let exemption = match (found.pop(), found.is_empty()) {
        (Some(only), true) => only,
        (Some(_), false) | (None, _) => return Err(not_listed(&wanted)),
    };
    let incident = exemption.incident.clone();
    let (_, audit) = context.operate("false-positive --revoke", reason, |operator| {
        engine.handle(Event::Revoke { incident: incident.clone(), operator }).map_err(|error| match error {
            EngineError::Rejected(Rejection::NoIncident) => not_listed(&incident),
            other => Failure::for_incident(&incident, other),
        })
    })?;
    let circuits = vec![CircuitName::exemptions().to_string()];
    let view = CircuitsView::new(IncidentVerb::Revoke, audit);
    print_action(context, CircuitsView { incident: Some(incident), about: exemption.about, circuits, ..view })
}

fn not_listed(incident: &str) -> Failure {
    Failure::Plain(format!(
        "{incident:?} matches no false positive, or several; `haltline false-positive --list` shows them"
    ))
}

fn exemptions(context: &Context) -> Result<Vec<ExemptionView>, Failure> {
    let engine = &context.engine;
    let state = engine.store().circuit(engine.project().key, &CircuitName::exemptions())?;
    let Some(list) = state.as_ref().and_then(State::as_exemptions) else { return Ok(Vec::new()) };
    let records = engine.incident_records(false)?;
    let about = |incident: &str| {
        let record = records.iter().find(|record| record.id == incident)?;
        record.about.clone().or_else(|| record.reason.clone())
    };
    Ok(list.entries.iter().map(|exemption| ExemptionView::new(exemption, about(&exemption.incident))).collect())
}

/// Acts on an incident of a session.
fn act_on_session(
    context: &Context,
    record: &IncidentRecord,
    action: IncidentVerb,
    verb: Verb,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let IncidentRecord { id, row, .. } = record;
    // Check before asking the person to confirm something that cannot be done.
    if !record.is_open() && action != IncidentVerb::FalsePositive {
        return Err(Failure::for_incident(id, EngineError::Rejected(Rejection::NoIncident)));
    }
    let (_, audit) = context.operate(&format!("{} {id}", action.as_str()), reason, |operator| {
        let event = Event::Circuits { row: row.clone(), verb, operator };
        engine.handle(event).map_err(|error| Failure::for_incident(id, error))
    })?;
    print_action(
        context,
        CircuitsView {
            incident: Some(id.clone()),
            about: record.about.clone(),
            pattern: Some(record.pattern.clone()),
            circuits: vec![record.circuit().to_string()],
            is_limit: record.until.is_none(),
            was_cooled_down: record.state == IncidentState::HalfOpen,
            ..CircuitsView::new(action, audit)
        },
    )
}

fn print_action(context: &Context, view: CircuitsView) -> Result<ExitCode, Failure> {
    context.print(&view, text::circuits)
}

impl CircuitsView {
    fn new(verb: IncidentVerb, audit: AuditView) -> Self {
        Self {
            schema: SCHEMA,
            verb,
            incident: None,
            about: None,
            pattern: None,
            is_limit: false,
            was_cooled_down: false,
            circuits: Vec::new(),
            audit,
        }
    }
}
