//! `haltline event`: reads plain events of any program and prints a verdict for each (L13).
//!
//! Each line is answered before the next one is read, so that a program can ask and wait on one pipe.

use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::plain::{self, PlainEvent, PlainEventKind};
use haltline_core::attempt;
use haltline_core::claim;
use haltline_core::loop_;
use haltline_core::phase::PhaseEvent;
use haltline_core::{Instant, Retry, Verdict, constraint};
use haltline_engine::claims;
use haltline_engine::clock::Clock;
use haltline_engine::config::FailMode;
use haltline_engine::phase_run::PhaseRunLocation;
use haltline_engine::slice::SliceLocation;
use haltline_engine::{CallSite, EngineError};
use serde::Serialize;
use serde_json::json;

use super::claim::secret_warning;
use super::phase;
use crate::context::Context;
use crate::environment;
use crate::error::{Failure, describe_rejection};
use crate::exit_code;
use crate::front::text;
use crate::operator;

/// Longest event line.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Serialize)]
struct VerdictView<'a> {
    verdict: &'static str,
    circuit: Option<&'a str>,
    code: Option<&'static str>,
    reason: Option<&'a str>,
    retry_at: Option<String>,
}

/// Answers every event on standard input.
pub fn run(folder: Option<&Path>, is_recorded: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let first = open(folder, clock)?;
    first.print_config_errors();
    let is_inside_agent = operator::detect_agent().is_some();
    let mut handler = EventHandler {
        clock,
        is_recorded,
        is_inside_agent,
        contexts: vec![(PathBuf::new(), first)],
        sessions: BTreeMap::new(),
    };
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    let mut answered: u64 = 0;
    let mut last = Ok(exit_code::SUCCESS);
    loop {
        line.clear();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == LINE_BYTES_MAX {
            return Err(Failure::Plain(format!("event: expected at most {LINE_BYTES_MAX} bytes on a line")));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        answered += 1;
        last = handler.handle(&line);
        if let Err(failure) = &last {
            print_line(&json!({ "error": failure.to_string() }).to_string())?;
        }
    }
    for (_, context) in &handler.contexts {
        context.print_notices();
    }
    match answered {
        0 => Err(Failure::Plain("no event on standard input: expected JSON lines, one event each".to_owned())),
        1 => last,
        _stream => Ok(exit_code::SUCCESS),
    }
}

/// The project that contains `folder`. Its notifications are delivered after the answer, for which the caller waits.
fn open(folder: Option<&Path>, clock: Clock) -> Result<Context, Failure> {
    let mut context = Context::open(folder, true, clock)?;
    context.engine.defer_notifications();
    Ok(context)
}

fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The projects that events belong to, and which session belongs to which project.
struct EventHandler {
    clock: Clock,
    is_recorded: bool,
    /// True inside an agent, whose claim that a person typed something is not believed (L8).
    is_inside_agent: bool,
    contexts: Vec<(PathBuf, Context)>,
    sessions: BTreeMap<String, usize>,
}

impl EventHandler {
    /// Answers one event; returns the exit code for the case that it is the only one.
    fn handle(&mut self, line: &[u8]) -> Result<ExitCode, Failure> {
        let text = str::from_utf8(line).map_err(|error| {
            Failure::Plain(format!("event: expected UTF-8; byte {} is not", error.valid_up_to() + 1))
        })?;
        let event = plain::read(text).map_err(|error| Failure::Plain(error.to_string()))?;
        let at = match (self.is_recorded, event.at) {
            (true, Some(at)) => Some(at),
            (true, None) => {
                return Err(Failure::Plain("ts is missing: expected an instant, because of --recorded".to_owned()));
            }
            (false, _) => None,
        };
        let index = self.context_index(&event)?;
        let (is_inside_agent, context) = (self.is_inside_agent, &mut self.contexts[index].1);
        if let Some(at) = at {
            context.engine.use_recorded_time(at);
        }
        let (verdict, notices) = decide(context, event, is_inside_agent)?;
        print_line(&serde_json::to_string(&verdict_view(&verdict)).expect("texts can be written"))?;
        if context.engine.take_deferred_notifications() {
            context.engine.deliver_notifications();
        }
        for notice in &notices {
            eprintln!("{notice}");
        }
        Ok(verdict_exit_code(&verdict))
    }

    /// Returns the index of the project an event belongs to: its session's, the one its start names, or else the first.
    fn context_index(&mut self, event: &PlainEvent) -> Result<usize, Failure> {
        if let Some(folder) = &event.project {
            let folder = PathBuf::from(folder);
            let known = self.contexts.iter().position(|(path, _)| *path == folder);
            let index = match known {
                Some(index) => index,
                None => {
                    let context = open(Some(&folder), self.clock)
                        .map_err(|failure| Failure::Plain(format!("project: {failure}")))?;
                    self.contexts.push((folder, context));
                    self.contexts.len() - 1
                }
            };
            self.sessions.insert(event.agent_ref.session.clone(), index);
        }
        Ok(self.sessions.get(&event.agent_ref.session).copied().unwrap_or(0))
    }
}

/// The verdict on an event, and what the person should read about it. All facts are committed.
fn decide(context: &Context, event: PlainEvent, is_inside_agent: bool) -> Result<(Verdict, Vec<String>), Failure> {
    let engine = &context.engine;
    let committed = match event.kind {
        PlainEventKind::Loop(mut loop_event) => {
            if let loop_::LoopEvent::Prompt { bypass, .. } = &mut loop_event {
                *bypass = *bypass && !is_inside_agent;
            }
            let home = environment::variable("HOME");
            let working_directory = &engine.project().root;
            let site = CallSite { working_directory, client_folder: None, home: home.as_deref() };
            let answer =
                engine.handle_agent_event(&event.agent_ref, loop_event, site).map_err(|error| match error {
                    // A failing store denies only where the user set `fail = "closed"` (E7).
                    EngineError::Store(error) if engine.config().fail_mode() == FailMode::Closed => {
                        Failure::Closed(error.to_string())
                    }
                    EngineError::Store(error) => error.into(),
                    EngineError::Rejected(rejection) => {
                        Failure::Plain(format!("rejected: {}", describe_rejection(&rejection)))
                    }
                })?;
            return Ok((answer.verdict, answer.notices));
        }
        PlainEventKind::Constraint { id, is_violation, action } => {
            let constraint_event = if is_violation {
                let action = action.filter(|action| !action.trim().is_empty());
                let missing = || Failure::Plain("action is missing: expected what was done".to_owned());
                constraint::ConstraintEvent::Violation { action: action.ok_or_else(missing)? }
            } else {
                constraint::ConstraintEvent::Clean { action, generation: None }
            };
            let session = Some(event.agent_ref.session.as_str());
            engine.constraint(&id, session, constraint_event).map_err(|error| Failure::for_constraint(&id, error))?
        }
        PlainEventKind::Iteration(report) => {
            let project = engine.project();
            let location = PhaseRunLocation::session(project, &phase::session_folder(&project.root));
            let phase_event = PhaseEvent::Report(report);
            engine
                .phase(&location, None, Some(&event.agent_ref.session), phase_event)
                .map_err(Failure::for_phase_run)?
        }
        PlainEventKind::Attempt { slice, attempt } => {
            let location = SliceLocation::new(engine.project(), &slice)?;
            let attempt_event = attempt::AttemptEvent::Attempt(attempt);
            let committed = engine.attempt(&location, Some(&event.agent_ref.session), attempt_event);
            committed.map_err(|error| Failure::for_slice(slice.as_str(), error))?
        }
        PlainEventKind::Round { pipeline, round } => {
            let claim_event = claim::ClaimEvent::Round(round);
            for name in claims::fields_with_secrets(&claim_event) {
                text::warn(&secret_warning(name));
            }
            engine.claims(&pipeline, Some(&event.agent_ref.session), claim_event).map_err(Failure::for_claim)?
        }
    };
    Ok((committed.decision.verdict, committed.decision.notices))
}

fn verdict_view(verdict: &Verdict) -> VerdictView<'_> {
    let reason = verdict.reason();
    VerdictView {
        verdict: verdict.as_str(),
        circuit: reason.map(|reason| reason.circuit.as_str()),
        code: reason.map(|reason| reason.code),
        reason: reason.map(|reason| reason.text.as_str()),
        retry_at: reason.and_then(|reason| retry_at(reason.retry)).map(|at| at.to_string()),
    }
}

fn retry_at(retry: Retry) -> Option<Instant> {
    match retry {
        Retry::At(at) => Some(at),
        Retry::Now | Retry::Person => None,
    }
}

/// The exit code for a single event: denied for now, or denied until a person decides.
fn verdict_exit_code(verdict: &Verdict) -> ExitCode {
    match verdict {
        Verdict::Pass | Verdict::Warn(_) => exit_code::SUCCESS,
        Verdict::Deny(reason) | Verdict::Stop(reason) => match reason.retry {
            Retry::Person => exit_code::denied(),
            Retry::Now | Retry::At(_) => exit_code::retry_later(),
        },
    }
}
