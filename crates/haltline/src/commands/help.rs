//! `haltline help`, `haltline version` and `haltline completions`.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::{Arguments, Completions};
use crate::error::Failure;
use crate::exit_code;
use crate::view::SCHEMA;

/// Prints the help of a command.
pub fn help(names: &[String], is_json: bool) -> Result<ExitCode, Failure> {
    reject_json(is_json, "help")?;
    let mut whole = Arguments::grouped_command();
    whole.build();
    let command = find(&whole, names)?;
    print(&command.clone().render_help().to_string())
}

/// The command with these names, one below the other.
pub fn find<'a>(whole: &'a clap::Command, names: &[String]) -> Result<&'a clap::Command, Failure> {
    names.iter().try_fold(whole, |command, name| {
        let unknown = || Failure::Usage(format!("there is no command `haltline {}`", names.join(" ")));
        command.find_subcommand(name).ok_or_else(unknown)
    })
}

/// Prints the version.
pub fn version(is_json: bool) -> Result<ExitCode, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    if is_json {
        return print(&format!("{:#}\n", json!({ "schema": SCHEMA, "version": version })));
    }
    print(&format!("haltline {version}\n"))
}

/// Prints the completion script of a shell.
pub fn completions(command: &Completions, is_json: bool) -> Result<ExitCode, Failure> {
    reject_json(is_json, "completions")?;
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::grouped_command(), "haltline", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(exit_code::SUCCESS)
}

/// Fails where JSON makes no sense: ignoring the option would be worse.
pub fn reject_json(is_json: bool, command: &str) -> Result<(), Failure> {
    if is_json { Err(Failure::Usage(format!("`haltline {command}` prints no JSON"))) } else { Ok(()) }
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(exit_code::SUCCESS)
}
