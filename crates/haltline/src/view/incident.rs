//! Views of incidents, and of operator actions on them.

use haltline_core::attempt::Slice;
use haltline_core::loop_::{AgentTree, Exemption, Nature, Pattern, dollars};
use haltline_core::{Instant, Mode, Moment, code_page};
use haltline_engine::config::Config;
use haltline_engine::replay::KeptTrip;
use haltline_engine::{Incident, IncidentBreaker, IncidentEvent, IncidentRecord, IncidentState};
use serde::Serialize;
use serde_json::Value as Json;

use super::config::ValueView;
use super::constraint::LimitView;
use super::explain::{limits, limits_below};
use super::{AuditView, SCHEMA};

/// The result of `haltline why`.
#[derive(Debug, Serialize)]
pub struct WhyView {
    pub schema: u32,
    pub incident: String,
    pub breaker: &'static str,
    pub circuit: String,
    pub pattern: String,
    pub code: String,
    /// `OPEN`, `HALF_OPEN` or `CLOSED`; `DISPUTED` for a claim.
    pub state: IncidentState,
    pub tripped: String,
    pub turn: Option<u64>,
    pub count: u32,
    /// Length of the streak of trips, starting at 1; 0 for a limit.
    #[serde(rename = "level")]
    pub streak: u32,
    /// What it is about, such as a command.
    pub about: Option<String>,
    pub why: String,
    /// When the cooldown ends, while it runs.
    pub until: Option<String>,
    pub remaining_s: Option<u64>,
    /// Since when the circuit is HALF_OPEN.
    pub half_open_since: Option<String>,
    /// What lets a HALF_OPEN circuit close.
    pub closes: Option<&'static str>,
    /// The limits in force.
    pub limits: Vec<LimitLineView>,
    /// What led to the trip, newest first where it has an order.
    pub evidence: Vec<IncidentEventView>,
    /// Number of calls denied because of it; in observe mode, that would have been denied.
    #[serde(rename = "refused")]
    pub denied: u32,
    pub mode: Mode,
    /// What happened afterwards, oldest first.
    pub after: Vec<IncidentEventView>,
    pub followed_by: Option<String>,
    /// The earlier trips of the same cause, newest first.
    pub earlier: Vec<String>,
    pub ended: Option<IncidentEventView>,
    /// What the session has cost so far: `unknown`, `$1.23` or `at least $1.23`.
    pub session_cost: String,
    /// What a person can do, as commands.
    pub next: Vec<String>,
}

