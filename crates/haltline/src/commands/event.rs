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
use haltline_engine::store::{Sqlite, Store};
use haltline_engine::{CallSite, Engine, EngineError};
use serde::Serialize;

use super::claim::secret_warning;
use super::phase;
use crate::ancestry;
use crate::context::{self, Context};
use crate::environment;
use crate::error::{Failure, describe_rejection};
use crate::exit_code;
use crate::front::{self, text};
use crate::operator;

/// Longest event line.
pub(super) const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Serialize)]
pub(super) struct VerdictView<'a> {
    verdict: &'static str,
    circuit: Option<&'a str>,
    code: Option<&'static str>,
    reason: Option<&'a str>,
    retry_at: Option<String>,
}

/// Answers every event on standard input. Recorded events are decided at their own instants, in memory: nothing that an
/// input says about time reaches a live circuit (E3).
pub fn run(folder: Option<&Path>, is_recorded: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let open_live = |folder: Option<&Path>| open(folder, clock);
    if is_recorded {
        let open_replay = |folder: Option<&Path>| Ok(Engine::for_replay(&open_live(folder)?));
        return answer_all(folder, None, open_replay, |engine, event| {
            let missing = || Failure::Plain("ts is missing: --recorded needs the time of each event".to_owned());
            engine.use_recorded_time(event.at.ok_or_else(missing)?);
            Ok(())
        });
    }
    answer_all(folder, environment::state_folder().ok(), open_live, |_engine, _event| Ok(()))
}

/// Opens the engine of the project that contains a folder.
pub(super) trait OpenEngine<S>: Fn(Option<&Path>) -> Result<Engine<S>, Failure> {}
impl<S, F: Fn(Option<&Path>) -> Result<Engine<S>, Failure>> OpenEngine<S> for F {}

/// Reads standard input line by line; `set_time` chooses the moment at which an event is decided. Events that reach a
/// live store come with its state folder.
fn answer_all<S: Store>(
    folder: Option<&Path>,
    state_folder: Option<PathBuf>,
    open: impl OpenEngine<S>,
    set_time: impl Fn(&mut Engine<S>, &PlainEvent) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let mut handler = EventHandler::new(folder, state_folder, open, set_time)?;
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
            print_line(&front::json::failure(failure).to_string())?;
        }
    }
    for (_, engine) in &handler.engines {
        context::print_notices(engine);
    }
    match answered {
        0 => Err(Failure::Plain("no event on standard input: expected JSON lines, one event each".to_owned())),
        // The failure is printed already.
        1 => Ok(last.unwrap_or_else(|failure| failure.exit_code())),
        _stream => Ok(exit_code::SUCCESS),
    }
}

/// The project that contains `folder`. Its notifications are delivered after the answer, for which the caller waits.
pub(super) fn open(folder: Option<&Path>, clock: Clock) -> Result<Engine<Sqlite>, Failure> {
    let mut engine = Context::open(folder, true, clock)?.engine;
    engine.defer_notifications();
    Ok(engine)
}

fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The projects that events belong to, and which session belongs to which project.
pub(super) struct EventHandler<S, O, T> {
    open: O,
    set_time: T,
    /// True inside an agent, or below `haltline run`: neither may lift limits (L8).
    is_inside_agent: bool,
    /// True below a client, whose person types into the client and nowhere else.
    is_below_client: bool,
    /// Where hooks record the sessions of running clients; `None` for recorded events.
    state_folder: Option<PathBuf>,
    engines: Vec<(PathBuf, Engine<S>)>,
    sessions: BTreeMap<String, usize>,
}

impl<S: Store, O: OpenEngine<S>, T: Fn(&mut Engine<S>, &PlainEvent) -> Result<(), Failure>> EventHandler<S, O, T> {
    /// Opens the project that contains `folder`, which events belong to unless their session names another.
    pub(super) fn new(
        folder: Option<&Path>,
        state_folder: Option<PathBuf>,
        open: O,
        set_time: T,
    ) -> Result<Self, Failure> {
        let first = open(folder)?;
        context::print_config_errors(first.config());
        Ok(Self {
            open,
            set_time,
            is_inside_agent: operator::detect_agent().is_some(),
            is_below_client: operator::is_below_client(),
            state_folder,
            engines: vec![(PathBuf::new(), first)],
            sessions: BTreeMap::new(),
        })
    }

