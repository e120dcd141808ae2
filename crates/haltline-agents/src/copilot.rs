//! GitHub Copilot CLI's hooks, written down under Claude Code's names for the events: then a payload says which event it
//! is, tools are called as Claude Code calls them, and a warning before a call reaches the model. Under the client's own
//! names none of that is so.
//!
//! Written against version 1.0.102. The client takes any end of a hook but 0 for a refusal, and the same for a program that
//! is not there; so the installed line forgives both. Calls have no names: a start is known by its moment, which is the
//! same through every configuration, and an end belongs to the oldest call of the same words. Nothing here panics, and
//! nothing here ever tells the client to allow a call (E7).

mod answer;
pub mod events;
mod payload;
mod rehearsal;

use crate::feed::Feed;
use crate::hook::{Protocol, Stop, Variables, Warned};
use crate::install::{Form, Layout, Listener, Moved, Settings, Spelling, Switch, Words};

pub use answer::{answer, complaint, shows_notice};
pub(crate) use payload::read_for;
pub use payload::{event, read};
pub use rehearsal::REHEARSAL;

/// Whether it was started with a prompt, works on that and ends; with none it waits for a person, or for an editor.
fn is_unattended(arguments: &[String]) -> bool {
    let has =
        |names: &[&str]| arguments.iter().any(|word| names.iter().any(|name| word.split('=').next() == Some(name)));
    has(&["-p", "--prompt"]) && !has(&["-i", "--interactive", "--acp"])
}

/// Copilot CLI, as data.
pub const PROTOCOL: Protocol = Protocol {
    word: "copilot",
    name: "copilot",
    title: "Copilot CLI",
    read,
    answer,
    shows_notice,
    warned: Warned::AtOnce,
    complaint,
    feed: Some(Feed {
        usage: events::usage,
        said: events::said,
        outcome: events::outcome,
        tells_askers: false,
        is_shared: true,
    }),
    stop: Stop::Interrupted { is_unattended },
    variables: Variables {
        process: None,
        session: Some("COPILOT_AGENT_SESSION_ID"),
        inside: None,
        project: Some("COPILOT_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings { moved: Some(Moved::Folder("COPILOT_HOME")), folder: ".copilot", file: "hooks/haltline.json" },
        project: Settings { moved: None, folder: ".github", file: "hooks/haltline.json" },
        more: &[],
        managed: None,
        switches: &[Switch::On("disableAllHooks")],
        listeners: &[
            Listener { event: "SessionStart", timeout: 5 },
            Listener { event: "UserPromptSubmit", timeout: 5 },
            Listener { event: "PreToolUse", timeout: 5 },
            Listener { event: "PostToolUse", timeout: 5 },
            Listener { event: "PostToolUseFailure", timeout: 5 },
            Listener { event: "SubagentStart", timeout: 5 },
            Listener { event: "SubagentStop", timeout: 5 },
            Listener { event: "Stop", timeout: 5 },
            Listener { event: "PreCompact", timeout: 5 },
            Listener { event: "SessionEnd", timeout: 3 },
        ],
        form: Form::Flat { version: 1 },
        spelling: Spelling { words: Words::Forgiven, command: "bash", timeout: "timeoutSec" },
        has_status_line: false,
        own_files: &[],
        afterwards: None,
    },
    rehearsal: REHEARSAL,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_of_its_own_is_all_it_works_on() {
        let unattended = |line: &str| is_unattended(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(unattended("-p task --allow-all-tools"));
        assert!(unattended("--allow-all-tools --prompt=task"));
        for other in ["", "--continue", "-i task", "--acp", "--resume -i -p"] {
            assert!(!unattended(other), "{other}");
        }
    }
}
