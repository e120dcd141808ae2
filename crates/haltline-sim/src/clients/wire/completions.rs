//! The OpenAI Chat Completions API, which Qwen Code and Cline use.

use serde_json::{Value, json};

use super::tools::{Offered, fit_to_offered};
use super::{Conversation, Wire, unnamed_stream};
use crate::clients::script::Usage;

pub(super) const WIRE: Wire = Wire {
    paths: &["/chat/completions"],
    is_streamed: |_path, body| body["stream"] == true,
    conversation,
    message,
    events,
};

fn conversation(body: &Value) -> Conversation {
    let messages = body["messages"].as_array().into_iter().flatten();
    let offered = offered(body).iter().map(|tool| tool.name.to_owned()).collect();
    Conversation { messages: messages.filter_map(as_message).collect(), tools: offered }
}

fn offered(body: &Value) -> Vec<Offered<'_>> {
    let tools = body["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"]);
    tools.filter_map(|tool| Some(Offered { name: tool["name"].as_str()?, schema: &tool["parameters"] })).collect()
}

/// A message in the form of the Messages API; `None` for the client's own instructions.
fn as_message(message: &Value) -> Option<Value> {
    let text = |text: &Value| json!({ "type": "text", "text": text });
    match message["role"].as_str().unwrap_or_default() {
        "tool" => {
            let result = json!({ "type": "tool_result", "tool_use_id": message["tool_call_id"],
                "content": message["content"] });
            Some(json!({ "role": "user", "content": [result] }))
        }
        role @ ("user" | "assistant") => {
            let mut blocks = match &message["content"] {
                Value::String(words) => vec![text(&json!(words))],
                content => content.as_array().into_iter().flatten().map(|block| text(&block["text"])).collect(),
            };
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            blocks.extend(
                calls.map(|call| json!({ "type": "tool_use", "id": call["id"], "name": call["function"]["name"] })),
            );
            Some(json!({ "role": role, "content": blocks }))
        }
        _instructions => None,
    }
}

fn message(number: usize, body: &Value, content: Vec<Value>, usage: Usage) -> Value {
    let offered = offered(body);
    let texts: Vec<&str> = content.iter().filter_map(|block| block["text"].as_str()).collect();
    let calls = content.iter().filter(|block| block["type"] == "tool_use").enumerate().map(|(place, block)| {
        let (name, arguments) = fit_to_offered(block, &offered);
        json!({ "index": place, "id": block["id"], "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() } })
    });
    let calls: Vec<Value> = calls.collect();
    let finish_reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut reply = json!({ "role": "assistant", "content": (!texts.is_empty()).then(|| texts.join("\n")) });
    if !calls.is_empty() {
        reply["tool_calls"] = json!(calls);
    }
    json!({
        "id": format!("chatcmpl-{number:04}"), "object": "chat.completion", "created": 1_794_700_000,
        "model": body["model"],
        "choices": [{ "index": 0, "message": reply, "finish_reason": finish_reason }],
        "usage": { "prompt_tokens": usage.input, "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output },
    })
}

/// The message in three pieces: its content, why it ended, and its usage.
fn events(message: &Value) -> String {
    let choice = &message["choices"][0];
    let piece = |choices: Value, usage: &Value| {
        let mut piece = message.clone();
        piece["object"] = json!("chat.completion.chunk");
        piece["choices"] = choices;
        piece["usage"] = usage.clone();
        piece.to_string()
    };
    unnamed_stream(&[
        piece(json!([{ "index": 0, "delta": choice["message"], "finish_reason": null }]), &Value::Null),
        piece(json!([{ "index": 0, "delta": {}, "finish_reason": choice["finish_reason"] }]), &Value::Null),
        piece(json!([]), &message["usage"]),
        "[DONE]".to_owned(),
    ])
}
