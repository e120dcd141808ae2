//! Circuits of model services: a service that answered with a limit, or is overloaded, gets no new work from any session
//! of the machine until the stated time (L7).
//!
//! Each account has a row, which all projects share. It has one circuit for each kind of fault and series of models. A
//! decision asks for it only when work begins (a sub-agent, a session, an iteration of `haltline run --loop`), and when an
//! agent that has just begun shows that the service answers. Agents at work go on, so that they can save.

use serde::{Deserialize, Serialize};

use super::circuits::{CircuitFact, CircuitState, Circuits, HalfOpenCause, Probe, Trip, TrippedState};
use super::messages::{self, Explanation};
use super::{Pattern, ProviderLimits};
use crate::circuit::{cooldown_ms_in_streak, incident_id_for_key};
use crate::draft::Draft;
use crate::fact::FactKind;
use crate::identity::Digest;
use crate::{CircuitName, Decision, Halt, Instant, Memory, Moment, Policy, Reason, Retry, Texts, Verdict};

/// Whose allowance a request of a model uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderAccount {
    /// The service, such as `anthropic`.
    pub provider: String,
    /// A name of the account that gives no secret away.
    pub account: String,
}

impl ProviderAccount {
    /// The row of the account's circuits.
    pub fn row(&self) -> CircuitName {
        CircuitName::provider(&self.provider, &self.account)
    }
}

/// Why a model service did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The account has used up what it may use for now.
    Limit,
    /// The service has too much to do.
    Overload,
}

impl FaultKind {
    const ALL: [FaultKind; 2] = [FaultKind::Limit, FaultKind::Overload];

    fn pattern(self) -> Pattern {
        match self {
            FaultKind::Limit => Pattern::ProviderLimit,
            FaultKind::Overload => Pattern::ProviderOverload,
        }
    }

    fn code(self) -> &'static str {
        self.pattern().row().code
    }

    /// The key of the circuit for a series of models; `None` stands for all models of the account.
    fn key(self, series: Option<&str>) -> Digest {
        Digest::from_parts(&[b"provider", self.pattern().as_str().as_bytes(), series.unwrap_or_default().as_bytes()])
    }
}

/// An answer of a model service that is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderFault {
    pub kind: FaultKind,
    /// When the service says that it answers again.
    pub until: Option<Instant>,
    /// True if the limit is one for all models of the account.
    pub is_account_wide: bool,
}

/// The series of a model: its name without versions and dates, so that `claude-opus-5-5` and `claude-opus-5-1` are one.
pub fn model_series(model: &str) -> Option<String> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split(['[', '@', ':']).next().unwrap_or(name).to_ascii_lowercase();
    let is_word = |part: &&str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_alphabetic());
    let words: Vec<&str> = name.split(['-', '_', '.', ' ']).filter(is_word).collect();
    (!words.is_empty()).then(|| words.join("-"))
}

/// The circuits of one account, folded from facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    #[serde(rename = "seen")]
    pub last_seen: Moment,
    pub circuits: Circuits,
}

/// A fact about the circuits of one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderFact {
    Circuit(CircuitFact),
}

impl ProviderFact {
    /// The fact's stable name in listings, and whether it is synced.
    pub(crate) fn kind(&self) -> FactKind {
        let ProviderFact::Circuit(fact) = self;
        fact.kind()
    }
}

impl Provider {
    /// The state after a fact.
    pub(crate) fn apply(provider: Option<Provider>, fact: &ProviderFact, at: Moment) -> Provider {
        let mut provider = provider.unwrap_or_default();
        let ProviderFact::Circuit(fact) = fact;
        provider.last_seen = at;
        provider.circuits.apply(fact, at);
        provider
    }
}

/// What `haltline run --loop` asks and reports: it starts agents of clients that may have no hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEvent {
    pub account: ProviderAccount,
    /// The loop.
    pub requester: String,
    pub what: ProviderRequest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderRequest {
    /// May an iteration begin? While the circuit is HALF_OPEN, the first to ask becomes the probe.
    Begin,
    /// The service did not answer the iteration.
    Fault(ProviderFault),
    /// The service answered the iteration.
    Answered,
    /// The iteration ended, and whether the service answered is unknown.
    Unanswered,
}

