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
use crate::install::{EventGroup, Form, Layout};

pub use answer::answer;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "cursor",
    name: "cursor",
    title: "Cursor",
    read,
    answer,
    notices: answer::NOTICES,
    warning_delivery: WarningDelivery::OnlyWith(answer::CARRY_WARNING),
    // An empty object lets the client continue. No output may count as a denial.
    answer_unreadable: |_notice| Some("{}".to_owned()),
    transcript: None,
    stop: StopMethod::DenyOnly,
    variables: HookVariables { process: None, session: None, marker: None, project: Some("CURSOR_PROJECT_DIR") },
    layout: Layout {
        managed: Some("/etc/cursor/hooks.json"),
        event_groups: &[EventGroup {
            timeout: 5,
            events: &[
                "sessionStart",
                "beforeSubmitPrompt",
                "preToolUse",
                "postToolUse",
                "postToolUseFailure",
                "subagentStart",
                "subagentStop",
                "preCompact",
                "stop",
                "sessionEnd",
            ],
        }],
        form: Form::Flat { version: 1 },
        ..Layout::new(".cursor", "hooks.json")
    },
    self_test: SELF_TEST,
};
