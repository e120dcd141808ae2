//! `haltline notify`: people hear of trips (E16).

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::Notify;
use crate::error::Failure;
use crate::exit_code;
use crate::view::SCHEMA;
use crate::workplace::Workplace;

#[derive(Serialize)]
struct TestView<'a> {
    schema: u32,
    command: Vec<&'a str>,
    webhook: bool,
}

/// Runs a notify command.
pub fn run(workplace: &Workplace, command: &Notify) -> Result<ExitCode, Failure> {
    match command {
        Notify::Deliver => workplace.engine.deliver(),
        Notify::Test => test(workplace)?,
    }
    Ok(exit_code::FINE)
}

fn test(workplace: &Workplace) -> Result<(), Failure> {
    let config = workplace.engine.config();
    match workplace.engine.notify_sample() {
        None => Err(Failure::Plain(
            "nobody is to be told: set notify.command or notify.webhook in your config (`haltline config path` says where it is)".to_owned(),
        )),
        Some(Err(problem)) => Err(Failure::Plain(format!("the sample was not delivered: {problem}"))),
        Some(Ok(())) => {
            let (command, webhook) = (config.notify_command(), !config.notify_webhook().is_empty());
            let view = TestView { schema: SCHEMA, command, webhook };
            workplace.answer(&view, |view| {
                let mut out = String::new();
                if !view.command.is_empty() {
                    out.push_str("delivered to notify.command, which ended with 0\n");
                }
                if view.webhook {
                    out.push_str("delivered to notify.webhook\n");
                }
                out
            })
        }
    }
}
