//! The Anthropic Messages API, which Claude Code and other clients with their own tools use. The other APIs are
//! converted to its form.

use serde_json::{Value, json};

use super::tools::{Offered, fit_to_offered};
use super::{Conversation, Wire, stream};
use crate::clients::script::Usage;

pub(super) const WIRE: Wire =
    Wire { paths: &["/messages"], is_streamed: |_path, body| body["stream"] == true, conversation, message, events };

fn conversation(body: &Value) -> Conversation {
    let tools = body["tools"].as_array().into_iter().flatten();
    Conversation {
        messages: body["messages"].as_array().cloned().unwrap_or_default(),
        tools: tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect(),
    }
}

fn message(number: usize, body: &Value, mut content: Vec<Value>, usage: Usage) -> Value {
    let tools = body["tools"].as_array().into_iter().flatten();
    let offered: Vec<Offered<'_>> = tools
        .filter_map(|tool| Some(Offered { name: tool["name"].as_str()?, schema: &tool["input_schema"] }))
        .collect();
    for block in content.iter_mut().filter(|block| block["type"] == "tool_use") {
        let (name, input) = fit_to_offered(block, &offered);
        block["name"] = json!(name);
        block["input"] = input;
    }
    let calls = content.iter().any(|block| block["type"] == "tool_use");
    json!({
        "id": format!("msg_{number:04}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
        "usage": { "input_tokens": usage.input, "output_tokens": usage.output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 },
    })
}

/// The message as a stream of events.
fn events(message: &Value) -> String {
    let mut started = message.clone();
    started["content"] = json!([]);
    started["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": started })];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({ "type": "text_delta", "text": block["text"] })
        } else {
            empty["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": empty }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    let usage = json!({ "output_tokens": message["usage"]["output_tokens"] });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    stream(&events)
}
