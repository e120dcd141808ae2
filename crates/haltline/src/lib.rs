//! The command line of haltline as a function of a clock, so that a test binary can supply its own clock.

mod ancestry;
mod cli;
mod commands;
mod context;
mod diff;
mod environment;
mod error;
mod exit_code;
mod fast_arguments;
mod front;
mod hook;
mod installation;
mod operator;
pub mod run;
mod view;

use std::process::ExitCode;

use clap::Parser;
use haltline_engine::clock::Clock;

/// Runs the command line with the arguments of this process.
pub fn run(clock: Clock) -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map_while(|arg| arg.into_string().ok()).collect();
    let is_text = args.len() + 1 == std::env::args_os().len();
    let plain: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["hook", rest @ ..] = plain.as_slice() {
        return hook::run(rest, clock);
    }
    if let ["statusline", rest @ ..] = plain.as_slice()
        && !rest.iter().any(|arg| matches!(*arg, "--help" | "-h"))
    {
        return commands::statusline::run(&commands::statusline::arguments(rest), None, clock);
    }
    let arguments =
        match fast_arguments::recognise(&plain).filter(|_| is_text).map_or_else(cli::Arguments::try_parse, Ok) {
            Ok(arguments) => arguments,
            Err(error) => {
                // clap reports help and version as errors too. A closed pipe is ignored.
                error.print().ok();
                // Copilot CLI reads another client's settings, drops the arguments of the hook, and takes every exit code
                // but 0 as a denial of its call. A call without arguments therefore exits with 0.
                let is_bare = is_text && plain.is_empty();
                return if error.use_stderr() && !is_bare { exit_code::usage() } else { exit_code::SUCCESS };
            }
        };
    match commands::run(arguments, clock) {
        Ok(code) => code,
        Err(failure) => {
            front::text::print_failure(&failure);
            failure.exit_code()
        }
    }
}

/// Returns the JSON schema of the claim ledger, for the generated reference.
pub fn claim_ledger_schema() -> serde_json::Value {
    view::claim::ledger_schema()
}

/// Returns the clap definition of the command line, for the generated reference.
pub fn command() -> clap::Command {
    <cli::Arguments as clap::CommandFactory>::command()
}
