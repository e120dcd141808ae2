//! Constraint circuits, as seen.

use haltline_core::constraint::{
    Circuit, Condition, Cooldown, Fact as ConstraintFact, Limits, Loosened, StandingAt, Totals, Weight, check,
};
use haltline_core::{CircuitName, Fact, Instant, Mode, Moment, Reason, Retry, Verdict};
use haltline_engine::constraint_file::ConstraintFile;
use haltline_engine::mirror::{Violation, violations};
use haltline_engine::store::{Committed, Entry};
use serde::Serialize;

use super::SCHEMA;

/// One circuit.
#[derive(Debug, Serialize)]
pub struct CircuitView {
    pub id: String,
    pub state: Condition,
    /// Counted violations in the window.
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
    /// What the constraint's file would loosen, once trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Loosened>,
}

/// The trip a circuit is in.
#[derive(Debug, Serialize)]
pub struct TripView {
    pub incident: String,
    pub since: String,
    pub until: String,
    /// The trip lies in the future of this clock; the circuit stays OPEN.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_clock_behind: bool,
}

impl CircuitView {
    /// The view of a circuit; without one yet, of a constraint that nobody violated so far.
    pub fn new(
        id: &str,
        circuit: Option<&Circuit>,
        file: Option<&ConstraintFile>,
        defaults: &Limits,
        now: Moment,
    ) -> Self {
        let fresh = Circuit { rule: file.map(|file| file.seen.rule.clone()).unwrap_or_default(), ..Circuit::default() };
        let known = circuit.is_some();
        let circuit = circuit.unwrap_or(&fresh);
        let asked = file.filter(|_| known).map(|file| &file.seen.rule);
        let standing = circuit.standing_at(now);
        let trip = match standing {
            StandingAt::Open(trip, cooldown) => {
                let (until, is_clock_behind) = match cooldown {
                    Cooldown::Running { remaining_ms } => (now.plus_millis(remaining_ms).at, false),
                    Cooldown::Unreadable | Cooldown::Over => (trip.until(), true),
                };
                Some((trip, until, is_clock_behind))
            }
            StandingAt::HalfOpen(trip) => Some((trip, trip.until(), false)),
            StandingAt::Closed | StandingAt::Retired(_) => None,
        };
        Self {
            id: id.to_owned(),
            state: standing.condition(),
            violations: circuit.in_window(now),
            limits: if known || file.is_some() { circuit.rule.limits } else { *defaults },
            severity: file.and_then(|file| file.severity.clone()),
            trip: trip.map(|(trip, until, is_clock_behind)| TripView {
                incident: trip.incident.clone(),
                since: trip.since.at.to_seconds_text(),
                until: until.to_seconds_text(),
                is_clock_behind,
            }),
            override_until: circuit.ready_override(now).map(|granted| granted.until().to_seconds_text()),
            last_trip: circuit.last_trip.map(Instant::to_seconds_text),
            last_reset: circuit.last_reset.map(Instant::to_seconds_text),
            totals: circuit.totals,
            waiting: asked.map(|asked| circuit.rule.loosened_by(asked)).unwrap_or_default(),
        }
    }
}

/// All circuits of a project.
#[derive(Debug, Serialize)]
pub struct AllView {
    pub schema: u32,
    pub circuits: Vec<CircuitView>,
    pub summary: Summary,
}

/// How many are in which state.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub closed: usize,
    pub open: usize,
    pub half_open: usize,
}

