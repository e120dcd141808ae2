//! The command line of haltline as a function of a clock, so that a test binary can supply its own clock.

pub mod ancestry;
mod cli;
mod commands;
pub mod companion;
pub mod context;
mod diff;
pub mod environment;
pub mod error;
mod exit_code;
mod fast_arguments;
pub mod front;
mod hook;
mod installation;
pub mod local_time;
pub mod operator;
pub mod origin;
mod question;
pub mod request;
pub mod run;
pub mod unwatched;
mod usage;
pub mod view;

use std::process::ExitCode;

use haltline_engine::clock::Clock;

/// Runs the command line with the arguments of this process.
pub fn run(clock: Clock) -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map_while(|arg| arg.into_string().ok()).collect();
    let is_text = args.len() + 1 == std::env::args_os().len();
    let plain: Vec<&str> = args.iter().map(String::as_str).collect();
    let asks_help = |args: &[&str]| args.iter().any(|arg| matches!(*arg, "--help" | "-h"));
    match plain.as_slice() {
        ["hook", rest @ ..] if !asks_help(rest) => return hook::run(rest, clock),
        ["statusline", rest @ ..] if !asks_help(rest) => {
            return commands::statusline::run(&commands::statusline::arguments(rest), clock);
        }
        // The other program parses the arguments, `--help` among them.
        [command, rest @ ..] if companion::program_of(command).is_some() && !commands::is_stdio(command, rest) => {
            return finish(Err(companion::become_companion(command, std::env::args_os().skip(2))), false);
        }
        [] if is_text => return finish(commands::bare::run(clock), false),
        _other => {}
    }
    let is_json = plain.iter().take_while(|arg| **arg != "--").any(|arg| *arg == "--json");
    let arguments = match fast_arguments::recognise(&plain).filter(|_| is_text) {
        Some(arguments) => Ok(arguments),
        None => cli::Arguments::read(),
    };
    match arguments {
        Ok(arguments) => {
            front::text::set_screen(arguments.color, clock);
            let is_json = arguments.is_json;
            finish(commands::run(arguments, clock), is_json)
        }
        Err(error) => usage::report(error, is_json),
    }
}

/// Prints why a command failed, and returns its exit code.
fn finish(result: Result<ExitCode, error::Failure>, is_json: bool) -> ExitCode {
    result.unwrap_or_else(|failure| {
        if is_json {
            front::json::print_failure(&failure);
        } else {
            front::text::print_failure(&failure);
        }
        failure.exit_code()
    })
}

/// Returns the JSON schema of the claim ledger, for the generated reference.
pub fn claim_ledger_schema() -> serde_json::Value {
    view::claim::ledger_schema()
}

/// Returns the clap definition of the command line, for the generated reference.
pub fn command() -> clap::Command {
    cli::Arguments::grouped_command()
}
