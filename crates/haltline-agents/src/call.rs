//! One call of the clients that report calls as Claude Code does: `tool_name`, `tool_input`, `tool_use_id`.

use haltline_core::digest_hex;
use haltline_core::identity::{Action, CallResult};
use haltline_core::loop_::{AgentRef, CallContext, LoopEvent};
use serde_json::value::RawValue;

use crate::json::{self, Unread};

/// The id of a call that starts or ends at this moment and has no id of its own. It is equal for every hook source.
pub fn timed_call_id(call_id: &str, timestamp: &str) -> String {
    digest_hex(&[call_id.as_bytes(), timestamp.as_bytes()], 8)
}

/// The id of a call to which the client gave none. Equal calls of one agent get equal ids, from hooks and from
/// transcripts.
pub fn derived_call_id(session: &str, sub_agent: Option<&str>, tool: &str, arguments: Unread<'_>) -> String {
    let sub_agent = sub_agent.unwrap_or_default();
    digest_hex(&[session.as_bytes(), sub_agent.as_bytes(), tool.as_bytes(), arguments_json(arguments).as_bytes()], 8)
}

fn arguments_json(arguments: Unread<'_>) -> &str {
    arguments.map_or("{}", RawValue::get)
}

json::unread! {
    pub struct Call { tool_name, tool_input, tool_use_id, tool_response }
}

impl<'a> Call<'a> {
    pub fn tool(&self) -> Option<String> {
        json::non_empty_text(self.tool_name)
    }

    /// The client's id of the call, or else a derived id that is the same before and after the call. It lets haltline
    /// count a call once when two hook sources deliver it.
    pub fn id(&self, tool: &str, agent: &AgentRef) -> String {
        let own_id = json::non_empty_text(self.tool_use_id);
        own_id.unwrap_or_else(|| derived_call_id(&agent.session, agent.sub_agent.as_deref(), tool, self.tool_input))
    }

    pub fn action(&self, tool: &str, folder: Option<&str>) -> Action {
        Action::new(tool, arguments_json(self.tool_input), folder)
    }

    /// The event that the call is about to run.
    pub fn start(&self, tool: &str, agent: &AgentRef, folder: Option<&str>) -> LoopEvent {
        LoopEvent::ToolStart {
            call: self.id(tool, agent),
            response: None,
            action: Box::new(self.action(tool, folder)),
            context: CallContext::Missing,
        }
    }

    pub fn end(&self, tool: &str, agent: &AgentRef, folder: Option<&str>, result: CallResult) -> LoopEvent {
        let action = Some(Box::new(self.action(tool, folder)));
        LoopEvent::ToolEnd { call: self.id(tool, agent), action, result: Box::new(result) }
    }
}
