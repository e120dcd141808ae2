//! Qwen Code's hooks: Claude Code's events and answers with Gemini CLI's payloads, and rules of its own.
//!
//! Written against version 0.15.10. `UserPromptSubmit` comes before every request of the main agent to its model, with an
//! empty prompt where no person asked: refusing that one is the only thing that ends this client, so a stop is a refusal
//! of the call and then of the next request. `continue: false` does no more than refuse; at a `Stop` it even keeps the agent
//! going, as every blocking answer does there. The words of such a hook then come as a prompt, `stop_hook_active` is true at
//! every `Stop`, and only the chat file tells: a person's prompt is written down there, once its hooks have run. Sub-agents'
//! calls are told as the main agent's.

mod answer;
pub mod chat;
mod payload;
mod rehearsal;

use crate::feed::Feed;
use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Moved, Settings, Spelling, Switch};

pub use answer::{answer, complaint, shows_notice};
pub(crate) use payload::shown_part;
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Qwen Code, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "qwen",
    name: "qwen",
    title: "Qwen Code",
    read,
    answer,
    shows_notice,
    warned: Warned::With(answer::carries_warning),
    complaint,
    feed: Some(Feed {
        usage: chat::usage,
        said: chat::said,
        outcome: |_, _| None,
        tells_askers: true,
        is_shared: false,
    }),
    stop: Stop::Answered,
    variables: Variables { process: None, session: None, inside: Some("QWEN_CODE"), project: None },
    layout: Layout {
        user: Settings { moved: Some(Moved::FolderFromHome("QWEN_HOME")), folder: ".qwen", file: "settings.json" },
        project: Settings { moved: None, folder: ".qwen", file: "settings.json" },
        more: &[],
        managed: Some("/etc/qwen-code/settings.json"),
        switches: &[Switch::On("disableAllHooks")],
        // The client counts in thousandths of a second.
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
        spelling: Spelling::LINE,
        has_status_line: false,
        own_files: &[],
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};
