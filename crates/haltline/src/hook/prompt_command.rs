//! Carries out `/haltline` commands and `/circuit-status` in the client, when a person types them as a prompt: at once,
//! without a model request, and without counting the prompt (L11).
//!
//! The client shows the reason why a hook blocks a prompt, so the command's output is that reason. The commands are those
//! of the terminal, run in this process. An operator action needs a proof that a person typed the prompt (E6); without
//! one, the answer says what to type in a terminal.

use haltline_agents::hook::HookCall;
use haltline_agents::{OperatorCommand, PromptCommand};
use haltline_core::{CircuitName, Operator, Reason, Retry, Verdict};
use haltline_engine::OwnFiles;

use super::{Hook, STORE_TIMEOUT, provenance};
use crate::context::Context;
use crate::error::Failure;
use crate::front::text::{ColorChoice, set_screen};
use crate::{operator, request};

/// The client's answer that shows a text, or `None` if the client's hook cannot show one.
fn answer(hook_call: &HookCall, text: String) -> Option<String> {
    let circuit = CircuitName::agent(&hook_call.agent.session, None);
    let verdict = Verdict::Deny(Reason { circuit, code: "", text, retry: Retry::Now });
    (hook_call.client.protocol().answer)(hook_call, &verdict, None)
}

/// Carries out the command and returns the client's answer. `None` if the client cannot show it: then the prompt is
/// one like any other, and nothing is carried out.
pub fn carry_out(hook: &Hook, command: &PromptCommand, hook_call: &HookCall) -> Option<String> {
    answer(hook_call, String::new())?;
    set_screen(ColorChoice::Never, hook.clock);
    let text = match command {
        PromptCommand::Show(words) => run(hook, words, None),
        PromptCommand::Act(action) if provenance::is_prompt_of_person(&hook.state_folder, hook_call) => {
            let who = format!("{}, by a prompt in {}", operator::account(), hook_call.client.title());
            let words: Vec<String> = [action.verb.to_owned()].into_iter().chain(action.arguments.clone()).collect();
            run(hook, &words, Some(Operator { who, reason: None }))
        }
        PromptCommand::Act(action) => {
            format!("haltline cannot prove here that you typed this, so it changed nothing. {}", in_terminal(action))
        }
        PromptCommand::Terminal(action) => in_terminal(action),
        PromptCommand::Help => HELP.to_owned(),
    };
    answer(hook_call, text)
}

fn run(hook: &Hook, words: &[String], person: Option<Operator>) -> String {
    let own_files = OwnFiles { state_folder: hook.state_folder.clone(), user_config: hook.config_file.clone() };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let context = Context::open_with(own_files, &hook.folder, STORE_TIMEOUT, hook.clock);
    context
        .and_then(|context| request::text(context, &words, person))
        .unwrap_or_else(|failure: Failure| failure.to_string())
}

/// What the person types instead.
fn in_terminal(action: &OperatorCommand) -> String {
    let verb = action.verb;
    let arguments = action.arguments.iter().map(|argument| match argument.split_once('=') {
        Some((option, text)) => format!(" {option} '{}'", text.replace('\'', "'\\''")),
        None => format!(" {argument}"),
    });
    format!(
        "Type in your own terminal:\n  haltline {verb}{}\n`/haltline why` shows the incident and its id.",
        arguments.collect::<String>()
    )
}

const HELP: &str = "haltline answers these prompts itself, without a request to the model:
  /haltline status                            what haltline counts, and what is open
  /haltline why [INCIDENT]                    why haltline stopped the agent
  /haltline resume [INCIDENT] [--hint TEXT]   allow one attempt now
  /haltline false-positive [INCIDENT]         never stop this call again in this project
In your own terminal: haltline reset, haltline pause, haltline unpause";
