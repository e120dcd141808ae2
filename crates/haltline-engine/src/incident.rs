//! Incidents of running sessions, put together from the journal: what tripped, on what evidence, and how it ended.

use std::collections::BTreeMap;

use haltline_core::identity::Digest;
use haltline_core::loop_::{self, BoardFact, Ending, LaneFact, Pattern, TreeFact};
use haltline_core::{CircuitName, Fact, Instant, Moment, Recorded};
use serde_json::{Value, json};

use crate::store::Entry;

/// How many answers go along as evidence.
const EVIDENCE_MAX: usize = 5;

/// Something that happened to an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentEvent {
    /// When.
    pub at: Instant,
    /// The word of the fact.
    pub what: &'static str,
    /// Its text, where there is one.
    pub text: Option<String>,
}

/// One trip, with what led to it and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Its name.
    pub id: String,
    /// The row it is in.
    pub row: CircuitName,
    /// The pattern.
    pub pattern: Pattern,
    /// What it is about.
    pub key: Digest,
    /// When it tripped.
    pub tripped: Instant,
    /// When the cooldown ends; `None` for a limit that holds no circuit.
    pub until: Option<Instant>,
    /// How many events led to it.
    pub count: u32,
    /// The how manieth in a row.
    pub level: u32,
    /// The agent's turn, where the row is one agent's.
    pub turn: Option<u64>,
    /// Why, in words.
    pub why: Option<String>,
    /// The last answers before it, newest first.
    pub evidence: Vec<IncidentEvent>,
    /// What came after, oldest first.
    pub after: Vec<IncidentEvent>,
    /// Refusals since.
    pub refused: u32,
    /// The trip that took its place: its probe failed.
    pub followed_by: Option<String>,
    /// When and how it was closed.
    pub closed: Option<IncidentEvent>,
}

impl Incident {
    /// The incident as notifications carry it.
    pub(crate) fn to_json(&self, project: &str) -> Value {
        let evidence: Vec<Value> =
            self.evidence.iter().map(|answer| json!({"at": answer.at.to_string(), "answer": answer.text})).collect();
        let id = &self.id;
        json!({
            "schema": 1,
            "incident": id,
            "circuit": self.row.below(self.pattern.word()).as_str(),
            "project": project,
            "code": loop_::code(self.pattern, self.key),
            "state": if self.closed.is_some() { "CLOSED" } else { "OPEN" },
            "tripped": self.tripped.to_string(),
            "until": self.until.map(|until| until.to_string()),
            "reason": self.why,
            "cost_usd": null,
            "evidence": evidence,
            "options": [
                format!("haltline why {id}"),
                format!("haltline resume {id} --hint TEXT"),
                format!("haltline false-positive {id}"),
            ],
        })
    }
}

/// A trip as a line of seed 002's incidents file.
pub(crate) fn line(recorded: &Recorded) -> Option<String> {
    let fact = match &recorded.fact {
        Fact::Lane(LaneFact::Board(fact)) | Fact::Tree(TreeFact::Board(fact)) => fact,
        Fact::Lane(_)
        | Fact::Tree(_)
        | Fact::Exempt(_)
        | Fact::Constraint(_)
        | Fact::Phase(_)
        | Fact::Attempt(_)
        | Fact::Claim(_)
        | Fact::Pipeline(_)
        | Fact::Trust(_) => {
            return None;
        }
    };
    let (incident, pattern, count, cooldown_ms) = match fact {
        BoardFact::Tripped { trip } => (&trip.incident, trip.pattern, trip.count, Some(trip.cooldown_ms)),
        BoardFact::Limited { incident, pattern, count, .. } => (incident, *pattern, *count, None),
        BoardFact::Warned { .. }
        | BoardFact::HalfOpened { .. }
        | BoardFact::ProbeTaken { .. }
        | BoardFact::ProbeAbandoned { .. }
        | BoardFact::Recovered { .. }
        | BoardFact::Lapsed { .. }
        | BoardFact::Refused { .. }
        | BoardFact::Reset { .. }
        | BoardFact::FalseAlarm { .. } => return None,
    };
    let line = json!({
        "timestamp": recorded.at.at.to_string(),
        "incident": incident,
        "circuit": recorded.circuit.below(pattern.word()).as_str(),
        "type": pattern.word(),
        "reason": recorded.texts.text,
        "count": count,
        "cooldown_seconds": cooldown_ms.map(|millis| millis.div_ceil(1000)),
    });
    Some(line.to_string())
}

