//! The OpenAI Responses API, which Codex uses.
//!
//! A request lists items, not messages: consecutive items of one role become one message. Calls are scripted with
//! Claude Code's names; here they get the tools and arguments that Codex offers.

use serde_json::{Value, json};

use super::{Conversation, Wire, stream};
use crate::clients::script::Usage;

pub(super) const WIRE: Wire =
    Wire { paths: &["/responses"], is_streamed: |_path, body| body["stream"] == true, conversation, message, events };

fn conversation(body: &Value) -> Conversation {
    let mut messages: Vec<Value> = Vec::new();
    for item in body["input"].as_array().into_iter().flatten() {
        let Some((role, blocks)) = as_message_part(item) else { continue };
        match messages.last_mut() {
            Some(last) if last["role"] == role => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            Some(_) | None => messages.push(json!({ "role": role, "content": blocks })),
        }
    }
    Conversation { messages, tools: offered(body) }
}

/// The names of the tools, including those in namespaces.
fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let each = tools.flat_map(|tool| tool["tools"].as_array().cloned().unwrap_or_else(|| vec![tool.clone()]));
    each.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

fn as_message_part(item: &Value) -> Option<(&'static str, Vec<Value>)> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => {
            let role = if item["role"] == "assistant" { "assistant" } else { "user" };
            let texts = match &item["content"] {
                Value::String(text) => vec![text.clone()],
                content => content.as_array().into_iter().flatten().map(|block| text(&block["text"])).collect(),
            };
            Some((role, texts.into_iter().map(|text| json!({ "type": "text", "text": text })).collect()))
        }
        "function_call" | "custom_tool_call" => {
            let call = json!({ "type": "tool_use", "id": item["call_id"], "name": item["name"] });
            Some(("assistant", vec![call]))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let result = json!({ "type": "tool_result", "tool_use_id": item["call_id"], "content": item["output"] });
            Some(("user", vec![result]))
        }
        _thoughts => None,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A block of the response as an item.
fn item(place: usize, block: &Value, body: &Value) -> Value {
    if block["type"] == "text" {
        let content = json!([{ "type": "output_text", "text": block["text"], "annotations": [] }]);
        return json!({ "type": "message", "id": format!("msg_{place}"), "role": "assistant", "status": "completed",
            "content": content });
    }
    let input = &block["input"];
    let (name, namespace, arguments) = match block["name"].as_str().unwrap_or_default() {
        "Bash" => ("exec_command", None, json!({ "cmd": input["command"] })),
        "Read" => ("exec_command", None, json!({ "cmd": format!("cat '{}'", text(&input["file_path"])) })),
        // The model takes the agent to wait for from the tool outputs before.
        "wait_agent" => {
            let targets =
                tool_outputs(body).filter_map(|answer| Some(between(&answer, "\"agent_id\":\"", '"')?.to_owned()));
            let targets: Vec<String> = targets.last().into_iter().collect();
            ("wait_agent", Some("multi_agent_v1"), json!({ "targets": targets, "timeout_ms": input["timeout_ms"] }))
        }
        "write_stdin" => {
            let sessions =
                tool_outputs(body).filter_map(|answer| between(&answer, "with session ID ", '\n')?.parse::<u64>().ok());
            let session = sessions.last();
            ("write_stdin", None, json!({ "session_id": session, "chars": "", "yield_time_ms": 5000 }))
        }
        "Agent" => ("spawn_agent", Some("multi_agent_v1"), json!({ "message": input["prompt"] })),
        other => (other, None, input.clone()),
    };
    let mut call = json!({ "type": "function_call", "id": format!("fc_{place}"), "call_id": block["id"], "name": name,
        "arguments": arguments.to_string(), "status": "completed" });
    if let Some(namespace) = namespace {
        call["namespace"] = json!(namespace);
    }
    call
}

fn tool_outputs(body: &Value) -> impl Iterator<Item = String> {
    let items = body["input"].as_array().into_iter().flatten();
    items.filter(|item| item["type"] == "function_call_output").map(|item| text(&item["output"]))
}

fn between<'a>(whole: &'a str, before: &str, after: char) -> Option<&'a str> {
    whole.split_once(before)?.1.split(after).next()
}

fn message(number: usize, body: &Value, content: Vec<Value>, usage: Usage) -> Value {
    let output: Vec<Value> = content.iter().enumerate().map(|(place, block)| item(place, block, body)).collect();
    json!({
        "id": format!("resp_{number:04}"), "object": "response", "created_at": 1_794_700_000, "model": body["model"],
        "status": "completed", "output": output,
        "usage": { "input_tokens": usage.input, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.input + usage.output },
    })
}

fn events(message: &Value) -> String {
    let mut begun = message.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![json!({ "type": "response.created", "response": begun })];
    for (place, item) in message["output"].as_array().into_iter().flatten().enumerate() {
        events.push(json!({ "type": "response.output_item.added", "output_index": place, "item": item }));
        if item["type"] == "message" {
            events.push(json!({ "type": "response.output_text.delta", "item_id": item["id"], "output_index": place,
                "content_index": 0, "delta": item["content"][0]["text"] }));
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": place, "item": item }));
    }
    events.push(json!({ "type": "response.completed", "response": message }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    stream(&events)
}
