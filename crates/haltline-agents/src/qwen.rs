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

use crate::claude;
use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery, system_message};
use crate::install::{DisableSetting, EventGroup, Layout, Relocation, Settings};
use crate::transcript_reader::TranscriptReader;

pub use answer::answer;
pub(crate) use payload::visible_output;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "qwen",
    name: "qwen",
    title: "Qwen Code",
    read,
    answer,
    notices: answer::NOTICES,
    warning_delivery: WarningDelivery::OnlyWith(answer::CARRY_WARNING),
    answer_unreadable: system_message,
    transcript: Some(TranscriptReader {
        records_user_prompts: true,
        ..TranscriptReader::new(chat::usage, chat::last_text)
    }),
    stop: StopMethod::Answer,
    variables: HookVariables { process: None, session: None, marker: Some("QWEN_CODE"), project: None },
    layout: Layout {
        user: Settings::new(".qwen", "settings.json").moved_by(Relocation::FolderFromHome("QWEN_HOME")),
        managed: Some("/etc/qwen-code/settings.json"),
        disable_settings: &[DisableSetting::IfTrue("disableAllHooks")],
        // Timeouts are in milliseconds.
        event_groups: &[
            EventGroup { timeout: 5_000, events: claude::COMMON_EVENTS },
            EventGroup { timeout: 2_000, events: &["SessionEnd"] },
        ],
        ..Layout::new(".qwen", "settings.json")
    },
    self_test: SELF_TEST,
};
