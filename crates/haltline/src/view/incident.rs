//! Incidents, and what people do about them, as seen.

use haltline_core::attempt::{self, Slice};
use haltline_core::claim::{self, Claim, Dispute};
use haltline_core::constraint::{self, Circuit};
use haltline_core::loop_::{self, Board, Exemption, Pattern, Standing, Tree, dollars};
use haltline_core::phase::{self, Course};
use haltline_core::{CircuitName, Instant, Moment};
use haltline_engine::claims::claim_options;
use haltline_engine::config::Config;
use haltline_engine::redact::mask;
use haltline_engine::replay::KeptTrip;
use haltline_engine::{Incident, IncidentEvent, course_options, slice_options};
use serde::Serialize;

use super::SCHEMA;
use super::config::ValueView;
use super::constraint::AuditView;

/// `haltline why`.
#[derive(Debug, Serialize)]
pub struct WhyView {
    pub schema: u32,
    pub incident: String,
    pub circuit: String,
    pub pattern: &'static str,
    pub code: &'static str,
    /// `OPEN`, `HALF_OPEN` or `CLOSED`; `DISPUTED` for a claim.
    pub state: &'static str,
    pub tripped: String,
    pub turn: Option<u64>,
    pub count: u32,
    /// The how manieth in a row; 0 for a limit.
    pub level: u32,
    pub why: String,
    pub until: Option<String>,
    pub remaining_s: Option<u64>,
    /// The limits of the pattern as they are now.
    pub limits: Vec<ValueView>,
    /// The last answers before it, newest first.
    pub evidence: Vec<HappenedView>,
    /// How often somebody was refused because of it.
    pub refused: u32,
    /// What came after, oldest first.
    pub after: Vec<HappenedView>,
    pub followed_by: Option<String>,
    pub ended: Option<HappenedView>,
    /// What the session cost so far: `unknown`, `$1.23` or `at least $1.23`.
    pub session_cost: String,
    /// What can be done.
    pub next: Vec<String>,
}

/// Something that happened.
#[derive(Debug, Serialize)]
pub struct HappenedView {
    pub at: String,
    pub what: &'static str,
    pub text: Option<String>,
}

impl HappenedView {
    fn new(event: &IncidentEvent) -> Self {
        Self { at: event.at.to_seconds_text(), what: event.what, text: event.text.clone() }
    }
}

impl WhyView {
    pub fn of_session(
        incident: &Incident,
        board: Option<&Board>,
        tree: Option<&Tree>,
        config: &Config,
        now: Moment,
    ) -> Self {
        let standing = board.filter(|board| board.held(&incident.id).is_some());
        let standing = standing.map_or(Standing::Closed, |board| board.standing(incident.key, now));
        let is_limit_held = board.is_some_and(|board| board.knows(&incident.id));
        let (state, remaining) = match standing {
            Standing::Open(trip) => ("OPEN", trip.remaining_ms(now)),
            Standing::Trial(..) | Standing::Probing(_) => ("HALF_OPEN", None),
            Standing::Closed if is_limit_held => ("OPEN", None),
            Standing::Closed => ("CLOSED", None),
        };
        Self {
            schema: SCHEMA,
            incident: incident.id.clone(),
            circuit: incident.row.below(incident.pattern.word()).to_string(),
            pattern: incident.pattern.word(),
            code: loop_::code(incident.pattern, incident.key),
            state,
            tripped: incident.tripped.to_seconds_text(),
            turn: incident.turn,
            count: incident.count,
            level: incident.level,
            why: incident.why.clone().unwrap_or_else(|| "its texts were purged".to_owned()),
            until: incident.until.map(Instant::to_seconds_text),
            remaining_s: remaining.map(|left| left.div_ceil(1000)),
            limits: limits(config, incident.pattern),
            evidence: incident.evidence.iter().map(HappenedView::new).collect(),
            refused: incident.refused,
            after: incident.after.iter().map(HappenedView::new).collect(),
            followed_by: incident.followed_by.clone(),
            ended: incident.closed.as_ref().map(HappenedView::new),
            session_cost: cost(tree),
            next: next(incident, state),
        }
    }

