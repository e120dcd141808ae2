//! Gemini CLI's hooks, which have their own event names: `BeforeTool`, `AfterTool`, `BeforeModel`.
//!
//! Written against version 0.61.0. What is special about this client:
//! - Calls and sub-agents have no ids, so haltline pairs starts and ends by counting (`CallIds::None`), and counts a
//!   sub-agent's calls as its parent's.
//! - The end of a call that was kept from running is only in the chat file.
//! - `BeforeModel` runs before each request to the model; there a stopped agent ends for good.
//! - haltline does not use `AfterModel`: it runs for every chunk of a streamed response, with the whole conversation
//!   each time.
//! - haltline does not use `PreCompress`: it runs every turn, whether or not anything is compacted.
//! - Exit code 0 without output leaves the client to its own rules; any code above 1 with output would be a denial.
//!
//! Nothing here panics, and no answer ever tells the client to allow a call (E7).

mod answer;
pub mod chat;
mod payload;
mod self_test;
pub mod shell_text;

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery, system_message};
use crate::install::{CommandStyle, DisableSetting, EventGroup, Layout, Relocation, Settings, Spelling};
use crate::transcript_reader::TranscriptReader;

pub use answer::answer;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "gemini",
    name: "gemini",
    title: "Gemini CLI",
    read,
    answer,
    notices: answer::NOTICES,
    warning_delivery: WarningDelivery::OnlyWith(answer::CARRY_WARNING),
    answer_unreadable: system_message,
    transcript: Some(TranscriptReader::new(chat::usage, chat::last_text)),
    stop: StopMethod::Answer,
    variables: HookVariables {
        process: None,
        session: Some("GEMINI_SESSION_ID"),
        marker: Some("GEMINI_CLI"),
        project: Some("GEMINI_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings::new(".gemini", "settings.json").moved_by(Relocation::Home("GEMINI_CLI_HOME")),
        managed: Some("/etc/gemini-cli/settings.json"),
        disable_settings: &[
            DisableSetting::IfFalse("hooksConfig.enabled"),
            DisableSetting::IfListed("hooksConfig.disabled"),
        ],
        // Timeouts are in milliseconds.
        event_groups: &[
            EventGroup {
                timeout: 5_000,
                events: &["SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent"],
            },
            EventGroup { timeout: 2_000, events: &["SessionEnd"] },
        ],
        // A missing program exits with 127 and an error message, which the client would take for a denial.
        spelling: Spelling { style: CommandStyle::ShellLineExitZero, ..Spelling::SHELL_LINE },
        ..Layout::new(".gemini", "settings.json")
    },
    self_test: SELF_TEST,
};
