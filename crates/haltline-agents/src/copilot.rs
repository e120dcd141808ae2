//! GitHub Copilot CLI's hooks, installed under Claude Code's event names. Under those names a payload says which event
//! it is, tools have Claude Code's names, and a warning before a call reaches the model; under the client's own names,
//! none of that holds.
//!
//! Written against version 1.0.102:
//! - The client takes any exit code except 0 for a denial, and a missing program as well, so the installed line always
//!   exits with 0.
//! - Calls have no ids. haltline identifies a start by its timestamp, which is the same for every hook source, and
//!   matches an end with the oldest call with equal arguments.
//!
//! Nothing here panics, and no answer ever tells the client to allow a call (E7).

mod answer;
pub mod events;
mod payload;
mod self_test;

use crate::claude;
use crate::hook::{HookVariables, NoticeEvents, Protocol, StopMethod, WarningDelivery};
use crate::install::{CommandStyle, DisableSetting, EventGroup, Form, Layout, Relocation, Settings, Spelling};
use crate::transcript_reader::TranscriptReader;

pub use answer::answer;
pub(crate) use payload::read_for;
pub use payload::{event, read};
pub use self_test::SELF_TEST;

/// True if the client was started with a prompt, works on that and exits; without one it waits for a person or an
/// editor.
fn is_unattended(arguments: &[String]) -> bool {
    let has =
        |names: &[&str]| arguments.iter().any(|word| names.iter().any(|name| word.split('=').next() == Some(name)));
    has(&["-p", "--prompt"]) && !has(&["-i", "--interactive", "--acp"])
}

pub const PROTOCOL: Protocol = Protocol {
    cli_name: "copilot",
    name: "copilot",
    title: "Copilot CLI",
    read,
    answer,
    // The client shows nothing of an answer to the person.
    notices: NoticeEvents::NONE,
    warning_delivery: WarningDelivery::Immediate,
    answer_unreadable: |_notice| None,
    transcript: Some(TranscriptReader {
        outcome: events::outcome,
        is_shared: true,
        ..TranscriptReader::new(events::usage, events::last_text)
    }),
    stop: StopMethod::Interrupt { is_unattended },
    variables: HookVariables {
        process: None,
        session: Some("COPILOT_AGENT_SESSION_ID"),
        marker: None,
        project: Some("COPILOT_PROJECT_DIR"),
    },
    layout: Layout {
        user: Settings::new(".copilot", "hooks/haltline.json").moved_by(Relocation::Folder("COPILOT_HOME")),
        disable_settings: &[DisableSetting::IfTrue("disableAllHooks")],
        event_groups: &[
            EventGroup { timeout: 5, events: claude::COMMON_EVENTS },
            EventGroup { timeout: 3, events: &["SessionEnd"] },
        ],
        form: Form::Flat { version: 1 },
        spelling: Spelling { style: CommandStyle::ShellLineExitZero, command: "bash", timeout: "timeoutSec" },
        ..Layout::new(".github", "hooks/haltline.json")
    },
    self_test: SELF_TEST,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prompt_on_the_command_line_makes_it_unattended() {
        let unattended = |line: &str| is_unattended(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(unattended("-p task --allow-all-tools"));
        assert!(unattended("--allow-all-tools --prompt=task"));
        for other in ["", "--continue", "-i task", "--acp", "--resume -i -p"] {
            assert!(!unattended(other), "{other}");
        }
    }
}
