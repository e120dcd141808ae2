//! Cline's hooks: programs named after the event they are for. Only those around a call are waited for.
//!
//! Written against version 3.0.65. The client has no refusal of one call, so haltline refuses by taking its arguments away
//! (`answer`); the stop is the client's own. Nothing here panics, and nothing here ever tells the client to allow a
//! call (E7).

mod answer;
mod call;
mod payload;
mod rehearsal;
mod script;

use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Moved, Settings, Spelling};

pub use answer::{answer, complaint, shows_notice};
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Cline, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "cline",
    name: "cline",
    title: "Cline",
    read,
    answer,
    shows_notice,
    warned: Warned::AtOnce,
    complaint,
    feed: None,
    stop: Stop::Answered,
    variables: Variables { process: None, session: None, inside: None, project: None },
    layout: Layout {
        user: Settings { moved: Some(Moved::Folder("CLINE_DIR")), folder: ".cline", file: "hooks/PreToolUse.bash" },
        project: Settings { moved: None, folder: ".cline", file: "hooks/PreToolUse.bash" },
        more: &[],
        managed: None,
        switches: &[],
        listeners: &[
            listener("PreToolUse"),
            listener("PostToolUse"),
            listener("TaskStart"),
            listener("UserPromptSubmit"),
        ],
        // The client runs every script of an event, whatever it ends in: people rarely choose this ending.
        form: Form::Program(script::BEFORE),
        spelling: Spelling::LINE,
        has_status_line: false,
        own_files: script::BESIDE,
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};

/// An event; how long the client waits is fixed, two minutes.
const fn listener(event: &'static str) -> Listener {
    Listener { event, timeout: 120 }
}
