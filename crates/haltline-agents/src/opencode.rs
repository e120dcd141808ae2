//! OpenCode, which runs no hook programs: haltline installs a plugin (`plugin.js`) instead.
//!
//! Written against version 1.18.33. The plugin starts one `haltline hook opencode --stream` and writes each event to it
//! on one line; without `--stream`, haltline answers a single event, which is what `doctor` uses. Both sides are
//! haltline's, but the content of an event comes from the client: a field that is missing or of the wrong type counts
//! as unknown.

mod answer;
mod payload;
mod plugin;
pub(crate) mod response;
mod self_test;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{EventGroup, Form, Layout, Relocation, Settings, Spelling};

pub use answer::{answer, answer_unreadable};
pub use payload::{event, read};
pub use self_test::SELF_TEST;

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "opencode",
    name: "opencode",
    title: "OpenCode",
    read,
    answer,
    notices: answer::NOTICES,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable,
    // The plugin reports everything; the transcript has nothing to add.
    transcript: None,
    stop: StopMethod::Answer,
    variables: HookVariables {
        process: Some("OPENCODE_PID"),
        // The plugin sets it for everything that the agent's commands start.
        session: Some("HALTLINE_OPENCODE_SESSION"),
        marker: Some("OPENCODE"),
        project: None,
    },
    layout: Layout {
        user: Settings::new(".config/opencode", "plugins/haltline.js")
            .moved_by(Relocation::Folder("OPENCODE_CONFIG_DIR")),
        // The plugin itself waits at most 5 seconds, because the client would wait forever.
        event_groups: &[EventGroup {
            timeout: 5,
            events: &[
                "session.created",
                "chat.message",
                "tool.execute.before",
                "tool.execute.after",
                "message.updated",
                "message.part.updated",
                "session.idle",
                "session.compacted",
                "session.deleted",
                "dispose",
            ],
        }],
        form: Form::GeneratedFile(plugin::PLUGIN),
        spelling: Spelling::SEPARATE,
        ..Layout::new(".opencode", "plugins/haltline.js")
    },
    self_test: SELF_TEST,
};
