//! Cursor's hooks, by what its maker writes down: there is no client to run in tests here, so nothing of this was seen.
//!
//! Written against the documentation of mid-2026. `permission: deny` refuses a call or a sub-agent, with one text for the
//! person and one for the model; nothing ends the agent. Where the client waits for a permission, a pass is an empty object:
//! what is no JSON may count as a refusal there. Nothing here panics, and nothing here ever tells the client to allow a
//! call (E7).

mod answer;
mod payload;
mod rehearsal;

use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Settings, Spelling};

pub use answer::{answer, complaint, shows_notice};
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Cursor, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "cursor",
    name: "cursor",
    title: "Cursor",
    read,
    answer,
    shows_notice,
    warned: Warned::With(answer::carries_warning),
    complaint,
    feed: None,
    stop: Stop::Refused,
    variables: Variables { process: None, session: None, inside: None, project: Some("CURSOR_PROJECT_DIR") },
    layout: Layout {
        user: Settings { moved: None, folder: ".cursor", file: "hooks.json" },
        project: Settings { moved: None, folder: ".cursor", file: "hooks.json" },
        more: &[],
        managed: Some("/etc/cursor/hooks.json"),
        switches: &[],
        listeners: &[
            Listener { event: "sessionStart", timeout: 5 },
            Listener { event: "beforeSubmitPrompt", timeout: 5 },
            Listener { event: "preToolUse", timeout: 5 },
            Listener { event: "postToolUse", timeout: 5 },
            Listener { event: "postToolUseFailure", timeout: 5 },
            Listener { event: "subagentStart", timeout: 5 },
            Listener { event: "subagentStop", timeout: 5 },
            Listener { event: "preCompact", timeout: 5 },
            Listener { event: "stop", timeout: 5 },
            Listener { event: "sessionEnd", timeout: 5 },
        ],
        form: Form::Flat { version: 1 },
        spelling: Spelling::LINE,
        has_status_line: false,
        own_files: &[],
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};
