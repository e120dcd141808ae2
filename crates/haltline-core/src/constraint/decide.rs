//! Decides events that concern a constraint's circuit (C2–C4, C8).

use super::{
    Circuit, CircuitState, CircuitStateAt, ConstraintEvent, Cooldown, Fact, ForeignCircuit, Override, Rule, RuleFile,
    StateName, Trip, Weight, fingerprint,
};
use crate::circuit::{incident_id, is_stale};
use crate::counted;
use crate::draft::Draft;
use crate::{
    CircuitName, ClockDoubt, Decision, Effect, Elapsed, Halt, Mode, Moment, Operator, Policy, Reason, Rejection, Retry,
    Texts, Verdict,
};

/// The session under which a violation is recorded if the caller names none.
const SESSION_UNKNOWN: &str = "unknown";

/// An event with everything the decision needs to know about it.
#[derive(Clone, Debug)]
pub struct ConstraintRequest<'a> {
    pub name: CircuitName,
    /// The session in which it happened, if any.
    pub session: Option<&'a str>,
    /// The constraint's file, if there is an active one.
    pub file: Option<&'a RuleFile>,
    pub event: &'a ConstraintEvent,
}

/// Returns what an agent may do now. Only reads.
pub fn check(name: &CircuitName, circuit: &Circuit, now: Moment) -> Verdict {
    match circuit.state_at(now) {
        CircuitStateAt::Closed => Verdict::Pass,
        CircuitStateAt::HalfOpen(_) => Verdict::Warn(Reason {
            circuit: name.clone(),
            code: "HL-CON-03",
            text: "HALF_OPEN after its cooldown: one violation opens it again, one clean action closes it".to_owned(),
            retry: Retry::Now,
        }),
        CircuitStateAt::Open(trip, cooldown) => Verdict::Deny(open_reason(name, trip, cooldown, now)),
        CircuitStateAt::Retired(_) => Verdict::Pass,
    }
}

/// The answer to `constraint check`: what an action would meet, as the mode lets it be said. Nothing is recorded.
pub struct Check {
    pub verdict: Verdict,
    /// True if the action would be denied but for observe mode.
    pub is_observed: bool,
    /// The generation to hand to `pass`; 0 without a circuit.
    pub generation: u64,
}

impl Check {
    pub fn new(name: &CircuitName, circuit: Option<&Circuit>, mode: Mode, now: Moment) -> Self {
        let enforced = circuit.map_or(Verdict::Pass, |circuit| check(name, circuit, now));
        let is_denied = enforced.denies();
        let verdict = mode.apply_to(enforced);
        let is_observed = is_denied && !verdict.denies();
        Self { verdict, is_observed, generation: circuit.map_or(0, |circuit| circuit.generation_at(now)) }
    }
}

pub fn decide(
    circuit: Option<&Circuit>,
    policy: &Policy,
    request: &ConstraintRequest<'_>,
    now: Moment,
) -> Result<Decision, Halt> {
    if let Some(CircuitState::Retired { at, .. }) = circuit.map(|circuit| &circuit.state) {
        return Err(Rejection::NotFound { retired: Some(*at) }.into());
    }
    let found = if let ConstraintEvent::StateFileFound(foreign) = request.event { Some(foreign) } else { None };
    if circuit.is_none() && request.file.is_none() && found.is_none() {
        return Err(Rejection::NotFound { retired: None }.into());
    }
    let is_new = circuit.is_none();
    let mut draft =
        CircuitDraft { request, now, circuit: circuit.cloned().unwrap_or_default(), draft: Draft::default() };
    draft.update_rule(is_new, found, policy);
    draft.record_cooldown_end();
    let verdict = match request.event {
        ConstraintEvent::Violation { action } => Ok(draft.count_violation(action)),
        ConstraintEvent::Clean { action, generation } => draft.record_clean_action(action.as_deref(), *generation),
        ConstraintEvent::Enforce { action, violated } => draft.enforce(action, *violated),
        ConstraintEvent::Reset(operator) => {
            draft.by_operator(Fact::Reset { who: operator.who.clone() }, operator);
            Ok(Verdict::Pass)
        }
        ConstraintEvent::Retire(operator) => {
            let created = request.file.and_then(|file| file.created);
            draft.by_operator(Fact::Retired { who: operator.who.clone(), created }, operator);
            Ok(Verdict::Pass)
        }
        ConstraintEvent::Override { lifetime_ms, operator } => draft.grant(*lifetime_ms, operator),
        ConstraintEvent::Revoke(operator) => draft.revoke(operator),
        ConstraintEvent::TrustRule(operator) => draft.trust_rule(operator),
        ConstraintEvent::StateFileFound(foreign) => {
            draft.import_foreign(foreign, is_new);
            Ok(Verdict::Pass)
        }
    };
    Ok(draft.draft.into_decision(verdict?))
}

