//! Gemini CLI's hooks, which have words of their own: `BeforeTool`, `AfterTool`, `BeforeModel`.
//!
//! Written against version 0.61.0. Calls and sub-agents have no names there, so calls are counted (`Naming::Counted`) and a
//! sub-agent's count as its parent's. Calls that were kept from running end in the chat file only. The client asks before each
//! request to its model, which is where a stopped agent ends for good. `AfterModel` is left alone: it runs for every piece of
//! a stream, with the whole conversation each time. So is `PreCompress`, which runs every turn, whether anything is
//! shortened or not.
//!
//! An end with 0 and no output lets the client go its own way; any code above 1 with output would refuse. Nothing here
//! panics, and nothing here ever tells the client to allow a call (E7).

mod answer;
pub mod chat;
mod payload;
mod rehearsal;
pub mod shell_text;

use crate::feed::Feed;
use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Moved, Settings, Spelling, Switch, Words};

pub use answer::{answer, complaint, shows_notice};
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Gemini CLI, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "gemini",
    name: "gemini",
    title: "Gemini CLI",
    read,
    answer,
    shows_notice,
    warned: Warned::With(answer::carries_warning),
    complaint,
    feed: Some(Feed {
        usage: chat::usage,
        said: chat::said,
        outcome: |_, _| None,
        tells_askers: false,
        is_shared: false,
    }),
    stop: Stop::Answered,
    variables: Variables {
        process: None,
        session: Some("GEMINI_SESSION_ID"),
        inside: Some("GEMINI_CLI"),
        project: Some("GEMINI_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings { moved: Some(Moved::Home("GEMINI_CLI_HOME")), folder: ".gemini", file: "settings.json" },
        project: Settings { moved: None, folder: ".gemini", file: "settings.json" },
        more: &[],
        managed: Some("/etc/gemini-cli/settings.json"),
        switches: &[Switch::Off("hooksConfig.enabled"), Switch::Listed("hooksConfig.disabled")],
        // The client counts in thousandths of a second.
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
        // What is not there ends with 127 and a complaint, which the client would take for a refusal.
        spelling: Spelling { words: Words::Forgiven, ..Spelling::LINE },
        has_status_line: false,
        own_files: &[],
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};
