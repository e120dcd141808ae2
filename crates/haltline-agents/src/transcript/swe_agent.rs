//! SWE-agent's `.traj` files: one document, whose steps are an action, a line for a shell, and what came back.
//!
//! There are no names, no times and no exit codes. Some actions are the agent's own editing commands; they are told
//! apart from the shell's so that an edit counts as one.

use std::borrow::Cow;

use haltline_core::identity::Action;
use haltline_core::loop_::{Happening, Stream, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{self, Unread};
use super::{Damaged, Entry};
use crate::{json, price};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    trajectory: Unread<'a>,
    info: Unread<'a>,
}

#[derive(Deserialize)]
struct Step<'a> {
    #[serde(borrow)]
    action: Unread<'a>,
    observation: Unread<'a>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    model_stats: Unread<'a>,
    exit_status: Unread<'a>,
}

#[derive(Deserialize)]
struct Stats<'a> {
    #[serde(borrow)]
    instance_cost: Unread<'a>,
    tokens_sent: Unread<'a>,
    tokens_received: Unread<'a>,
}

/// Reads one document.
#[derive(Debug)]
pub struct SweAgentReader {
    stream: Stream,
}

impl SweAgentReader {
    /// A reader of a file of this name, which is the session's.
    pub fn new(name: &str) -> Self {
        Self { stream: Stream { session: name.to_owned(), client: "swe-agent".to_owned(), ..Stream::default() } }
    }

    /// Reads the document.
    pub fn take(&mut self, document: &str, entries: &mut Vec<Entry>) -> Result<(), Damaged> {
        let mut tell = |what| entries.push(Entry { at: None, stream: self.stream.clone(), what, is_echo: false });
        record::each(document, |document: Document<'_>| {
            let Some(trajectory) = document.trajectory else { return };
            // Whoever started the run set the task.
            tell(Happening::Prompt { by_user: true, bypass: false });
            for (number, step) in record::elements::<Step<'_>>(trajectory).iter().enumerate() {
                let action = step.action.and_then(json::text).unwrap_or_default();
                if !action.trim().is_empty() {
                    call(number + 1, action.trim(), step.observation, &mut tell);
                }
            }
            if let Some(info) = document.info.and_then(json::object::<Info<'_>>) {
                end(&info, &mut tell);
            }
        })
    }
}

fn call(number: usize, action: &str, observation: Option<&RawValue>, tell: &mut impl FnMut(Happening)) {
    let call = format!("step-{number}");
    let (tool, input) = tool(action);
    tell(Happening::ToolStart {
        call: call.clone(),
        message: Some(call.clone()),
        action: Box::new(Action::new(tool, &input, None)),
        guarded: Vec::new(),
        touched: Vec::new(),
        tampering: None,
    });
    if let Some(observation) = observation {
        let answer = Box::new(record::answer(Some(true), None, &json::shown(observation)));
        tell(Happening::ToolEnd { call, action: None, answer });
    }
}

/// The tool that an action means, and what it is given.
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

/// What the run took stands at its end, as one sum.
fn end(info: &Info<'_>, tell: &mut impl FnMut(Happening)) {
    if let Some(stats) = info.model_stats.and_then(json::object::<Stats<'_>>) {
        let (input, output) = (record::tokens(stats.tokens_sent), record::tokens(stats.tokens_received));
        let dollars: Option<f64> = stats.instance_cost.and_then(|cost| cost.get().parse().ok());
        // The agent says 0 where it does not know the price.
        let cost = dollars.filter(|dollars| *dollars > 0.0).and_then(price::millionths);
        let usage = Some(Usage { input, output, ..Usage::default() });
        tell(Happening::Message { usage, cost, offset: None, last: None, said: None });
    }
    if let Some(reason) = json::name(info.exit_status) {
        tell(Happening::SessionEnd { reason });
    }
}
