//! What really is, in the words of `testdata/constraint/*.txt`, so that it can be compared as text.
//!
//! Each part that a line expects is answered in the same form; the runner compares the two.

use haltline_core::constraint::{
    Circuit, Condition, Fact as ConstraintFact, ForeignViolation, Limits, Standing, Totals, check,
};
use haltline_core::{Effect, Fact, Instant, Recorded, Rejection, Retry, Step, Verdict};

use crate::support::World;

/// What the last event of a paragraph came to.
#[derive(Default)]
pub struct Outcome {
    pub verdict: Option<Result<Verdict, Rejection>>,
    facts: Vec<Recorded>,
    effects: Vec<Effect>,
}

impl Outcome {
    pub fn of_check(world: &World) -> Self {
        let verdict = match world.circuit() {
            Some(circuit) => world.policy.mode.temper(check(&world.name(), circuit, world.clock.now())),
            None => Verdict::Pass,
        };
        Self { verdict: Some(Ok(verdict)), ..Self::default() }
    }

    pub fn of_step(step: Step) -> Self {
        match step {
            Step::Decided(decision) => {
                let (facts, effects) = (decision.facts, decision.effects);
                Self { verdict: Some(Ok(decision.verdict)), facts, effects }
            }
            Step::Rejected(rejection) => Self { verdict: Some(Err(rejection)), ..Self::default() },
            Step::Needs(rows) => unreachable!("the row was given, yet it asks for {rows:?}"),
        }
    }

    /// `warn CLOSED 4/5` or `rejected Invalid transition from OPEN`, as short as `expected` is.
    pub fn headline(&self, world: &World, expected: &str) -> String {
        let verdict = match &self.verdict {
            Some(Ok(verdict)) => verdict.word(),
            Some(Err(rejection)) => return format!("rejected {}", show_rejection(rejection)),
            None => "nothing happened",
        };
        let Some(circuit) = world.circuit() else { return format!("{verdict} no circuit") };
        let now = world.clock.now();
        let state = show_condition(circuit.standing_at(now).condition());
        match expected.split_whitespace().count() {
            0..=2 => format!("{verdict} {state}"),
            _with_count => {
                format!("{verdict} {state} {}/{}", circuit.in_window(now), circuit.limits().violation_threshold)
            }
        }
    }

    /// The answer to one expected part. `None` where there is no such part.
    pub fn part(&self, world: &World, expected: &str) -> Option<String> {
        let (key, rest) = expected.split_once(' ')?;
        let nobody = Circuit::default();
        let circuit = world.circuit().unwrap_or(&nobody);
        let answer = match key {
            "facts" => or_none(self.facts.iter().map(|recorded| recorded.fact.word().to_owned()).collect()),
            "effects" => or_none(self.effects.iter().map(show_effect).collect()),
            "code" => self.reason().map_or("none", |reason| reason.code).to_owned(),
            "retry" => self.retry(),
            "says" => self.says(rest),
            "dated" => self.dated(rest),
            "filed" => self.filed(),
            "known-as" => self.known_as(rest)?,
            "audit" => self.audit(),
            "totals" => show_totals(&circuit.totals, rest)?,
            "generation" => circuit.generation.to_string(),
            "counted" => or_none(circuit.counted.iter().map(|moment| show(moment.at)).collect()),
            "last-trip" => show_if_any(circuit.last_trip),
            "last-reset" => show_if_any(circuit.last_reset),
            "first" => show_if_any(circuit.first),
            "created" => show_if_any(circuit.created),
            "trip" => show_trip(circuit),
            "history" => show_history(circuit),
            "limits" => show_limits(circuit.limits()),
            "guards" => or_none(circuit.rule.guards.iter().map(|guard| guard.tool.clone()).collect()),
            "source" => circuit.source.as_ref().map_or("none", |source| source.path.as_str()).to_owned(),
            "waiting" => show_waiting(circuit),
            "override" => match circuit.ready_override(world.clock.now()) {
                Some(ready) => format!("until {} by {}", show(ready.until()), ready.who),
                None => "none".to_owned(),
            },
            _unknown => return None,
        };
        Some(format!("{key} {answer}"))
    }

