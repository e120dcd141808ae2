//! Views of constraint circuits.

use haltline_core::constraint::{
    Check, Circuit, CircuitStateAt, Cooldown, Fact as ConstraintFact, Limits, Loosened, StateName, Totals, Weight,
};
use haltline_core::{CircuitName, ClockDoubt, Fact, Instant, Moment, Reason, Retry};
use haltline_engine::constraint_file::ConstraintFile;
use haltline_engine::mirror::{Violation, violations};
use haltline_engine::store::{Committed, Entry};
use serde::Serialize;

use super::{AuditView, SCHEMA, VerdictName};

#[derive(Debug, Serialize)]
pub struct CircuitView {
    pub id: String,
    pub state: StateName,
    /// Counted violations within the window.
    pub violations: u32,
    pub limits: Limits,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trip: Option<TripView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_until: Option<String>,
    pub last_trip: Option<String>,
    pub last_reset: Option<String>,
    pub totals: Totals,
    /// True if the constraint guards an action: without a guard, haltline counts violations and denies no call.
    pub has_guard: bool,
    /// What the constraint's file would loosen, once trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Loosened>,
}

/// The trip that keeps a circuit open or half-open.
#[derive(Debug, Serialize)]
pub struct TripView {
    pub incident: String,
    pub since: String,
    pub until: String,
    /// The trip lies in the future of this clock; the circuit stays OPEN.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_clock_behind: bool,
    /// Why the end of the cooldown cannot be told; the circuit stays OPEN until a person decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_doubt: Option<&'static str>,
}

