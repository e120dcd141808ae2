//! A trip reaches the person through the configured command or address, after the commit, once (E16).

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use haltline_core::attempt::{self, Slice};
use haltline_core::constraint::Circuit;
use haltline_core::phase::{self, Course, PhaseName};
use haltline_core::{CircuitName, Moment};
use serde_json::{Value, json};

use crate::clock::Patience;
use crate::config::Config;
use crate::mirror::Violation;

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// How often a running command is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many violations go along as evidence.
pub(crate) const EVIDENCE_MAX: usize = 10;

/// The incident as JSON.
pub(crate) fn incident(
    project: &str,
    name: &CircuitName,
    incident: &str,
    circuit: &Circuit,
    evidence: &[Violation],
    now: Moment,
) -> Value {
    let limits = circuit.limits();
    let evidence: Vec<Value> = evidence
        .iter()
        .take(EVIDENCE_MAX)
        .map(|violation| json!({"at": violation.at.to_string(), "action": violation.action, "session": violation.session}))
        .collect();
    let id = name.scope();
    json!({
        "schema": 1,
        "incident": incident,
        "circuit": name.as_str(),
        "project": project,
        "state": circuit.standing_at(now).condition().dashed().replace('-', "_"),
        "tripped": circuit.last_trip.map(|at| at.to_string()),
        "reason": format!("{} violations counted within {} days", circuit.in_window(now), limits.window_days),
        "cost_usd": null,
        "evidence": evidence,
        "options": [
            format!("wait: the cooldown is {} hours", limits.cooldown_hours),
            format!("haltline constraint reset {id} --reason TEXT"),
            format!("haltline constraint override {id} --reason TEXT"),
        ],
    })
}

/// A course that opened, as JSON.
pub(crate) fn of_course(project: &str, name: &CircuitName, incident: &str, course: &Course, now: Moment) -> Value {
    let trip = course.trip().filter(|trip| trip.incident == incident);
    let last = course.history.iter().rev().take(EVIDENCE_MAX);
    let evidence: Vec<Value> =
        last.map(|line| json!({"at": line.at.to_string(), "iteration": line.iteration, "what": line.reason})).collect();
    let options: Vec<String> = course_options(name);
    json!({
        "schema": 1,
        "incident": incident,
        "circuit": name.as_str(),
        "project": project,
        "phase": course.phase.as_ref().map(PhaseName::as_str),
        "state": course.word_at(now),
        "tripped": trip.map(|trip| trip.since.at.to_string()),
        "until": trip.and_then(|trip| trip.until()).map(|until| until.to_string()),
        "reason": trip.map(phase::trip_text),
        "cost_usd": course.spent.micros.map(|micros| micros as f64 / 1e6),
        "evidence": evidence,
        "options": options,
    })
}

/// A slice that stopped, as JSON.
pub(crate) fn of_slice(project: &str, name: &CircuitName, incident: &str, slice: &Slice) -> Value {
    let trip = slice.trip().filter(|trip| trip.incident == incident);
    let attempts = slice.failing().flat_map(|(test, state)| state.log().into_iter().map(move |tried| (test, tried)));
    let evidence: Vec<Value> = attempts
        .take(EVIDENCE_MAX)
        .map(|(test, tried)| {
            json!({"at": tried.at.to_string(), "test": test.as_str(), "strategy": tried.strategy, "what": tried.said})
        })
        .collect();
    json!({
        "schema": 1,
        "incident": incident,
        "circuit": name.as_str(),
        "project": project,
        "state": slice.stand.word(),
        "tripped": trip.map(|trip| trip.since.at.to_string()),
        "until": null,
        "reason": trip.map(attempt::trip_text),
        "cost_usd": null,
        "evidence": evidence,
        "options": slice_options(name),
    })
}

/// The commands by which a person decides about a slice.
pub fn slice_options(name: &CircuitName) -> Vec<String> {
    let id = name.scope().split('@').next().unwrap_or_default();
    vec![
        format!("haltline attempt reset --slice {id} --guidance TEXT"),
        format!("haltline attempt report --slice {id}"),
        format!("haltline attempt end --slice {id} --give-up"),
    ]
}

/// The commands by which a person decides about a course.
pub fn course_options(name: &CircuitName) -> Vec<String> {
    let which = match name.scope().split_once('/') {
        Some(("ralph", _folder)) => return vec!["haltline ralph reset REASON".to_owned()],
        Some(("run", run)) => match run.split('@').next().unwrap_or(run) {
            DEFAULT_RUN => " --run".to_owned(),
            named => format!(" --run={named}"),
        },
        Some(_) | None => String::new(),
    };
    let verbs = ["reset", "skip", "abort", "modify --guidance TEXT"];
    verbs.iter().map(|verb| format!("haltline phase decide {verb}{which}")).collect()
}

/// The name of a run nobody named.
pub const DEFAULT_RUN: &str = "default";

/// An incident that did not happen, to see whether messages arrive.
pub(crate) fn sample(project: &str, now: Moment) -> Value {
    json!({
        "schema": 1,
        "incident": "00000000",
        "circuit": "loop/sample/tool_failure",
        "project": project,
        "state": "CLOSED",
        "tripped": now.at.to_string(),
        "until": null,
        "reason": "this is a test of haltline's notifications: nothing tripped",
        "cost_usd": null,
        "evidence": [],
        "options": ["nothing is to be done"],
    })
}

/// Whether anybody is to be told.
pub(crate) fn is_configured(config: &Config) -> bool {
    !config.notify_command().is_empty() || !config.notify_webhook().is_empty()
}

/// Tells whoever is configured.
pub(crate) fn tell(config: &Config, message: &Value) -> Result<(), String> {
    let text = message.to_string();
    if let [program, arguments @ ..] = config.notify_command().as_slice() {
        run(program, arguments, &text).map_err(|problem| format!("notify.command {program}: {problem}"))?;
    }
    let address = config.notify_webhook();
    if !address.is_empty() {
        post(address, &text).map_err(|problem| format!("notify.webhook: {problem}"))?;
    }
    Ok(())
}

fn run(program: &str, arguments: &[&str], text: &str) -> Result<(), String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its input may still have done its work.
        input.write_all(text.as_bytes()).ok();
    }
    let patience = Patience::new(ATTEMPT);
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None if patience.left().is_zero() => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("did not end within {} s", ATTEMPT.as_secs()));
            }
            None => std::thread::park_timeout(LOOK_EVERY),
        }
    }
}

#[cfg(feature = "webhook")]
fn post(address: &str, text: &str) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(ATTEMPT)).build().into();
    let sent = agent.post(address).header("content-type", "application/json").send(text);
    sent.map(drop).map_err(|error| error.to_string())
}

#[cfg(not(feature = "webhook"))]
fn post(_address: &str, _text: &str) -> Result<(), String> {
    Err("this haltline was built without webhooks".to_owned())
}
