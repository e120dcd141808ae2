//! Claude Code's hooks: parses their payloads and writes their answers.
//!
//! Written against version 2.1.325. The client's payloads change often and contain what tools print, so a field that is
//! missing or of the wrong type counts as unknown; only a payload without a session is an error. Nothing here panics,
//! and no answer ever tells the client to allow a call (E7).

mod answer;
mod payload;
pub(crate) mod response;
mod self_test;
pub mod transcript;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{
    CIRCUIT_STATUS, DisableSetting, EventGroup, HALTLINE_COMMAND, Layout, OwnFile, Relocation, Settings, Spelling,
};
use crate::transcript_reader::TranscriptReader;

pub use answer::{answer, answer_unreadable};
pub(crate) use payload::RESUMING_SOURCES;
pub use payload::{event, read};
pub use self_test::{DEMO, DEMO_COMMAND, DEMO_OUTPUT, SELF_TEST, text_for_agent, text_for_person};

/// The events that clients with Claude Code's event names have in common, except the end of a session.
pub(crate) const COMMON_EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
];

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "claude",
    name: "claude-code",
    title: "Claude Code",
    read,
    answer,
    notices: answer::NOTICES,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable,
    transcript: Some(TranscriptReader::new(
        |text, context| transcript::usage(text, context.resume_state),
        transcript::last_text,
    )),
    stop: StopMethod::Answer,
    variables: HookVariables {
        process: Some("CLAUDE_PID"),
        session: Some("CLAUDE_CODE_SESSION_ID"),
        marker: Some("CLAUDECODE"),
        project: Some("CLAUDE_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings::new(".claude", "settings.json").moved_by(Relocation::Folder("CLAUDE_CONFIG_DIR")),
        more_project_files: &[".claude/settings.local.json"],
        managed: Some("/etc/claude-code/managed-settings.json"),
        disable_settings: &[DisableSetting::IfTrue("disableAllHooks"), DisableSetting::IfTrue("allowManagedHooksOnly")],
        event_groups: &[EventGroup {
            timeout: 5,
            events: &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
                "PostToolBatch",
                "SubagentStart",
                "SubagentStop",
                "Stop",
                "PreCompact",
                "ConfigChange",
                "SessionEnd",
            ],
        }],
        spelling: Spelling::SEPARATE,
        has_status_line: true,
        own_files: &[
            OwnFile { path: "commands/haltline.md", event: None, content: HALTLINE_COMMAND },
            OwnFile { path: "commands/circuit-status.md", event: None, content: CIRCUIT_STATUS },
        ],
        ..Layout::new(".claude", "settings.json")
    },
    self_test: SELF_TEST,
};
