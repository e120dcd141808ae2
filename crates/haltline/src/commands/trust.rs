//! `haltline trust`: a person accepts what the project's files would loosen (E9).

use std::process::ExitCode;

use haltline_core::trust::TrustEvent;
use haltline_core::{ConstraintId, Event, State, constraint};
use haltline_engine::EngineError;
use haltline_engine::store::Store;

use crate::cli::Trust;
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::operator::Unattended;
use crate::view::status::{TrustView, WaitingView};
use crate::view::{AuditView, SCHEMA};

/// Lists what waits for trust, and accepts it unless only the list was requested.
pub fn run(context: &Context, command: &Trust) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let waiting = waiting(context)?;
    if command.is_list || waiting.is_empty() {
        let view = TrustView { schema: SCHEMA, waiting, is_accepted: false, audit: None };
        return context.print(&view, text::trust);
    }
    let operator = context.confirm("trust", command.reason.as_deref())?;
    let mut accepted = None;
    for (id, _) in loosened_rules(context)? {
        let event = constraint::ConstraintEvent::TrustRule(operator.clone());
        let committed = engine.constraint(&id, None, event).map_err(|error| Failure::for_constraint(&id, error))?;
        accepted = Some(committed);
    }
    let config = engine.config();
    let content = config.project_file.as_ref().filter(|_| config.is_waiting_for_trust());
    let content =
        content.map(|(_, digest)| TrustEvent::TrustContent { digest: digest.clone(), operator: operator.clone() });
    let values = config.requested_breaker_values();
    let values = values.map(|values| TrustEvent::TrustLimits { values: values.clone(), operator: operator.clone() });
    for event in content.into_iter().chain(values) {
        match engine.handle(Event::Trust(event)) {
            Ok(committed) => accepted = Some(committed),
            Err(EngineError::Rejected(_trusted_meanwhile)) => {}
            Err(EngineError::Store(error)) => return Err(error.into()),
        }
    }
    if let Unattended::Unconfirmed(file) = context.unattended() {
        engine.confirm_user_config(&file, operator.clone()).map_err(Failure::for_control)?;
    }
    engine.accept_identity(operator.clone()).map_err(Failure::for_control)?;
    let audit = accepted.map(|committed| AuditView::new(&committed, operator));
    let view = TrustView { schema: SCHEMA, waiting, is_accepted: true, audit };
    context.print(&view, text::trust)
}

/// Returns everything that waits for trust, from the configuration and from constraint files.
pub fn waiting(context: &Context) -> Result<Vec<WaitingView>, Failure> {
    let mut waiting = Vec::new();
    for setting in context.engine.config().settings() {
        for request in &setting.waiting {
            waiting.push(WaitingView {
                file: request.file.to_owned(),
                key: setting.key.name.to_owned(),
                from: setting.value.to_string(),
                to: request.value.to_string(),
            });
        }
    }
    for (_, rule) in loosened_rules(context)? {
        waiting.extend(rule);
    }
    if let Some(identity) = context.engine.moved_identity() {
        waiting.push(WaitingView {
            file: context.engine.project().root.display().to_string(),
            key: "project".to_owned(),
            from: context.engine.project().identity.display().to_string(),
            to: identity.display().to_string(),
        });
    }
    if let Unattended::Unconfirmed(file) = context.unattended() {
        waiting.push(WaitingView {
            file: file.display().to_string(),
            key: "operator.unattended".to_owned(),
            from: "false".to_owned(),
            to: "true".to_owned(),
        });
    }
    Ok(waiting)
}

/// Returns the constraints whose files request a looser rule than the one in force.
fn loosened_rules(context: &Context) -> Result<Vec<(ConstraintId, Vec<WaitingView>)>, Failure> {
    let engine = &context.engine;
    let mut found = Vec::new();
    for (name, state) in engine.store().circuits(engine.project().key)? {
        let State::Constraint(circuit) = state else { continue };
        let Ok(id) = ConstraintId::parse(name.scope()) else { continue };
        if matches!(circuit.state, constraint::CircuitState::Retired { .. }) {
            continue;
        }
        let Some(file) = engine.constraint_file(&id, Some(&circuit)).filter(|file| file.is_active) else { continue };
        let loosened = circuit.rule.loosened_by(&file.seen.rule);
        let view = |key: constraint::Loosened| WaitingView {
            file: file.seen.source.path.clone(),
            key: key.field.to_owned(),
            from: key.from,
            to: key.to,
        };
        if !loosened.is_empty() {
            found.push((id, loosened.into_iter().map(view).collect()));
        }
    }
    Ok(found)
}
