//! When haltline does not watch: during a pause, and in a client that a person started with `HALTLINE=off` (E6).

use std::path::Path;

use haltline_agents::hook::HookCall;
use haltline_core::control::ControlEvent;
use haltline_engine::control::{ControlScope, Watch};
use haltline_engine::store::Sqlite;
use haltline_engine::{Engine, EngineError};

use super::SELF_TEST_PREFIX;
use super::notice_once::NoticeFiles;
use crate::ancestry;
use crate::environment::variable;
use crate::local_time;

/// Whether haltline watches the client that started this hook. A client passes its environment on, so the client's
/// process is looked at only where the hook itself has the variable.
pub fn watch(hook_call: &HookCall, state_folder: &Path) -> Watch {
    if hook_call.agent.session.starts_with(SELF_TEST_PREFIX) {
        return Watch::Always;
    }
    if variable("HALTLINE").as_deref() != Some(ancestry::OFF) {
        return Watch::UnlessPaused;
    }
    let named = hook_call.client.protocol().variables.process.and_then(variable).and_then(|id| id.parse().ok());
    let name = hook_call.client.name();
    let is_off =
        ancestry::find_client(named, name).is_some_and(|client| ancestry::is_switched_off(state_folder, &client, name));
    if is_off { Watch::Never } else { Watch::UnlessPaused }
}

/// What the person reads, once per session and pause. The first event of a client that is off leaves a fact.
pub fn notice(
    engine: &Engine<Sqlite>,
    notice_files: &NoticeFiles,
    session: &str,
) -> Result<Option<String>, EngineError> {
    let pauses = engine.pauses()?;
    let Some(found) = pauses.iter().find(|found| found.pause.covers(session)) else {
        if !notice_files.is_first("off", session) {
            return Ok(None);
        }
        engine.control(ControlScope::Project, ControlEvent::SwitchedOff { session: session.to_owned() })?;
        let text = "haltline is off in this client, which was started with HALTLINE=off: it neither counts nor denies anything";
        return Ok(Some(text.to_owned()));
    };
    let until = found.pause.until();
    let is_first = notice_files.is_first(&format!("pause {until}"), session);
    let until = local_time::clock_time(until, engine.now().at);
    Ok(is_first.then(|| {
        format!("haltline is paused until {until}: it neither counts nor denies anything (haltline unpause ends this)")
    }))
}
