//! One file per verb; each turns arguments into an event or a view.

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

pub use phase::{Decided, NOTHING_BEGUN};

use clap::CommandFactory;
use haltline_engine::clock::Clock;

use crate::cli::{Arguments, Command};
use crate::error::Failure;
use crate::exit_code;
use crate::workplace::Workplace;

/// Runs a command and tells what came up on the way.
pub fn run(arguments: Arguments, clock: Clock) -> Result<ExitCode, Failure> {
    if let Command::Completions { shell } = arguments.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "haltline", &mut script);
        std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
        return Ok(exit_code::FINE);
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
    let workplace = Workplace::open(arguments.folder.as_deref(), arguments.is_json, clock)?;
    // These say themselves what is wrong with the files.
    if !matches!(arguments.command, Command::Config(_) | Command::Doctor) {
        workplace.tell_config_errors();
    }
    let result = match arguments.command {
        Command::Constraint(command) => constraint::run(&workplace, command),
        Command::Phase(command) => phase::run(&workplace, command),
        Command::Attempt(command) => attempt::run(&workplace, command),
        Command::Claim(command) => claim::run(&workplace, command),
        Command::Run(command) => run::run(&workplace, &command),
        Command::Status => status::run(&workplace),
        Command::Why { incident } => why::run(&workplace, incident.as_deref()),
        Command::Reset(command) => circuits::reset(&workplace, &command),
        Command::Resume { incident, hint, reason } => circuits::resume(&workplace, incident, hint, reason),
        Command::FalsePositive(command) => circuits::false_positive(&workplace, command),
        Command::Notify(command) => notify::run(&workplace, &command),
        Command::Journal(command) => journal::run(&workplace, &command),
        Command::Config(command) => config::run(&workplace, &command),
        Command::Trust(command) => trust::run(&workplace, &command),
        Command::Memory(command) => memory::run(&workplace, &command),
        Command::Purge { session } => purge::run(&workplace, &session),
        Command::Init(command) => init::run(&workplace, &command),
        Command::Uninstall(command) => uninstall::run(&workplace, &command),
        Command::Doctor => doctor::run(&workplace),
        Command::Completions { .. }
        | Command::Statusline(_)
        | Command::Event { .. }
        | Command::Backtest(_)
        | Command::Ralph(_) => Ok(exit_code::FINE),
    };
    workplace.tell_notices();
    result
}
