//! `haltline serve --stdio`: guards the agents of another program, in any language (docs/reference/protocol.md).
//!
//! Each line of standard input is a request and gets one line with the same id. A request that haltline cannot answer
//! gets an error; it never ends the process. Events take the same path as those of `haltline event`.

use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use haltline_agents::plain::{PlainEvent, PlainEventKind, Request};
use haltline_core::loop_::{LoopEvent, denial_on_failure, is_way_out};
use haltline_core::{ConstraintId, Verdict, shorten};
use haltline_engine::Engine;
use haltline_engine::clock::Clock;
use haltline_engine::config::FailMode;
use haltline_engine::store::Store;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::event::{self, EventHandler, LINE_BYTES_MAX, OpenEngine, VerdictView};
use super::line_pipes::{Line, LinePipes};
use crate::cli::Stdio;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front;
use crate::request;
use crate::usage;

/// The version of the protocol that `hello` answers.
const PROTOCOL: u32 = 1;

/// Methods that report something, with the type of the plain event that they are.
const EVENTS: [(&str, &str); 16] = [
    ("open", "session_start"),
    ("prompt", "prompt"),
    ("model", "message"),
    ("before", "tool_start"),
    ("after", "tool_end"),
    ("spawn_start", "spawn_start"),
    ("spawn_end", "spawn_end"),
    ("hook", "hook"),
    ("stop", "stop"),
    ("compaction", "compaction"),
    ("end", "session_end"),
    ("violation", "violation"),
    ("clean", "clean"),
    ("iteration", "iteration"),
    ("attempt", "attempt"),
    ("round", "round"),
];

/// Methods that ask something.
const QUESTIONS: [&str; 3] = ["hello", "check", "command"];

/// True if the arguments of `haltline serve` ask for this front.
pub fn is_requested<A: AsRef<OsStr>>(arguments: &[A]) -> bool {
    arguments.iter().any(|argument| argument.as_ref() == "--stdio")
}

/// Answers requests until standard input ends.
pub fn run<A: AsRef<OsStr>>(
    folder: Option<&Path>,
    arguments: &[A],
    is_json: bool,
    clock: Clock,
) -> Result<ExitCode, Failure> {
    let line = std::iter::once(OsStr::new("haltline serve")).chain(arguments.iter().map(AsRef::as_ref));
    let arguments = match Stdio::try_parse_from(line) {
        Ok(arguments) => arguments,
        Err(error) => return Ok(usage::report(error, is_json)),
    };
    let folder = arguments.folder.as_deref().or(folder);
    let pipes = LinePipes::take()?;
    if arguments.is_in_memory {
        // The configuration of the project and the user holds; no file learns of what happens.
        let open = |folder: Option<&Path>| Ok(Engine::for_replay(&event::open(folder, clock)?));
        return Server::new(folder, None, None, open)?.serve(pipes);
    }
    let open = |folder: Option<&Path>| event::open(folder, clock);
    Server::new(folder, environment::state_folder().ok(), Some(clock), open)?.serve(pipes)
}

/// Returns the moment at which an event without a recorded time is decided: now.
fn now<S>(_engine: &mut Engine<S>, _event: &PlainEvent) -> Result<(), Failure> {
    Ok(())
}

type SetTime<S> = fn(&mut Engine<S>, &PlainEvent) -> Result<(), Failure>;

/// The sessions of one program.
struct Server<S, O> {
    handler: EventHandler<S, O, SetTime<S>>,
    /// The clock for commands; `None` if the store is in memory, which a command does not see.
    commands: Option<Clock>,
    calls: u64,
}

impl<S: Store, O: OpenEngine<S>> Server<S, O> {
    fn new(
        folder: Option<&Path>,
        state_folder: Option<PathBuf>,
        commands: Option<Clock>,
        open: O,
    ) -> Result<Self, Failure> {
        let handler = EventHandler::new(folder, state_folder, open, now as SetTime<S>)?;
        Ok(Self { handler, commands, calls: 0 })
    }