    fn reason(&self) -> Option<&haltline_core::Reason> {
        self.verdict.as_ref().and_then(|verdict| verdict.as_ref().ok()).and_then(Verdict::reason)
    }

    fn retry(&self) -> String {
        match self.reason().map(|reason| reason.retry) {
            Some(Retry::At(instant)) => show(instant),
            Some(Retry::Person) => "by a person".to_owned(),
            Some(Retry::Now) => "now".to_owned(),
            None => "without reason".to_owned(),
        }
    }

    fn says(&self, expected: &str) -> String {
        let text = self.reason().map_or("", |reason| reason.text.as_str());
        if text.contains(expected.trim_matches('"')) { expected.to_owned() } else { format!("{text:?}") }
    }

    fn dated(&self, expected: &str) -> String {
        let word = expected.split_whitespace().next().unwrap_or_default();
        match self.facts.iter().find(|recorded| recorded.fact.word() == word) {
            Some(recorded) => format!("{word} {}", show(recorded.at.at)),
            None => format!("no {word}"),
        }
    }

    /// The newest fact with a text: its session and the text.
    fn filed(&self) -> String {
        let texts = self.facts.iter().rev().map(|recorded| &recorded.texts).find(|texts| texts.text.is_some());
        let session = texts.and_then(|texts| texts.session.as_deref()).unwrap_or("none");
        format!("{session} {:?}", texts.and_then(|texts| texts.text.as_deref()).unwrap_or_default())
    }

    /// Whether the newest violation would be recognised in a state file by this instant, session and text.
    fn known_as(&self, expected: &str) -> Option<String> {
        let (at, rest) = expected.split_once(' ')?;
        let (session, action) = rest.split_once(' ')?;
        let (at, action, session) = (Instant::parse(at).ok()?, action.trim_matches('"').to_owned(), session.to_owned());
        let known = ForeignViolation { at, action, session }.fingerprint();
        let newest = self.facts.iter().rev().find_map(|recorded| match &recorded.fact {
            Fact::Constraint(ConstraintFact::Violated { fingerprint, .. }) => Some(fingerprint),
            Fact::Constraint(_)
            | Fact::Lane(_)
            | Fact::Tree(_)
            | Fact::Exempt(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_) => None,
        });
        Some(if newest == Some(&known) { expected.to_owned() } else { format!("{newest:?}, not {known:?}") })
    }

    /// What a person did, who it was and why.
    fn audit(&self) -> String {
        let by_person = self.facts.iter().find_map(|recorded| match &recorded.fact {
            Fact::Constraint(fact) => person(fact).map(|who| (recorded, who)),
            Fact::Lane(_)
            | Fact::Tree(_)
            | Fact::Exempt(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_) => None,
        });
        match by_person {
            Some((recorded, who)) => {
                format!("{} by {who} {:?}", recorded.fact.word(), recorded.texts.text.as_deref().unwrap_or_default())
            }
            None => "none".to_owned(),
        }
    }
}

fn person(fact: &ConstraintFact) -> Option<&str> {
    match fact {
        ConstraintFact::Reset { who }
        | ConstraintFact::OverrideRevoked { who }
        | ConstraintFact::Retired { who, .. }
        | ConstraintFact::OverrideGranted { granted: haltline_core::constraint::Override { who, .. } }
        | ConstraintFact::RuleSet { trusted_by: Some(who), .. } => Some(who),
        ConstraintFact::RuleSet { trusted_by: None, .. }
        | ConstraintFact::RuleAsked { .. }
        | ConstraintFact::Adopted { .. }
        | ConstraintFact::Violated { .. }
        | ConstraintFact::Tripped { .. }
        | ConstraintFact::HalfOpened
        | ConstraintFact::Passed
        | ConstraintFact::Recovered
        | ConstraintFact::Refused
        | ConstraintFact::OverrideSpent => None,
    }
}

