//! What follows from an event on a constraint's circuit (C2–C4, C8).

use super::{
    Circuit, Condition, Cooldown, Fact, Foreign, Happening, Override, Rule, Seen, Standing, StandingAt, Trip, Weight,
    apply, fingerprint,
};
use crate::{
    CircuitName, Decision, Effect, Elapsed, Fact as AnyFact, Moment, Operator, Policy, Reason, Recorded, Rejection,
    Retry, Step, Texts, Verdict, digest_hex,
};

/// What session a violation is filed under when nobody says.
const SESSION_UNKNOWN: &str = "unknown";

/// An event with everything the decision needs to know of it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The circuit's name.
    pub name: CircuitName,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// The constraint's file, where there is an active one.
    pub seen: Option<&'a Seen>,
    /// What happened.
    pub what: &'a Happening,
}

/// What an asker may do now. Only reads.
pub fn check(name: &CircuitName, circuit: &Circuit, now: Moment) -> Verdict {
    match circuit.standing_at(now) {
        StandingAt::Closed => Verdict::Pass,
        StandingAt::HalfOpen(_) => Verdict::Warn(Reason {
            circuit: name.clone(),
            code: "HL-CON-03",
            text: "on trial after its cooldown: one violation re-opens it, a clean action closes it".to_owned(),
            retry: Retry::Now,
        }),
        StandingAt::Open(trip, cooldown) => Verdict::Deny(open_reason(name, trip, cooldown, now)),
        StandingAt::Retired(_) => Verdict::Pass,
    }
}

/// Decides one event.
pub fn decide(circuit: Option<&Circuit>, policy: &Policy, question: &Question<'_>, now: Moment) -> Step {
    if let Some(Standing::Retired { at, .. }) = circuit.map(|circuit| &circuit.standing) {
        return Step::Rejected(Rejection::NotFound { retired: Some(*at) });
    }
    let found = match question.what {
        Happening::Found(foreign) => Some(foreign),
        Happening::Violation { .. }
        | Happening::Clean { .. }
        | Happening::Enforce { .. }
        | Happening::Reset(_)
        | Happening::Retire(_)
        | Happening::Override { .. }
        | Happening::Revoke(_)
        | Happening::TrustRule(_) => None,
    };
    if circuit.is_none() && question.seen.is_none() && found.is_none() {
        return Step::Rejected(Rejection::NotFound { retired: None });
    }
    let is_new = circuit.is_none();
    let mut draft = Draft { question, now, circuit: circuit.cloned().unwrap_or_default(), facts: Vec::new() };
    draft.learn_rule(is_new, found, policy);
    draft.see_cooldown_end();
    let verdict = match question.what {
        Happening::Violation { action } => Ok(draft.violate(action)),
        Happening::Clean { action, generation } => draft.pass(action.as_deref(), *generation),
        Happening::Enforce { action, violated } => draft.enforce(action, *violated),
        Happening::Reset(operator) => {
            draft.by_operator(Fact::Reset { who: operator.who.clone() }, operator);
            Ok(Verdict::Pass)
        }
        Happening::Retire(operator) => {
            let created = question.seen.and_then(|seen| seen.created);
            draft.by_operator(Fact::Retired { who: operator.who.clone(), created }, operator);
            Ok(Verdict::Pass)
        }
        Happening::Override { lifetime_ms, operator } => draft.grant(*lifetime_ms, operator),
        Happening::Revoke(operator) => draft.revoke(operator),
        Happening::TrustRule(operator) => draft.trust_rule(operator),
        Happening::Found(foreign) => {
            draft.find(foreign, is_new);
            Ok(Verdict::Pass)
        }
    };
    match verdict {
        Ok(verdict) => Step::Decided(draft.into_decision(verdict)),
        Err(rejection) => Step::Rejected(rejection),
    }
}

/// A decision in the making: each fact is applied at once, so that the next thought sees it.
struct Draft<'a> {
    question: &'a Question<'a>,
    now: Moment,
    circuit: Circuit,
    facts: Vec<Recorded>,
}