impl ProviderEvent {
    /// The stable text that the journal keeps as the cause.
    pub fn cause(&self) -> &'static str {
        match self.what {
            ProviderRequest::Begin => "provider_begin",
            ProviderRequest::Fault(_) => "provider_fault",
            ProviderRequest::Answered => "provider_answered",
            ProviderRequest::Unanswered => "provider_unanswered",
        }
    }
}

/// Decides an event of `haltline run --loop`.
pub fn decide(memory: &Memory, policy: &Policy, event: &ProviderEvent, now: Moment) -> Result<Decision, Halt> {
    let limits = &policy.loop_;
    let mut draft = Draft::default();
    if !limits.provider.enabled {
        return Ok(draft.into_decision(Verdict::Pass));
    }
    let row = memory.require(&event.account.row())?.and_then(|state| state.as_provider()).cloned();
    let requester = run_key(&event.requester);
    let mut gate = ProviderGate { account: &event.account, series: None, run: None, provider: row, now };
    let verdict = match &event.what {
        ProviderRequest::Begin => match gate.obstacle() {
            Some(obstacle) => {
                let row = memory.require(&CircuitName::exemptions())?.and_then(|state| state.as_exemptions());
                match row.is_some_and(|list| list.covers(obstacle.trip.pattern, obstacle.trip.key)) {
                    true => Verdict::Pass,
                    false => gate.plain_denial(&obstacle),
                }
            }
            None => {
                gate.take_probes(&mut draft, requester, u64::from(limits.probe_lease_s) * 1000);
                Verdict::Pass
            }
        },
        ProviderRequest::Fault(fault) => {
            if let Some((explanation, trip)) = gate.count_fault(&mut draft, fault, &limits.provider) {
                let wait = messages::cooldown(&trip, now);
                let notice = messages::notice(&explanation, &trip.incident, Some(&wait), "unknown", policy.mode);
                draft.notices.push(notice);
            }
            Verdict::Pass
        }
        ProviderRequest::Answered => {
            gate.end_probes(&mut draft, ProbeEnd::Answered, |_| true);
            Verdict::Pass
        }
        ProviderRequest::Unanswered => {
            gate.end_probes(&mut draft, ProbeEnd::Unknown, |probe| probe.call == requester);
            Verdict::Pass
        }
    };
    Ok(draft.into_decision(verdict))
}

/// Under which name a `haltline run` probes.
pub(super) fn run_key(run: &str) -> Digest {
    Digest::from_parts(&[b"run", run.as_bytes()])
}

/// What stands between new work and its beginning.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub trip: Trip,
    pub explanation: Explanation,
    pub retry: Retry,
}

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeEnd {
    Answered,
    Unknown,
}

/// The circuits of one account as a decision reads and changes them.
pub(super) struct ProviderGate<'a> {
    pub account: &'a ProviderAccount,
    /// The series of the agent's model, if it is known.
    pub series: Option<&'a str>,
    /// The `haltline run` that the agent works for. What that run probes, the agent probes.
    pub run: Option<Digest>,
    pub provider: Option<Provider>,
    pub now: Moment,
}