/// A limit and where its value comes from.
#[derive(Debug, Serialize)]
pub struct LimitLineView {
    pub key: String,
    pub value: Json,
    pub origin: String,
    pub file: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct IncidentEventView {
    pub at: String,
    pub kind: &'static str,
    /// The kind again, under the key of the first version.
    #[serde(rename = "what")]
    pub kind_before: &'static str,
    pub text: Option<String>,
    /// The person who did it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

impl IncidentEventView {
    fn new(event: &IncidentEvent) -> Self {
        let IncidentEvent { at, kind, text, who } = event;
        Self { at: at.to_string(), kind, kind_before: kind, text: text.clone(), who: who.clone() }
    }
}

impl WhyView {
    pub fn new(incident: &Incident, record: &IncidentRecord, config: &Config, now: Moment) -> Self {
        let remaining_ms = |until: Instant| u64::try_from(until.as_millis() - now.at.as_millis()).ok();
        let remaining = record.until.filter(|_| record.state == IncidentState::Open).and_then(remaining_ms);
        let limits = limits_of(incident, record, config);
        Self {
            schema: SCHEMA,
            incident: record.id.clone(),
            breaker: record.breaker(),
            circuit: record.circuit().to_string(),
            pattern: record.pattern.clone(),
            code: record.code.clone(),
            state: record.state,
            tripped: record.tripped.to_string(),
            turn: incident.turn,
            count: record.count,
            streak: incident.streak,
            about: incident.about.clone(),
            why: incident.reason.clone().unwrap_or_else(|| "a person purged its texts".to_owned()),
            until: remaining.and(record.until).map(|at| at.to_string()),
            remaining_s: remaining.map(|left| left.div_ceil(1000)),
            half_open_since: incident.half_open_since().map(|at| at.to_string()),
            closes: (record.state == IncidentState::HalfOpen).then(|| incident.closing_text()),
            limits,
            evidence: incident
                .evidence
                .iter()
                .take(evidence_max(incident))
                .map(|entry| IncidentEventView::new(&entry.event))
                .collect(),
            denied: incident.denied,
            mode: config.policy().mode,
            after: incident.after.iter().map(IncidentEventView::new).collect(),
            followed_by: incident.followed_by.clone(),
            earlier: record.earlier.clone(),
            ended: incident.closed.as_ref().map(IncidentEventView::new),
            session_cost: incident.cost_micros.map_or("unknown".to_owned(), dollars),
            next: next(incident, record),
        }
    }

    /// Adds what the session has cost.
    pub fn set_cost(&mut self, tree: Option<&AgentTree>) {
        self.session_cost = cost(tree);
    }

    /// Shows the limits of one constraint.
    pub fn set_limits(&mut self, limits: Vec<LimitView>) {
        self.limits = limits
            .into_iter()
            .map(|LimitView { key, value, origin }| LimitLineView {
                key: key.to_owned(),
                value: value.into(),
                origin,
                file: None,
            })
            .collect();
    }
}

impl From<ValueView> for LimitLineView {
    fn from(value: ValueView) -> Self {
        let ValueView { key, value, origin, file, .. } = value;
        Self { key: key.to_owned(), value, origin: origin.to_owned(), file }
    }
}

/// The limits that decided, with where each value comes from.
fn limits_of(incident: &Incident, record: &IncidentRecord, config: &Config) -> Vec<LimitLineView> {
    let fixed = |key: &str, value: u32| LimitLineView {
        key: key.to_owned(),
        value: value.into(),
        origin: "fixed".to_owned(),
        file: None,
    };
    let found = match &incident.breaker {
        IncidentBreaker::Attempt => {
            return vec![
                fixed("failures of one test", Slice::TEST_FAILURES_MAX),
                fixed("failures of a slice", Slice::SLICE_FAILURES_MAX),
            ];
        }
        // Ralph's own settings are its limits.
        IncidentBreaker::Phase { .. } if record.row.scope().starts_with("ralph") => Vec::new(),
        IncidentBreaker::Phase { phase } => {
            let table = match (record.row.scope().starts_with("run/"), phase.as_deref()) {
                (true, _) => "run.".to_owned(),
                (false, Some(phase)) => format!("phase.{}.", phase.to_ascii_lowercase()),
                (false, None) => "phase.".to_owned(),
            };
            let mut found = limits_below(config, &table);
            if found.is_empty() {
                found = limits_below(config, "phase.other.");
            }
            let own: Vec<ValueView> = limits_below(config, &table)
                .into_iter()
                .filter(|value| value.key.rsplit('.').next().is_some_and(|key| key.starts_with(&record.pattern)))
                .collect();
            if own.is_empty() { found } else { own }
        }
        IncidentBreaker::Claim { .. } => {
            let found = code_page(&record.code).map(|page| limits(config, page)).unwrap_or_default();
            found.into_iter().filter(|value| value.key.ends_with("_rounds")).collect()
        }
        IncidentBreaker::Loop { .. } | IncidentBreaker::Constraint => {
            code_page(&record.code).map(|page| limits(config, page)).unwrap_or_default()
        }
    };
    found.into_iter().map(LimitLineView::from).collect()
}

/// How many entries of evidence are shown; notifications carry more.
fn evidence_max(incident: &Incident) -> usize {
    match incident.breaker {
        IncidentBreaker::Loop { .. } | IncidentBreaker::Constraint | IncidentBreaker::Phase { .. } => 5,
        IncidentBreaker::Attempt | IncidentBreaker::Claim { .. } => 7,
    }
}

/// The result of `haltline why` for a trip of the last backtest.
#[derive(Debug, Serialize)]
pub struct ReplayWhyView {
    pub schema: u32,
    pub incident: String,
    /// Always true: no live session was affected.
    pub is_replay: bool,
    pub source: String,
    pub format: String,
    pub session: String,
    pub circuit: String,
    pub pattern: String,
    pub code: String,
    pub verdict: String,
    /// Number of the call, starting at 1.
    pub call: u64,
    pub calls: u64,
    pub at: Option<String>,
    /// What the agent would have read.
    pub reason: String,
    /// The last results before it, newest first.
    pub evidence: Vec<ResultView>,
    pub calls_after: u64,
    pub cost_after_usd: Option<f64>,
    /// The session went on and committed work.
    pub is_committed_after: bool,
}

/// The result of a call.
#[derive(Debug, Serialize)]
pub struct ResultView {
    pub at: Option<String>,
    #[serde(rename = "answer")]
    pub result: String,
    pub kind: &'static str,
    /// The result again, under the key that every kind of evidence has.
    pub text: String,
}

impl ReplayWhyView {
    pub fn new(trip: KeptTrip) -> Self {
        let result_view = |(at, result): (Option<Instant>, String)| ResultView {
            at: at.map(|at| at.to_string()),
            kind: "ended",
            text: result.clone(),
            result,
        };
        Self {
            schema: SCHEMA,
            pattern: trip.circuit.rsplit('/').next().unwrap_or_default().to_owned(),
            incident: trip.incident,
            is_replay: true,
            source: trip.source,
            format: trip.format,
            session: trip.session,
            circuit: trip.circuit,
            code: trip.code,
            verdict: trip.verdict,
            call: trip.call,
            calls: trip.calls,
            at: trip.at.map(|at| at.to_string()),
            reason: trip.reason,
            evidence: trip.evidence.into_iter().map(result_view).collect(),
            calls_after: trip.calls_after,
            cost_after_usd: trip.micros_after.map(super::backtest::usd),
            is_committed_after: trip.is_committed_after,
        }
    }
}

/// Cost of a session with its sub-agents. An unknown cost is never shown as zero.
pub fn cost(tree: Option<&AgentTree>) -> String {
    match tree.map(|tree| tree.spent) {
        Some(spent) if spent.is_priced && spent.is_partial => format!("at least {}", dollars(spent.micros)),
        Some(spent) if spent.is_priced => dollars(spent.micros),
        Some(_) | None => "unknown".to_owned(),
    }
}

/// What a person can do now, as commands that work in this state.
fn next(incident: &Incident, record: &IncidentRecord) -> Vec<String> {
    let id = &record.id;
    if let Some(later) = &incident.followed_by {
        return vec![format!("haltline why {later}")];
    }
    let is_trip = record.until.is_some();
    let exempt = format!("haltline false-positive {id}");
    if !record.is_open() {
        let is_exempt = record.end.as_ref().is_some_and(|end| end.how == "false_alarm");
        return match (record.loop_pattern().map(Pattern::nature), is_exempt) {
            (Some(_), true) => vec![format!("haltline false-positive --revoke {id}")],
            (Some(Nature::Loop), false) if is_trip => vec![exempt],
            (Some(_) | None, _) => Vec::new(),
        };
    }
    let scope = record.row.scope();
    match record.breaker() {
        "constraint" => vec![
            format!("haltline resume {id} --reason TEXT"),
            format!("haltline constraint override {scope} --reason TEXT"),
            format!("haltline constraint status {scope}"),
        ],
        "phase" => {
            let mut next = vec![format!("haltline resume {id}"), format!("haltline resume {id} --hint TEXT")];
            let others = incident.options.iter().filter(|option| option.contains("skip") || option.contains("abort"));
            next.extend(others.cloned());
            next
        }
        "attempt" => {
            let mut next = vec![format!("haltline resume {id} --hint TEXT")];
            next.extend(incident.options.iter().filter(|option| !option.contains(" reset ")).cloned());
            next
        }
        "claim" => incident.options.clone(),
        _session => {
            let nature = record.loop_pattern().map(Pattern::nature);
            let mut next = Vec::new();
            if nature != Some(Nature::Rule) {
                next.push(format!("haltline resume {id} --hint TEXT"));
            }
            if is_trip && record.pattern != Pattern::AgentSpawn.as_str() {
                next.push(exempt);
            }
            if is_trip {
                next.push(format!("haltline reset {id}"));
            }
            next.push(format!("haltline explain {}", record.code));
            next
        }
    }
}

/// An operator action on the circuits of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentVerb {
    Reset,
    Resume,
    FalsePositive,
    /// Ends the exemption of a false positive.
    Revoke,
}

impl IncidentVerb {
    pub fn as_str(self) -> &'static str {
        match self {
            IncidentVerb::Reset => "reset",
            IncidentVerb::Resume => "resume",
            IncidentVerb::FalsePositive => "false-positive",
            IncidentVerb::Revoke => "revoke",
        }
    }
}

