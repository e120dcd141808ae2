//! Renders the actual results in the language of `testdata/constraint/*.txt`, so that they can be compared as text.
//!
//! Each expected part of a line is rendered in the same form; the runner compares the two.

use haltline_core::constraint::{
    Circuit, CircuitState, Fact as ConstraintFact, ForeignViolation, Limits, StateName, Totals,
};
use haltline_core::{Fact, Instant, Recorded};

use crate::constraint::script::ConstraintRules;
use crate::language::interpreter::Screen;
use crate::language::outcome::{Outcome, or_none, show, show_totals};

impl Screen for ConstraintRules {
    fn last(&self) -> &Outcome {
        &self.last
    }

    /// `warn CLOSED 4/5` or `rejected Invalid transition from OPEN`, as short as `expected` is.
    fn headline(&self, expected: &str) -> String {
        let now = self.world.clock.now();
        let state = self.world.circuit().map(|circuit| {
            let count = format!("{}/{}", circuit.in_window(now), circuit.limits().violation_threshold);
            (show_state(circuit.state_at(now).name()), count)
        });
        self.last.headline(expected, state.ok_or("no circuit"))
    }

    fn part(&self, key: &str, expected: &str) -> Option<String> {
        let empty = Circuit::default();
        let circuit = self.world.circuit().unwrap_or(&empty);
        Some(match key {
            "filed" => self.filed(),
            "known-as" => self.known_as(expected)?,
            "audit" => self.audit(),
            "totals" => show_totals(expected, |key| total(&circuit.totals, key))?,
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
            "override" => match circuit.ready_override(self.world.clock.now()) {
                Some(ready) => format!("until {} by {}", show(ready.until()), ready.who),
                None => "none".to_owned(),
            },
            _unknown => return None,
        })
    }
}

impl ConstraintRules {
    /// The constraint's facts of the last event, newest last.
    fn facts(&self) -> impl DoubleEndedIterator<Item = (&ConstraintFact, &Recorded)> {
        self.last.facts().iter().filter_map(|recorded| match &recorded.fact {
            Fact::Constraint(fact) => Some((fact, recorded)),
            Fact::Agent(_)
            | Fact::Tree(_)
            | Fact::Exemption(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_)
            | Fact::Control(_)
            | Fact::Ledger(_)
            | Fact::Provider(_) => None,
        })
    }

    /// The newest fact with a text: its session and the text.
    fn filed(&self) -> String {
        let texts = self.facts().rev().map(|(_, recorded)| &recorded.texts).find(|texts| texts.text.is_some());
        let session = texts.and_then(|texts| texts.session.as_deref()).unwrap_or("none");
        format!("{session} {:?}", texts.and_then(|texts| texts.text.as_deref()).unwrap_or_default())
    }

    /// Returns `expected` if a state file would identify the newest violation by this instant, session and text.
    fn known_as(&self, expected: &str) -> Option<String> {
        let (at, rest) = expected.split_once(' ')?;
        let (session, action) = rest.split_once(' ')?;
        let (at, action, session) = (Instant::parse(at).ok()?, action.trim_matches('"').to_owned(), session.to_owned());
        let known = ForeignViolation { at, action, session }.fingerprint();
        let newest = self.facts().rev().find_map(|(fact, _)| match fact {
            ConstraintFact::Violated { fingerprint, .. } => Some(fingerprint),
            _other => None,
        });
        Some(if newest == Some(&known) { expected.to_owned() } else { format!("{newest:?}, not {known:?}") })
    }

    /// The operator action, who did it and why.
    fn audit(&self) -> String {
        let by_person = self.facts().find_map(|(fact, recorded)| person(fact).map(|who| (recorded, who)));
        match by_person {
            Some((recorded, who)) => {
                format!("{} by {who} {:?}", recorded.fact.as_str(), recorded.texts.text.as_deref().unwrap_or_default())
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
        | ConstraintFact::RuleRequested { .. }
        | ConstraintFact::Adopted { .. }
        | ConstraintFact::Violated { .. }
        | ConstraintFact::Tripped { .. }
        | ConstraintFact::HalfOpened
        | ConstraintFact::Passed
        | ConstraintFact::Recovered
        | ConstraintFact::Denied
        | ConstraintFact::OverrideSpent => None,
    }
}

fn show_if_any(instant: Option<Instant>) -> String {
    instant.map_or("none".to_owned(), show)
}

fn show_state(state: StateName) -> &'static str {
    match state {
        StateName::HalfOpen => "HALF_OPEN",
        StateName::Closed | StateName::Open | StateName::Retired => state.dashed(),
    }
}

fn show_limits(limits: &Limits) -> String {
    let Limits { violation_threshold, window_days, cooldown_hours, dedup_seconds } = limits;
    format!("threshold {violation_threshold} window {window_days}d cooldown {cooldown_hours}h dedup {dedup_seconds}s")
}

fn show_waiting(circuit: &Circuit) -> String {
    let Some(requested) = &circuit.requested else { return "nothing".to_owned() };
    let loosened = circuit.rule.loosened_by(&requested.rule);
    or_none(loosened.iter().map(|key| format!("{} {} to {}", key.field, key.from, key.to)).collect())
}

fn show_trip(circuit: &Circuit) -> String {
    match &circuit.state {
        CircuitState::Open(trip) | CircuitState::HalfOpen(trip) => {
            format!("since {} until {} after {}", show(trip.since.at), show(trip.until()), trip.count)
        }
        CircuitState::Closed | CircuitState::Retired { .. } => "none".to_owned(),
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

fn total(totals: &Totals, key: &str) -> Option<u64> {
    Some(match key {
        "violations" => totals.violations,
        "counted" => totals.counted,
        "deduplicated" => totals.deduplicated,
        "while-open" => totals.while_open,
        "passes" => totals.passes,
        "denied" => totals.denied,
        "trips" => totals.trips,
        "overrides" => totals.overrides,
        _unknown => return None,
    })
}
