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

use crate::hook::{HookVariables, NoticeEvents, Protocol, StopMethod, WarningDelivery};
use crate::install::{EventGroup, Form, Layout, Relocation, Settings};

pub use answer::answer;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "cline",
    name: "cline",
    title: "Cline",
    read,
    answer,
    // The client shows nothing of an answer to the person.
    notices: NoticeEvents::NONE,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable: |_notice| None,
    transcript: None,
    stop: StopMethod::Answer,
    variables: HookVariables { process: None, session: None, marker: None, project: None },
    layout: Layout {
        user: Settings::new(".cline", "hooks/PreToolUse.bash").moved_by(Relocation::Folder("CLINE_DIR")),
        // The client always waits two minutes.
        event_groups: &[EventGroup {
            timeout: 120,
            events: &["PreToolUse", "PostToolUse", "TaskStart", "UserPromptSubmit"],
        }],
        // The client runs every script of an event, whatever its extension: people rarely choose this one.
        form: Form::GeneratedFile(script::PRE_TOOL_USE),
        own_files: script::OTHER_EVENTS,
        ..Layout::new(".cline", "hooks/PreToolUse.bash")
    },
    self_test: SELF_TEST,
};
