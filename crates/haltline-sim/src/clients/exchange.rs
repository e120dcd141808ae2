//! One request of a client to the model, and the reply: what the model really saw.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::script;
use super::wire::Conversation;

/// The beginning of every text of haltline to an agent.
pub const MESSAGE_PREFIX: &str = "HALTLINE HL-";

/// A request and its reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchange {
    /// The number of the request in the run, in order of arrival, starting at 1.
    pub number: usize,
    /// The method and path of the request.
    pub path: String,
    /// The session, from the client's header.
    pub session: Option<String>,
    /// The script that the conversation follows.
    pub script: Option<String>,
    /// Assistant turns since the prompt that named the script.
    pub turn: usize,
    /// The tools that the client offers.
    pub tools: Vec<String>,
    /// The conversation so far.
    pub messages: Vec<Value>,
    /// The reply: `content`, or `error` with its status.
    pub reply: Value,
}

impl Exchange {
    /// An exchange from a request, without its reply.
    pub(super) fn from_request(number: usize, path: &str, session: Option<&str>, conversation: Conversation) -> Self {
        let Conversation { messages, tools } = conversation;
        let (script, turn) = followed_script(&messages);
        let session = session.map(str::to_owned);
        Self { number, path: path.to_owned(), session, script, turn, tools, messages, reply: Value::Null }
    }

    /// Every text of this conversation that is not the model's own: prompts, reminders, tool results.
    pub fn texts(&self) -> Vec<String> {
        self.messages.iter().filter(|message| message["role"] != "assistant").flat_map(texts_of).collect()
    }

    /// The texts that are new in this request, after the model's last turn.
    pub fn new_texts(&self) -> Vec<String> {
        let last = self.messages.iter().rposition(|message| message["role"] == "assistant");
        self.messages[last.map_or(0, |index| index + 1)..].iter().flat_map(texts_of).collect()
    }

    /// The texts of haltline that are new in this request.
    pub fn haltline_texts(&self) -> Vec<String> {
        self.new_texts().into_iter().filter(|text| text.contains(MESSAGE_PREFIX)).collect()
    }

    /// The texts of this conversation that contain `text`.
    pub fn texts_containing(&self, part: &str) -> Vec<String> {
        self.texts().into_iter().filter(|text| text.contains(part)).collect()
    }

    /// The result of a call as the model received it: whether it is an error, and its text.
    pub fn result_of(&self, call: &str) -> Option<(bool, String)> {
        let blocks = self.messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        let block = blocks.into_iter().find(|block| block["tool_use_id"] == call)?;
        Some((block["is_error"] == true, content_text(&block["content"])))
    }

    /// The ids of the tool calls in the reply.
    pub fn calls(&self) -> Vec<&str> {
        let blocks = self.reply["content"].as_array().into_iter().flatten();
        blocks.filter(|block| block["type"] == "tool_use").filter_map(|block| block["id"].as_str()).collect()
    }
}

/// The script that a conversation follows, and the number of turns since the prompt that named it.
fn followed_script(messages: &[Value]) -> (Option<String>, usize) {
    let prompt = messages.iter().enumerate().rev().find_map(|(index, message)| {
        let texts = if message["role"] == "user" { prompt_texts(message) } else { Vec::new() };
        let name = texts.iter().rev().find_map(|text| script::marked_name(text))?;
        Some((index, name.to_owned()))
    });
    let start = prompt.as_ref().map_or(0, |(index, _)| *index);
    let turn = messages[start..].iter().filter(|message| message["role"] == "assistant").count();
    (prompt.map(|(_, name)| name), turn)
}

/// The texts of a message outside tool results; a tool result may quote a marker.
fn prompt_texts(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

fn texts_of(message: &Value) -> Vec<String> {
    match &message["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().map(block_text).collect(),
        _ => Vec::new(),
    }
}

fn block_text(block: &Value) -> String {
    block["text"].as_str().map_or_else(|| content_text(&block["content"]), str::to_owned)
}

fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turns_are_counted_since_the_prompt_that_named_the_script() {
        let messages = json!([
            { "role": "user", "content": "[[script:old]]" },
            { "role": "assistant", "content": [{ "type": "text", "text": "done" }] },
            { "role": "user", "content": [{ "type": "text", "text": "go on [[script:new]]" }] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "t1", "name": "Bash", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "is_error": true,
                "content": [{ "type": "text", "text": "quotes [[script:other]]" }] }] },
        ]);
        let messages = messages.as_array().cloned().unwrap_or_default();
        let exchange = Exchange::from_request(1, "/v1/messages", None, Conversation { messages, tools: Vec::new() });
        assert_eq!((exchange.script.as_deref(), exchange.turn), (Some("new"), 1));
        assert_eq!(exchange.new_texts(), ["quotes [[script:other]]"]);
        assert_eq!(exchange.result_of("t1"), Some((true, "quotes [[script:other]]".to_owned())));
    }
}
