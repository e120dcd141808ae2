//! `haltline pause` and `haltline unpause` (E6).

use std::process::ExitCode;

use haltline_core::control::{ControlEvent, PAUSE_MS_MAX};
use haltline_core::{CircuitName, State};
use haltline_engine::control::{ControlScope, ScopedPause};
use haltline_engine::store::{Committed, Store};

use crate::cli::{Pause, PauseLength, Unpause};
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::local_time;
use crate::view::control::{PauseView, PausedView};
use crate::view::{AuditView, SCHEMA};

/// Pauses haltline for everything, for this project or for one session.
pub fn pause(context: &Context, command: &Pause) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let (lifetime_ms, session) = match command.length {
        PauseLength::For(millis) => (millis, None),
        PauseLength::Today => (local_time::until_midnight_ms(engine.now().at), None),
        PauseLength::Session => (PAUSE_MS_MAX, Some(newest_session(context)?)),
    };
    let scope = match (command.is_project, &session) {
        (false, None) => ControlScope::Everywhere,
        (true, _) | (false, Some(_)) => ControlScope::Project,
    };
    let (_, audit) = context.operate("pause", command.reason.as_deref(), |operator| {
        commit(context, scope, ControlEvent::Pause { lifetime_ms, session, operator })
    })?;
    print(context, Some(audit))
}

/// Ends every pause that concerns this project.
pub fn unpause(context: &Context, command: &Unpause) -> Result<ExitCode, Failure> {
    let pauses = context.engine.pauses()?;
    if pauses.is_empty() {
        return print(context, None);
    }
    let (_, audit) = context.operate("unpause", command.reason.as_deref(), |operator| {
        let mut ended = None;
        for ScopedPause { scope, .. } in &pauses {
            ended = Some(commit(context, *scope, ControlEvent::Unpause(operator.clone()))?);
        }
        ended.ok_or_else(|| Failure::Plain("nothing is paused".to_owned()))
    })?;
    print(context, Some(audit))
}

fn commit(context: &Context, scope: ControlScope, event: ControlEvent) -> Result<Committed, Failure> {
    context.engine.control(scope, event).map_err(Failure::for_control)
}

/// The session of this project that was seen last, as its row names it.
fn newest_session(context: &Context) -> Result<String, Failure> {
    let engine = &context.engine;
    let rows = engine.store().circuits(engine.project().key)?;
    let agents = rows.iter().filter_map(|(name, state)| match state {
        State::Agent(agent) => Some((agent.last_seen.at, name)),
        _other => None,
    });
    let newest = agents.max_by_key(|(seen, _)| *seen).map(|(_, name)| session_part(name));
    newest.ok_or_else(|| {
        Failure::Plain("no session of this project is known; `haltline pause 30m --project` pauses by time".to_owned())
    })
}

fn session_part(name: &CircuitName) -> String {
    name.scope().split('/').next().unwrap_or_default().to_owned()
}

fn print(context: &Context, audit: Option<AuditView>) -> Result<ExitCode, Failure> {
    let pauses = paused(context)?;
    let view = PauseView { schema: SCHEMA, is_paused: !pauses.is_empty(), paused: pauses, audit };
    context.print(&view, text::pause)
}

/// The pauses in force for this project, as views.
pub fn paused(context: &Context) -> Result<Vec<PausedView>, Failure> {
    let now = context.engine.now().at;
    Ok(context.engine.pauses()?.iter().map(|found| PausedView::new(found, now)).collect())
}
