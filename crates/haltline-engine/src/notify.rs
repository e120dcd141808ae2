//! Notifies the person of a trip through the configured targets, after the commit, once (E16).

use haltline_core::CircuitName;

use crate::config::Config;
use crate::control::everywhere;
use crate::engine::Engine;
use crate::incident::{Incident, sample};
use crate::notify_target::{Message, Target};
use crate::store::{Store, StoreError};

/// The commands with which a person decides about a slice.
pub fn slice_options(name: &CircuitName) -> Vec<String> {
    let id = name.scope().split('@').next().unwrap_or_default();
    vec![
        format!("haltline attempt reset --slice {id} --hint TEXT"),
        format!("haltline attempt report --slice {id}"),
        format!("haltline attempt end --slice {id} --give-up"),
    ]
}

/// The commands with which a person decides about a phase run.
pub fn phase_run_options(name: &CircuitName) -> Vec<String> {
    const PHASE_VERBS: &[&str] = &["reset", "skip", "abort", "modify --hint TEXT"];
    // A loop has one phase: there is none to skip to.
    const LOOP_VERBS: &[&str] = &["reset", "abort", "modify --hint TEXT"];
    let (verbs, run_option) = match name.scope().split_once('/') {
        Some(("ralph", _folder)) => return vec!["haltline ralph reset REASON".to_owned()],
        Some(("run", run)) => match run.split('@').next().unwrap_or(run) {
            DEFAULT_RUN => (LOOP_VERBS, " --run".to_owned()),
            named => (LOOP_VERBS, format!(" --run={named}")),
        },
        Some(_) | None => (PHASE_VERBS, String::new()),
    };
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

    /// Sends a made-up incident to every target; what came of each.
    pub fn send_sample_notification(&self) -> Vec<DeliveryAttempt> {
        self.send_notification(&sample(self.now()))
    }

    fn try_deliver_notifications(&self) -> Result<(), StoreError> {
        let (own, everything) = (self.project().key, everywhere(self.state_folder()).key);
        let mut waiting = self.store().undelivered(own)?;
        if everything != own {
            // What concerns the whole machine has one message, whichever project sends it.
            waiting.extend(self.store().undelivered(everything)?);
        }
        for message in waiting {
            let state = self.store().circuit(self.project().key, &message.circuit)?;
            let incident = match &state {
                Some(state) => self.incident(&message.circuit, state, &message.incident)?,
                None => None,
            };
            let attempts = incident.map(|incident| self.send_notification(&incident)).unwrap_or_default();
            for DeliveryAttempt { target, problem } in &attempts {
                if let Some(problem) = problem {
                    self.add_notice(format!(
                        "incident {} could not be delivered to {target}: {problem}",
                        message.incident
                    ));
                }
            }
            // A message that one target took is not sent again: the others would get it twice.
            let is_delivered = attempts.is_empty() || attempts.iter().any(|attempt| attempt.problem.is_none());
            self.store().record_delivery(message.id, is_delivered)?;
        }
        Ok(())
    }

    fn send_notification(&self, incident: &Incident) -> Vec<DeliveryAttempt> {
        let message = Message::new(incident, &self.project().identity.display().to_string());
        let attempt = |target: Target| DeliveryAttempt { target: target.name(), problem: target.send(&message).err() };
        targets(self.config()).into_iter().map(attempt).collect()
    }
}

/// What came of a message to one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The target's name, without its address.
    pub target: String,
    /// Why the message did not arrive.
    pub problem: Option<String>,
}

/// True if there is a notification target.
pub(crate) fn is_configured(config: &Config) -> bool {
    !config.notify_to().is_empty() || !config.notify_command().is_empty() || !config.notify_webhook().is_empty()
}

/// The targets of `notify.to`, then those of the older keys.
fn targets(config: &Config) -> Vec<Target> {
    let mut targets: Vec<Target> = config.notify_to().into_iter().filter_map(Target::parse).collect();
    let command = config.notify_command();
    if !command.is_empty() {
        targets.push(Target::Program(command.into_iter().map(str::to_owned).collect()));
    }
    let address = config.notify_webhook();
    if !address.is_empty() {
        targets.push(Target::Webhook(address.to_owned()));
    }
    targets
}
