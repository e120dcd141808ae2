//! `haltline run`: runs a command under supervision, once or in a loop (P8).

mod budget;
mod ending;
pub(super) mod folder;
mod iteration;
mod loop_runner;
mod output_listener;
mod tests;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::{Ending, HeadlessParser};
use haltline_agents::price::Price;

use self::budget::Budget;
use self::ending::{End, RunView};
use self::output_listener::OutputListener;
use crate::ancestry;
use crate::cli::Run;
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::hook::transcript::to_agents_price;
use crate::run::{EndCause, EndedRun, Inbox, KeepLimits, Limits, StartError, SupervisedCommand, Terminal, supervise};

pub fn run(context: &Context, command: &Run) -> Result<ExitCode, Failure> {
    // If that cannot be written, the marker in the environment still identifies the run.
    ancestry::record_own(context.engine.state_folder(), &environment::user_config()?).ok();
    if command.is_loop { loop_runner::run(context, command) } else { once(context, command) }
}

/// Runs the command once and passes its exit code on.
fn once(context: &Context, command: &Run) -> Result<ExitCode, Failure> {
    let terminal = terminal(command)?;
    let run_id = folder::run_id()?;
    let budget = Budget::new(command);
    let mut listener =
        OutputListener::new(HeadlessParser::with_prices(&prices(context)), &budget, Default::default(), None);
    let supervised = SupervisedCommand {
        command: &command.command,
        folder: &context.folder,
        environment: &[],
        run_id: &run_id,
        terminal,
        limits: Limits { wall: command.max_time, idle: command.idle, grace: grace(context, command) },
        keep: KeepLimits::default(),
    };
    let mut inbox = Inbox::open()?;
    let ended = match supervise(&supervised, &mut listener, &mut inbox) {
        Ok(ended) => ended,
        Err(error) => return unstartable(context, command, &error),
    };
    let over = listener.over();
    let client_report = listener.finish();
    let end = match (&ended.cause, over, &client_report.ending) {
        (EndCause::Signal(signal), _, _) => End::Interrupted { signal: *signal },
        (EndCause::WallLimit, _, _) => {
            End::budget(format!("reached --max-time {}", ending::span(command.max_time.unwrap_or_default())))
        }
        (EndCause::IdleLimit, _, _) => {
            End::budget(format!("no output for {} (--idle)", ending::span(command.idle.unwrap_or_default())))
        }
        (EndCause::Listener, Some(over), _) => End::budget(over),
        (EndCause::Listener, None, _) => End::Interrupted { signal: 2 },
        (EndCause::NeedsTerminal, _, _) => End::NeedsTerminal,
        // The client exits with 0 for this, but our caller must not take it for success.
        (EndCause::Command, _, Ending::Hook { reason }) if ended.exit.exit_code() == 0 => {
            End::HookStopped { reason: reason.clone() }
        }
        (EndCause::Command, _, _) => End::Own { code: ended.exit.exit_code() },
    };
    finish(context, command, &end, &ended, &client_report.ending)
}

fn finish(
    context: &Context,
    command: &Run,
    end: &End,
    ended: &EndedRun,
    client_ending: &Ending,
) -> Result<ExitCode, Failure> {
    let view = RunView::once(end, ended, client_ending);
    ending::print_end(command, &view, context.is_json)?;
    Ok(end.exit_code())
}

fn unstartable(context: &Context, command: &Run, error: &StartError) -> Result<ExitCode, Failure> {
    let end = End::unstartable(error);
    ending::print_end(command, &RunView::unstarted(&end), context.is_json)?;
    Ok(end.exit_code())
}

/// Gives the terminal to a person who has one, unless haltline must read the output; otherwise uses pipes.
fn terminal(command: &Run) -> Result<Terminal, Failure> {
    let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_interactive {
        return Ok(Terminal::Pipe);
    }
    let output_limits = [
        (command.idle.is_some(), "--idle"),
        (command.max_tokens.is_some(), "--max-tokens"),
        (command.max_cost.is_some(), "--max-cost"),
    ];
    if output_limits.iter().any(|(is_set, _)| *is_set) {
        // haltline cannot read the output of a program that owns the terminal.
        return Ok(Terminal::Pipe);
    }
    Ok(Terminal::Inherit)
}

fn grace(context: &Context, command: &Run) -> Duration {
    let configured = Duration::from_secs(context.engine.config().run_grace_seconds().into());
    command.grace.unwrap_or(configured)
}

fn prices(context: &Context) -> Vec<Price> {
    context.engine.config().prices().iter().map(to_agents_price).collect()
}
