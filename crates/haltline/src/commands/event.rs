//! `haltline event`: plain events of any program in, a verdict for each out (L13).
//!
//! Each line is answered before the next is read, so that a program can ask and wait on one pipe.

use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_agents::plain::{self, PlainEvent, PlainHappening};
use haltline_core::attempt;
use haltline_core::claim;
use haltline_core::loop_;
use haltline_core::phase::Happening;
use haltline_core::{Instant, Retry, Verdict, constraint};
use haltline_engine::EngineError;
use haltline_engine::claims;
use haltline_engine::clock::Clock;
use haltline_engine::config::Fail;
use haltline_engine::course::CoursePlace;
use haltline_engine::slice::SlicePlace;
use haltline_engine::store::Committed;
use serde::Serialize;
use serde_json::json;

use super::claim::secret_warning;
use super::phase;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::hook::watch;
use crate::operator;
use crate::surroundings;
use crate::workplace::Workplace;

/// No event is longer than this.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The answer to one event.
#[derive(Serialize)]
struct AnswerView<'a> {
    verdict: &'static str,
    circuit: Option<&'a str>,
    code: Option<&'static str>,
    reason: Option<&'a str>,
    retry_at: Option<String>,
}

/// Answers every event on standard input.
pub fn run(folder: Option<&Path>, is_recorded: bool, clock: Clock) -> Result<ExitCode, Failure> {
    let first = Workplace::open(folder, true, clock)?;
    first.tell_config_errors();
    let inside = operator::agent_around().is_some();
    let mut desk =
        Desk { clock, is_recorded, inside, places: vec![(PathBuf::new(), first)], sessions: BTreeMap::new() };
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    let mut answered: u64 = 0;
    let mut last = Ok(exit_code::FINE);
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
        last = desk.take(&line);
        if let Err(failure) = &last {
            say(&json!({ "error": failure.to_string() }).to_string())?;
        }
    }
    for (_, place) in &desk.places {
        place.tell_notices();
    }
    match answered {
        0 => Err(Failure::Plain("no event on standard input: expected JSON lines, one event each".to_owned())),
        1 => last,
        _stream => Ok(exit_code::FINE),
    }
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The projects events are about, and which session is in which.
struct Desk {
    clock: Clock,
    is_recorded: bool,
    /// Inside an agent, whose word that a person typed something is not believed (L8).
    inside: bool,
    places: Vec<(PathBuf, Workplace)>,
    sessions: BTreeMap<String, usize>,
}

impl Desk {
    /// Answers one event; what it would mean as the only one.
    fn take(&mut self, line: &[u8]) -> Result<ExitCode, Failure> {
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
        let place = self.place(&event)?;
        let (inside, workplace) = (self.inside, &mut self.places[place].1);
        if let Some(at) = at {
            workplace.engine.set_recorded(at);
        }
        let committed = decide(workplace, event, inside)?;
        let verdict = &committed.decision.verdict;
        say(&serde_json::to_string(&answer(verdict)).expect("texts can be written"))?;
        workplace.engine.write_incidents(&committed.decision);
        workplace.engine.follow_up(&committed.decision);
        for notice in &committed.decision.notices {
            eprintln!("{notice}");
        }
        Ok(code(verdict))
    }

    /// Which workplace an event belongs to: the session's, the folder its start names, else the first.
    fn place(&mut self, event: &PlainEvent) -> Result<usize, Failure> {
        if let Some(folder) = &event.project {
            let folder = PathBuf::from(folder);
            let known = self.places.iter().position(|(path, _)| *path == folder);
            let place = match known {
                Some(place) => place,
                None => {
                    let workplace = Workplace::open(Some(&folder), true, self.clock)
                        .map_err(|failure| Failure::Plain(format!("project: {failure}")))?;
                    self.places.push((folder, workplace));
                    self.places.len() - 1
                }
            };
            self.sessions.insert(event.stream.session.clone(), place);
        }
        Ok(self.sessions.get(&event.stream.session).copied().unwrap_or(0))
    }
}

