//! A server on loopback that speaks the wire APIs of the clients, streaming and not, and plays scripts. It remembers the
//! exchanges and nothing else: which turn it is, it reads from the request.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::exchange::Exchange;
use super::http::{self, Request};
use super::script::{Call, Script, Step, Usage};
use super::wire::{self, Wire};

/// Where it listens. Each run has a network of its own, so nobody else has the port, and settings files can name it.
pub const PORT: u16 = 8399;

/// The scripts and what was exchanged so far.
pub struct ScriptedModel {
    scripts: BTreeMap<String, Script>,
    requests_max: usize,
    exchanges: Mutex<Vec<Exchange>>,
}

/// One reply before it is put on the wire.
enum Reply {
    Message { content: Vec<Value>, usage: Usage },
    Error { status: u16, message: String },
}

impl ScriptedModel {
    /// A model that plays these scripts and refuses every request after so many.
    pub fn new(scripts: Vec<Script>, requests_max: usize) -> Arc<Self> {
        let scripts = scripts.into_iter().map(|script| (script.name.clone(), script)).collect();
        Arc::new(Self { scripts, requests_max, exchanges: Mutex::default() })
    }

    /// Serves on loopback, for as long as the process lives.
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
                    // A client that goes away in the middle of an answer is a stopped client.
                    Ok(()) | Err(_) => {}
                });
            }
        });
        Ok(address)
    }

    /// All exchanges so far, in the order of arrival.
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
            let wire = wire::of(&request.path);
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
                (Reply::Error { status, message }, _) => complain(&mut output, status, &message)?,
                (Reply::Message { .. }, None) => complain(&mut output, 404, "no such path")?,
            }
        }
        output.flush()
    }

    /// Writes the request down together with what it will be answered.
    fn exchange(&self, request: &Request, wire: Option<&Wire>, body: &Value) -> (usize, Reply) {
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        let number = exchanges.len() + 1;
        let path = format!("{} {}", request.method, request.path);
        let conversation = wire.map(|wire| (wire.conversation)(body)).unwrap_or_default();
        let mut exchange = Exchange::of(number, &path, request.header("x-claude-code-session-id"), conversation);
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
            // An error that is not retried: the last resort against a run without end.
            return Reply::Error { status: 400, message: "the scripted model answers no more requests".to_owned() };
        }
        let script = exchange.script.as_ref().and_then(|name| self.scripts.get(name));
        let Some(script) = script.filter(|_| !exchange.tools.is_empty()) else {
            // Titles, summaries and the like are asked for without tools.
            let usage = Usage { input: 100, output: 1 };
            return Reply::Message { content: vec![json!({ "type": "text", "text": "ok" })], usage };
        };
        let number = exchange.number;
        let content = match script.step(exchange.turn) {
            Step::Fail { status, message } => return Reply::Error { status, message },
            Step::Say(text) => vec![json!({ "type": "text", "text": text })],
            Step::Call(call) => vec![block(number, 1, call)],
            Step::Calls(calls) => (1..).zip(calls).map(|(place, call)| block(number, place, call)).collect(),
        };
        Reply::Message { content, usage: script.usage }
    }
}

/// A tool call with an id that no other call of the run has.
fn block(request: usize, place: usize, call: Call) -> Value {
    let id = format!("toolu_{request:04}_{place:02}");
    json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.input })
}

fn complain(output: &mut impl Write, status: u16, message: &str) -> io::Result<()> {
    let kind = if status == 529 { "overloaded_error" } else { "invalid_request_error" };
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    http::answer(output, status, "application/json", &body.to_string())
}
