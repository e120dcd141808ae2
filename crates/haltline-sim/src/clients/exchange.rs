//! One request of a client to the model, and the reply: what the model really saw.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::script;
use super::wire::Conversation;

/// How every text of haltline to an agent begins.
pub const VOICE: &str = "HALTLINE HL-";

/// A request and its reply, in the order of arrival.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchange {
    /// 1 for the first of the run.
    pub number: usize,
    /// The path that was asked for.
    pub path: String,
    /// The session, as the client's header says it.
    pub session: Option<String>,
    /// The script the conversation follows.
    pub script: Option<String>,
    /// Assistant turns since the prompt that named the script.
    pub turn: usize,
    /// The tools that were offered.
    pub tools: Vec<String>,
    /// The conversation so far.
    pub messages: Vec<Value>,
    /// What was answered: `content`, or `error` with its status.
    pub reply: Value,
}

impl Exchange {
    /// What a request says.
    pub(super) fn of(number: usize, path: &str, session: Option<&str>, conversation: Conversation) -> Self {
        let Conversation { messages, tools } = conversation;
        let (script, turn) = follow(&messages);
        let session = session.map(str::to_owned);
        Self { number, path: path.to_owned(), session, script, turn, tools, messages, reply: Value::Null }
    }

    /// Every text the model was given in this conversation by others than itself: prompts, reminders, tool results.
    pub fn texts(&self) -> Vec<String> {
        self.messages.iter().filter(|message| message["role"] != "assistant").flat_map(texts_of).collect()
    }

    /// The texts that came with this request, after the model's last turn.
    pub fn new_texts(&self) -> Vec<String> {
        let last = self.messages.iter().rposition(|message| message["role"] == "assistant");
        self.messages[last.map_or(0, |place| place + 1)..].iter().flat_map(texts_of).collect()
    }

    /// What haltline told the model with this request.
    pub fn told(&self) -> Vec<String> {
        self.new_texts().into_iter().filter(|text| text.contains(VOICE)).collect()
    }

    /// The texts of this conversation that contain these words.
    pub fn saying(&self, words: &str) -> Vec<String> {
        self.texts().into_iter().filter(|text| text.contains(words)).collect()
    }

    /// The result of a call, as the model got it: whether it is an error, and its text.
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

/// Which script a conversation follows, and how many turns since the prompt that named it.
fn follow(messages: &[Value]) -> (Option<String>, usize) {
    let prompt = messages.iter().enumerate().rev().find_map(|(place, message)| {
        let spoken = if message["role"] == "user" { spoken(message) } else { Vec::new() };
        let name = spoken.iter().rev().find_map(|text| script::named(text))?;
        Some((place, name.to_owned()))
    });
    let start = prompt.as_ref().map_or(0, |(place, _)| *place);
    let turn = messages[start..].iter().filter(|message| message["role"] == "assistant").count();
    (prompt.map(|(_, name)| name), turn)
}

/// The texts of a message outside tool results, whose output may quote a marker.
fn spoken(message: &Value) -> Vec<&str> {
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
        let exchange = Exchange::of(1, "/v1/messages", None, Conversation { messages, tools: Vec::new() });
        assert_eq!((exchange.script.as_deref(), exchange.turn), (Some("new"), 1));
        assert_eq!(exchange.new_texts(), ["quotes [[script:other]]"]);
        assert_eq!(exchange.result_of("t1"), Some((true, "quotes [[script:other]]".to_owned())));
    }
}