    fn serve(mut self, mut pipes: LinePipes) -> Result<ExitCode, Failure> {
        let mut line = Vec::new();
        loop {
            let response = match pipes.read_line(&mut line)? {
                Line::EndOfInput => break,
                Line::Whole => self.respond(&line),
                Line::TooLong => {
                    let text = format!("request: expected at most {LINE_BYTES_MAX} bytes on a line");
                    with_id(Value::Null, Err(Failure::Usage(text)))
                }
            };
            if !pipes.write_line(&response) {
                break;
            }
            self.handler.deliver_notifications();
        }
        Ok(exit_code::SUCCESS)
    }

    /// The response to one line.
    fn respond(&mut self, line: &[u8]) -> Map<String, Value> {
        let request = event::utf8("request", line)
            .and_then(|text| Request::read(text).map_err(Failure::plain))
            .and_then(|request| Ok((request.id().map_err(Failure::plain)?.to_owned(), request)));
        let (id, request) = match request {
            Ok(request) => request,
            Err(failure) => return with_id(Value::Null, Err(as_usage(failure))),
        };
        let id = serde_json::from_str(id.get()).unwrap_or_default();
        // The store holds only what was committed, so a failure of ours while one request is handled spoils no other.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&request)));
        with_id(
            id,
            answer.unwrap_or_else(|_panic| Err(Failure::Plain("haltline itself failed on this request".into()))),
        )
    }

    fn answer(&mut self, request: &Request<'_>) -> Result<Map<String, Value>, Failure> {
        let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
        request.check_version().map_err(|error| usage(&error))?;
        let method = request.method().map_err(|error| usage(&error))?;
        if let Some((_, kind)) = EVENTS.iter().find(|(name, _)| *name == method) {
            self.calls += 1;
            let call = RawValue::from_string(format!("\"call-{}-{}\"", std::process::id(), self.calls))
                .expect("a JSON string");
            let event = request.event(kind, &call).map_err(|error| usage(&error))?;
            return self.answer_event(event);
        }
        match method.as_str() {
            "hello" => Ok(self.hello()),
            "check" => {
                let id = request.required_text("constraint", "the constraint's id").map_err(|error| usage(&error))?;
                let id = ConstraintId::parse(&id).map_err(|error| usage(&error))?;
                let check = self.handler.first_engine().check_constraint(&id);
                Ok(verdict(&check.map_err(|error| Failure::for_constraint(&id, error))?.verdict))
            }
            "command" => self.command(request),
            unknown => {
                let methods: Vec<&str> = methods().collect();
                Err(Failure::Usage(format!("method {}: expected one of {}", shorten(unknown), methods.join(", "))))
            }
        }
    }

    fn hello(&self) -> Map<String, Value> {
        let config = self.handler.first_engine().config();
        object(json!({
            "protocol": PROTOCOL,
            "haltline": env!("CARGO_PKG_VERSION"),
            "store": if self.commands.is_some() { "files" } else { "memory" },
            "fail": match config.fail_mode() { FailMode::Open => "open", FailMode::Closed => "closed" },
            "methods": methods().collect::<Vec<_>>(),
        }))
    }

    /// Runs a command that an agent may run, and returns what it prints with `--json`.
    fn command(&self, request: &Request<'_>) -> Result<Map<String, Value>, Failure> {
        let arguments = request.required_texts("arguments").map_err(|error| Failure::Usage(error.to_string()))?;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Some(clock) = self.commands else {
            return Err(Failure::Usage("command: a store in memory has no commands; start without --memory".into()));
        };
        let folder = request.text("project").map_err(|error| Failure::Usage(error.to_string()))?.map(PathBuf::from);
        let folder = folder.as_ref().unwrap_or(&self.handler.first_engine().project().root);
        let result = request::run_for_agent(folder, &arguments, clock)?;
        Ok(object(json!({ "result": result })))
    }

