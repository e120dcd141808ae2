//! `haltline` without a command: the status screen, or the offer to install.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use haltline_agents::Client;
use haltline_engine::clock::Clock;

use super::{init, status};
use crate::cli::{Arguments, Init, Status};
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::installation::InstallationRecord;
use crate::operator;
use crate::question;

/// Shows the status on a terminal, or offers to install what is missing. Prints the help into a pipe.
pub fn run(clock: Clock) -> Result<ExitCode, Failure> {
    let help = Arguments::grouped_command().render_help().to_string();
    if is_fed_by_a_program() {
        // Copilot CLI reads another client's settings and drops the arguments of the hook. It reads the output as an
        // answer, and every exit code but 0 as a denial of its call.
        eprint!("{help}");
        return Ok(exit_code::SUCCESS);
    }
    let is_attended = std::io::stdout().is_terminal() && question::can_ask() && operator::detect_agent().is_none();
    if !is_attended {
        std::io::stdout().lock().write_all(help.as_bytes())?;
        return Ok(exit_code::SUCCESS);
    }
    text::set_screen(text::ColorChoice::Auto, clock);
    let context = Context::open(None, false, clock)?;
    context.print_config_errors();
    let result = match InstallationRecord::read(context.engine.state_folder())?.is_empty() {
        true => offer(&context),
        false => status::run(&context, &Status { is_verbose: false, is_all: false }),
    };
    context.print_notices();
    result
}

/// True if standard input is a pipe or a socket, into which another program writes.
fn is_fed_by_a_program() -> bool {
    let input = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let kind = input.and_then(|input| input.metadata()).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| {
        use std::os::unix::fs::FileTypeExt;
        kind.is_fifo() || kind.is_socket()
    })
}

/// Names the clients on this machine and installs the hooks if the person agrees.
fn offer(context: &Context) -> Result<ExitCode, Failure> {
    let clients = init::present_clients();
    let mut out = std::io::stdout().lock();
    writeln!(out, "haltline stops AI agents that no longer make progress. It is not installed yet.")?;
    if clients.is_empty() {
        let names = Client::ALL.map(Client::cli_name).join(", ");
        writeln!(out, "haltline found no client on this machine. Install the hooks of one with:")?;
        writeln!(out, "  haltline init --client NAME      ({names})")?;
        return Ok(exit_code::SUCCESS);
    }
    writeln!(out, "\nClients on this machine:")?;
    for client in &clients {
        writeln!(out, "  {}", client.title())?;
    }
    drop(out);
    let question = match clients.as_slice() {
        [only] => format!("\nInstall the hooks of {}?", only.title()),
        several => format!("\nInstall the hooks of all {}?", several.len()),
    };
    if !question::ask(&question, question::Default::Yes)? {
        println!(
            "Nothing has changed. `haltline init --client NAME` installs one, `haltline help` shows all commands."
        );
        return Ok(exit_code::SUCCESS);
    }
    for client in clients {
        let command = Init {
            client: Some(client),
            is_all: false,
            is_project: false,
            is_status_line: false,
            is_git_exclude: false,
            is_dry_run: false,
            is_agreed: true,
        };
        init::run(context, &command)?;
    }
    Ok(exit_code::SUCCESS)
}
