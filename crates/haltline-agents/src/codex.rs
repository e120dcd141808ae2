//! Codex CLI's hooks. They look like Claude Code's and differ in three ways:
//! - The client discards an answer that has one field too many.
//! - No answer ends a turn.
//! - The client reports a failed command like any other.
//!
//! Written against version 0.166.0. What a payload lacks is in the client's transcript (`rollout`): how a command
//! ended, the tokens of a response, and which calls belong to one response. Nothing here panics, and no answer ever
//! tells the client to allow a call (E7).

mod answer;
mod arguments;
mod payload;
pub mod rollout;
mod self_test;
pub mod trust;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{DisableSetting, Form, Layout, Listener, Relocation, Settings, Spelling};
use crate::transcript_reader::TranscriptReader;

pub use answer::{answer, answer_unreadable, shows_notice};
pub(crate) use payload::spawn_result;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// Codex CLI's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "codex",
    name: "codex",
    title: "Codex CLI",
    read,
    answer,
    shows_notice,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable,
    transcript: Some(TranscriptReader {
        usage: rollout::usage,
        last_text: rollout::last_text,
        outcome: rollout::outcome,
        records_user_prompts: false,
        is_shared: false,
    }),
    stop: StopMethod::Interrupt { is_unattended: arguments::is_unattended },
    variables: HookVariables { process: None, session: Some("CODEX_THREAD_ID"), marker: None, project: None },
    layout: Layout {
        user: Settings { relocation: Some(Relocation::Folder("CODEX_HOME")), folder: ".codex", file: "hooks.json" },
        project: Settings { relocation: Some(Relocation::MainCheckout), folder: ".codex", file: "hooks.json" },
        more_project_files: &[],
        managed: None,
        disable_settings: &[
            DisableSetting::IfFalseInToml { file: "config.toml", key: "features.hooks" },
            // The old name of the same setting.
            DisableSetting::IfFalseInToml { file: "config.toml", key: "features.codex_hooks" },
        ],
        listeners: &[
            Listener { event: "SessionStart", timeout: 5 },
            Listener { event: "UserPromptSubmit", timeout: 5 },
            Listener { event: "PreToolUse", timeout: 5 },
            Listener { event: "PostToolUse", timeout: 5 },
            Listener { event: "SubagentStart", timeout: 5 },
            Listener { event: "SubagentStop", timeout: 5 },
            Listener { event: "Stop", timeout: 5 },
            Listener { event: "PreCompact", timeout: 5 },
            // The client caps these two at three seconds, and complains at every start about a longer timeout.
            Listener { event: "Interrupt", timeout: 3 },
            Listener { event: "SessionEnd", timeout: 3 },
        ],
        form: Form::Grouped,
        spelling: Spelling::SHELL_LINE,
        has_status_line: false,
        own_files: &[],
        post_install_step: Some(
            "open Codex, type /hooks and trust haltline's hooks: until then Codex skips them silently",
        ),
    },
    self_test: SELF_TEST,
};
