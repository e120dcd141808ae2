//! `haltline mcp`: lets an agent ask haltline and report to it through the Model Context Protocol (docs/guides/mcp.md).
//!
//! A tool is a command that an agent may run itself, and answers what the command prints with `--json`. There is no tool
//! for an operator action. The messages are JSON-RPC 2.0, one per line; a message that is wrong never ends the process.

mod tools;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use haltline_engine::clock::Clock;
use serde_json::{Value, json};

use super::line_pipes::{Line, LinePipes};
use crate::error::Failure;
use crate::exit_code;
use crate::request;

/// The revisions of the protocol whose messages are the same for what haltline offers, newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Incidents are resources under this address.
const INCIDENT_ADDRESS: &str = "haltline://incident/";

const INSTRUCTIONS: &str = "haltline is a circuit breaker: it denies work that no longer helps. If haltline denied a \
    call, read the reason with `why` before you try anything else. Ask `constraint_check` before an action that a rule \
    of this project concerns. Only a person can reset what is OPEN.";

/// Numbers of JSON-RPC.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
/// The resource does not exist.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Why a request has no result.
struct RpcError {
    code: i64,
    message: String,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Answers messages until standard input ends.
pub fn run(folder: Option<&Path>, clock: Clock) -> Result<ExitCode, Failure> {
    let server = Server { folder: folder.unwrap_or(Path::new(".")), clock };
    let mut pipes = LinePipes::take()?;
    let mut line = Vec::new();
    loop {
        let response = match pipes.read_line(&mut line)? {
            Line::EndOfInput => return Ok(exit_code::SUCCESS),
            Line::TooLong => Some(response(Value::Null, Err(RpcError::new(PARSE_ERROR, "the message is too long")))),
            Line::Whole => server.respond(&line),
        };
        if response.is_some_and(|response| !pipes.write_line(&response)) {
            return Ok(exit_code::SUCCESS);
        }
    }
}

fn response(id: Value, result: Result<Value, RpcError>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(RpcError { code, message }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    }
}

struct Server<'a> {
    folder: &'a Path,
    clock: Clock,
}

impl Server<'_> {
    /// The response to a message; `None` for a notification, which has none.
    fn respond(&self, line: &[u8]) -> Option<Value> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => {
                let text = format!("expected a JSON object on one line: {error}");
                return Some(response(Value::Null, Err(RpcError::new(PARSE_ERROR, text))));
            }
        };
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // haltline sends no requests, so a message with a result answers none.
            let is_response = message.get("result").is_some() || message.get("error").is_some();
            let error = RpcError::new(INVALID_REQUEST, "expected a request with a method");
            return (!is_response).then(|| response(Value::Null, Err(error)));
        };
        let id = message.get("id").filter(|id| id.is_string() || id.is_number())?.clone();
        let parameters = message.get("params").unwrap_or(&Value::Null);
        let result = catch_unwind(AssertUnwindSafe(|| self.answer(method, parameters)));
        let failed = |_panic| Err(RpcError::new(INTERNAL_ERROR, "haltline itself failed on this request"));
        Some(response(id, result.unwrap_or_else(failed)))
    }

    fn answer(&self, method: &str, parameters: &Value) -> Result<Value, RpcError> {
        match method {
            "initialize" => Ok(initialize(parameters)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools::list() })),
            "tools/call" => self.call(parameters),
            "resources/list" => self.incidents(),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [{
                "uriTemplate": format!("{INCIDENT_ADDRESS}{{id}}"),
                "name": "incident",
                "title": "An incident: the evidence and what to do next",
                "mimeType": "application/json",
            }] })),
            "resources/read" => self.incident(parameters),
            unknown => Err(RpcError::new(METHOD_NOT_FOUND, format!("haltline has no method {unknown}"))),
        }
    }

    fn command(&self, arguments: &[&str]) -> Result<Value, Failure> {
        request::run_for_agent(self.folder, arguments, self.clock)
    }

    /// Runs a tool. What the command rejects is a result for the model, which can then do something else.
    fn call(&self, parameters: &Value) -> Result<Value, RpcError> {
        let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
        let tool = tools::find(name).ok_or_else(|| {
            RpcError::new(INVALID_PARAMS, format!("haltline has no tool {name}; tools/list names all"))
        })?;
        let given = parameters.get("arguments").unwrap_or(&Value::Null);
        let result = tool.command_line(given).map_err(Failure::Usage).and_then(|line| {
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            self.command(&line)
        });
        Ok(match result {
            Ok(value) => json!({
                "content": [{ "type": "text", "text": value.to_string() }],
                "structuredContent": value,
                "isError": false,
            }),
            Err(failure) => json!({
                "content": [{ "type": "text", "text": explained(&failure) }],
                "isError": true,
            }),
        })
    }

    fn incidents(&self) -> Result<Value, RpcError> {
        let found = self.command(&["incidents", "--limit", "50"]).map_err(|failure| internal(&failure))?;
        let text = |incident: &Value, name: &str| incident.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let resource = |incident: &Value| {
            json!({
                "uri": format!("{INCIDENT_ADDRESS}{}", text(incident, "incident")),
                "name": text(incident, "incident"),
                "title": text(incident, "code"),
                "description": text(incident, "reason"),
                "mimeType": "application/json",
            })
        };
        let incidents = found.get("incidents").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Ok(json!({ "resources": incidents.iter().map(resource).collect::<Vec<_>>() }))
    }

    fn incident(&self, parameters: &Value) -> Result<Value, RpcError> {
        let address = parameters.get("uri").and_then(Value::as_str).unwrap_or_default();
        let id = address.strip_prefix(INCIDENT_ADDRESS).filter(|id| !id.is_empty());
        let expected = || RpcError::new(RESOURCE_NOT_FOUND, format!("expected {INCIDENT_ADDRESS}ID"));
        let found = self.command(&["why", "--", id.ok_or_else(expected)?]);
        let found = found.map_err(|failure| RpcError::new(RESOURCE_NOT_FOUND, explained(&failure)))?;
        Ok(json!({
            "contents": [{ "uri": address, "mimeType": "application/json", "text": found.to_string() }],
        }))
    }
}

fn initialize(parameters: &Value) -> Value {
    let wanted = parameters.get("protocolVersion").and_then(Value::as_str);
    let revision = REVISIONS.iter().find(|known| Some(**known) == wanted).unwrap_or(&REVISIONS[0]);
    json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {}, "resources": {} },
        "serverInfo": { "name": "haltline", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

fn internal(failure: &Failure) -> RpcError {
    RpcError::new(INTERNAL_ERROR, explained(failure))
}

/// The message of a failure with what helps.
fn explained(failure: &Failure) -> String {
    match failure.hint() {
        Some(hint) => format!("{failure} ({hint})"),
        None => failure.to_string(),
    }
}