    pub fn of_course(name: &CircuitName, trip: &phase::Trip, course: &Course, now: Moment) -> Self {
        let line = |line: &phase::HistoryLine| HappenedView {
            at: line.at.to_seconds_text(),
            what: match line.event {
                phase::HistoryEvent::StateChange => "state_change",
                phase::HistoryEvent::Progress => "progress",
                phase::HistoryEvent::Error => "error",
            },
            text: Some(line.reason.clone()),
        };
        let mut next = vec!["haltline phase status".to_owned()];
        if let Some(("run", run)) = name.scope().split_once('/') {
            next = vec![format!("haltline phase status --run={}", run.split('@').next().unwrap_or(run))];
        }
        next.extend(course_options(name));
        Self {
            schema: SCHEMA,
            incident: trip.incident.clone(),
            circuit: name.to_string(),
            pattern: trip.cause.word(),
            code: trip.cause.code(),
            state: course.word_at(now),
            tripped: trip.since.at.to_seconds_text(),
            turn: None,
            count: trip.count,
            level: 0,
            why: phase::trip_text(trip),
            until: trip.until().map(Instant::to_seconds_text),
            remaining_s: None,
            limits: Vec::new(),
            evidence: course.history.iter().rev().filter(|line| line.at <= trip.since.at).take(5).map(line).collect(),
            refused: u32::try_from(course.totals.refused).unwrap_or(u32::MAX),
            after: Vec::new(),
            followed_by: None,
            ended: None,
            session_cost: course.spent.micros.map_or("unknown".to_owned(), dollars),
            next,
        }
    }

    pub fn of_slice(name: &CircuitName, trip: &attempt::Trip, slice: &Slice) -> Self {
        let attempts =
            slice.failing().flat_map(|(test, state)| state.log().into_iter().map(move |tried| (test, tried)));
        let evidence = attempts.map(|(test, tried)| HappenedView {
            at: tried.at.to_seconds_text(),
            what: "failed",
            text: Some(format!("{test}: {}", if tried.said.is_empty() { &tried.strategy } else { &tried.said })),
        });
        Self {
            schema: SCHEMA,
            incident: trip.incident.clone(),
            circuit: name.to_string(),
            pattern: trip.cause.word(),
            code: trip.cause.code(),
            state: slice.stand.word(),
            tripped: trip.since.at.to_seconds_text(),
            turn: None,
            count: trip.total_failed_attempts,
            level: 0,
            why: attempt::trip_text(trip),
            until: None,
            remaining_s: None,
            limits: Vec::new(),
            evidence: evidence.take(7).collect(),
            refused: trip.refused,
            after: Vec::new(),
            followed_by: None,
            ended: None,
            session_cost: "unknown".to_owned(),
            next: slice_options(name),
        }
    }

    pub fn of_claim(name: &CircuitName, dispute: &Dispute, claim: &Claim) -> Self {
        let settled = claim.settled.iter().find(|settled| settled.dispute.incident == dispute.incident);
        let said = |what: &'static str, text: &str| HappenedView {
            at: dispute.since.at.to_seconds_text(),
            what,
            text: Some(mask(text).into_owned()),
        };
        let line = |line: &claim::HistoryLine| HappenedView {
            at: line.at.to_seconds_text(),
            what: "history",
            text: Some(line.text.clone()),
        };
        let mut evidence = vec![said("objection", &dispute.reason)];
        evidence.extend(dispute.position.as_deref().map(|position| said("position", position)));
        let until = settled.map(|settled| settled.at);
        let is_after =
            |line: &&claim::HistoryLine| line.at > dispute.since.at && until.is_none_or(|until| line.at <= until);
        let show = match name.scope().split_once('/') {
            Some((claim::PipelineName::DEFAULT, id)) => format!("haltline claim show {id}"),
            Some((pipeline, id)) => format!("haltline claim show {id} --pipeline {pipeline}"),
            None => format!("haltline claim show {}", name.scope()),
        };
        let mut next = vec![show];
        next.extend(claim_options(name));
        Self {
            schema: SCHEMA,
            incident: dispute.incident.clone(),
            circuit: name.to_string(),
            pattern: "gossip_loop",
            code: "HL-CLAIM-01",
            state: if settled.is_some() { "CLOSED" } else { "DISPUTED" },
            tripped: dispute.since.at.to_seconds_text(),
            turn: None,
            count: dispute.count,
            level: 0,
            why: format!("{} rounds on objection O-{} changed nothing", dispute.count, dispute.objection),
            until: None,
            remaining_s: None,
            limits: Vec::new(),
            evidence,
            refused: u32::try_from(claim.totals.refused).unwrap_or(u32::MAX),
            after: claim.history.iter().filter(is_after).map(line).collect(),
            followed_by: None,
            ended: settled.map(|settled| HappenedView {
                at: settled.at.to_seconds_text(),
                what: settled.how.word(),
                text: Some(mask(settled.how.said()).into_owned()),
            }),
            session_cost: "unknown".to_owned(),
            next: if settled.is_some() { Vec::new() } else { next },
        }
    }

    pub fn of_constraint(name: &CircuitName, trip: &constraint::Trip, circuit: &Circuit, now: Moment) -> Self {
        let (standing, limits) = (circuit.standing_at(now), circuit.limits());
        let (id, count) = (name.scope(), trip.count);
        let is_open = standing.condition() == constraint::Condition::Open;
        let until = trip.since.plus_millis(trip.cooldown_ms).at;
        Self {
            schema: SCHEMA,
            incident: trip.incident.clone(),
            circuit: name.to_string(),
            pattern: Pattern::Constraint.word(),
            code: loop_::code(Pattern::Constraint, haltline_core::identity::Digest::default()),
            state: if is_open { "OPEN" } else { "HALF_OPEN" },
            tripped: trip.since.at.to_seconds_text(),
            turn: None,
            count,
            level: 0,
            why: format!("{count} violations counted within {} days", limits.window_days),
            until: Some(until.to_seconds_text()),
            remaining_s: None,
            limits: Vec::new(),
            evidence: Vec::new(),
            refused: u32::try_from(circuit.totals.refused).unwrap_or(u32::MAX),
            after: Vec::new(),
            followed_by: None,
            ended: None,
            session_cost: "unknown".to_owned(),
            next: vec![
                format!("haltline constraint status {id}"),
                format!("haltline constraint reset {id} --reason TEXT"),
            ],
        }
    }
}