    /// Answers one event; returns the exit code for the case that it is the only one.
    fn handle(&mut self, line: &[u8]) -> Result<ExitCode, Failure> {
        let text = utf8("event", line)?;
        let event = plain::read(text).map_err(Failure::plain)?;
        let (verdict, notices) = self.decide(event)?;
        print_line(&serde_json::to_string(&verdict_view(&verdict)).expect("texts can be written"))?;
        self.deliver_notifications();
        for notice in &notices {
            eprintln!("{}", text::sentence(notice));
        }
        Ok(verdict_exit_code(&verdict))
    }

    /// Returns the verdict on an event, and what the person should read about it. All facts are committed.
    pub(super) fn decide(&mut self, mut event: PlainEvent) -> Result<(Verdict, Vec<String>), Failure> {
        self.disbelieve(&mut event);
        let index = self.engine_index(&event)?;
        let engine = &mut self.engines[index].1;
        (self.set_time)(engine, &event)?;
        decide(engine, event)
    }

    /// The engine of the project that an event belongs to.
    pub(super) fn engine(&mut self, event: &PlainEvent) -> Result<&Engine<S>, Failure> {
        let index = self.engine_index(event)?;
        Ok(&self.engines[index].1)
    }

    /// The engine of the project that the process was started for.
    pub(super) fn first_engine(&self) -> &Engine<S> {
        &self.engines[0].1
    }

    /// Delivers what trips had to tell the person, after the answer for which the caller waited.
    pub(super) fn deliver_notifications(&self) {
        for (_, engine) in &self.engines {
            if engine.take_deferred_notifications() {
                engine.deliver_notifications();
            }
        }
    }

    /// Replaces an event that could free an agent and that only its client may send (E6). A session whose client runs
    /// hooks hears of its person and its calls from those hooks alone. In any other session, an agent's claim that a
    /// person typed something counts as a prompt that nobody typed.
    fn disbelieve(&self, event: &mut PlainEvent) {
        let PlainEventKind::Loop(loop_event) = &mut event.kind else { return };
        let session = &event.agent_ref.session;
        let is_clients = |folder: &PathBuf| ancestry::is_session_running(folder, session);
        if loop_event.could_free() && self.state_folder.as_ref().is_some_and(is_clients) {
            *loop_event = loop_::LoopEvent::Forged { name: loop_event.cause().to_owned() };
        } else if let loop_::LoopEvent::Prompt { by_user, bypass } = loop_event {
            *by_user = *by_user && !self.is_below_client;
            *bypass = *bypass && !self.is_inside_agent;
        }
    }

    /// Returns the index of the project an event belongs to: its session's, the one its start names, or else the first.
    fn engine_index(&mut self, event: &PlainEvent) -> Result<usize, Failure> {
        if let Some(folder) = &event.project {
            let folder = PathBuf::from(folder);
            let known = self.engines.iter().position(|(path, _)| *path == folder);
            let index = match known {
                Some(index) => index,
                None => {
                    let engine =
                        (self.open)(Some(&folder)).map_err(|failure| Failure::Plain(format!("project: {failure}")))?;
                    self.engines.push((folder, engine));
                    self.engines.len() - 1
                }
            };
            self.sessions.insert(event.agent_ref.session.clone(), index);
        }
        Ok(self.sessions.get(&event.agent_ref.session).copied().unwrap_or(0))
    }
}

/// Where the calls of a program run that names no other folder.
pub(super) fn call_site<'a, S: Store>(engine: &'a Engine<S>, home: Option<&'a str>) -> CallSite<'a> {
    CallSite { working_directory: &engine.project().root, client_folder: None, home }
}

/// A line as text.
pub(super) fn utf8<'a>(what: &str, line: &'a [u8]) -> Result<&'a str, Failure> {
    str::from_utf8(line)
        .map_err(|error| Failure::Plain(format!("{what}: expected UTF-8; byte {} is invalid", error.valid_up_to() + 1)))
}

/// The verdict on an event, and what the person should read about it. All facts are committed.
fn decide<S: Store>(engine: &Engine<S>, event: PlainEvent) -> Result<(Verdict, Vec<String>), Failure> {
    let committed = match event.kind {
        PlainEventKind::Loop(loop_event) => {
            let home = environment::variable("HOME");
            let answer = engine
                .handle_agent_event(&event.agent_ref, loop_event, call_site(engine, home.as_deref()))
                .map_err(|error| match error {
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

pub(super) fn verdict_view(verdict: &Verdict) -> VerdictView<'_> {
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
