//! Notifies the person of a trip through the configured command or webhook, after the commit, once (E16).

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use haltline_core::CircuitName;
use serde_json::Value;

use crate::clock::Deadline;
use crate::config::Config;
use crate::engine::Engine;
use crate::incident::{Incident, sample};
use crate::store::{Store, StoreError};

/// How long one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a running command is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The commands with which a person decides about a slice.
pub fn slice_options(name: &CircuitName) -> Vec<String> {
    let id = name.scope().split('@').next().unwrap_or_default();
    vec![
        format!("haltline attempt reset --slice {id} --guidance TEXT"),
        format!("haltline attempt report --slice {id}"),
        format!("haltline attempt end --slice {id} --give-up"),
    ]
}

/// The commands with which a person decides about a phase run.
pub fn phase_run_options(name: &CircuitName) -> Vec<String> {
    let run_option = match name.scope().split_once('/') {
        Some(("ralph", _folder)) => return vec!["haltline ralph reset REASON".to_owned()],
        Some(("run", run)) => match run.split('@').next().unwrap_or(run) {
            DEFAULT_RUN => " --run".to_owned(),
            named => format!(" --run={named}"),
        },
        Some(_) | None => String::new(),
    };
    let verbs = ["reset", "skip", "abort", "modify --guidance TEXT"];
    verbs.iter().map(|verb| format!("haltline phase decide {verb}{run_option}")).collect()
}

/// Name of a run that was given no name.
pub const DEFAULT_RUN: &str = "default";

impl<S: Store> Engine<S> {
    /// Sends the notifications of trips that have not been delivered yet.
    pub fn deliver_notifications(&self) {
        if let Err(error) = self.try_deliver_notifications() {
            self.add_notice(error);
        }
    }

    /// Sends a made-up incident to the configured notification target; `None` if there is no target.
    pub fn send_sample_notification(&self) -> Option<Result<(), String>> {
        is_configured(self.config()).then(|| self.send_notification(&sample(self.now())))
    }

    fn try_deliver_notifications(&self) -> Result<(), StoreError> {
        for message in self.store().undelivered(self.project().key)? {
            let state = self.store().circuit(self.project().key, &message.circuit)?;
            let incident = match &state {
                Some(state) => self.incident(&message.circuit, state, &message.incident)?,
                None => None,
            };
            let delivery = incident.map_or(Ok(()), |incident| self.send_notification(&incident));
            if let Err(problem) = &delivery {
                self.add_notice(format!("incident {} was not delivered: {problem}", message.incident));
            }
            self.store().record_delivery(message.id, delivery.is_ok())?;
        }
        Ok(())
    }

    fn send_notification(&self, incident: &Incident) -> Result<(), String> {
        send(self.config(), &incident.to_json(&self.project().identity.display().to_string()))
    }
}

/// True if there is a notification target.
pub(crate) fn is_configured(config: &Config) -> bool {
    !config.notify_command().is_empty() || !config.notify_webhook().is_empty()
}

/// Sends a message to every configured target.
fn send(config: &Config, message: &Value) -> Result<(), String> {
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
    let deadline = Deadline::new(ATTEMPT_TIMEOUT);
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None if deadline.remaining().is_zero() => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("did not end within {} s", ATTEMPT_TIMEOUT.as_secs()));
            }
            None => std::thread::park_timeout(POLL_INTERVAL),
        }
    }
}

#[cfg(feature = "webhook")]
fn post(address: &str, text: &str) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(ATTEMPT_TIMEOUT)).build().into();
    let sent = agent.post(address).header("content-type", "application/json").send(text);
    sent.map(drop).map_err(|error| error.to_string())
}

#[cfg(not(feature = "webhook"))]
fn post(_address: &str, _text: &str) -> Result<(), String> {
    Err("this haltline was built without webhooks".to_owned())
}