impl AllView {
    pub fn new(circuits: Vec<CircuitView>) -> Self {
        let count = |state| circuits.iter().filter(|circuit| circuit.state == state).count();
        let summary = Summary {
            closed: count(Condition::Closed),
            open: count(Condition::Open),
            half_open: count(Condition::HalfOpen),
        };
        Self { schema: SCHEMA, circuits, summary }
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

/// Where each limit comes from: a value that differs from the defaults was set by the file.
pub fn configuration(limits: &Limits, defaults: &Limits, source: Option<&str>) -> Vec<LimitView> {
    std::iter::zip(limits.values(), defaults.values())
        .map(|((key, value), (_, default))| LimitView {
            key,
            value,
            origin: if value == default { "default" } else { source.unwrap_or("kept from before") }.to_owned(),
        })
        .collect()
}

/// One violation.
#[derive(Debug, Serialize)]
pub struct ViolationView {
    pub timestamp: String,
    /// `None` once purged.
    pub action: Option<String>,
    pub session: Option<String>,
    pub weight: Weight,
    /// This one tripped the circuit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_trip: bool,
    #[serde(skip)]
    pub at: Instant,
}

impl ViolationView {
    fn new(violation: Violation, is_trip: bool) -> Self {
        Self {
            timestamp: violation.at.to_seconds_text(),
            action: violation.action,
            session: violation.session,
            weight: violation.weight,
            is_trip,
            at: violation.at,
        }
    }
}

/// The violations among a circuit's facts that are listed: newest first, without repeats.
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

/// May I?
#[derive(Debug, Serialize)]
pub struct CheckView {
    pub schema: u32,
    pub id: String,
    pub state: Condition,
    /// `ALLOWED` or `BLOCKED`.
    pub result: &'static str,
    pub verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    pub violations: u32,
    pub threshold: u32,
    /// To be handed to `pass`: rises with every change of state.
    pub generation: u64,
    /// It would be refused, but the mode is observe.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_until: Option<String>,
}

impl CheckView {
    pub fn new(view: &CircuitView, circuit: Option<&Circuit>, name: &CircuitName, mode: Mode, now: Moment) -> Self {
        let verdict = circuit.map_or(Verdict::Pass, |circuit| check(name, circuit, now));
        let is_refused = verdict.refuses();
        let verdict = mode.temper(verdict);
        let reason = verdict.reason();
        Self {
            schema: SCHEMA,
            id: view.id.clone(),
            state: view.state,
            result: if verdict.refuses() { "BLOCKED" } else { "ALLOWED" },
            verdict: verdict.word(),
            code: reason.map(|reason| reason.code),
            reason: reason.map(|reason| reason.text.clone()),
            retry_at: reason.and_then(retry_at),
            violations: view.violations,
            threshold: view.limits.violation_threshold,
            generation: circuit.map_or(0, |circuit| circuit.generation_at(now)),
            is_observed: is_refused && !verdict.refuses(),
            override_until: view.override_until.clone(),
        }
    }
}

fn retry_at(reason: &Reason) -> Option<String> {
    match reason.retry {
        Retry::At(at) => Some(at.to_seconds_text()),
        Retry::Now | Retry::Person => None,
    }
}

/// What an event did.
#[derive(Debug, Serialize)]
pub struct ChangeView {
    pub schema: u32,
    pub id: String,
    /// `record`, `pass`, `enforce`, `reset`, `retire`, `override`, `revoke`.
    pub verb: &'static str,
    pub state_before: Condition,
    pub state_after: Condition,
    pub violations_before: u32,
    pub violations_after: u32,
    pub threshold: u32,
    pub dedup_seconds: u32,
    pub cooldown_hours: u32,
    pub verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How much the violation weighed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// The trip this event caused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_until: Option<String>,
    /// An override was used up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_override_spent: bool,
    pub totals: Totals,
    /// Who acted and why, for what people do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditView>,
}

/// A person's act, as the journal has it.
#[derive(Debug, Serialize)]
pub struct AuditView {
    pub who: String,
    pub when: String,
    pub reason: Option<String>,
    /// The journal's end after it: written down elsewhere, it shows later edits.
    pub journal_seq: u64,
    pub journal_head: String,
}

impl ChangeView {
    pub fn new(id: &str, verb: &'static str, committed: &Committed, now: Moment) -> Self {
        let name = CircuitName::stored(format!("constraint/{id}"));
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
            state_before: before.standing_at(now).condition(),
            state_after: view.state,
            violations_before: before.in_window(now),
            violations_after: view.violations,
            threshold: view.limits.violation_threshold,
            dedup_seconds: view.limits.dedup_seconds,
            cooldown_hours: view.limits.cooldown_hours,
            verdict: verdict.word(),
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
    #[serde(skip)]
    pub window_began: Instant,
}

/// A circuit's configuration.
#[derive(Debug, Serialize)]
pub struct ConfigView {
    pub schema: u32,
    pub id: String,
    pub file: Option<String>,
    pub configuration: Vec<LimitView>,
    pub guards: Vec<haltline_core::constraint::Guard>,
    pub waiting: Vec<Loosened>,
}
