//! `haltline notify`: delivers notifications of trips to people (E16).

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::Notify;
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::view::SCHEMA;

#[derive(Serialize)]
struct TestView<'a> {
    schema: u32,
    command: Vec<&'a str>,
    webhook: bool,
}

pub fn run(context: &Context, command: &Notify) -> Result<ExitCode, Failure> {
    match command {
        Notify::Deliver => context.engine.deliver_notifications(),
        Notify::Test => test(context)?,
    }
    Ok(exit_code::SUCCESS)
}

fn test(context: &Context) -> Result<(), Failure> {
    let config = context.engine.config();
    match context.engine.send_sample_notification() {
        None => Err(Failure::Plain(
            "nobody is to be told: set notify.command or notify.webhook in your config (`haltline config path` says where it is)".to_owned(),
        )),
        Some(Err(problem)) => Err(Failure::Plain(format!("the sample was not delivered: {problem}"))),
        Some(Ok(())) => {
            let (command, webhook) = (config.notify_command(), !config.notify_webhook().is_empty());
            let view = TestView { schema: SCHEMA, command, webhook };
            context.print(&view, |view| {
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
