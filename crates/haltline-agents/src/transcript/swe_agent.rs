//! SWE-agent's `.traj` files: one document with steps, each an action (a shell command line) and its output.
//!
//! There are no call ids, no times and no exit codes. Some actions are the agent's own editing commands; they are
//! distinguished from shell commands so that an edit counts as one.

use std::borrow::Cow;

use haltline_core::identity::Action;
use haltline_core::loop_::{CallContext, LoopEvent, Usage};

use super::record::{self, RecordContext};
use super::{Damaged, Entry};
use crate::json::{self, Unread};
use crate::price;

json::unread! {
    struct Document { trajectory, info }

    struct TrajectoryStep { action, observation }

    struct Stats { instance_cost, tokens_sent, tokens_received }
}

#[derive(Debug)]
pub struct SweAgentReader {
    context: RecordContext,
}

impl SweAgentReader {
    /// A reader of a file of this name, which is also the session's name.
    pub fn new(name: &str) -> Self {
        Self { context: RecordContext::new("swe-agent", name) }
    }

    pub fn read_document(&mut self, document: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let mut emit = |event| entries.push(self.context.entry(event));
        record::for_each_object(document, |document: Document<'_>| {
            let Some(trajectory) = document.trajectory else { return };
            // The person who started the run set the task.
            emit(LoopEvent::Prompt { by_user: true, bypass: false });
            for (number, step) in record::elements::<TrajectoryStep<'_>>(trajectory).iter().enumerate() {
                let action = step.action.and_then(json::text).unwrap_or_default();
                if !action.trim().is_empty() {
                    call(number + 1, action.trim(), step.observation, &mut emit);
                }
            }
            end(document.info, &mut emit);
        })
    }
}

fn call(number: usize, action: &str, observation: Unread<'_>, emit: &mut impl FnMut(LoopEvent)) {
    let call = format!("step-{number}");
    let (tool, input) = tool(action);
    emit(LoopEvent::ToolStart {
        call: call.clone(),
        response: Some(call.clone()),
        action: Box::new(Action::new(tool, &input, None)),
        context: CallContext::Missing,
    });
    if let Some(observation) = observation {
        let result = Box::new(record::call_result(Some(true), None, &json::text_for_model(observation)));
        emit(LoopEvent::ToolEnd { call, action: None, result });
    }
}

/// The tool that an action uses, and its arguments.
fn tool(action: &str) -> (&str, Cow<'_, str>) {
    let (first, rest) = action.split_once(char::is_whitespace).unwrap_or((action, ""));
    match first {
        "edit" | "create" | "insert" => (first, Cow::Borrowed(rest)),
        "str_replace_editor" => {
            let mut words = rest.split_whitespace();
            let (command, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let input = serde_json::json!({ "command": command, "path": path, "rest": rest });
            (first, Cow::Owned(input.to_string()))
        }
        _ => ("bash", Cow::Borrowed(action)),
    }
}

/// The usage of the run is recorded at its end, as one sum.
fn end(info: Unread<'_>, emit: &mut impl FnMut(LoopEvent)) {
    if let Some(stats) = json::member(info, "model_stats").and_then(json::object::<Stats<'_>>) {
        let (input, output) = (record::tokens(stats.tokens_sent), record::tokens(stats.tokens_received));
        // The agent writes 0 when it does not know the price.
        let dollars = json::number(stats.instance_cost).filter(|dollars: &f64| *dollars > 0.0);
        let cost = dollars.and_then(price::millionths);
        let usage = Some(Usage { input, output, ..Usage::default() });
        emit(LoopEvent::Message { usage, cost, model: None, range: None, last_response: None, text: None });
    }
    if let Some(reason) = json::member_text(info, "exit_status") {
        emit(LoopEvent::SessionEnd { reason });
    }
}
