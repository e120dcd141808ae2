//! The command line of haltline as a function of a clock, so that a test binary can bring its own.

mod ancestry;
mod cli;
mod commands;
mod diff;
mod error;
mod exit_code;
mod front;
mod hook;
mod installation;
mod operator;
mod quick;
pub mod run;
mod surroundings;
mod view;
mod workplace;

use std::process::ExitCode;

use clap::Parser;
use haltline_engine::clock::Clock;

/// Runs the command line of this process.
pub fn run(clock: Clock) -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map_while(|word| word.into_string().ok()).collect();
    let is_text = words.len() + 1 == std::env::args_os().len();
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["hook", rest @ ..] = plain.as_slice() {
        return hook::run(rest, clock);
    }
    if let ["statusline", rest @ ..] = plain.as_slice()
        && !rest.iter().any(|word| matches!(*word, "--help" | "-h"))
    {
        return commands::statusline::run(&commands::statusline::arguments(rest), None, clock);
    }
    let arguments = match quick::recognise(&plain).filter(|_| is_text).map_or_else(cli::Arguments::try_parse, Ok) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not errors; a closed pipe is nobody's fault.
            error.print().ok();
            // A client that reads another's settings may leave out the arguments, and take any other end for a refusal of
            // its call: Copilot CLI does both.
            let is_bare = is_text && plain.is_empty();
            return if error.use_stderr() && !is_bare { exit_code::usage() } else { exit_code::FINE };
        }
    };
    match commands::run(arguments, clock) {
        Ok(code) => code,
        Err(failure) => {
            front::text::complain(&failure);
            failure.exit_code()
        }
    }
}

/// The JSON schema of the claim ledger, for the generated reference.
pub fn claim_ledger_schema() -> serde_json::Value {
    view::claim::ledger_schema()
}

/// The command line's definition, for the generated reference.
pub fn command() -> clap::Command {
    <cli::Arguments as clap::CommandFactory>::command()
}