    fn answer_event(&mut self, event: PlainEvent) -> Result<Map<String, Value>, Failure> {
        let PlainEventKind::Loop(loop_event) = &event.kind else {
            let (decided, notices) = self.handler.decide(event)?;
            return Ok(with_notices(verdict(&decided), notices));
        };
        let call = match loop_event {
            LoopEvent::ToolStart { call, .. } => Some(call.clone()),
            _no_start => None,
        };
        let start = call.is_some().then(|| event.clone());
        let mut answer = match self.handler.decide(event) {
            Ok((decided, notices)) => with_notices(verdict(&decided), notices),
            Err(Failure::Store(problem)) => self.without_store(start, &problem, FailMode::Open)?,
            Err(Failure::Closed(problem)) => self.without_store(start, &problem, FailMode::Closed)?,
            Err(failure) => return Err(failure),
        };
        if let Some(call) = call {
            answer.insert("call".to_owned(), call.into());
        }
        Ok(answer)
    }

    /// The answer to an event that could not be committed (E7): the start of a call is denied if the last known state
    /// denies it, or `fail = "closed"`. With `fail = "open"` the agent continues, and the response says why nobody
    /// checked.
    fn without_store(
        &mut self,
        start: Option<PlainEvent>,
        problem: &str,
        fail: FailMode,
    ) -> Result<Map<String, Value>, Failure> {
        if let Some(event) = start {
            let home = environment::variable("HOME");
            let engine = self.handler.engine(&event)?;
            let PlainEventKind::Loop(LoopEvent::ToolStart { action, .. }) = &event.kind else {
                return Ok(verdict(&Verdict::Pass));
            };
            let is_way_out = is_way_out(&event.agent_ref.client, &action.tool, &engine.config().policy().loop_);
            let session = event.agent_ref.session.clone();
            let PlainEventKind::Loop(loop_event) = event.kind.clone() else { return Ok(verdict(&Verdict::Pass)) };
            let site = event::call_site(engine, home.as_deref());
            if let Some(denial) = engine.denial_by_last_known_state(&event.agent_ref, loop_event, site) {
                return Ok(with_problem(verdict(&denial), problem));
            }
            if fail == FailMode::Closed && !is_way_out {
                return Ok(with_problem(verdict(&denial_on_failure(&session, problem)), problem));
            }
        } else if fail == FailMode::Closed {
            return Err(Failure::Closed(problem.to_owned()));
        }
        Ok(with_problem(verdict(&Verdict::Pass), problem))
    }
}

fn methods() -> impl Iterator<Item = &'static str> {
    QUESTIONS.into_iter().chain(EVENTS.into_iter().map(|(name, _)| name))
}

/// A line that is no request is a mistake of the program that wrote it.
fn as_usage(failure: Failure) -> Failure {
    match failure {
        Failure::Plain(text) => Failure::Usage(text),
        other @ (Failure::Usage(_)
        | Failure::Store(_)
        | Failure::NotOperator(_)
        | Failure::Denied(_)
        | Failure::Closed(_)
        | Failure::Silent) => other,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn verdict(verdict: &Verdict) -> Map<String, Value> {
    let view: VerdictView<'_> = event::verdict_view(verdict);
    object(serde_json::to_value(view).expect("texts can be written"))
}

fn with_notices(mut answer: Map<String, Value>, notices: Vec<String>) -> Map<String, Value> {
    if !notices.is_empty() {
        answer.insert("notices".to_owned(), notices.into());
    }
    answer
}

/// An answer that was given although the store failed.
fn with_problem(mut answer: Map<String, Value>, problem: &str) -> Map<String, Value> {
    answer.insert("unguarded".to_owned(), format!("{problem}; run `haltline doctor`").into());
    answer
}

fn with_id(id: Value, answer: Result<Map<String, Value>, Failure>) -> Map<String, Value> {
    let mut response = Map::new();
    response.insert("v".to_owned(), PROTOCOL.into());
    response.insert("id".to_owned(), id);
    match answer {
        Ok(answer) => response.extend(answer),
        Err(failure) => {
            let mut view = object(front::json::failure(&failure));
            let mut error = view.remove("error").unwrap_or_default();
            if matches!(failure, Failure::Usage(_)) {
                error["hint"] = "docs/reference/protocol.md".into();
            }
            response.insert("error".to_owned(), error);
        }
    }
    response
}
