//! Views of pauses.

use haltline_core::Instant;
use haltline_engine::control::{ControlScope, ScopedPause};
use serde::Serialize;

use super::AuditView;
use crate::local_time;

/// The result of `haltline pause` and `haltline unpause`.
#[derive(Debug, Serialize)]
pub struct PauseView {
    pub schema: u32,
    pub is_paused: bool,
    /// The pauses in force for this project.
    pub paused: Vec<PausedView>,
    /// Missing if haltline changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

/// A pause in force.
#[derive(Debug, Serialize)]
pub struct PausedView {
    /// `everywhere` or `project`.
    pub scope: &'static str,
    pub since: String,
    pub until: String,
    /// The session that it is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub who: String,
    /// The end as people read it.
    #[serde(skip)]
    pub until_local: String,
}

impl PausedView {
    pub fn new(found: &ScopedPause, now: Instant) -> Self {
        let ScopedPause { scope, pause } = found;
        Self {
            scope: match scope {
                ControlScope::Everywhere => "everywhere",
                ControlScope::Project => "project",
            },
            since: pause.since.at.to_seconds_text(),
            until: pause.until().to_seconds_text(),
            session: pause.session.clone(),
            who: pause.who.clone(),
            until_local: local_time::clock_time(pause.until(), now),
        }
    }

    /// What is paused and until when, in one sentence without its full stop.
    pub fn sentence(&self) -> String {
        match (&self.session, self.scope) {
            (Some(session), _) => {
                format!("haltline is paused until session {session} ends, at the latest until {}", self.until_local)
            }
            (None, "project") => format!("haltline is paused in this project until {}", self.until_local),
            (None, _) => format!("haltline is paused everywhere until {}", self.until_local),
        }
    }
}
