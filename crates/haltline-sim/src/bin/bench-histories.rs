//! Writes the histories of a folder as plain events: `bench-histories FOLDER [--labels FILE]`.
//!
//! The events go to standard output, one session after the other; the labels file gets one JSON object per history.

use std::env;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use haltline_sim::histories;

const USAGE: &str = "usage: bench-histories FOLDER [--labels FILE]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("bench-histories: {text}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut folder, mut labels): (Option<PathBuf>, Option<PathBuf>) = (None, None);
    let mut arguments = env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--labels" {
            labels = Some(arguments.next().ok_or(USAGE)?.into());
        } else if folder.is_none() {
            folder = Some(argument.into());
        } else {
            return Err(USAGE.into());
        }
    }
    let histories = histories::read_folder(&folder.ok_or(USAGE)?).map_err(|error| error.to_string())?;
    let mut output = BufWriter::new(io::stdout().lock());
    for (number, history) in histories.iter().enumerate() {
        for event in history.events(number) {
            writeln!(output, "{event}").map_err(|error| format!("standard output: {error}"))?;
        }
    }
    output.flush().map_err(|error| format!("standard output: {error}"))?;
    if let Some(path) = labels {
        let lines: String = histories.iter().map(|history| format!("{}\n", history.labels())).collect();
        fs::write(&path, lines).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
