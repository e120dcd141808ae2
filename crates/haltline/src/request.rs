//! Runs a command for a front in the front's own process, and returns the JSON that `--json` prints.
//!
//! So the terminal, the web page and the API show the same values, and an operator action takes the same path from all of
//! them. Only commands that read, and the operator actions of `is_action`, can be requested.

use std::cell::RefCell;
use std::path::Path;

use clap::Parser;
use haltline_core::{Operator, shorten};
use haltline_engine::clock::Clock;
use serde_json::Value;

use crate::cli::{Arguments, Attempt, ClaimVerb, Command, Config, Constraint, Journal, Phase};
use crate::commands;
use crate::context::{Context, Output};
use crate::error::Failure;

/// A command as a person types it, without `haltline`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A folder of the project.
    pub folder: &'a Path,
    pub arguments: &'a [&'a str],
    /// Who runs an operator action. The front made sure that this is a person.
    pub person: Option<&'a Operator>,
}

/// Runs the command and returns its JSON.
pub fn run(request: Request<'_>, clock: Clock) -> Result<Value, Failure> {
    let line = ["haltline", "--json"].iter().chain(request.arguments);
    let arguments = Arguments::try_parse_from(line).map_err(|error| Failure::Usage(error.to_string()))?;
    let is_action = is_action(&arguments.command);
    if !is_action && !is_reading(&arguments.command) {
        return Err(Failure::Usage(format!("a front cannot run `haltline {}`", request.arguments.join(" "))));
    }
    if is_action && request.person.is_none() {
        return Err(Failure::NotOperator("this is for people: pair the browser first".to_owned()));
    }
    let mut context = Context::open_quietly(request.folder, clock)?;
    context.output = Output::Kept(RefCell::default());
    context.person = request.person.filter(|_| is_action).cloned();
    commands::run_in(&context, arguments.command)?;
    context.defer_trip_notices();
    let Output::Kept(kept) = &context.output else { return Ok(Value::Null) };
    serde_json::from_slice(&kept.take()).map_err(|error| Failure::from(std::io::Error::from(error)))
}

/// Runs a command that an agent may run itself, and returns its JSON. No operator action is among them.
pub fn run_for_agent(folder: &Path, arguments: &[&str], clock: Clock) -> Result<Value, Failure> {
    let line = ["haltline", "--json"].iter().chain(arguments);
    let parsed = Arguments::try_parse_from(line).map_err(|error| Failure::Usage(crate::usage::message(&error)))?;
    if !is_reading(&parsed.command) && !is_for_agents(&parsed.command) {
        let given = arguments.join(" ");
        return Err(Failure::Usage(format!("command {}: a program that runs agents cannot run it", shorten(&given))));
    }
    let mut context = Context::open_quietly(parsed.folder.as_deref().unwrap_or(folder), clock)?;
    context.output = Output::Kept(RefCell::default());
    commands::run_in(&context, parsed.command)?;
    context.defer_trip_notices();
    let Output::Kept(kept) = &context.output else { return Ok(Value::Null) };
    serde_json::from_slice(&kept.take()).map_err(|error| Failure::from(std::io::Error::from(error)))
}

/// True for the commands with which an agent reports or asks, besides those that only read.
fn is_for_agents(command: &Command) -> bool {
    match command {
        Command::Constraint(
            Constraint::Check { .. } | Constraint::Record(_) | Constraint::Pass { .. } | Constraint::Enforce(_),
        )
        | Command::Phase(Phase::Check(_) | Phase::Report(_) | Phase::History { .. })
        | Command::Attempt(Attempt::Check { .. } | Attempt::Record(_) | Attempt::History { .. }) => true,
        Command::Phase(Phase::Begin(begin)) => !begin.is_new_run,
        Command::Attempt(Attempt::Begin(begin)) => begin.reason.is_none(),
        Command::Claim(claim) => {
            matches!(claim.verb, ClaimVerb::Add(_) | ClaimVerb::Round(_) | ClaimVerb::Cycle(_))
        }
        _other => false,
    }
}

/// Runs a command for a hook and returns the text that a person reads, without colour. Fails like the command.
pub fn text(mut context: Context, arguments: &[&str], person: Option<Operator>) -> Result<String, Failure> {
    let line = ["haltline"].iter().chain(arguments);
    let arguments = Arguments::try_parse_from(line).map_err(|error| Failure::Usage(error.to_string()))?;
    (context.is_json, context.output, context.person) = (false, Output::Kept(RefCell::default()), person);
    commands::run_in(&context, arguments.command)?;
    context.defer_trip_notices();
    let Output::Kept(kept) = &context.output else { return Ok(String::new()) };
    Ok(String::from_utf8_lossy(&kept.take()).trim_end().to_owned())
}

/// True for the operator actions that a front offers.
fn is_action(command: &Command) -> bool {
    match command {
        Command::FalsePositive(command) => !command.which.is_list,
        Command::Resume(_) | Command::Reset(_) | Command::Pause(_) | Command::Unpause(_) => true,
        _other => false,
    }
}

/// True for commands that change nothing.
fn is_reading(command: &Command) -> bool {
    match command {
        Command::Status(_) | Command::Incidents(_) | Command::Why(_) | Command::Explain { .. } => true,
        Command::FalsePositive(command) => command.which.is_list,
        Command::Budget(command) => command.verb.is_none(),
        Command::Journal(Journal::Show { .. }) | Command::Config(Config::Show) => true,
        Command::Constraint(Constraint::Status { .. }) | Command::Phase(Phase::Status(_)) => true,
        Command::Attempt(Attempt::Status(_)) => true,
        Command::Claim(claim) => matches!(claim.verb, ClaimVerb::List { .. } | ClaimVerb::Show { .. }),
        _other => false,
    }
}