/// The incidents of one row, newest first, from its facts, newest first.
pub(crate) fn of_history(row: &CircuitName, history: &[Entry]) -> Vec<Incident> {
    let mut incidents: Vec<Incident> = Vec::new();
    let mut turn = None;
    let mut identities: BTreeMap<Digest, Digest> = BTreeMap::new();
    let mut answers: Vec<Answered> = Vec::new();
    for entry in history.iter().rev() {
        let Ok(link) = entry.read() else { continue };
        let Some(fact) = link.fact else { continue };
        let text = entry.texts().text;
        let event = |what| IncidentEvent { at: link.at.at, what, text: text.clone() };
        let what = fact.word();
        match fact {
            Fact::Lane(LaneFact::Started { flight, .. }) => {
                turn = Some(flight.turn);
                identities.insert(flight.call, flight.identity);
            }
            Fact::Lane(LaneFact::Ended(Ending { call, normal, .. })) => {
                let identity = identities.remove(&call).unwrap_or_default();
                answers.push(Answered { identity, normal, event: event(what) });
                let excess = answers.len().saturating_sub(64);
                answers.drain(..excess);
            }
            Fact::Lane(LaneFact::Board(fact)) | Fact::Tree(TreeFact::Board(fact)) => {
                take(&mut incidents, &answers, row, &fact, &event(what), (link.at, turn));
            }
            Fact::Lane(
                LaneFact::Began { .. }
                | LaneFact::PolicyChanged { .. }
                | LaneFact::Prompted { .. }
                | LaneFact::Unended { .. }
                | LaneFact::Stray { .. }
                | LaneFact::Denied { .. }
                | LaneFact::TurnEnded
                | LaneFact::HookRan { .. }
                | LaneFact::Spawned { .. }
                | LaneFact::Stopped { .. }
                | LaneFact::Compacted { .. }
                | LaneFact::Reported { .. }
                | LaneFact::Responded { .. }
                | LaneFact::Spoke { .. }
                | LaneFact::MemoryCleaned { .. }
                | LaneFact::Over { .. },
            )
            | Fact::Tree(_)
            | Fact::Exempt(_)
            | Fact::Constraint(_)
            | Fact::Attempt(_)
            | Fact::Phase(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_) => {}
        }
    }
    incidents.reverse();
    incidents
}

/// The newest answer of a call with this identity, from a row's facts, newest first.
pub(crate) fn last_answer(history: &[Entry], identity: Digest) -> Option<String> {
    let mut kept: Vec<(Digest, String)> = Vec::new();
    for entry in history {
        match entry.read().ok()?.fact? {
            Fact::Lane(LaneFact::Ended(Ending { call, .. })) => {
                kept.extend(entry.texts().text.map(|text| (call, text)))
            }
            Fact::Lane(LaneFact::Started { flight, .. }) if flight.identity == identity => {
                if let Some((_, text)) = kept.iter().find(|(call, _)| *call == flight.call) {
                    return Some(text.clone()).filter(|text| !text.is_empty());
                }
            }
            Fact::Lane(_)
            | Fact::Tree(_)
            | Fact::Exempt(_)
            | Fact::Constraint(_)
            | Fact::Phase(_)
            | Fact::Attempt(_)
            | Fact::Claim(_)
            | Fact::Pipeline(_)
            | Fact::Trust(_) => {}
        }
    }
    None
}

/// A call that ended, for the evidence of a later trip.
struct Answered {
    identity: Digest,
    normal: Digest,
    event: IncidentEvent,
}

fn take(
    incidents: &mut Vec<Incident>,
    answers: &[Answered],
    row: &CircuitName,
    fact: &BoardFact,
    event: &IncidentEvent,
    (at, turn): (Moment, Option<u64>),
) {
    match fact {
        BoardFact::Tripped { trip } => {
            let last = incidents.iter_mut().rev().find(|known| known.key == trip.key);
            if let Some(last) = last.filter(|last| last.closed.is_none()) {
                last.followed_by = Some(trip.incident.clone());
            }
            let evidence = answers.iter().rev().filter(|answered| {
                // A pattern over many calls has no identity of its own: the answer they share is its evidence, or
                // else their last ones.
                let is_shared = trip.normal.is_none_or(|normal| normal == answered.normal);
                answered.event.text.is_some() && (answered.identity == trip.key || is_shared)
            });
            incidents.push(Incident {
                id: trip.incident.clone(),
                row: row.clone(),
                pattern: trip.pattern,
                key: trip.key,
                tripped: at.at,
                until: Some(trip.until()),
                count: trip.count,
                level: trip.level,
                turn,
                why: event.text.clone(),
                evidence: evidence.take(EVIDENCE_MAX).map(|answered| answered.event.clone()).collect(),
                after: Vec::new(),
                refused: 0,
                followed_by: None,
                closed: None,
            });
        }
        BoardFact::Limited { incident, pattern, key, count } => incidents.push(Incident {
            id: incident.clone(),
            row: row.clone(),
            pattern: *pattern,
            key: *key,
            tripped: at.at,
            until: None,
            count: *count,
            level: 0,
            turn,
            why: event.text.clone(),
            evidence: Vec::new(),
            after: Vec::new(),
            refused: 0,
            followed_by: None,
            closed: None,
        }),
        BoardFact::Refused { key, .. } => {
            if let Some(incident) = incidents.iter_mut().rev().find(|incident| incident.key == *key) {
                incident.refused = incident.refused.saturating_add(1);
                incident.after.push(event.clone());
            }
        }
        BoardFact::HalfOpened { incident, .. }
        | BoardFact::ProbeTaken { incident, .. }
        | BoardFact::ProbeAbandoned { incident } => {
            if let Some(incident) = incidents.iter_mut().find(|known| known.id == *incident) {
                incident.after.push(event.clone());
            }
        }
        BoardFact::Recovered { incident }
        | BoardFact::Lapsed { incident }
        | BoardFact::FalseAlarm { incident, .. }
        | BoardFact::Reset { incident: Some(incident), .. } => {
            if let Some(incident) = incidents.iter_mut().find(|known| known.id == *incident) {
                incident.closed = Some(event.clone());
            }
        }
        BoardFact::Reset { incident: None, .. } => {
            let is_held = |incident: &&mut Incident| incident.closed.is_none() && incident.followed_by.is_none();
            for incident in incidents.iter_mut().filter(is_held) {
                incident.closed = Some(event.clone());
            }
        }
        BoardFact::Warned { .. } => {}
    }
}
