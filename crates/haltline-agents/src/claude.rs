//! Claude Code's hooks: what it says on stdin, in the words of the core, and what it wants to hear on stdout.
//!
//! Written against version 2.1.325. The client's payloads change often and hold what tools print, so a field that is
//! missing or of a wrong kind is taken as unknown; only a payload without a session says nothing at all. Nothing here
//! panics, and nothing here ever tells the client to allow a call (E7).

mod answer;
mod payload;
mod rehearsal;
pub(crate) mod response;
pub mod transcript;

use crate::feed::Feed;
use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{CIRCUIT_STATUS, Form, Layout, Listener, Moved, OwnFile, Settings, Spelling, Switch};

pub use answer::{answer, complaint, shows_notice};
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Claude Code, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "claude",
    name: "claude-code",
    title: "Claude Code",
    read,
    answer,
    shows_notice,
    warned: Warned::AtOnce,
    complaint,
    feed: Some(Feed {
        usage: |text, known| transcript::usage(text, known.last),
        said: transcript::said,
        outcome: |_text, _call| None,
        tells_askers: false,
        is_shared: false,
    }),
    stop: Stop::Answered,
    variables: Variables {
        process: Some("CLAUDE_PID"),
        session: Some("CLAUDE_CODE_SESSION_ID"),
        inside: Some("CLAUDECODE"),
        project: Some("CLAUDE_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings { moved: Some(Moved::Folder("CLAUDE_CONFIG_DIR")), folder: ".claude", file: "settings.json" },
        project: Settings { moved: None, folder: ".claude", file: "settings.json" },
        more: &[".claude/settings.local.json"],
        managed: Some("/etc/claude-code/managed-settings.json"),
        switches: &[Switch::On("disableAllHooks"), Switch::On("allowManagedHooksOnly")],
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
        spelling: Spelling::APART,
        has_status_line: true,
        own_files: &[OwnFile { path: "commands/circuit-status.md", event: None, program: CIRCUIT_STATUS }],
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};

/// An event, with how long the client waits for the hook, in seconds.
const fn listener(event: &'static str) -> Listener {
    Listener { event, timeout: 5 }
}
