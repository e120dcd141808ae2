//! A program that reads one event and parses it: the least a hook can do.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut text = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut text).is_err() {
        return ExitCode::FAILURE;
    }
    match serde_json::from_slice::<serde_json::Value>(&text) {
        Ok(value) if value.is_object() => ExitCode::SUCCESS,
        Ok(_) | Err(_) => ExitCode::FAILURE,
    }
}
