//! Questions to the person at the terminal.

use std::io::{BufRead, IsTerminal, Write};

use crate::error::Failure;

/// What an empty answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    Yes,
    No,
}

/// True if somebody can read a question and answer it.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question that is answered with yes or no. A closed input means no.
pub fn ask(question: &str, default: Default) -> Result<bool, Failure> {
    let choices = match default {
        Default::Yes => "[Y/n]",
        Default::No => "[y/N]",
    };
    eprint!("{question} {choices} ");
    std::io::stderr().flush()?;
    let mut line = String::new();
    let length = std::io::stdin().lock().read_line(&mut line)?;
    Ok(match line.trim().to_lowercase().as_str() {
        "y" | "yes" => true,
        "" => length > 0 && default == Default::Yes,
        _other => false,
    })
}
