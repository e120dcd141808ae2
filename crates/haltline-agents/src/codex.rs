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

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery, system_message};
use crate::install::{DisableSetting, EventGroup, Layout, Relocation, Settings};
use crate::transcript_reader::TranscriptReader;

pub use answer::answer;
pub(crate) use payload::spawn_result;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "codex",
    name: "codex",
    title: "Codex CLI",
    read,
    answer,
    notices: answer::NOTICES,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable: system_message,
    transcript: Some(TranscriptReader {
        outcome: rollout::outcome,
        ..TranscriptReader::new(rollout::usage, rollout::last_text)
    }),
    stop: StopMethod::Interrupt { is_unattended: arguments::is_unattended },
    variables: HookVariables { process: None, session: Some("CODEX_THREAD_ID"), marker: None, project: None },
    layout: Layout {
        user: Settings::new(".codex", "hooks.json").moved_by(Relocation::Folder("CODEX_HOME")),
        project: Settings::new(".codex", "hooks.json").moved_by(Relocation::MainCheckout),
        disable_settings: &[
            DisableSetting::IfFalseInToml { file: "config.toml", key: "features.hooks" },
            // The old name of the same setting.
            DisableSetting::IfFalseInToml { file: "config.toml", key: "features.codex_hooks" },
        ],
        event_groups: &[
            EventGroup {
                timeout: 5,
                events: &[
                    "SessionStart",
                    "UserPromptSubmit",
                    "PreToolUse",
                    "PostToolUse",
                    "SubagentStart",
                    "SubagentStop",
                    "Stop",
                    "PreCompact",
                ],
            },
            // The client caps these two at three seconds, and complains at every start about a longer timeout.
            EventGroup { timeout: 3, events: &["Interrupt", "SessionEnd"] },
        ],
        post_install_step: Some(
            "open Codex, type /hooks and trust haltline's hooks: until then Codex skips them silently",
        ),
        ..Layout::new(".codex", "hooks.json")
    },
    self_test: SELF_TEST,
};