fn decide(workplace: &Workplace, event: PlainEvent, inside: bool) -> Result<Committed, Failure> {
    let engine = &workplace.engine;
    match event.what {
        PlainHappening::Loop(mut what) => {
            match &mut what {
                loop_::Happening::ToolStart { action, guarded, touched, tampering, .. } => {
                    let config = surroundings::user_config()?;
                    *tampering = watch::tampering(action, engine.store().folder(), &config);
                    *guarded = engine.guarding(action);
                    *touched = engine.touching(action, &engine.project().root, None);
                }
                loop_::Happening::Prompt { bypass, .. } => *bypass = *bypass && !inside,
                loop_::Happening::SessionStart { .. }
                | loop_::Happening::Message { .. }
                | loop_::Happening::ModelStart
                | loop_::Happening::ToolEnd { .. }
                | loop_::Happening::Batch { .. }
                | loop_::Happening::SpawnStart { .. }
                | loop_::Happening::SpawnEnd { .. }
                | loop_::Happening::Hook { .. }
                | loop_::Happening::Stop { .. }
                | loop_::Happening::Compaction { .. }
                | loop_::Happening::Cleanup { .. }
                | loop_::Happening::SessionEnd { .. } => {}
            }
            engine.report(&event.stream, what).map_err(|error| match error {
                // A failing store refuses only where the owner wants it so (E7).
                EngineError::Store(error) if engine.config().fail() == Fail::Closed => {
                    Failure::Closed(error.to_string())
                }
                EngineError::Store(error) => error.into(),
                EngineError::Rejected(rejection) => Failure::Plain(format!("rejected: {rejection:?}")),
            })
        }
        PlainHappening::Constraint { id, is_violation, action } => {
            engine.mirror_in();
            let what = if is_violation {
                let action = action.filter(|action| !action.trim().is_empty());
                let missing = || Failure::Plain("action is missing: expected what was done".to_owned());
                constraint::Happening::Violation { action: action.ok_or_else(missing)? }
            } else {
                constraint::Happening::Clean { action, generation: None }
            };
            let session = Some(event.stream.session.as_str());
            engine.constraint(&id, session, what).map_err(|error| Failure::of_constraint(&id, error))
        }
        PlainHappening::Iteration(report) => {
            let project = engine.project();
            let place = CoursePlace::session(project, &phase::session_folder(&project.root));
            let what = Happening::Report(report);
            engine.phase(&place, None, Some(&event.stream.session), what).map_err(Failure::of_course)
        }
        PlainHappening::Attempt { slice, attempt } => {
            let place = SlicePlace::new(engine.project(), &slice)?;
            let what = attempt::Happening::Attempt(attempt);
            let committed = engine.attempt(&place, Some(&event.stream.session), what);
            committed.map_err(|error| Failure::of_slice(slice.as_str(), error))
        }
        PlainHappening::Round { pipeline, round } => {
            let what = claim::Happening::Round(round);
            for name in claims::suspicious(&what) {
                text::warn(&secret_warning(name));
            }
            engine.claims(&pipeline, Some(&event.stream.session), what).map_err(Failure::of_claim)
        }
    }
}

fn answer(verdict: &Verdict) -> AnswerView<'_> {
    let reason = verdict.reason();
    AnswerView {
        verdict: verdict.word(),
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

/// What a single event ends with: refused for now, or until a person decides.
fn code(verdict: &Verdict) -> ExitCode {
    match verdict {
        Verdict::Pass | Verdict::Warn(_) => exit_code::FINE,
        Verdict::Deny(reason) | Verdict::Stop(reason) => match reason.retry {
            Retry::Person => exit_code::refused(),
            Retry::Now | Retry::At(_) => exit_code::later(),
        },
    }
}
