//! A server on loopback that implements the APIs of the clients, with and without streaming, and plays scripts. It
//! records the exchanges and keeps no other state: it derives the turn from the request.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::exchange::Exchange;
use super::http::{self, Request};
use super::script::{Call, Script, ScriptStep, Usage};
use super::wire::{self, Wire};

/// The port. Each run has its own network, so the port is always free, and settings files can name it.
pub const PORT: u16 = 8399;

/// The scripts, and the exchanges so far.
pub struct ScriptedModel {
    scripts: BTreeMap<String, Script>,
    requests_max: usize,
    exchanges: Mutex<Vec<Exchange>>,
}

/// A reply before it is encoded for an API.
enum Reply {
    Message { content: Vec<Value>, usage: Usage },
    Error { status: u16, message: String },
}

impl ScriptedModel {
    /// A model that plays these scripts and rejects every request after `requests_max`.
    pub fn new(scripts: Vec<Script>, requests_max: usize) -> Arc<Self> {
        let scripts = scripts.into_iter().map(|script| (script.name.clone(), script)).collect();
        Arc::new(Self { scripts, requests_max, exchanges: Mutex::default() })
    }

    /// Serves on loopback until the process ends.
    ///
    /// # Errors
    /// When loopback is down.
    pub fn serve(self: &Arc<Self>) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
        let address = listener.local_addr()?;
        let model = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = Arc::clone(&model);
                thread::spawn(move || match model.converse(&stream) {
                    // A client that disconnects in the middle of a response was stopped.
                    Ok(()) | Err(_) => {}
                });
            }
        });
        Ok(address)
    }

    /// All exchanges so far, in order of arrival.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        let mut input = BufReader::new(stream);
        let mut output = stream;
        while let Some(request) = Request::read(&mut input)? {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            if request.path.ends_with("/count_tokens") {
                http::answer(&mut output, 200, "application/json", &json!({ "input_tokens": 1_000 }).to_string())?;
                continue;
            }
            let wire = wire::wire_of(&request.path);
            let (number, reply) = self.exchange(&request, wire, &body);
            match (reply, wire) {
                (Reply::Message { content, usage }, Some(wire)) => {
                    let message = (wire.message)(number, &body, content, usage);
                    if (wire.is_streamed)(&request.path, &body) {
                        http::answer(&mut output, 200, "text/event-stream", &(wire.events)(&message))?;
                    } else {
                        http::answer(&mut output, 200, "application/json", &message.to_string())?;
                    }
                }
                (Reply::Error { status, message }, _) => answer_with_error(&mut output, status, &message)?,
                (Reply::Message { .. }, None) => answer_with_error(&mut output, 404, "no such path")?,
            }
        }
        output.flush()
    }

    /// Records the request together with the reply it will get.
    fn exchange(&self, request: &Request, wire: Option<&Wire>, body: &Value) -> (usize, Reply) {
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        let number = exchanges.len() + 1;
        let path = format!("{} {}", request.method, request.path);
        let conversation = wire.map(|wire| (wire.conversation)(body)).unwrap_or_default();
        let mut exchange =
            Exchange::from_request(number, &path, request.header("x-claude-code-session-id"), conversation);
        let reply = match wire {
            Some(_) => self.reply(&exchange),
            None => Reply::Error { status: 404, message: "the scripted model has no such path".to_owned() },
        };
        exchange.reply = match &reply {
            Reply::Message { content, usage } => json!({ "content": content, "output_tokens": usage.output }),
            Reply::Error { status, message } => json!({ "error": { "status": status, "message": message } }),
        };
        exchanges.push(exchange);
        (number, reply)
    }

    fn reply(&self, exchange: &Exchange) -> Reply {
        if exchange.number > self.requests_max {
            // An error that clients do not retry: the last resort against an endless run.
            return Reply::Error { status: 400, message: "the scripted model answers no more requests".to_owned() };
        }
        let script = exchange.script.as_ref().and_then(|name| self.scripts.get(name));
        let Some(script) = script.filter(|_| !exchange.tools.is_empty()) else {
            // Requests for titles, summaries and the like have no tools.
            let usage = Usage { input: 100, output: 1 };
            return Reply::Message { content: vec![json!({ "type": "text", "text": "ok" })], usage };
        };
        let number = exchange.number;
        let content = match script.step(exchange.turn) {
            ScriptStep::Fail { status, message } => return Reply::Error { status, message },
            ScriptStep::Say(text) => vec![json!({ "type": "text", "text": text })],
            ScriptStep::Call(call) => vec![block(number, 1, call)],
            ScriptStep::Calls(calls) => (1..).zip(calls).map(|(index, call)| block(number, index, call)).collect(),
        };
        Reply::Message { content, usage: script.usage }
    }
}

/// A tool call with an id that is unique in the run.
fn block(request: usize, index: usize, call: Call) -> Value {
    let id = format!("toolu_{request:04}_{index:02}");
    json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.input })
}

fn answer_with_error(output: &mut impl Write, status: u16, message: &str) -> io::Result<()> {
    let kind = if status == 529 { "overloaded_error" } else { "invalid_request_error" };
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    http::answer(output, status, "application/json", &body.to_string())
}
