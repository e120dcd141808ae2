//! One call as the clients tell it that speak as Claude Code does: `tool_name`, `tool_input`, `tool_use_id`.

use haltline_core::digest_hex;
use haltline_core::identity::{Action, Answer};
use haltline_core::loop_::{Happening, Stream};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json;

/// A value of the payload that nobody has read yet.
pub type Unread<'a> = Option<&'a RawValue>;

/// The name of a call without one that begins at this moment: the same through every configuration that tells of it.
pub fn at(name: &str, moment: &str) -> String {
    digest_hex(&[name.as_bytes(), moment.as_bytes()], 8)
}

/// The name of a call that the client gave none: the same wherever the same call is told of.
pub fn unnamed(session: &str, agent: Option<&str>, tool: &str, arguments: Unread<'_>) -> String {
    let agent = agent.unwrap_or_default();
    digest_hex(&[session.as_bytes(), agent.as_bytes(), tool.as_bytes(), input(arguments).as_bytes()], 8)
}

fn input(arguments: Unread<'_>) -> &str {
    arguments.map_or("{}", RawValue::get)
}

/// One call.
#[derive(Deserialize)]
pub struct Call<'a> {
    /// The tool.
    #[serde(borrow)]
    pub tool_name: Unread<'a>,
    /// Its arguments.
    pub tool_input: Unread<'a>,
    /// The client's name for the call.
    pub tool_use_id: Unread<'a>,
    /// What came back.
    pub tool_response: Unread<'a>,
}

impl<'a> Call<'a> {
    /// The tool's name.
    pub fn tool(&self) -> Option<String> {
        json::name(self.tool_name)
    }

    /// The client's name for the call; without one, a name that the same call gets before and after. By this name a call
    /// that is told through two configurations is counted once.
    pub fn name(&self, tool: &str, stream: &Stream) -> String {
        let named = json::name(self.tool_use_id);
        named.unwrap_or_else(|| unnamed(&stream.session, stream.agent.as_deref(), tool, self.tool_input))
    }

    /// What it does.
    pub fn action(&self, tool: &str, folder: Option<&str>) -> Action {
        Action::new(tool, input(self.tool_input), folder)
    }

    /// It is about to run.
    pub fn start(&self, tool: &str, stream: &Stream, folder: Option<&str>) -> Happening {
        Happening::ToolStart {
            call: self.name(tool, stream),
            message: None,
            action: Box::new(self.action(tool, folder)),
            guarded: Vec::new(),
            touched: Vec::new(),
            tampering: None,
        }
    }

    /// It ended.
    pub fn end(&self, tool: &str, stream: &Stream, folder: Option<&str>, answer: Answer) -> Happening {
        let action = Some(Box::new(self.action(tool, folder)));
        Happening::ToolEnd { call: self.name(tool, stream), action, answer: Box::new(answer) }
    }
}