impl ProviderGate<'_> {
    /// The circuits that concern the agent. An unknown model is only stopped by what concerns all models.
    fn circuits(&self) -> impl Iterator<Item = (FaultKind, Digest, Option<&str>)> {
        let all_series = [Some(None), self.series.map(Some)].into_iter().flatten();
        all_series.flat_map(|series| FaultKind::ALL.map(|kind| (kind, kind.key(series), series)))
    }

    /// True if the run that the agent works for is the probe.
    fn is_own_probe(&self, key: Digest) -> bool {
        let tripped = self.provider.as_ref().and_then(|provider| provider.circuits.tripped_for(key));
        matches!(tripped.map(|tripped| &tripped.state), Some(TrippedState::Probing(probe)) if Some(probe.call) == self.run)
    }

    fn state_at(&self, key: Digest) -> CircuitState<'_> {
        self.provider.as_ref().map_or(CircuitState::Closed, |provider| provider.circuits.state_at(key, self.now))
    }

    fn explain(&self, kind: FaultKind, series: Option<&str>, is_probing: bool) -> Explanation {
        let provider = &self.account.provider;
        let models = series.map_or_else(String::new, |series| format!(" for {series}"));
        let fact = match (kind, is_probing) {
            (FaultKind::Limit, false) => format!("{provider} said that this account has reached its limit{models}"),
            (FaultKind::Limit, true) => {
                format!(
                    "this account had reached its limit at {provider}{models}, and one agent finds out if it still has"
                )
            }
            (FaultKind::Overload, false) => format!("{provider} is overloaded{models}"),
            (FaultKind::Overload, true) => {
                format!("{provider} was overloaded{models}, and one agent finds out if it still is")
            }
        };
        let instead = "save what you have; go on without new sub-agents, or wait until then.";
        Explanation::new(kind.pattern(), kind.code(), fact, instead, "start another agent before that.")
    }

    /// The first circuit that lets no new work begin.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.circuits().find_map(|(kind, key, series)| {
            let state = self.state_at(key);
            let trip = state.denying_trip().filter(|_| !self.is_own_probe(key))?.clone();
            let is_probing = matches!(state, CircuitState::Probing(_));
            let retry = Retry::At(if is_probing { self.lease_end(key).unwrap_or(trip.until()) } else { trip.until() });
            Some(Obstacle { explanation: self.explain(kind, series, is_probing), trip, retry })
        })
    }

    fn lease_end(&self, key: Digest) -> Option<Instant> {
        match &self.provider.as_ref()?.circuits.tripped_for(key)?.state {
            TrippedState::Probing(probe) => Some(probe.since.plus_millis(probe.lease_ms).at),
            TrippedState::Open | TrippedState::HalfOpen(_) => None,
        }
    }

    /// A denial where no agent's row keeps how often it was denied.
    fn plain_denial(&self, obstacle: &Obstacle) -> Verdict {
        let Obstacle { trip, explanation, retry } = obstacle;
        let text = format!("{}. {}.", explanation.fact, messages::cooldown(trip, self.now));
        Verdict::Deny(Reason { circuit: self.account.row(), code: explanation.code, text, retry: *retry })
    }

    /// Makes the work that begins the probe of every circuit that is HALF_OPEN.
    pub fn take_probes(&mut self, draft: &mut Draft, call: Digest, lease_ms: u64) {
        let waiting: Vec<Digest> =
            self.circuits().map(|(_, key, _)| key).filter(|key| self.state_at(*key).is_half_open()).collect();
        for key in waiting {
            let Some(tripped) = self.provider.as_ref().and_then(|provider| provider.circuits.tripped_for(key)) else {
                continue;
            };
            let (incident, end) = (tripped.trip.incident.clone(), tripped.trip.open_period().end());
            let cause = match &tripped.state {
                TrippedState::HalfOpen(cause) => *cause,
                TrippedState::Open => {
                    let cause = HalfOpenCause::Cooldown;
                    let incident = incident.clone();
                    self.record(draft, end, CircuitFact::HalfOpened { incident, cause, hint: None, who: None }, None);
                    cause
                }
                TrippedState::Probing(_) => {
                    // Its lease is over: the process was killed, or the agent did nothing.
                    self.record(draft, self.now, CircuitFact::ProbeAbandoned { incident: incident.clone() }, None);
                    HalfOpenCause::Cooldown
                }
            };
            let probe = Probe { call, since: self.now, lease_ms, cause };
            self.record(draft, self.now, CircuitFact::ProbeTaken { incident, probe }, None);
        }
    }

    /// Counts an answer that is no response. It opens the circuit unless that is OPEN; a person gets one notice.
    pub fn count_fault(
        &mut self,
        draft: &mut Draft,
        fault: &ProviderFault,
        limits: &ProviderLimits,
    ) -> Option<(Explanation, Trip)> {
        let series = self.series.filter(|_| !fault.is_account_wide).map(str::to_owned);
        let key = fault.kind.key(series.as_deref());
        let (row, none, pattern) = (self.account.row(), Circuits::default(), fault.kind.pattern());
        let circuits = self.provider.as_ref().map_or(&none, |provider| &provider.circuits);
        let is_open = |key: Digest| matches!(circuits.state_at(key, self.now), CircuitState::Open(_));
        // An agent whose model is unknown may report what an agent has reported.
        let is_unspecific = self.series.is_none() && !fault.is_account_wide;
        let mut same_kind = circuits.tripped.iter().filter(|tripped| tripped.trip.pattern == pattern);
        if is_open(key) || (is_unspecific && same_kind.any(|tripped| is_open(tripped.trip.key))) {
            return None;
        }
        let streak = circuits.next_streak(pattern, self.now);
        let stated = fault.until.map(|until| until.as_millis().saturating_sub(self.now.at.as_millis()));
        let stated = stated.and_then(|wait| u64::try_from(wait).ok()).filter(|wait| *wait > 0);
        let base_s = match fault.kind {
            FaultKind::Limit => limits.cooldown_s,
            FaultKind::Overload => limits.overload_cooldown_s,
        };
        let cooldown_ms = stated.map_or_else(|| cooldown_ms_in_streak(base_s, streak), |wait| wait.min(STATED_MS_MAX));
        let incident = incident_id_for_key(&row, circuits.trips, self.now, key);
        let trip = Trip {
            incident,
            pattern,
            key,
            normal: None,
            calls: Vec::new(),
            since: self.now,
            cooldown_ms,
            count: 1,
            streak,
        };
        let explanation = self.explain(fault.kind, series.as_deref(), false);
        draft.notify(&row, &trip.incident);
        let text = Some(explanation.fact.clone());
        self.record(draft, self.now, CircuitFact::Tripped { trip: trip.clone() }, text);
        Some((explanation, trip))
    }

    /// Ends the probes that are selected: the service answered, or nobody knows whether it did.
    pub fn end_probes(&mut self, draft: &mut Draft, end: ProbeEnd, is_over: impl Fn(&Probe) -> bool) {
        let tripped = self.provider.iter().flat_map(|provider| &provider.circuits.tripped);
        let over: Vec<String> = tripped
            .filter(|tripped| matches!(&tripped.state, TrippedState::Probing(probe) if is_over(probe)))
            .map(|tripped| tripped.trip.incident.clone())
            .collect();
        for incident in over {
            let fact = match end {
                ProbeEnd::Answered => CircuitFact::Recovered { incident },
                ProbeEnd::Unknown => CircuitFact::ProbeAbandoned { incident },
            };
            self.record(draft, self.now, fact, None);
        }
    }

    fn record(&mut self, draft: &mut Draft, at: Moment, fact: CircuitFact, text: Option<String>) {
        let about = text.is_some().then(|| self.account.provider.clone());
        let texts = Texts { session: None, text, about };
        let fact = ProviderFact::Circuit(fact);
        self.provider = Some(draft.record(&self.account.row(), self.provider.take(), at, fact, texts));
    }
}

/// No stated wait is longer: limits are counted by the week.
const STATED_MS_MAX: u64 = 8 * 24 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_of_a_model_is_its_name_without_version() {
        for (model, series) in [
            ("claude-opus-5-5-20261001", Some("claude-opus")),
            ("claude-sonnet-4-5[1m]", Some("claude-sonnet")),
            ("anthropic/claude-haiku-4.5", Some("claude-haiku")),
            ("gpt-5.1-codex-max", Some("gpt-codex-max")),
            ("gemini-3-pro-preview", Some("gemini-pro-preview")),
            ("o3", None),
            ("", None),
        ] {
            assert_eq!(model_series(model).as_deref(), series, "{model}");
        }
    }
}
