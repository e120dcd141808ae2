//! The Gemini API, which Gemini CLI uses. The path says whether a response is streamed.

use serde_json::{Value, json};

use super::tools::{Offered, filler, fit_to_offered};
use super::{Conversation, Wire, unnamed_stream};
use crate::clients::script::Usage;

const STREAMED: &str = ":streamGenerateContent";

pub(super) const WIRE: Wire = Wire {
    paths: &[STREAMED, ":generateContent"],
    is_streamed: |path, _body| path.ends_with(STREAMED),
    conversation,
    message,
    events: |message| unnamed_stream(&[message.to_string()]),
};

fn conversation(body: &Value) -> Conversation {
    let messages = body["contents"].as_array().into_iter().flatten().map(as_message).collect();
    Conversation { messages, tools: offered(body).iter().map(|tool| tool.name.to_owned()).collect() }
}

fn offered(body: &Value) -> Vec<Offered<'_>> {
    let groups = body["tools"].as_array().into_iter().flatten();
    let tools = groups.flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten());
    let schema = |tool: &'_ Value| -> &'static str {
        if tool["parametersJsonSchema"].is_null() { "parameters" } else { "parametersJsonSchema" }
    };
    tools.filter_map(|tool| Some(Offered { name: tool["name"].as_str()?, schema: &tool[schema(tool)] })).collect()
}

fn as_message(content: &Value) -> Value {
    let parts = content["parts"].as_array().into_iter().flatten();
    let blocks: Vec<Value> = parts
        .map(|part| {
            let (call, result) = (&part["functionCall"], &part["functionResponse"]);
            if !call.is_null() {
                return json!({ "type": "tool_use", "id": call["id"], "name": call["name"] });
            }
            if !result.is_null() {
                let text = ["output", "error"].iter().find_map(|key| result["response"][key].as_str());
                let text = text.map_or_else(|| result["response"].to_string(), str::to_owned);
                let is_error = !result["response"]["error"].is_null();
                return json!({ "type": "tool_result", "tool_use_id": result["id"], "content": text,
                    "is_error": is_error });
            }
            json!({ "type": "text", "text": part["text"] })
        })
        .collect();
    json!({ "role": if content["role"] == "model" { "assistant" } else { "user" }, "content": blocks })
}

fn message(_number: usize, body: &Value, content: Vec<Value>, usage: Usage) -> Value {
    let offered = offered(body);
    let settings = &body["generationConfig"];
    let schema = ["responseJsonSchema", "responseSchema"].into_iter().find(|key| !settings[*key].is_null());
    // A request with a schema for its response: the client asks the model about the conversation itself.
    let form = schema.filter(|_| offered.is_empty()).map(|key| filler(&settings[key]).to_string());
    let parts: Vec<Value> = match form {
        Some(form) => vec![json!({ "text": form })],
        None => content.iter().map(|block| part(block, &offered)).collect(),
    };
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 }],
        "modelVersion": "scripted",
        "usageMetadata": { "promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output },
    })
}

fn part(block: &Value, offered: &[Offered<'_>]) -> Value {
    if block["type"] == "text" {
        return json!({ "text": block["text"] });
    }
    let (name, arguments) = fit_to_offered(block, offered);
    json!({ "functionCall": { "id": block["id"], "name": name, "args": arguments } })
}