/// A decision in the making: each fact is applied at once, so that the next step of the decision sees it.
struct CircuitDraft<'a> {
    request: &'a ConstraintRequest<'a>,
    now: Moment,
    circuit: Circuit,
    draft: Draft,
}

impl CircuitDraft<'_> {
    fn push(&mut self, fact: Fact) {
        self.push_with(self.now, fact, Texts::default());
    }

    fn push_with(&mut self, at: Moment, fact: Fact, texts: Texts) {
        let name = &self.request.name;
        if self.draft.facts.is_empty() {
            self.draft.effects.push(Effect::Mirror);
        }
        if let Fact::Tripped { trip } = &fact {
            self.draft.notify(name, &trip.incident);
        }
        if let Fact::Retired { .. } = fact {
            self.draft.effects.push(Effect::Archive(name.clone()));
        }
        let before = std::mem::take(&mut self.circuit);
        self.circuit = self.draft.record(name, Some(before), at, fact, texts);
    }

    fn by_operator(&mut self, fact: Fact, operator: &Operator) {
        self.push_with(self.now, fact, self.texts(operator.reason.clone()));
    }

    fn texts(&self, text: Option<String>) -> Texts {
        Texts { session: self.request.session.map(str::to_owned), text, ..Texts::default() }
    }

    fn reason(&self, code: &'static str, text: String) -> Reason {
        Reason { circuit: self.request.name.clone(), code, text, retry: Retry::Now }
    }

    /// Takes over the rule in the constraint's file, as far as that is allowed without a person (E9).
    fn update_rule(&mut self, is_new: bool, found: Option<&ForeignCircuit>, policy: &Policy) {
        if is_new {
            let default_limits = found.and_then(|foreign| foreign.limits).unwrap_or(policy.constraint);
            let default = Rule { limits: default_limits, guards: Vec::new() };
            let (rule, source) = match self.request.file {
                Some(file) => (file.rule.clone(), Some(file.source.clone())),
                None => (default, None),
            };
            return self.push(Fact::RuleSet { rule, source, trusted_by: None });
        }
        let Some(file) = self.request.file else { return };
        let (rule, source) = (file.rule.clone(), file.source.clone());
        let in_force = &self.circuit.rule;
        if in_force.loosened_by(&rule).is_empty() {
            let is_known = *in_force == rule && self.circuit.source.as_ref() == Some(&source);
            if !is_known || self.circuit.requested.is_some() {
                self.push(Fact::RuleSet { rule, source: Some(source), trusted_by: None });
            }
            return;
        }
        if self.circuit.requested.as_ref().is_some_and(|requested| requested.rule == rule && requested.source == source)
        {
            return;
        }
        let tightened = in_force.tightened_by(&rule);
        if tightened != *in_force {
            let source = self.circuit.source.clone();
            self.push(Fact::RuleSet { rule: tightened, source, trusted_by: None });
        }
        self.push(Fact::RuleRequested { rule, source });
    }

    /// Records that a cooldown has ended, with the instant at which it did.
    fn record_cooldown_end(&mut self) {
        if let CircuitState::Open(trip) = &self.circuit.state
            && let Some(ended) = trip.open_period().ended_at(self.now)
        {
            self.push_with(ended, Fact::HalfOpened, Texts::default());
        }
    }

    fn push_violation(&mut self, action: &str, weight: Weight) {
        let session = self.request.session.unwrap_or(SESSION_UNKNOWN);
        let fact = Fact::Violated { weight, fingerprint: fingerprint(self.now.at, action, session), imported: false };
        let texts = Texts { session: Some(session.to_owned()), text: Some(action.to_owned()), ..Texts::default() };
        self.push_with(self.now, fact, texts);
    }

    fn count_violation(&mut self, action: &str) -> Verdict {
        match self.circuit.state_at(self.now) {
            CircuitStateAt::Open(..) | CircuitStateAt::Retired(_) => self.push_violation(action, Weight::WhileOpen),
            CircuitStateAt::HalfOpen(_) => {
                self.push_violation(action, Weight::Counted);
                self.trip();
            }
            CircuitStateAt::Closed if self.circuit.repeats_last(self.now) => {
                self.push_violation(action, Weight::Deduplicated);
            }
            CircuitStateAt::Closed => {
                self.push_violation(action, Weight::Counted);
                self.trip_if_due();
            }
        }
        self.verdict_after_change()
    }

    /// The verdict for an event that may have just changed the circuit.
    fn verdict_after_change(&self) -> Verdict {
        let limits = self.circuit.limits();
        match self.circuit.state_at(self.now) {
            CircuitStateAt::Closed if self.circuit.in_window(self.now) + 1 >= limits.violation_threshold => {
                let text = format!(
                    "{} of {} violations in {} days: one more trips this circuit",
                    self.circuit.in_window(self.now),
                    limits.violation_threshold,
                    limits.window_days
                );
                Verdict::Warn(self.reason("HL-CON-01", text))
            }
            CircuitStateAt::Closed
            | CircuitStateAt::HalfOpen(_)
            | CircuitStateAt::Open(..)
            | CircuitStateAt::Retired(_) => check(&self.request.name, &self.circuit, self.now),
        }
    }

    fn trip_if_due(&mut self) {
        if self.circuit.in_window(self.now) >= self.circuit.limits().violation_threshold {
            self.trip();
        }
    }

    fn trip(&mut self) {
        let trip = self.new_trip(self.now);
        self.push(Fact::Tripped { trip });
    }

    fn new_trip(&self, since: Moment) -> Trip {
        Trip {
            incident: incident_id(&self.request.name, self.circuit.generation, since),
            since,
            cooldown_ms: self.circuit.limits().cooldown_ms(),
            count: self.circuit.in_window(self.now),
        }
    }

    fn record_clean_action(&mut self, action: Option<&str>, generation: Option<u64>) -> Result<Verdict, Rejection> {
        // A result that belongs to an earlier state of the circuit is recorded but changes no state (E12).
        let is_stale = is_stale(generation, self.circuit.generation);
        let fact = match self.circuit.state_at(self.now) {
            CircuitStateAt::Closed => Fact::Passed,
            CircuitStateAt::HalfOpen(_) | CircuitStateAt::Open(..) if is_stale => Fact::Passed,
            CircuitStateAt::HalfOpen(_) => Fact::Recovered,
            CircuitStateAt::Open(..) | CircuitStateAt::Retired(_) => {
                return Err(Rejection::InvalidTransition { from: StateName::Open });
            }
        };
        self.push_with(self.now, fact, self.texts(action.map(str::to_owned)));
        Ok(Verdict::Pass)
    }

    /// Seed 003's flow in one step: OPEN denies, any other state allows and records.
    fn enforce(&mut self, action: &str, violated: bool) -> Result<Verdict, Rejection> {
        match self.circuit.state_at(self.now) {
            CircuitStateAt::Closed | CircuitStateAt::HalfOpen(_) if violated => {
                Ok(match self.count_violation(action) {
                    // The action that trips a circuit is still allowed; the next one is not.
                    Verdict::Deny(reason) | Verdict::Stop(reason) => Verdict::Warn(reason),
                    verdict @ (Verdict::Pass | Verdict::Warn(_)) => verdict,
                })
            }
            CircuitStateAt::Closed | CircuitStateAt::HalfOpen(_) => self.record_clean_action(Some(action), None),
            CircuitStateAt::Open(..) | CircuitStateAt::Retired(_) => {
                let is_overridden = self.circuit.ready_override(self.now).is_some();
                if violated {
                    self.push_violation(action, Weight::WhileOpen);
                }
                let texts = self.texts(Some(action.to_owned()));
                if !is_overridden {
                    self.push_with(self.now, Fact::Denied, texts);
                    return Ok(check(&self.request.name, &self.circuit, self.now));
                }
                self.push_with(self.now, Fact::OverrideSpent, texts);
                let text = "a person's override allowed this once and is used up; the circuit stays OPEN";
                Ok(Verdict::Warn(self.reason("HL-CON-04", text.to_owned())))
            }
        }
    }

    fn grant(&mut self, lifetime_ms: u64, operator: &Operator) -> Result<Verdict, Rejection> {
        let state = self.circuit.state_at(self.now);
        if !matches!(state, CircuitStateAt::Open(..)) {
            return Err(Rejection::InvalidTransition { from: state.name() });
        }
        let granted = Override {
            since: self.now,
            lifetime_ms: lifetime_ms.min(Override::LIFETIME_MS_MAX),
            who: operator.who.clone(),
        };
        self.by_operator(Fact::OverrideGranted { granted }, operator);
        Ok(Verdict::Pass)
    }

    fn revoke(&mut self, operator: &Operator) -> Result<Verdict, Rejection> {
        if self.circuit.ready_override(self.now).is_none() {
            return Err(Rejection::NoOverride);
        }
        self.by_operator(Fact::OverrideRevoked { who: operator.who.clone() }, operator);
        Ok(Verdict::Pass)
    }

    fn trust_rule(&mut self, operator: &Operator) -> Result<Verdict, Rejection> {
        let Some(requested) = self.circuit.requested.clone() else { return Err(Rejection::NothingToTrust) };
        let trusted_by = Some(operator.who.clone());
        self.by_operator(Fact::RuleSet { rule: requested.rule, source: Some(requested.source), trusted_by }, operator);
        Ok(Verdict::Pass)
    }

    /// Imports a state file: its state if the circuit is new here, otherwise only the unknown violations (C6).
    fn import_foreign(&mut self, foreign: &ForeignCircuit, is_new: bool) {
        if is_new {
            let since = foreign.last_trip.map_or(self.now, Moment::from_wall_clock);
            let counted = foreign.violations.iter().filter(|violation| {
                violation.at <= since.at && foreign.last_reset.is_none_or(|reset| violation.at > reset)
            });
            let count = u32::try_from(counted.count()).unwrap_or(u32::MAX);
            let trip = match foreign.state {
                StateName::Open | StateName::HalfOpen => Some(Trip { count, ..self.new_trip(since) }),
                StateName::Closed | StateName::Retired => None,
            };
            let ForeignCircuit { state, last_trip, last_reset, .. } = *foreign;
            self.push(Fact::Adopted { state, last_trip, last_reset, trip });
            self.record_cooldown_end();
        }
        let mut violations = foreign.violations.clone();
        violations.sort_by_key(|violation| violation.at);
        for violation in &violations {
            let at = Moment::from_wall_clock(violation.at);
            let weight = self.weigh_import(at, is_new);
            let fact = Fact::Violated { weight, fingerprint: violation.fingerprint(), imported: true };
            let texts = Texts {
                session: Some(violation.session.clone()),
                text: Some(violation.action.clone()),
                ..Texts::default()
            };
            let is_half_open = matches!(self.circuit.state_at(self.now), CircuitStateAt::HalfOpen(_));
            self.push_with(at, fact, texts);
            if is_half_open && weight == Weight::Counted && !is_new {
                self.trip();
            }
        }
        // When a file is adopted, its CLOSED is believed; for a known circuit, imported violations can trip it.
        let is_closed = self.circuit.state_at(self.now) == CircuitStateAt::Closed;
        if is_closed && !is_new && !violations.is_empty() {
            self.trip_if_due();
        }
    }

    fn weigh_import(&self, at: Moment, is_new: bool) -> Weight {
        let circuit = &self.circuit;
        // A close in the future of this clock is ignored (E3).
        let is_before_close = circuit.last_reset.is_some_and(|reset| at.at <= reset && reset <= self.now.at);
        let is_before_window = match self.now.since(at) {
            Elapsed::Known(age) => age >= circuit.limits().window_ms(),
            Elapsed::Unknown => false,
        };
        if is_before_close || is_before_window {
            return Weight::Expired;
        }
        match circuit.state_at(self.now) {
            // A state file lists only counted violations, so its own entries are not deduplicated again.
            CircuitStateAt::Closed if is_new => Weight::Counted,
            CircuitStateAt::Closed if circuit.counted.iter().any(|&counted| self.is_near(counted, at)) => {
                Weight::Deduplicated
            }
            CircuitStateAt::Closed => Weight::Counted,
            CircuitStateAt::Open(trip, _) | CircuitStateAt::HalfOpen(trip) if at.at <= trip.since.at => {
                if is_new {
                    Weight::Counted
                } else {
                    Weight::Expired
                }
            }
            CircuitStateAt::HalfOpen(trip) if at.at >= trip.until() && !is_new => Weight::Counted,
            CircuitStateAt::Open(..) | CircuitStateAt::HalfOpen(_) | CircuitStateAt::Retired(_) => Weight::WhileOpen,
        }
    }

    fn is_near(&self, one: Moment, other: Moment) -> bool {
        one.at.as_millis().abs_diff(other.at.as_millis()) < self.circuit.limits().dedup_ms()
    }
}

fn open_reason(name: &CircuitName, trip: &Trip, cooldown: Cooldown, now: Moment) -> Reason {
    let since = trip.since.at.to_seconds_text();
    let (text, retry) = match cooldown {
        Cooldown::Running { remaining_ms } => {
            let until = now.plus_millis(remaining_ms).at;
            let text = format!(
                "OPEN since {since} after {}; the cooldown ends {}",
                counted(trip.count, "counted violation"),
                until.to_seconds_text()
            );
            (text, Retry::At(until))
        }
        Cooldown::Unreadable | Cooldown::Over => {
            let text = match now.doubt_since(trip.since) {
                Some(doubt @ (ClockDoubt::OtherTimeNamespace | ClockDoubt::NoBootClock)) => {
                    format!("OPEN since {since}; {}: it stays OPEN until a person resets it", doubt.explain())
                }
                Some(ClockDoubt::WallClockBehind) | None => format!(
                    "OPEN since {since}, which is later than this clock's time; it stays OPEN until the clock passes {} or a person resets it",
                    trip.until().to_seconds_text()
                ),
            };
            (text, Retry::Person)
        }
    };
    Reason { circuit: name.clone(), code: super::TRIP_CODE, text, retry }
}