/// The result of `haltline reset`, `resume` and `false-positive`.
#[derive(Debug, Serialize)]
pub struct CircuitsView {
    pub schema: u32,
    pub verb: IncidentVerb,
    pub incident: Option<String>,
    /// What the incident is about, such as a command.
    pub about: Option<String>,
    pub pattern: Option<String>,
    /// A limit was reached; it has no circuit.
    pub is_limit: bool,
    /// The cooldown was over before the person acted.
    pub was_cooled_down: bool,
    pub circuits: Vec<String>,
    pub audit: AuditView,
}

/// The result of `haltline false-positive --list`.
#[derive(Debug, Serialize)]
pub struct FalsePositivesView {
    pub schema: u32,
    pub false_positives: Vec<ExemptionView>,
}

#[derive(Debug, Serialize)]
pub struct ExemptionView {
    pub incident: String,
    /// The exempt call, unless it was purged.
    pub about: Option<String>,
    pub pattern: &'static str,
    pub who: String,
    pub at: String,
}

impl ExemptionView {
    pub fn new(exemption: &Exemption, about: Option<String>) -> Self {
        let Exemption { pattern, incident, who, at, .. } = exemption;
        let (incident, who) = (incident.clone(), who.clone());
        Self { incident, about, pattern: pattern.as_str(), who, at: at.to_string() }
    }
}
