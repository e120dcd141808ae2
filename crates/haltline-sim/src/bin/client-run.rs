//! The program inside the namespaces of a client test: `client-run carry-out PLAN` serves the model and runs the
//! client; `client-run stand-in FOLDER` is the hook that replaces haltline. Never shipped.

use std::path::Path;
use std::process::ExitCode;

use haltline_sim::clients::{inside, stand_in};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["carry-out", plan] => inside::carry_out(Path::new(plan)),
        ["stand-in", folder] => stand_in::answer(Path::new(folder)),
        _ => {
            eprintln!("error: expected `carry-out PLAN` or `stand-in FOLDER`");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
