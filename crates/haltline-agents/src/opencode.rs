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
use crate::install::{Form, Layout, Listener, Relocation, Settings, Spelling};

pub use answer::{answer, answer_unreadable, shows_notice};
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// OpenCode's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "opencode",
    name: "opencode",
    title: "OpenCode",
    read,
    answer,
    shows_notice,
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
        user: Settings {
            relocation: Some(Relocation::Folder("OPENCODE_CONFIG_DIR")),
            folder: ".config/opencode",
            file: "plugins/haltline.js",
        },
        project: Settings { relocation: None, folder: ".opencode", file: "plugins/haltline.js" },
        more_project_files: &[],
        managed: None,
        disable_settings: &[],
        listeners: &[
            listener("session.created"),
            listener("chat.message"),
            listener("tool.execute.before"),
            listener("tool.execute.after"),
            listener("message.updated"),
            listener("message.part.updated"),
            listener("session.idle"),
            listener("session.compacted"),
            listener("session.deleted"),
            listener("dispose"),
        ],
        form: Form::GeneratedFile(plugin::PLUGIN),
        spelling: Spelling::SEPARATE,
        has_status_line: false,
        own_files: &[],
        post_install_step: None,
    },
    self_test: SELF_TEST,
};

/// An event; the plugin itself waits at most 5 seconds, because the client would wait forever.
const fn listener(event: &'static str) -> Listener {
    Listener { event, timeout: 5 }
}
