//! OpenCode, which runs no hook programs: a plugin of haltline's own (`plugin.js`) speaks for it.
//!
//! Written against version 1.18.33. The plugin starts one `haltline hook opencode --stream` and tells it each event on a
//! line; without `--stream` the same words are answered once, which is how `doctor` asks. Both sides are ours, but what
//! the client put into an event is not: a field that is missing or of a wrong kind is taken as unknown.

mod answer;
mod payload;
mod plugin;
mod rehearsal;
pub(crate) mod response;

use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Moved, Settings, Spelling};

pub use answer::{answer, complaint, shows_notice};
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// OpenCode, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "opencode",
    name: "opencode",
    title: "OpenCode",
    read,
    answer,
    shows_notice,
    warned: Warned::AtOnce,
    complaint,
    // The plugin hears everything; nothing is left to read.
    feed: None,
    stop: Stop::Answered,
    variables: Variables {
        process: Some("OPENCODE_PID"),
        // The plugin sets it for what the agent's commands start.
        session: Some("HALTLINE_OPENCODE_SESSION"),
        inside: Some("OPENCODE"),
        project: None,
    },
    layout: Layout {
        user: Settings {
            moved: Some(Moved::Folder("OPENCODE_CONFIG_DIR")),
            folder: ".config/opencode",
            file: "plugins/haltline.js",
        },
        project: Settings { moved: None, folder: ".opencode", file: "plugins/haltline.js" },
        more: &[],
        managed: None,
        switches: &[],
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
        form: Form::Program(plugin::PLUGIN),
        spelling: Spelling::APART,
        has_status_line: false,
        own_files: &[],
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};

/// An event; the plugin waits 5 seconds itself, for the client waits without end.
const fn listener(event: &'static str) -> Listener {
    Listener { event, timeout: 5 }
}
