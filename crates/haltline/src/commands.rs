//! The commands, one file each. A command turns its arguments into an event or a view.

mod attempt;
mod backtest;
pub mod bare;
mod budget;
mod circuits;
mod claim;
mod config;
pub mod constraint;
mod demo;
mod doctor;
mod event;
mod explain;
mod help;
mod incidents;
mod init;
mod journal;
mod line_pipes;
mod loop_player;
mod man;
mod mcp;
mod memory;
mod notify;
mod pause;
mod phase;
mod prices;
mod purge;
mod ralph;
mod run;
mod status;
pub mod statusline;
mod stdio;
mod trust;
mod uninstall;
mod update;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use haltline_engine::clock::Clock;

use crate::cli::{Arguments, Command, Statusline};
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;

/// True for `haltline serve --stdio`, which haltline carries out itself.
pub fn is_stdio(command: &str, arguments: &[&str]) -> bool {
    command == "serve" && stdio::is_requested(arguments)
}

/// Becomes the program that carries out a command which options of haltline precede, and hands these on.
fn companion(arguments: &Arguments, command: &str, given: &[OsString]) -> Failure {
    let folder = arguments.folder.iter().flat_map(|folder| [OsString::from("-C"), folder.clone().into_os_string()]);
    let json = arguments.is_json.then(|| OsString::from("--json"));
    crate::companion::become_companion(command, given.iter().cloned().chain(folder).chain(json))
}

/// Runs a command, then prints the engine's notices.
pub fn run(arguments: Arguments, clock: Clock) -> Result<ExitCode, Failure> {
    let folder = arguments.folder.as_deref();
    match &arguments.command {
        Command::Completions(command) => return help::completions(command, arguments.is_json),
        Command::Man(command) => return man::run(command, arguments.is_json),
        Command::Help { command } => return help::help(command, arguments.is_json),
        Command::Version => return help::version(arguments.is_json),
        Command::Demo => return demo::run(arguments.is_json),
        Command::Hook { arguments } => {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            return Ok(crate::hook::run(&arguments, clock));
        }
        Command::Statusline(command) => {
            let folder = arguments.folder.clone();
            let command = Statusline { folder, is_json: arguments.is_json, ..command.clone() };
            return Ok(statusline::run(&command, clock));
        }
        Command::Serve { arguments: given } if stdio::is_requested(given) => {
            return stdio::run(folder, given, arguments.is_json, clock);
        }
        Command::Serve { arguments: given } => return Err(companion(&arguments, "serve", given)),
        Command::Mcp => return mcp::run(folder, clock),
        Command::Event(command) => return event::run(folder, command.is_recorded, clock),
        Command::Backtest(command) => return backtest::run(command, folder, arguments.is_json, clock),
        Command::Ralph(command) => return ralph::run(command, folder, arguments.is_json, clock),
        _with_context => {}
    }
    let context = Context::open(arguments.folder.as_deref(), arguments.is_json, clock)?;
    // These two commands report configuration errors themselves.
    if !matches!(arguments.command, Command::Config(_) | Command::Doctor) {
        context.print_config_errors();
    }
    let result = run_in(&context, arguments.command);
    context.print_notices();
    context.defer_trip_notices();
    result
}

/// Runs a command that needs the engine of a project.
pub fn run_in(context: &Context, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Constraint(command) => constraint::run(context, command),
        Command::Phase(command) => phase::run(context, command),
        Command::Attempt(command) => attempt::run(context, command),
        Command::Claim(command) => claim::run(context, command),
        Command::Run(command) => run::run(context, &command),
        Command::Status(command) => status::run(context, &command),
        Command::Incidents(command) => incidents::run(context, &command),
        Command::Explain { what } => explain::run(context, &what),
        Command::Why(command) => why::run(context, command.incident.as_deref()),
        Command::Reset(command) => circuits::reset(context, &command),
        Command::Resume(command) => circuits::resume(context, &command),
        Command::Pause(command) => pause::pause(context, &command),
        Command::Budget(command) => budget::run(context, &command),
        Command::Prices(command) => prices::run(context, &command),
        Command::Unpause(command) => pause::unpause(context, &command),
        Command::FalsePositive(command) => circuits::false_positive(context, command),
        Command::Notify(command) => notify::run(context, &command),
        Command::Journal(command) => journal::run(context, &command),
        Command::Config(command) => config::run(context, &command),
        Command::Trust(command) => trust::run(context, &command),
        Command::Memory(command) => memory::run(context, &command),
        Command::Purge(command) => purge::run(context, &command),
        Command::Init(command) => init::run(context, &command),
        Command::Update(command) => update::run(context, &command),
        Command::Uninstall(command) => uninstall::run(context, &command),
        Command::Doctor => doctor::run(context),
        Command::Completions(_)
        | Command::Demo
        | Command::Man(_)
        | Command::Help { .. }
        | Command::Version
        | Command::Hook { .. }
        | Command::Statusline(_)
        | Command::Serve { .. }
        | Command::Mcp
        | Command::Event(_)
        | Command::Backtest(_)
        | Command::Ralph(_) => Ok(exit_code::SUCCESS),
    }
}
