//! The commands, one file each. A command turns its arguments into an event or a view.

mod attempt;
mod backtest;
mod circuits;
mod claim;
mod config;
mod constraint;
mod doctor;
mod event;
mod init;
mod journal;
mod memory;
mod notify;
mod phase;
mod purge;
mod ralph;
mod run;
mod status;
pub mod statusline;
mod trust;
mod uninstall;
mod why;

use std::process::ExitCode;

use clap::CommandFactory;
use haltline_engine::clock::Clock;

use crate::cli::{Arguments, Command};
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;

/// Runs a command, then prints the engine's notices.
pub fn run(arguments: Arguments, clock: Clock) -> Result<ExitCode, Failure> {
    if let Command::Completions { shell } = arguments.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "haltline", &mut script);
        std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
        return Ok(exit_code::SUCCESS);
    }
    if let Command::Statusline(command) = &arguments.command {
        return Ok(statusline::run(command, arguments.folder.as_deref(), clock));
    }
    if let Command::Event { is_recorded } = arguments.command {
        return event::run(arguments.folder.as_deref(), is_recorded, clock);
    }
    if let Command::Backtest(command) = &arguments.command {
        return backtest::run(command, arguments.folder.as_deref(), arguments.is_json, clock);
    }
    if let Command::Ralph(command) = &arguments.command {
        return ralph::run(command, arguments.folder.as_deref(), arguments.is_json, clock);
    }
    let context = Context::open(arguments.folder.as_deref(), arguments.is_json, clock)?;
    // These two commands report configuration errors themselves.
    if !matches!(arguments.command, Command::Config(_) | Command::Doctor) {
        context.print_config_errors();
    }
    let result = match arguments.command {
        Command::Constraint(command) => constraint::run(&context, command),
        Command::Phase(command) => phase::run(&context, command),
        Command::Attempt(command) => attempt::run(&context, command),
        Command::Claim(command) => claim::run(&context, command),
        Command::Run(command) => run::run(&context, &command),
        Command::Status => status::run(&context),
        Command::Why { incident } => why::run(&context, incident.as_deref()),
        Command::Reset(command) => circuits::reset(&context, &command),
        Command::Resume { incident, hint, reason } => circuits::resume(&context, incident, hint, reason),
        Command::FalsePositive(command) => circuits::false_positive(&context, command),
        Command::Notify(command) => notify::run(&context, &command),
        Command::Journal(command) => journal::run(&context, &command),
        Command::Config(command) => config::run(&context, &command),
        Command::Trust(command) => trust::run(&context, &command),
        Command::Memory(command) => memory::run(&context, &command),
        Command::Purge { session } => purge::run(&context, &session),
        Command::Init(command) => init::run(&context, &command),
        Command::Uninstall(command) => uninstall::run(&context, &command),
        Command::Doctor => doctor::run(&context),
        Command::Completions { .. }
        | Command::Statusline(_)
        | Command::Event { .. }
        | Command::Backtest(_)
        | Command::Ralph(_) => Ok(exit_code::SUCCESS),
    };
    context.print_notices();
    result
}
