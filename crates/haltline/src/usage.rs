//! Reports a command line that clap does not accept. Help and version come this way too.

use std::process::ExitCode;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::Failure;
use crate::exit_code;
use crate::front;

/// Commands that destroy or undo something. A typing error must not lead anybody to one of them.
const NEVER_SUGGESTED: [&str; 4] = ["purge", "uninstall", "reset", "unpause"];

/// Prints the error, or the help that was asked for, and returns the exit code.
pub fn report(mut error: Error, is_json: bool) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed pipe is ignored.
        error.print().ok();
        return exit_code::SUCCESS;
    }
    drop_dangerous_suggestions(&mut error);
    if is_json {
        let failure = Failure::Usage(message(&error));
        front::json::print_failure(&failure);
    } else {
        error.print().ok();
    }
    exit_code::usage()
}

fn drop_dangerous_suggestions(error: &mut Error) {
    let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) else { return };
    let harmless: Vec<String> = names.into_iter().filter(|name| !NEVER_SUGGESTED.contains(&name.as_str())).collect();
    if !harmless.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(harmless));
    }
}

/// The error and its tips in one line.
pub fn message(error: &Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}