/// `haltline why` of a trip that a replay came upon.
#[derive(Debug, Serialize)]
pub struct ReplayWhyView {
    pub schema: u32,
    pub incident: String,
    /// Always true: nobody was stopped.
    pub is_replay: bool,
    pub source: String,
    pub format: String,
    pub session: String,
    pub circuit: String,
    pub pattern: String,
    pub code: String,
    pub verdict: String,
    /// The number of the call, from 1.
    pub call: u64,
    pub calls: u64,
    pub at: Option<String>,
    /// What the agent would have read.
    pub reason: String,
    /// The last answers before it, newest first.
    pub evidence: Vec<AnswerView>,
    pub calls_after: u64,
    pub cost_after_usd: Option<f64>,
    /// The session went on and committed work.
    pub is_committed_after: bool,
}

/// An answer that a call got.
#[derive(Debug, Serialize)]
pub struct AnswerView {
    pub at: Option<String>,
    pub answer: String,
}

impl ReplayWhyView {
    pub fn new(trip: KeptTrip) -> Self {
        let answer =
            |(at, answer): (Option<Instant>, String)| AnswerView { at: at.map(Instant::to_seconds_text), answer };
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
            at: trip.at.map(Instant::to_seconds_text),
            reason: trip.reason,
            evidence: trip.evidence.into_iter().map(answer).collect(),
            calls_after: trip.calls_after,
            cost_after_usd: trip.micros_after.map(super::backtest::usd),
            is_committed_after: trip.is_committed_after,
        }
    }
}

/// What a session with its sub-agents cost; unknown is never nothing.
pub fn cost(tree: Option<&Tree>) -> String {
    match tree.map(|tree| tree.spent) {
        Some(spent) if spent.is_priced && spent.is_partial => format!("at least {}", dollars(spent.micros)),
        Some(spent) if spent.is_priced => dollars(spent.micros),
        Some(_) | None => "unknown".to_owned(),
    }
}

fn limits(config: &Config, pattern: Pattern) -> Vec<ValueView> {
    let own = format!("loop.{}.", pattern.word());
    let other = match pattern {
        Pattern::AgentSpawn => "agents.",
        Pattern::ExternalApi => "api.",
        Pattern::Budget => "budget.",
        _own => "\0",
    };
    let is_limit = |name: &str| {
        (name.starts_with(&own) || name.starts_with(other))
            && !["enabled", "commands", "tools", "usd_per_call"].iter().any(|end| name.ends_with(end))
    };
    config.settings().iter().filter(|setting| is_limit(setting.key.name)).map(ValueView::new).collect()
}

fn next(incident: &Incident, state: &str) -> Vec<String> {
    let id = &incident.id;
    let mut next = Vec::new();
    if let Some(later) = &incident.followed_by {
        next.push(format!("haltline why {later}"));
        return next;
    }
    if state == "CLOSED" {
        return next;
    }
    if incident.until.is_some() {
        next.push(format!("haltline resume {id} --hint TEXT"));
        next.push(format!("haltline false-positive {id}"));
    }
    next.push(format!("haltline reset {id}"));
    next
}

/// `haltline reset`, `resume`, `false-positive`.
#[derive(Debug, Serialize)]
pub struct CircuitsView {
    pub schema: u32,
    pub verb: &'static str,
    pub incident: Option<String>,
    pub circuits: Vec<String>,
    pub audit: AuditView,
}

/// `haltline false-positive --list`.
#[derive(Debug, Serialize)]
pub struct FalsePositivesView {
    pub schema: u32,
    pub false_positives: Vec<ExemptionView>,
}

/// One false alarm.
#[derive(Debug, Serialize)]
pub struct ExemptionView {
    pub incident: String,
    pub pattern: &'static str,
    pub who: String,
    pub at: String,
}

impl ExemptionView {
    pub fn new(exemption: &Exemption) -> Self {
        let Exemption { pattern, incident, who, at, .. } = exemption;
        Self { incident: incident.clone(), pattern: pattern.word(), who: who.clone(), at: at.to_seconds_text() }
    }
}
