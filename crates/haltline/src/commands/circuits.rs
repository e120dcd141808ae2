//! `haltline reset`, `resume` and `false-positive`: operator actions on the circuits of sessions (E6, X4).

use std::process::ExitCode;

use haltline_core::attempt::Slice;
use haltline_core::claim::Claim;
use haltline_core::loop_::Verb;
use haltline_core::phase::PhaseRun;
use haltline_core::{CircuitName, Event, Rejection, State};
use haltline_engine::claims::claim_options;
use haltline_engine::store::{Committed, Store};
use haltline_engine::{EngineError, phase_run_options, slice_options};

use super::constraint::audit;
use crate::cli::{FalsePositive, Reset};
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::view::SCHEMA;
use crate::view::incident::{CircuitsView, ExemptionView, FalsePositivesView, IncidentVerb};

/// Closes one circuit, those of a session, or all.
pub fn reset(context: &Context, command: &Reset) -> Result<ExitCode, Failure> {
    let which = &command.which;
    if let Some(incident) = &which.incident {
        let verb = Verb::Reset { incident: Some(incident.clone()) };
        return act_on_incident(context, incident, IncidentVerb::Reset, verb, command.reason.as_deref());
    }
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
    if rows.is_empty() {
        return Err(Failure::Plain(match &which.session {
            Some(session) => format!(
                "session {session:?} has no circuit that is not CLOSED; `haltline status` lists those of the last day"
            ),
            None => {
                "every circuit of every session is CLOSED; constraints have their own: `haltline constraint reset ID`"
                    .to_owned()
            }
        }));
    }
    let operator = confirm("reset", command.reason.as_deref(), Proof::Presence, engine.config())?;
    let mut last = None;
    for row in &rows {
        let verb = Verb::Reset { incident: None };
        let event = Event::Circuits { row: row.clone(), verb, operator: operator.clone() };
        last = Some(engine.handle(event).map_err(|error| Failure::for_incident(row.as_str(), error))?);
    }
    let Some(committed) = last else { return Ok(exit_code::SUCCESS) };
    let circuits = rows.iter().map(ToString::to_string).collect();
    print_action(context, IncidentVerb::Reset, None, circuits, &committed, operator.who, command.reason.as_deref())
}

/// True if the row belongs to the session: to its root agent, its sub-agents, or its agent tree.
fn belongs_to_session(name: &CircuitName, session: &str) -> bool {
    let agent_row = CircuitName::agent(session, None);
    let below = agent_row.below("");
    *name == agent_row || name.as_str().starts_with(below.as_str()) || *name == CircuitName::tree(session)
}

/// Allows one probe of an open circuit.
pub fn resume(
    context: &Context,
    incident: String,
    hint: Option<String>,
    reason: Option<String>,
) -> Result<ExitCode, Failure> {
    let verb = Verb::Resume { incident: incident.clone(), hint };
    act_on_incident(context, &incident, IncidentVerb::Resume, verb, reason.as_deref())
}

/// Declares a false positive, revokes one, or lists them.
pub fn false_positive(context: &Context, command: FalsePositive) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let reason = command.reason.as_deref();
    if let Some(incident) = command.which.incident {
        let verb = Verb::FalsePositive { incident: incident.clone() };
        return act_on_incident(context, &incident, IncidentVerb::FalsePositive, verb, reason);
    }
    if let Some(incident) = command.which.revoke {
        if !exemptions(context)?.iter().any(|exemption| exemption.incident == incident) {
            return Err(not_listed(&incident));
        }
        let operator = confirm("false-positive --revoke", reason, Proof::Presence, engine.config())?;
        let event = Event::Revoke { incident: incident.clone(), operator: operator.clone() };
        let committed = engine.handle(event).map_err(|error| match error {
            EngineError::Rejected(Rejection::NoIncident) => not_listed(&incident),
            other => Failure::for_incident(&incident, other),
        })?;
        let circuits = vec![CircuitName::exemptions().to_string()];
        return print_action(context, IncidentVerb::Revoke, Some(incident), circuits, &committed, operator.who, reason);
    }
    let view = FalsePositivesView { schema: SCHEMA, false_positives: exemptions(context)? };
    context.print(&view, text::false_positives)?;
    Ok(exit_code::SUCCESS)
}

fn not_listed(incident: &str) -> Failure {
    Failure::Plain(format!(
        "incident {incident:?} was never declared a false positive here; `haltline false-positive --list` shows which were"
    ))
}

fn exemptions(context: &Context) -> Result<Vec<ExemptionView>, Failure> {
    let engine = &context.engine;
    let state = engine.store().circuit(engine.project().key, &CircuitName::exemptions())?;
    let list = state.as_ref().and_then(State::as_exemptions);
    Ok(list.map(|list| list.entries.iter().map(ExemptionView::new).collect()).unwrap_or_default())
}

fn act_on_incident(
    context: &Context,
    incident: &str,
    action: IncidentVerb,
    verb: Verb,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    // Check before asking the person to confirm something that cannot be done.
    let rejected = || Failure::for_incident(incident, EngineError::Rejected(Rejection::NoIncident));
    let Some(row) = engine.row_with_incident(incident)? else {
        return Err(other_breaker_hint(context, incident)?.unwrap_or_else(rejected));
    };
    let operator = confirm(&format!("{} {incident}", action.as_str()), reason, Proof::Presence, engine.config())?;
    let event = Event::Circuits { row: row.clone(), verb, operator: operator.clone() };
    let committed = engine.handle(event).map_err(|error| match (action, error) {
        (IncidentVerb::FalsePositive, EngineError::Rejected(Rejection::NoIncident)) => Failure::Plain(format!(
            "incident {incident}: a limit was reached, which is no alarm; raise it in the config, or `haltline reset {incident}`"
        )),
        (_, error) => Failure::for_incident(incident, error),
    })?;
    print_action(context, action, Some(incident.to_owned()), vec![row.to_string()], &committed, operator.who, reason)
}

/// Points to the commands of phase runs, slices and claims, which have their own verbs.
fn other_breaker_hint(context: &Context, incident: &str) -> Result<Option<Failure>, Failure> {
    let engine = &context.engine;
    for (name, state) in engine.store().circuits(engine.project().key)? {
        let dispute =
            state.as_claim().and_then(Claim::dispute).map(|dispute| (&dispute.incident, claim_options(&name)));
        let phase_run =
            state.as_phase_run().and_then(PhaseRun::trip).map(|trip| (&trip.incident, phase_run_options(&name)));
        let slice = state.as_slice().and_then(Slice::trip).map(|trip| (&trip.incident, slice_options(&name)));
        if let Some((known, options)) = dispute.or(phase_run).or(slice)
            && known == incident
        {
            let options = options.join("`, `");
            let text = format!("incident {incident} is of {name}; what there is to do: `{options}`");
            return Ok(Some(Failure::Plain(text)));
        }
    }
    Ok(None)
}

fn print_action(
    context: &Context,
    verb: IncidentVerb,
    incident: Option<String>,
    circuits: Vec<String>,
    committed: &Committed,
    who: String,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let view = CircuitsView { schema: SCHEMA, verb, incident, circuits, audit: audit(committed, who, reason) };
    context.print(&view, text::circuits)?;
    Ok(exit_code::SUCCESS)
}
