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

use crate::hook::{HookVariables, Protocol, StopMethod, WarningDelivery};
use crate::install::{CommandStyle, DisableSetting, Form, Layout, Listener, Relocation, Settings, Spelling};
use crate::transcript_reader::TranscriptReader;

pub use answer::{answer, answer_unreadable, shows_notice};
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// Gemini CLI's protocol.
pub const PROTOCOL: Protocol = Protocol {
    cli_name: "gemini",
    name: "gemini",
    title: "Gemini CLI",
    read,
    answer,
    shows_notice,
    warning_delivery: WarningDelivery::OnlyWith(answer::CARRY_WARNING),
    answer_unreadable,
    transcript: Some(TranscriptReader {
        usage: chat::usage,
        last_text: chat::last_text,
        outcome: |_, _| None,
        records_user_prompts: false,
        is_shared: false,
    }),
    stop: StopMethod::Answer,
    variables: HookVariables {
        process: None,
        session: Some("GEMINI_SESSION_ID"),
        marker: Some("GEMINI_CLI"),
        project: Some("GEMINI_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings {
            relocation: Some(Relocation::Home("GEMINI_CLI_HOME")),
            folder: ".gemini",
            file: "settings.json",
        },
        project: Settings { relocation: None, folder: ".gemini", file: "settings.json" },
        more_project_files: &[],
        managed: Some("/etc/gemini-cli/settings.json"),
        disable_settings: &[
            DisableSetting::IfFalse("hooksConfig.enabled"),
            DisableSetting::IfListed("hooksConfig.disabled"),
        ],
        // Timeouts are in milliseconds.
        listeners: &[
            Listener { event: "SessionStart", timeout: 5_000 },
            Listener { event: "BeforeAgent", timeout: 5_000 },
            Listener { event: "BeforeModel", timeout: 5_000 },
            Listener { event: "BeforeTool", timeout: 5_000 },
            Listener { event: "AfterTool", timeout: 5_000 },
            Listener { event: "AfterAgent", timeout: 5_000 },
            Listener { event: "SessionEnd", timeout: 2_000 },
        ],
        form: Form::Grouped,
        // A missing program exits with 127 and an error message, which the client would take for a denial.
        spelling: Spelling { style: CommandStyle::ShellLineExitZero, ..Spelling::SHELL_LINE },
        has_status_line: false,
        own_files: &[],
        post_install_step: None,
    },
    self_test: SELF_TEST,
};
