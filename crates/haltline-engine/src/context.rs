//! Gathers what a call must not touch, in one place for every front: constraints that guard it (C8), files of slices
//! (A5), and haltline itself (E6).

use std::path::Path;

use haltline_core::identity::Action;
use haltline_core::loop_::{CallContext, Guarded, LoopEvent, Protections};
use haltline_core::shell;

use crate::engine::{Engine, OwnFiles};
use crate::guards::{self, Guards};
use crate::store::Store;

/// Where an agent's call runs.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'a> {
    /// The agent's working directory: relative paths start there.
    pub working_directory: &'a Path,
    /// The folder of the client's own files, which belong to no slice.
    pub client_folder: Option<&'a Path>,
    /// The user's home folder, for `~` in a command.
    pub home: Option<&'a str>,
}

impl<S: Store> Engine<S> {
    /// The event with the context of its call, if it is the start of one.
    pub(crate) fn with_context(&self, event: LoopEvent, site: CallSite<'_>) -> LoopEvent {
        let LoopEvent::ToolStart { call, response, action, context: _ } = event else { return event };
        let (guarded, touched) = match self.uses_files() {
            true => (
                self.constraints_guarding(&action),
                self.touched_files(&action, site.working_directory, site.client_folder),
            ),
            false => (Vec::new(), Vec::new()),
        };
        let protections = Protections { guarded, touched, tampering: tampering(&action, self.own_files(), site.home) };
        LoopEvent::ToolStart { call, response, action, context: CallContext::Gathered(protections) }
    }

    /// The constraints that guard an action, with what their files say now (C8).
    fn constraints_guarding(&self, action: &Action) -> Vec<Guarded> {
        let list = guards::path(self.state_folder(), self.project().key);
        let (root, directory) = (&self.project().root, self.config().constraint_directory());
        let circuits = || guards::rules(self.store().circuits(self.project().key).unwrap_or_default());
        let guards = Guards::load(&list, root, directory, &self.config().policy().constraint, circuits);
        let ids = guards.covering(action).into_iter();
        ids.map(|id| Guarded { file: self.rule_file(&id).ok().flatten(), id }).collect()
    }
}

/// What an action would do to haltline, as the end of "this would …".
fn tampering(action: &Action, own_files: &OwnFiles, home: Option<&str>) -> Option<String> {
    let OwnFiles { state_folder, user_config } = own_files;
    if let Some(command) = &action.command {
        if let Some(verb) = shell::operator_verb(command) {
            return Some(format!("run `haltline {verb}`"));
        }
        // A path that is not UTF-8 cannot be written in a command either.
        let own = [state_folder, user_config].map(|path| path.to_str().unwrap_or_default());
        match shell::touched(command, &own, home) {
            Some(0) => return Some("change haltline's store".to_owned()),
            Some(_) => return Some("change haltline's configuration".to_owned()),
            None => {}
        }
    }
    let path = Path::new(action.path.as_deref().filter(|_| action.is_write)?);
    if path.starts_with(state_folder) {
        return Some("change haltline's store".to_owned());
    }
    (path == user_config).then(|| "change haltline's configuration".to_owned())
}
