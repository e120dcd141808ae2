//! `haltline reset`, `resume` and `false-positive`: what people do to the circuits of sessions (E6, X4).

use std::process::ExitCode;

use haltline_core::attempt::Slice;
use haltline_core::claim::Claim;
use haltline_core::loop_::Verb;
use haltline_core::phase::Course;
use haltline_core::{CircuitName, Event, Rejection, State};
use haltline_engine::claims::claim_options;
use haltline_engine::store::{Committed, Store};
use haltline_engine::{EngineError, course_options, slice_options};

use super::constraint::audit;
use crate::cli::{FalsePositive, Reset};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::view::SCHEMA;
use crate::view::incident::{CircuitsView, ExemptionView, FalsePositivesView};
use crate::workplace::Workplace;

/// Closes one circuit, those of a session, or all.
pub fn reset(workplace: &Workplace, command: &Reset) -> Result<ExitCode, Failure> {
    let which = &command.which;
    if let Some(incident) = &which.incident {
        let verb = Verb::Reset { incident: Some(incident.clone()) };
        return one(workplace, incident, "reset", verb, command.reason.as_deref());
    }
    let engine = &workplace.engine;
    let mut rows = Vec::new();
    for (name, state) in engine.store().circuits(engine.project().key)? {
        let is_meant = which.is_all || which.session.as_deref().is_some_and(|session| is_of(&name, session));
        let has_any = state.board().is_some_and(|board| board.is_held() || !board.rungs.is_empty());
        if is_meant && has_any {
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
        last = Some(engine.handle(event).map_err(|error| Failure::of_incident(row.as_str(), error))?);
    }
    let Some(committed) = last else { return Ok(exit_code::FINE) };
    let circuits = rows.iter().map(ToString::to_string).collect();
    answer(workplace, "reset", None, circuits, &committed, operator.who, command.reason.as_deref())
}

/// Whether a row belongs to a session: its own, its sub-agents', or its tree's.
fn is_of(name: &CircuitName, session: &str) -> bool {
    let lane = CircuitName::lane(session, None);
    let below = lane.below("");
    *name == lane || name.as_str().starts_with(below.as_str()) || *name == CircuitName::tree(session)
}

/// Allows one probe.
pub fn resume(
    workplace: &Workplace,
    incident: String,
    hint: Option<String>,
    reason: Option<String>,
) -> Result<ExitCode, Failure> {
    let verb = Verb::Resume { incident: incident.clone(), hint };
    one(workplace, &incident, "resume", verb, reason.as_deref())
}

/// Declares a false alarm, takes one back, or lists them.
pub fn false_positive(workplace: &Workplace, command: FalsePositive) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let reason = command.reason.as_deref();
    if let Some(incident) = command.which.incident {
        let verb = Verb::FalseAlarm { incident: incident.clone() };
        return one(workplace, &incident, "false-positive", verb, reason);
    }
    if let Some(incident) = command.which.revoke {
        if !exemptions(workplace)?.iter().any(|exemption| exemption.incident == incident) {
            return Err(not_listed(&incident));
        }
        let operator = confirm("false-positive --revoke", reason, Proof::Presence, engine.config())?;
        let event = Event::Revoke { incident: incident.clone(), operator: operator.clone() };
        let committed = engine.handle(event).map_err(|error| match error {
            EngineError::Rejected(Rejection::NoIncident) => not_listed(&incident),
            other => Failure::of_incident(&incident, other),
        })?;
        let circuits = vec![CircuitName::exempt().to_string()];
        return answer(workplace, "revoke", Some(incident), circuits, &committed, operator.who, reason);
    }
    let view = FalsePositivesView { schema: SCHEMA, false_positives: exemptions(workplace)? };
    workplace.answer(&view, text::false_positives)?;
    Ok(exit_code::FINE)
}

fn not_listed(incident: &str) -> Failure {
    Failure::Plain(format!(
        "incident {incident:?} was never declared a false positive here; `haltline false-positive --list` shows which were"
    ))
}

fn exemptions(workplace: &Workplace) -> Result<Vec<ExemptionView>, Failure> {
    let engine = &workplace.engine;
    let state = engine.store().circuit(engine.project().key, &CircuitName::exempt())?;
    let list = state.as_ref().and_then(State::as_exempt);
    Ok(list.map(|list| list.exemptions.iter().map(ExemptionView::new).collect()).unwrap_or_default())
}

fn one(
    workplace: &Workplace,
    incident: &str,
    word: &'static str,
    verb: Verb,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    // What cannot be done is said before a person is asked to confirm it.
    let rejected = || Failure::of_incident(incident, EngineError::Rejected(Rejection::NoIncident));
    let Some(row) = engine.row_of(incident)? else {
        return Err(of_work(workplace, incident)?.unwrap_or_else(rejected));
    };
    let operator = confirm(&format!("{word} {incident}"), reason, Proof::Presence, engine.config())?;
    let event = Event::Circuits { row: row.clone(), verb, operator: operator.clone() };
    let committed = engine.handle(event).map_err(|error| match (word, error) {
        ("false-positive", EngineError::Rejected(Rejection::NoIncident)) => Failure::Plain(format!(
            "incident {incident}: a limit was reached, which is no alarm; raise it in the config, or `haltline reset {incident}`"
        )),
        (_, error) => Failure::of_incident(incident, error),
    })?;
    answer(workplace, word, Some(incident.to_owned()), vec![row.to_string()], &committed, operator.who, reason)
}

/// Courses of work, slices and claims have verbs of their own.
fn of_work(workplace: &Workplace, incident: &str) -> Result<Option<Failure>, Failure> {
    let engine = &workplace.engine;
    for (name, state) in engine.store().circuits(engine.project().key)? {
        let dispute =
            state.as_claim().and_then(Claim::dispute).map(|dispute| (&dispute.incident, claim_options(&name)));
        let course = state.as_course().and_then(Course::trip).map(|trip| (&trip.incident, course_options(&name)));
        let slice = state.as_slice().and_then(Slice::trip).map(|trip| (&trip.incident, slice_options(&name)));
        if let Some((known, options)) = dispute.or(course).or(slice)
            && known == incident
        {
            let options = options.join("`, `");
            let text = format!("incident {incident} is of {name}; what there is to do: `{options}`");
            return Ok(Some(Failure::Plain(text)));
        }
    }
    Ok(None)
}

fn answer(
    workplace: &Workplace,
    verb: &'static str,
    incident: Option<String>,
    circuits: Vec<String>,
    committed: &Committed,
    who: String,
    reason: Option<&str>,
) -> Result<ExitCode, Failure> {
    let view = CircuitsView { schema: SCHEMA, verb, incident, circuits, audit: audit(committed, who, reason) };
    workplace.answer(&view, text::circuits)?;
    Ok(exit_code::FINE)
}