impl CircuitView {
    /// The view of a circuit or, without one, of a constraint that was never violated.
    pub fn new(
        id: &str,
        circuit: Option<&Circuit>,
        file: Option<&ConstraintFile>,
        defaults: &Limits,
        now: Moment,
    ) -> Self {
        let fresh = Circuit { rule: file.map(|file| file.seen.rule.clone()).unwrap_or_default(), ..Circuit::default() };
        let is_known = circuit.is_some();
        let circuit = circuit.unwrap_or(&fresh);
        let requested = file.filter(|_| is_known).map(|file| &file.seen.rule);
        let circuit_state = circuit.state_at(now);
        let trip = match circuit_state {
            CircuitStateAt::Open(trip, cooldown) => {
                let (until, is_clock_behind) = match cooldown {
                    Cooldown::Running { remaining_ms } => (now.plus_millis(remaining_ms).at, false),
                    Cooldown::Unreadable | Cooldown::Over => (trip.until(), true),
                };
                Some((trip, until, is_clock_behind))
            }
            CircuitStateAt::HalfOpen(trip) => Some((trip, trip.until(), false)),
            CircuitStateAt::Closed | CircuitStateAt::Retired(_) => None,
        };
        Self {
            id: id.to_owned(),
            state: circuit_state.name(),
            violations: circuit.in_window(now),
            limits: if is_known || file.is_some() { circuit.rule.limits } else { *defaults },
            severity: file.and_then(|file| file.severity.clone()),
            trip: trip.map(|(trip, until, is_clock_behind)| TripView {
                incident: trip.incident.clone(),
                since: trip.since.at.to_string(),
                until: until.to_string(),
                is_clock_behind,
                clock_doubt: now.doubt_since(trip.since).map(ClockDoubt::explain).filter(|_| is_clock_behind),
            }),
            override_until: circuit.ready_override(now).map(|granted| granted.until().to_string()),
            last_trip: circuit.last_trip.map(|at| at.to_string()),
            last_reset: circuit.last_reset.map(|at| at.to_string()),
            totals: circuit.totals,
            has_guard: !circuit.rule.guards.is_empty(),
            waiting: requested.map(|requested| circuit.rule.loosened_by(requested)).unwrap_or_default(),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct AllView {
    pub schema: u32,
    pub circuits: Vec<CircuitView>,
    pub summary: Summary,
    /// Files that are no constraints because of their names, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<String>,
}

/// Number of constraints in each state.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub closed: usize,
    pub open: usize,
    pub half_open: usize,
}

impl AllView {
    pub fn new(circuits: Vec<CircuitView>, unusable: Vec<String>) -> Self {
        let count = |state| circuits.iter().filter(|circuit| circuit.state == state).count();
        let summary = Summary {
            closed: count(StateName::Closed),
            open: count(StateName::Open),
            half_open: count(StateName::HalfOpen),
        };
        Self { schema: SCHEMA, circuits, summary, unusable }
    }
}

/// One circuit with its configuration and newest violations.
#[derive(Debug, Serialize)]
pub struct OneView {
    pub schema: u32,
    #[serde(flatten)]
    pub circuit: CircuitView,
    pub configuration: Vec<LimitView>,
    pub guards: Vec<haltline_core::constraint::Guard>,
    pub recent: Vec<ViolationView>,
}

/// A limit and where it comes from.
#[derive(Debug, Serialize)]
pub struct LimitView {
    pub key: &'static str,
    pub value: u32,
    /// `default`, or the file that sets it.
    pub origin: String,
}

/// Returns where each limit comes from: the file if it sets the value, the default if it is that, and otherwise an earlier
/// file or default, which holds until a person trusts the change.
pub fn configuration(limits: &Limits, defaults: &Limits, file: Option<&ConstraintFile>) -> Vec<LimitView> {
    let sets = |key: &str| file.is_some_and(|file| file.own_limits.iter().any(|own| own == key));
    let file_values = file.map(|file| file.seen.rule.limits.values());
    std::iter::zip(limits.values(), defaults.values())
        .enumerate()
        .map(|(index, ((key, value), (_, default)))| {
            let is_of_file = sets(key) && file_values.as_ref().is_some_and(|values| values[index].1 == value);
            let origin = match file {
                Some(file) if is_of_file => file.seen.source.path.as_str(),
                Some(_) | None if value == default => "default",
                Some(_) | None => "kept from before",
            };
            LimitView { key, value, origin: origin.to_owned() }
        })
        .collect()
}

#[derive(Debug, Serialize)]
pub struct ViolationView {
    pub timestamp: String,
    /// `None` once purged.
    pub action: Option<String>,
    pub session: Option<String>,
    pub weight: Weight,
    /// This violation tripped the circuit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_trip: bool,
    #[serde(serialize_with = "as_text")]
    pub at: Instant,
}

fn as_text<S: serde::Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

impl ViolationView {
    fn new(violation: Violation, is_trip: bool) -> Self {
        Self {
            timestamp: violation.at.to_string(),
            action: violation.action,
            session: violation.session,
            weight: violation.weight,
            is_trip,
            at: violation.at,
        }
    }
}

/// Returns the violations among a circuit's facts, newest first, without deduplicated ones.
pub fn listed(entries: &[Entry]) -> Vec<ViolationView> {
    let mut listed = Vec::new();
    let mut follows = None;
    for entry in entries {
        let Ok(read) = entry.read() else { continue };
        if let [violation] = violations(std::slice::from_ref(entry)).as_slice()
            && violation.weight != Weight::Deduplicated
        {
            let is_trip = matches!(follows, Some(Fact::Constraint(ConstraintFact::Tripped { .. })));
            listed.push(ViolationView::new(violation.clone(), is_trip));
        }
        follows = read.fact;
    }
    listed.sort_by_key(|violation| std::cmp::Reverse(violation.at));
    listed
}

/// The result of `constraint check`.
#[derive(Debug, Serialize)]
pub struct CheckView {
    pub schema: u32,
    pub id: String,
    pub state: StateName,
    /// `ALLOWED` or `BLOCKED`.
    pub result: &'static str,
    pub verdict: VerdictName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    pub violations: u32,
    pub threshold: u32,
    /// Increases with every change of state; `pass` takes it.
    pub generation: u64,
    /// The action would be denied, but the mode is observe.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_until: Option<String>,
}

impl CheckView {
    pub fn new(view: &CircuitView, check: &Check) -> Self {
        let verdict = &check.verdict;
        let reason = verdict.reason();
        Self {
            schema: SCHEMA,
            id: view.id.clone(),
            state: view.state,
            result: if verdict.denies() { "BLOCKED" } else { "ALLOWED" },
            verdict: VerdictName::from(verdict),
            code: reason.map(|reason| reason.code),
            reason: reason.map(|reason| reason.text.clone()),
            retry_at: reason.and_then(retry_at),
            violations: view.violations,
            threshold: view.limits.violation_threshold,
            generation: check.generation,
            is_observed: check.is_observed,
            override_until: view.override_until.clone(),
        }
    }
}

fn retry_at(reason: &Reason) -> Option<String> {
    match reason.retry {
        Retry::At(at) => Some(at.to_string()),
        Retry::Now | Retry::Person => None,
    }
}

/// A verb of `haltline constraint` that changes a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConstraintVerb {
    Record,
    Pass,
    Enforce,
    Reset,
    Retire,
    Override,
    Revoke,
}

impl ConstraintVerb {
    pub fn as_str(self) -> &'static str {
        match self {
            ConstraintVerb::Record => "record",
            ConstraintVerb::Pass => "pass",
            ConstraintVerb::Enforce => "enforce",
            ConstraintVerb::Reset => "reset",
            ConstraintVerb::Retire => "retire",
            ConstraintVerb::Override => "override",
            ConstraintVerb::Revoke => "revoke",
        }
    }
}

