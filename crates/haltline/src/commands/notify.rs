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
    /// What came of each target.
    targets: Vec<TargetView>,
    command: Vec<&'a str>,
    webhook: bool,
}

#[derive(Serialize)]
struct TargetView {
    target: String,
    is_delivered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub fn run(context: &Context, command: &Notify) -> Result<ExitCode, Failure> {
    match command {
        Notify::Deliver => {
            context.engine.deliver_notifications();
            Ok(exit_code::SUCCESS)
        }
        Notify::Test => test(context),
    }
}

fn test(context: &Context) -> Result<ExitCode, Failure> {
    let config = context.engine.config();
    let attempts = context.engine.send_sample_notification();
    if attempts.is_empty() {
        return Err(Failure::Plain(
            "no notification target: haltline config set notify.to '[\"desktop\"]' sets one".to_owned(),
        ));
    }
    let targets: Vec<TargetView> = attempts
        .into_iter()
        .map(|attempt| TargetView {
            target: attempt.target,
            is_delivered: attempt.problem.is_none(),
            problem: attempt.problem,
        })
        .collect();
    let (command, webhook) = (config.notify_command(), !config.notify_webhook().is_empty());
    let view = TestView { schema: SCHEMA, targets, command, webhook };
    context.print(&view, |view| {
        let lines = view.targets.iter().map(|target| match &target.problem {
            None => format!("{}: delivered\n", target.target),
            Some(problem) => format!("{}: not delivered: {problem}\n", target.target),
        });
        lines.collect()
    })?;
    Ok(if view.targets.iter().all(|target| target.is_delivered) { exit_code::SUCCESS } else { exit_code::ERROR })
}
