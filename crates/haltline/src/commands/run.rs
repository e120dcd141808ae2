//! `haltline run`: a command under supervision, once or in a loop (P8).

mod budget;
mod ears;
mod ending;
pub(super) mod folder;
mod iteration;
mod rounds;
mod tests;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use haltline_agents::headless::{Ending, Headless};
use haltline_agents::price::Price;

use self::budget::Budget;
use self::ears::Ears;
use self::ending::{End, RunView};
use crate::ancestry;
use crate::cli::Run;
use crate::error::Failure;
use crate::hook::transcript::priced;
use crate::run::{Cause, Ended, Inbox, Keep, Limits, StartError, Supervised, Terminal, supervise};
use crate::workplace::Workplace;

/// Runs the command.
pub fn run(workplace: &Workplace, command: &Run) -> Result<ExitCode, Failure> {
    // Where that cannot be written, the mark in the environment is left.
    ancestry::record_own(workplace.engine.state_folder()).ok();
    if command.is_loop { rounds::run(workplace, command) } else { once(workplace, command) }
}

/// Runs the command once and passes its exit code on.
fn once(workplace: &Workplace, command: &Run) -> Result<ExitCode, Failure> {
    let terminal = terminal(command)?;
    let run_id = folder::run_id()?;
    let budget = Budget::new(command);
    let mut ears = Ears::new(Headless::with_prices(&prices(workplace)), &budget, Default::default(), None);
    let supervised = Supervised {
        command: &command.command,
        folder: &workplace.folder,
        environment: &[],
        run_id: &run_id,
        terminal,
        limits: Limits { wall: command.max_time, idle: command.idle, grace: grace(workplace, command) },
        keep: Keep::default(),
    };
    let mut inbox = Inbox::open()?;
    let ended = match supervise(&supervised, &mut ears, &mut inbox) {
        Ok(ended) => ended,
        Err(error) => return unstartable(command, &error),
    };
    let over = ears.over();
    let told = ears.finish();
    let end = match (&ended.cause, over, &told.ending) {
        (Cause::Signal(signal), _, _) => End::Interrupted { signal: *signal },
        (Cause::Wall, _, _) => {
            End::budget(format!("its time of {}", ending::span(command.max_time.unwrap_or_default())))
        }
        (Cause::Idle, _, _) => {
            End::budget(format!("{} without a word", ending::span(command.idle.unwrap_or_default())))
        }
        (Cause::Asked, Some(over), _) => End::budget(over),
        (Cause::Asked, None, _) => End::Interrupted { signal: 2 },
        (Cause::NeedsTerminal, _, _) => End::NeedsTerminal,
        // The client calls this success; whoever called us must not (see the module of its stream).
        (Cause::Own, _, Ending::Hook { reason }) if ended.how.exit_code() == 0 => {
            End::HookStopped { reason: reason.clone() }
        }
        (Cause::Own, _, _) => End::Own { code: ended.how.exit_code() },
    };
    finish(command, &end, &ended, &told.ending)
}

fn finish(command: &Run, end: &End, ended: &Ended, said: &Ending) -> Result<ExitCode, Failure> {
    let view = RunView::once(end, ended, said);
    ending::tell(command, &view)?;
    Ok(end.exit_code())
}

fn unstartable(command: &Run, error: &StartError) -> Result<ExitCode, Failure> {
    let end = End::Unstartable { problem: error.to_string() };
    ending::tell(command, &RunView::unstarted(&end))?;
    Ok(end.exit_code())
}

/// A person at a terminal gets the terminal; everything else is listened to.
fn terminal(command: &Run) -> Result<Terminal, Failure> {
    let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_interactive {
        return Ok(Terminal::Pipe);
    }
    let heard = [
        (command.idle.is_some(), "--idle"),
        (command.max_tokens.is_some(), "--max-tokens"),
        (command.max_cost.is_some(), "--max-cost"),
    ];
    if heard.iter().any(|(is_set, _)| *is_set) {
        // Nothing can be heard of a program that has the terminal to itself.
        return Ok(Terminal::Pipe);
    }
    Ok(Terminal::Inherit)
}

fn grace(workplace: &Workplace, command: &Run) -> Duration {
    let configured = Duration::from_secs(workplace.engine.config().run_grace_seconds().into());
    command.grace.unwrap_or(configured)
}

fn prices(workplace: &Workplace) -> Vec<Price> {
    workplace.engine.config().prices().iter().map(priced).collect()
}
