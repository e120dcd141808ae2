//! Answers `/haltline status`, `/haltline why` and `/circuit-status` in the client, when a person types them as a prompt:
//! at once, without a model request, and without counting anything (L11).
//!
//! The client shows the reason why a hook blocks a prompt, so the text is that reason. haltline's own program writes it,
//! as it does in a terminal. Verbs that change something are not carried out here: nothing proves that a person typed
//! the prompt (E6).

use std::path::Path;
use std::process::{Command, Stdio};

use haltline_agents::PromptCommand;
use haltline_agents::hook::HookCall;
use haltline_core::{CircuitName, Reason, Retry, Verdict};

/// The client's answer that shows the text, or `None` if the client's hook cannot show one.
pub fn answer(hook_call: &HookCall, text: String) -> Option<String> {
    let circuit = CircuitName::agent(&hook_call.agent.session, None);
    let verdict = Verdict::Deny(Reason { circuit, code: "", text, retry: Retry::Now });
    (hook_call.client.protocol().answer)(hook_call, &verdict, None)
}

/// What the person reads.
pub fn text(command: &PromptCommand, folder: &Path, state_folder: &Path, config_file: &Path) -> String {
    let run = |arguments: &[&str]| run_haltline(arguments, folder, state_folder, config_file);
    match command {
        PromptCommand::Status => run(&["status"]),
        PromptCommand::Why { incident: Some(incident) } => run(&["why", incident]),
        PromptCommand::Why { incident: None } => run(&["why"]),
        PromptCommand::Terminal { verb, arguments } => format!(
            "`haltline {verb}` changes what haltline decides, so type it in your own terminal. Type there:\n  haltline {verb}{}\n`/haltline why` shows the incident and its id.",
            arguments.iter().map(|argument| format!(" {argument}")).collect::<String>(),
        ),
        PromptCommand::Help => HELP.to_owned(),
    }
}

const HELP: &str = "haltline answers these here, without asking the model:
  /haltline status              what it counts, and what is open
  /haltline why [INCIDENT]      why it stopped the agent
In your own terminal:
  haltline resume [INCIDENT] [--hint TEXT]    allow one attempt now
  haltline false-positive INCIDENT            never stop this call again in this project";

fn run_haltline(arguments: &[&str], folder: &Path, state_folder: &Path, config_file: &Path) -> String {
    let output = std::env::current_exe().and_then(|own| {
        let mut command = Command::new(own);
        command.arg("-C").arg(folder).args(arguments);
        command.env("HALTLINE_STATE_DIR", state_folder).env("HALTLINE_CONFIG", config_file);
        command.stdin(Stdio::null()).output()
    });
    match output {
        // An empty store is an answer as well: `why` says on standard error that nothing has tripped.
        Ok(output) if output.stdout.is_empty() => String::from_utf8_lossy(&output.stderr).trim_end().to_owned(),
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim_end().to_owned(),
        Err(error) => format!("haltline could not start itself: {error}"),
    }
}