impl Draft<'_> {
    fn push(&mut self, fact: Fact) {
        self.push_with(self.now, fact, Texts::default());
    }

    fn push_with(&mut self, at: Moment, fact: Fact, texts: Texts) {
        self.circuit = apply(Some(std::mem::take(&mut self.circuit)), &fact, at);
        let circuit = self.question.name.clone();
        self.facts.push(Recorded { circuit, at, fact: AnyFact::Constraint(fact), texts });
    }

    fn by_operator(&mut self, fact: Fact, operator: &Operator) {
        let texts = Texts { session: self.question.session.map(str::to_owned), text: operator.reason.clone() };
        self.push_with(self.now, fact, texts);
    }

    /// Takes over what the constraint's file says, as far as that may happen without a person (E9).
    fn learn_rule(&mut self, is_new: bool, found: Option<&Foreign>, policy: &Policy) {
        if is_new {
            let default_limits = found.and_then(|foreign| foreign.limits).unwrap_or(policy.constraint);
            let default = Rule { limits: default_limits, guards: Vec::new() };
            let (rule, source) = match self.question.seen {
                Some(seen) => (seen.rule.clone(), Some(seen.source.clone())),
                None => (default, None),
            };
            return self.push(Fact::RuleSet { rule, source, trusted_by: None });
        }
        let Some(seen) = self.question.seen else { return };
        let (rule, source) = (seen.rule.clone(), seen.source.clone());
        let in_force = &self.circuit.rule;
        if in_force.loosened_by(&rule).is_empty() {
            let is_known = *in_force == rule && self.circuit.source.as_ref() == Some(&source);
            if !is_known || self.circuit.asked.is_some() {
                self.push(Fact::RuleSet { rule, source: Some(source), trusted_by: None });
            }
            return;
        }
        if self.circuit.asked.as_ref().is_some_and(|asked| asked.rule == rule && asked.source == source) {
            return;
        }
        let tightened = in_force.tightened_by(&rule);
        if tightened != *in_force {
            let source = self.circuit.source.clone();
            self.push(Fact::RuleSet { rule: tightened, source, trusted_by: None });
        }
        self.push(Fact::RuleAsked { rule, source });
    }

    /// Writes down that a cooldown has ended, with the instant at which it did.
    fn see_cooldown_end(&mut self) {
        let ended = match &self.circuit.standing {
            Standing::Open(trip) if trip.cooldown(self.now) == Cooldown::Over => {
                trip.since.plus_millis(trip.cooldown_ms)
            }
            Standing::Open(_) | Standing::Closed | Standing::HalfOpen(_) | Standing::Retired { .. } => return,
        };
        self.push_with(ended, Fact::HalfOpened, Texts::default());
    }

    fn push_violation(&mut self, action: &str, weight: Weight) {
        let session = self.question.session.unwrap_or(SESSION_UNKNOWN);
        let fact = Fact::Violated { weight, fingerprint: fingerprint(self.now.at, action, session), imported: false };
        let texts = Texts { session: Some(session.to_owned()), text: Some(action.to_owned()) };
        self.push_with(self.now, fact, texts);
    }

    fn violate(&mut self, action: &str) -> Verdict {
        match self.circuit.standing_at(self.now) {
            StandingAt::Open(..) | StandingAt::Retired(_) => self.push_violation(action, Weight::WhileOpen),
            StandingAt::HalfOpen(_) => {
                self.push_violation(action, Weight::Counted);
                self.trip();
            }
            StandingAt::Closed if self.circuit.repeats_last(self.now) => {
                self.push_violation(action, Weight::Deduplicated);
            }
            StandingAt::Closed => {
                self.push_violation(action, Weight::Counted);
                self.trip_if_due();
            }
        }
        self.told_by_state()
    }

    /// What a circuit that may have just changed tells the one who changed it.
    fn told_by_state(&self) -> Verdict {
        let limits = self.circuit.limits();
        match self.circuit.standing_at(self.now) {
            StandingAt::Closed if self.circuit.in_window(self.now) + 1 >= limits.violation_threshold => {
                Verdict::Warn(Reason {
                    circuit: self.question.name.clone(),
                    code: "HL-CON-01",
                    text: format!(
                        "{} of {} violations in {} days: one more trips this circuit",
                        self.circuit.in_window(self.now),
                        limits.violation_threshold,
                        limits.window_days
                    ),
                    retry: Retry::Now,
                })
            }
            StandingAt::Closed | StandingAt::HalfOpen(_) | StandingAt::Open(..) | StandingAt::Retired(_) => {
                check(&self.question.name, &self.circuit, self.now)
            }
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
        let generation = self.circuit.generation.to_be_bytes();
        let at = since.at.as_millis().to_be_bytes();
        Trip {
            incident: digest_hex(&[self.question.name.as_str().as_bytes(), &generation, &at], 4),
            since,
            cooldown_ms: self.circuit.limits().cooldown_ms(),
            count: self.circuit.in_window(self.now),
        }
    }

    fn pass(&mut self, action: Option<&str>, generation: Option<u64>) -> Result<Verdict, Rejection> {
        // A result that belongs to an earlier state of the circuit is kept and moves nothing (E12).
        let is_stale = generation.is_some_and(|generation| generation != self.circuit.generation);
        let fact = match self.circuit.standing_at(self.now) {
            StandingAt::Closed => Fact::Passed,
            StandingAt::HalfOpen(_) | StandingAt::Open(..) if is_stale => Fact::Passed,
            StandingAt::HalfOpen(_) => Fact::Recovered,
            StandingAt::Open(..) | StandingAt::Retired(_) => {
                return Err(Rejection::InvalidTransition { from: Condition::Open });
            }
        };
        let texts = Texts { session: self.question.session.map(str::to_owned), text: action.map(str::to_owned) };
        self.push_with(self.now, fact, texts);
        Ok(Verdict::Pass)
    }

    /// The seed's flow in one step: OPEN refuses, anything else allows and records.
    fn enforce(&mut self, action: &str, violated: bool) -> Result<Verdict, Rejection> {
        match self.circuit.standing_at(self.now) {
            StandingAt::Closed | StandingAt::HalfOpen(_) if violated => Ok(match self.violate(action) {
                // The action that trips a circuit was still allowed; the next one is not.
                Verdict::Deny(reason) | Verdict::Stop(reason) => Verdict::Warn(reason),
                verdict @ (Verdict::Pass | Verdict::Warn(_)) => verdict,
            }),
            StandingAt::Closed | StandingAt::HalfOpen(_) => self.pass(Some(action), None),
            StandingAt::Open(..) | StandingAt::Retired(_) => {
                let is_overridden = self.circuit.ready_override(self.now).is_some();
                if violated {
                    self.push_violation(action, Weight::WhileOpen);
                }
                let texts = Texts { session: self.question.session.map(str::to_owned), text: Some(action.to_owned()) };
                if !is_overridden {
                    self.push_with(self.now, Fact::Refused, texts);
                    return Ok(check(&self.question.name, &self.circuit, self.now));
                }
                self.push_with(self.now, Fact::OverrideSpent, texts);
                Ok(Verdict::Warn(Reason {
                    circuit: self.question.name.clone(),
                    code: "HL-CON-04",
                    text: "allowed once by a person's override, which is now spent; the circuit stays OPEN".to_owned(),
                    retry: Retry::Now,
                }))
            }
        }
    }

    fn grant(&mut self, lifetime_ms: u64, operator: &Operator) -> Result<Verdict, Rejection> {
        let standing = self.circuit.standing_at(self.now);
        if !matches!(standing, StandingAt::Open(..)) {
            return Err(Rejection::InvalidTransition { from: standing.condition() });
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
        let Some(asked) = self.circuit.asked.clone() else { return Err(Rejection::NothingToTrust) };
        let trusted_by = Some(operator.who.clone());
        self.by_operator(Fact::RuleSet { rule: asked.rule, source: Some(asked.source), trusted_by }, operator);
        Ok(Verdict::Pass)
    }

    /// Takes over a state file: its state when the circuit is new here, only unknown violations otherwise (C6).
    fn find(&mut self, foreign: &Foreign, is_new: bool) {
        if is_new {
            let since = foreign.last_trip.map_or(self.now, Moment::recorded);
            let counted = foreign.violations.iter().filter(|violation| {
                violation.at <= since.at && foreign.last_reset.is_none_or(|reset| violation.at > reset)
            });
            let count = u32::try_from(counted.count()).unwrap_or(u32::MAX);
            let trip = match foreign.state {
                Condition::Open | Condition::HalfOpen => Some(Trip { count, ..self.new_trip(since) }),
                Condition::Closed | Condition::Retired => None,
            };
            let Foreign { state, last_trip, last_reset, .. } = *foreign;
            self.push(Fact::Adopted { state, last_trip, last_reset, trip });
            self.see_cooldown_end();
        }
        let mut violations = foreign.violations.clone();
        violations.sort_by_key(|violation| violation.at);
        for violation in &violations {
            let at = Moment::recorded(violation.at);
            let weight = self.weigh_import(at, is_new);
            let fact = Fact::Violated { weight, fingerprint: violation.fingerprint(), imported: true };
            let texts = Texts { session: Some(violation.session.clone()), text: Some(violation.action.clone()) };
            let is_on_trial = matches!(self.circuit.standing_at(self.now), StandingAt::HalfOpen(_));
            self.push_with(at, fact, texts);
            if is_on_trial && weight == Weight::Counted && !is_new {
                self.trip();
            }
        }
        // A file that says CLOSED is believed when it is adopted; violations that reach a known circuit trip it.
        let is_closed = self.circuit.standing_at(self.now) == StandingAt::Closed;
        if is_closed && !is_new && !violations.is_empty() {
            self.trip_if_due();
        }
    }

    fn weigh_import(&self, at: Moment, is_new: bool) -> Weight {
        let circuit = &self.circuit;
        // A close that lies in the future of this clock tells nothing (E3).
        let is_before_close = circuit.last_reset.is_some_and(|reset| at.at <= reset && reset <= self.now.at);
        let is_before_window = match self.now.since(at) {
            Elapsed::Known(age) => age >= circuit.limits().window_ms(),
            Elapsed::Unknown => false,
        };
        if is_before_close || is_before_window {
            return Weight::Past;
        }
        match circuit.standing_at(self.now) {
            // A state file lists what counted, so its own entries are not thinned out again.
            StandingAt::Closed if is_new => Weight::Counted,
            StandingAt::Closed if circuit.counted.iter().any(|&counted| self.is_near(counted, at)) => {
                Weight::Deduplicated
            }
            StandingAt::Closed => Weight::Counted,
            StandingAt::Open(trip, _) | StandingAt::HalfOpen(trip) if at.at <= trip.since.at => {
                if is_new {
                    Weight::Counted
                } else {
                    Weight::Past
                }
            }
            StandingAt::HalfOpen(trip) if at.at >= trip.until() && !is_new => Weight::Counted,
            StandingAt::Open(..) | StandingAt::HalfOpen(_) | StandingAt::Retired(_) => Weight::WhileOpen,
        }
    }

    fn is_near(&self, one: Moment, other: Moment) -> bool {
        one.at.as_millis().abs_diff(other.at.as_millis()) < self.circuit.limits().dedup_ms()
    }

    fn into_decision(self, verdict: Verdict) -> Decision {
        let mut effects = if self.facts.is_empty() { Vec::new() } else { vec![Effect::Mirror] };
        for Recorded { circuit, fact, .. } in &self.facts {
            match fact {
                AnyFact::Constraint(Fact::Tripped { trip }) => {
                    effects.push(Effect::Notify { circuit: circuit.clone(), incident: trip.incident.clone() });
                }
                AnyFact::Constraint(Fact::Retired { .. }) => effects.push(Effect::Archive(circuit.clone())),
                AnyFact::Constraint(
                    Fact::RuleSet { .. }
                    | Fact::RuleAsked { .. }
                    | Fact::Adopted { .. }
                    | Fact::Violated { .. }
                    | Fact::HalfOpened
                    | Fact::Passed
                    | Fact::Recovered
                    | Fact::Reset { .. }
                    | Fact::Refused
                    | Fact::OverrideGranted { .. }
                    | Fact::OverrideSpent
                    | Fact::OverrideRevoked { .. },
                )
                | AnyFact::Lane(_)
                | AnyFact::Tree(_)
                | AnyFact::Exempt(_)
                | AnyFact::Attempt(_)
                | AnyFact::Phase(_)
                | AnyFact::Claim(_)
                | AnyFact::Pipeline(_)
                | AnyFact::Trust(_) => {}
            }
        }
        Decision { facts: self.facts, verdict, effects, notices: Vec::new() }
    }
}

fn open_reason(name: &CircuitName, trip: &Trip, cooldown: Cooldown, now: Moment) -> Reason {
    let since = trip.since.at.to_seconds_text();
    let (text, retry) = match cooldown {
        Cooldown::Running { remaining_ms } => {
            let until = now.plus_millis(remaining_ms).at;
            let text = format!(
                "OPEN since {since} after {} counted violations; the cooldown ends {}",
                trip.count,
                until.to_seconds_text()
            );
            (text, Retry::At(until))
        }
        Cooldown::Unreadable | Cooldown::Over => {
            let text = format!(
                "OPEN since {since}, which lies in the future of this clock; it stays OPEN until the clock passes {} or a person resets it",
                trip.until().to_seconds_text()
            );
            (text, Retry::Person)
        }
    };
    Reason { circuit: name.clone(), code: "HL-CON-02", text, retry }
}
