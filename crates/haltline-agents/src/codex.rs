//! Codex CLI's hooks. They look like Claude Code's and are another thing: an answer with one field too many counts as
//! none, no answer ends a turn, and a failed command is told like any other.
//!
//! Written against version 0.166.0. What a payload does not say stands in the client's transcript (`rollout`): how a
//! command ended, what a response took, and which calls belong to one response. Nothing here panics, and nothing here
//! ever tells the client to allow a call (E7).

mod answer;
mod arguments;
mod payload;
mod rehearsal;
pub mod rollout;
pub mod trust;

use crate::feed::Feed;
use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Moved, Settings, Spelling, Switch};

pub use answer::{answer, complaint, shows_notice};
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Codex CLI, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "codex",
    name: "codex",
    title: "Codex CLI",
    read,
    answer,
    shows_notice,
    warned: Warned::AtOnce,
    complaint,
    feed: Some(Feed {
        usage: rollout::usage,
        said: rollout::said,
        outcome: rollout::outcome,
        tells_askers: false,
        is_shared: false,
    }),
    stop: Stop::Interrupted { is_unattended: arguments::is_unattended },
    variables: Variables { process: None, session: Some("CODEX_THREAD_ID"), inside: None, project: None },
    layout: Layout {
        user: Settings { moved: Some(Moved::Folder("CODEX_HOME")), folder: ".codex", file: "hooks.json" },
        project: Settings { moved: Some(Moved::MainCheckout), folder: ".codex", file: "hooks.json" },
        more: &[],
        managed: None,
        switches: &[
            Switch::OffBeside { file: "config.toml", key: "features.hooks" },
            // Its old name.
            Switch::OffBeside { file: "config.toml", key: "features.codex_hooks" },
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
            // The client cuts more than three seconds short, and says so at every start.
            Listener { event: "Interrupt", timeout: 3 },
            Listener { event: "SessionEnd", timeout: 3 },
        ],
        form: Form::Grouped,
        spelling: Spelling::LINE,
        has_status_line: false,
        own_files: &[],
        afterwards: Some("open Codex, type /hooks and trust haltline's hooks: until then Codex skips them silently"),
    },
    rehearsal: REHEARSAL,
};
