//! Cline's hooks: scripts named after their event. The client waits only for those before and after a call.
//!
//! Written against version 3.0.65. The client cannot deny a single call, so haltline denies it by removing its
//! arguments (`answer`); a stop uses the client's own `cancel`. Nothing here panics, and no answer ever tells the
//! client to allow a call (E7).

mod answer;
mod call;
mod payload;
mod script;
mod self_test;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{Form, Layout, Listener, Relocation, Settings, Spelling};

pub use answer::{answer, answer_unreadable, shows_notice};
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// Cline's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "cline",
    name: "cline",
    title: "Cline",
    read,
    answer,
    shows_notice,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable,
    transcript: None,
    stop: StopMethod::Answer,
    variables: HookVariables { process: None, session: None, marker: None, project: None },
    layout: Layout {
        user: Settings {
            relocation: Some(Relocation::Folder("CLINE_DIR")),
            folder: ".cline",
            file: "hooks/PreToolUse.bash",
        },
        project: Settings { relocation: None, folder: ".cline", file: "hooks/PreToolUse.bash" },
        more_project_files: &[],
        managed: None,
        disable_settings: &[],
        listeners: &[
            listener("PreToolUse"),
            listener("PostToolUse"),
            listener("TaskStart"),
            listener("UserPromptSubmit"),
        ],
        // The client runs every script of an event, whatever its extension: people rarely choose this one.
        form: Form::GeneratedFile(script::PRE_TOOL_USE),
        spelling: Spelling::SHELL_LINE,
        has_status_line: false,
        own_files: script::OTHER_EVENTS,
        post_install_step: None,
    },
    self_test: SELF_TEST,
};

/// An event; the client always waits two minutes.
const fn listener(event: &'static str) -> Listener {
    Listener { event, timeout: 120 }
}
