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
use crate::install::{CIRCUIT_STATUS, DisableSetting, Form, Layout, Listener, OwnFile, Relocation, Settings, Spelling};
use crate::transcript_reader::TranscriptReader;

pub use answer::{answer, answer_unreadable, shows_notice};
pub(crate) use payload::RESUMING_SOURCES;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// Claude Code's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "claude",
    name: "claude-code",
    title: "Claude Code",
    read,
    answer,
    shows_notice,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable,
    transcript: Some(TranscriptReader {
        usage: |text, context| transcript::usage(text, context.resume_state),
        last_text: transcript::last_text,
        outcome: |_text, _call| None,
        records_user_prompts: false,
        is_shared: false,
    }),
    stop: StopMethod::Answer,
    variables: HookVariables {
        process: Some("CLAUDE_PID"),
        session: Some("CLAUDE_CODE_SESSION_ID"),
        marker: Some("CLAUDECODE"),
        project: Some("CLAUDE_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings {
            relocation: Some(Relocation::Folder("CLAUDE_CONFIG_DIR")),
            folder: ".claude",
            file: "settings.json",
        },
        project: Settings { relocation: None, folder: ".claude", file: "settings.json" },
        more_project_files: &[".claude/settings.local.json"],
        managed: Some("/etc/claude-code/managed-settings.json"),
        disable_settings: &[DisableSetting::IfTrue("disableAllHooks"), DisableSetting::IfTrue("allowManagedHooksOnly")],
        listeners: &[
            listener("SessionStart"),
            listener("UserPromptSubmit"),
            listener("PreToolUse"),
            listener("PostToolUse"),
            listener("PostToolUseFailure"),
            listener("PostToolBatch"),
            listener("SubagentStart"),
            listener("SubagentStop"),
            listener("Stop"),
            listener("PreCompact"),
            listener("ConfigChange"),
            listener("SessionEnd"),
        ],
        form: Form::Grouped,
        spelling: Spelling::SEPARATE,
        has_status_line: true,
        own_files: &[OwnFile { path: "commands/circuit-status.md", event: None, content: CIRCUIT_STATUS }],
        post_install_step: None,
    },
    self_test: SELF_TEST,
};

/// An event; the timeout is in seconds.
const fn listener(event: &'static str) -> Listener {
    Listener { event, timeout: 5 }
}
