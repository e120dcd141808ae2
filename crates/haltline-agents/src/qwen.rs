//! Qwen Code's hooks: Claude Code's events and answers with Gemini CLI's payloads, and some rules that only it has.
//!
//! Written against version 0.15.10.
//!
//! | event | runs | effect of an answer |
//! |---|---|---|
//! | `PreToolUse` | before a call | a denial denies the call; `continue: false` does no more |
//! | `UserPromptSubmit` | before every request to the model | `decision: block` ends the agent; nothing else does |
//! | `Stop` | at the end of a turn | every blocking answer, even `continue: false`, keeps the agent going |
//!
//! - haltline therefore stops an agent by denying the call and then blocking the next request.
//! - `UserPromptSubmit` runs only for the main agent. Its prompt is empty unless a person typed one.
//! - `stop_hook_active` is true at every `Stop`.
//! - The text of a hook that keeps the agent going arrives as a prompt. Only the chat file shows who wrote a prompt:
//!   the client records a person's prompt there, after its hooks have run.
//! - Calls of sub-agents are reported as the main agent's.

mod answer;
pub mod chat;
mod payload;
mod self_test;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{DisableSetting, Form, Layout, Listener, Relocation, Settings, Spelling};
use crate::transcript_reader::TranscriptReader;

pub use answer::{answer, answer_unreadable, shows_notice};
pub(crate) use payload::visible_output;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// Qwen Code's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "qwen",
    name: "qwen",
    title: "Qwen Code",
    read,
    answer,
    shows_notice,
    warning_delivery: WarningDelivery::OnlyWith(answer::CARRY_WARNING),
    answer_unreadable,
    transcript: Some(TranscriptReader {
        usage: chat::usage,
        last_text: chat::last_text,
        outcome: |_, _| None,
        records_user_prompts: true,
        is_shared: false,
    }),
    stop: StopMethod::Answer,
    variables: HookVariables { process: None, session: None, marker: Some("QWEN_CODE"), project: None },
    layout: Layout {
        user: Settings {
            relocation: Some(Relocation::FolderFromHome("QWEN_HOME")),
            folder: ".qwen",
            file: "settings.json",
        },
        project: Settings { relocation: None, folder: ".qwen", file: "settings.json" },
        more_project_files: &[],
        managed: Some("/etc/qwen-code/settings.json"),
        disable_settings: &[DisableSetting::IfTrue("disableAllHooks")],
        // Timeouts are in milliseconds.
        listeners: &[
            Listener { event: "SessionStart", timeout: 5_000 },
            Listener { event: "UserPromptSubmit", timeout: 5_000 },
            Listener { event: "PreToolUse", timeout: 5_000 },
            Listener { event: "PostToolUse", timeout: 5_000 },
            Listener { event: "PostToolUseFailure", timeout: 5_000 },
            Listener { event: "SubagentStart", timeout: 5_000 },
            Listener { event: "SubagentStop", timeout: 5_000 },
            Listener { event: "Stop", timeout: 5_000 },
            Listener { event: "PreCompact", timeout: 5_000 },
            Listener { event: "SessionEnd", timeout: 2_000 },
        ],
        form: Form::Grouped,
        spelling: Spelling::SHELL_LINE,
        has_status_line: false,
        own_files: &[],
        post_install_step: None,
    },
    self_test: SELF_TEST,
};
