//! Cursor's hooks, according to its vendor's documentation: the tests cannot run the client, so none of this was
//! observed.
//!
//! Written against the documentation of mid-2026:
//! - `permission: deny` denies a call or a sub-agent, with one text for the person and one for the model.
//! - Nothing ends the agent.
//! - Where the client waits for a permission, a pass is an empty object: output that is not JSON may count as a denial.
//!
//! Nothing here panics, and no answer ever tells the client to allow a call (E7).

mod answer;
mod payload;
mod self_test;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{Form, Layout, Listener, Settings, Spelling};

pub use answer::{answer, answer_unreadable, shows_notice};
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// Cursor's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "cursor",
    name: "cursor",
    title: "Cursor",
    read,
    answer,
    shows_notice,
    warning_delivery: WarningDelivery::OnlyWith(answer::CARRY_WARNING),
    answer_unreadable,
    transcript: None,
    stop: StopMethod::DenyOnly,
    variables: HookVariables { process: None, session: None, marker: None, project: Some("CURSOR_PROJECT_DIR") },
    layout: Layout {
        user: Settings { relocation: None, folder: ".cursor", file: "hooks.json" },
        project: Settings { relocation: None, folder: ".cursor", file: "hooks.json" },
        more_project_files: &[],
        managed: Some("/etc/cursor/hooks.json"),
        disable_settings: &[],
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
        spelling: Spelling::SHELL_LINE,
        has_status_line: false,
        own_files: &[],
        post_install_step: None,
    },
    self_test: SELF_TEST,
};