/// The effect of an event on a circuit.
#[derive(Debug, Serialize)]
pub struct ChangeView {
    pub schema: u32,
    pub id: String,
    pub verb: ConstraintVerb,
    pub state_before: StateName,
    pub state_after: StateName,
    pub violations_before: u32,
    pub violations_after: u32,
    pub threshold: u32,
    pub dedup_seconds: u32,
    pub cooldown_hours: u32,
    pub verdict: VerdictName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How the violation was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// The incident of the trip that this event caused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_until: Option<String>,
    /// This event used an override.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_override_spent: bool,
    pub totals: Totals,
    /// Who acted and why, for operator actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

impl ChangeView {
    pub fn new(id: &str, verb: ConstraintVerb, committed: &Committed, now: Moment) -> Self {
        let name = CircuitName::from_stored(format!("constraint/{id}"));
        let fresh = Circuit::default();
        let before = committed.before.state(&name).and_then(|state| state.as_constraint()).unwrap_or(&fresh);
        let after = committed.after.state(&name).and_then(|state| state.as_constraint()).unwrap_or(&fresh);
        let mut weight = None;
        let mut incident = None;
        let mut is_override_spent = false;
        for recorded in &committed.decision.facts {
            match &recorded.fact {
                Fact::Constraint(ConstraintFact::Violated { weight: found, .. }) => weight = Some(*found),
                Fact::Constraint(ConstraintFact::Tripped { trip }) => incident = Some(trip.incident.clone()),
                Fact::Constraint(ConstraintFact::OverrideSpent) => is_override_spent = true,
                _other => {}
            }
        }
        let view = CircuitView::new(id, Some(after), None, &after.rule.limits, now);
        let verdict = &committed.decision.verdict;
        Self {
            schema: SCHEMA,
            id: id.to_owned(),
            verb,
            state_before: before.state_at(now).name(),
            state_after: view.state,
            violations_before: before.in_window(now),
            violations_after: view.violations,
            threshold: view.limits.violation_threshold,
            dedup_seconds: view.limits.dedup_seconds,
            cooldown_hours: view.limits.cooldown_hours,
            verdict: verdict.into(),
            code: verdict.reason().map(|reason| reason.code),
            reason: verdict.reason().map(|reason| reason.text.clone()),
            weight,
            incident,
            until: view.trip.map(|trip| trip.until),
            override_until: view.override_until,
            is_override_spent,
            totals: view.totals,
            audit: None,
        }
    }
}

/// Violations over time.
#[derive(Debug, Serialize)]
pub struct HistoryView {
    pub schema: u32,
    pub id: String,
    pub days: u32,
    pub window_days: u32,
    pub window_start: String,
    pub violations: Vec<ViolationView>,
    pub in_window: usize,
    pub outside_window: usize,
    pub totals: Totals,
    pub resets: usize,
}

#[derive(Debug, Serialize)]
pub struct ConfigView {
    pub schema: u32,
    pub id: String,
    pub file: Option<String>,
    pub configuration: Vec<LimitView>,
    pub guards: Vec<haltline_core::constraint::Guard>,
    pub waiting: Vec<Loosened>,
}