fn show(instant: Instant) -> String {
    if instant == instant.whole_second() { instant.to_seconds_text() } else { instant.to_string() }
}

fn show_if_any(instant: Option<Instant>) -> String {
    instant.map_or("none".to_owned(), show)
}

fn or_none(words: Vec<String>) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn show_condition(condition: Condition) -> &'static str {
    match condition {
        Condition::HalfOpen => "HALF_OPEN",
        Condition::Closed | Condition::Open | Condition::Retired => condition.dashed(),
    }
}

fn show_rejection(rejection: &Rejection) -> String {
    match rejection {
        Rejection::NotFound { retired: None } => "not found".to_owned(),
        Rejection::NotFound { retired: Some(at) } => format!("not found, retired {}", show(*at)),
        Rejection::InvalidTransition { from } => format!("Invalid transition from {}", show_condition(*from)),
        Rejection::NoIncident => "no incident".to_owned(),
        Rejection::NoOverride => "no override".to_owned(),
        Rejection::NoSlice => "no slice".to_owned(),
        Rejection::ScopeFrozen => "scope frozen".to_owned(),
        Rejection::SliceFailing => "slice failing".to_owned(),
        Rejection::NoTest => "no test".to_owned(),
        Rejection::NoCourse => "no course".to_owned(),
        Rejection::RunOver => "run over".to_owned(),
        Rejection::Claim(problem) => problem.to_string(),
        Rejection::NothingToTrust => "nothing to trust".to_owned(),
    }
}

fn show_effect(effect: &Effect) -> String {
    match effect {
        Effect::Mirror => "mirror".to_owned(),
        Effect::Archive(circuit) => format!("archive {circuit}"),
        Effect::Notify { circuit, .. } => format!("notify {circuit}"),
    }
}

fn show_limits(limits: &Limits) -> String {
    let Limits { violation_threshold, window_days, cooldown_hours, dedup_seconds } = limits;
    format!("threshold {violation_threshold} window {window_days}d cooldown {cooldown_hours}h dedup {dedup_seconds}s")
}

fn show_waiting(circuit: &Circuit) -> String {
    let Some(asked) = &circuit.asked else { return "nothing".to_owned() };
    let loosened = circuit.rule.loosened_by(&asked.rule);
    or_none(loosened.iter().map(|key| format!("{} {} to {}", key.field, key.from, key.to)).collect())
}

fn show_trip(circuit: &Circuit) -> String {
    match &circuit.standing {
        Standing::Open(trip) | Standing::HalfOpen(trip) => {
            format!("since {} until {} after {}", show(trip.since.at), show(trip.until()), trip.count)
        }
        Standing::Closed | Standing::Retired { .. } => "none".to_owned(),
    }
}

fn show_history(circuit: &Circuit) -> String {
    let show_record = |record: &haltline_core::constraint::TripRecord| match record.closed {
        Some(closed) => {
            let method = if record.by_person { "manual" } else { "cooldown" };
            format!("{} to {} {method}", show(record.tripped), show(closed))
        }
        None => format!("{} to now", show(record.tripped)),
    };
    or_none(circuit.trips.iter().map(show_record).collect())
}

/// Only the totals that `expected` names, in its order.
fn show_totals(totals: &Totals, expected: &str) -> Option<String> {
    let shown = expected.split(", ").map(|part| {
        let (key, _number) = part.rsplit_once(' ')?;
        let number = match key {
            "violations" => totals.violations,
            "counted" => totals.counted,
            "deduplicated" => totals.deduplicated,
            "while-open" => totals.while_open,
            "passes" => totals.passes,
            "refused" => totals.refused,
            "trips" => totals.trips,
            "overrides" => totals.overrides,
            _unknown => return None,
        };
        Some(format!("{key} {number}"))
    });
    shown.collect::<Option<Vec<_>>>().map(|shown| shown.join(", "))
}
