//! What the journal tells about an incident of a constraint, a phase run, a slice or a claim: the facts before its trip
//! as evidence, and what happened since.

use haltline_core::{Fact, Instant, attempt, claim, constraint, phase};
use serde_json::{Value, json};

use super::{EVIDENCE_MAX, Evidence, Incident, IncidentBreaker, IncidentEvent};
use crate::redact::mask;
use crate::store::Entry;

/// What led to an incident, newest first, and what followed, oldest first.
pub(super) struct Timeline {
    pub evidence: Vec<Evidence>,
    pub after: Vec<IncidentEvent>,
    pub denied: u32,
}

impl Timeline {
    /// Reads a row's facts, newest first, around the trip with this number. `end` is when the incident ended.
    pub fn read(history: &[Entry], trip: u64, end: Option<Instant>) -> Self {
        let mut found = Self { evidence: Vec::new(), after: Vec::new(), denied: 0 };
        for entry in history {
            let Ok(content) = entry.read() else { continue };
            let Some(fact) = content.fact else { continue };
            let (at, kind) = (content.at.at, fact.as_str());
            if entry.seq > trip {
                if end.is_some_and(|end| at > end) {
                    continue;
                }
                found.denied += u32::from(kind == "refused");
                let who = fact.operator().map(str::to_owned);
                found.after.push(IncidentEvent { at, kind, text: entry.texts().text, who });
            } else if entry.seq < trip {
                if is_boundary(&fact) || found.evidence.len() >= EVIDENCE_MAX {
                    break;
                }
                if let Some(text) = described(&fact, entry.texts().text) {
                    let own = own_fields(&fact, entry, &text);
                    found.evidence.push(Evidence::new(IncidentEvent { at, kind, text: Some(text), who: None }, own));
                }
            }
        }
        found.after.reverse();
        found
    }
}

/// The incident with the evidence of the journal, if the journal still has its trip. A claim's incident keeps what its
/// row says about the dispute, and the rounds follow.
pub(super) fn with_evidence(mut incident: Incident, history: &[Entry]) -> Incident {
    let Some(trip) = trip_of(history, &incident.id) else { return incident };
    let evidence = Timeline::read(history, trip, None).evidence;
    match incident.breaker {
        IncidentBreaker::Claim { .. } => incident.evidence.extend(evidence),
        // While the slice is OPEN, its row has the attempts by test.
        IncidentBreaker::Attempt if incident.tripped.is_some() => {}
        IncidentBreaker::Loop { .. }
        | IncidentBreaker::Constraint
        | IncidentBreaker::Phase { .. }
        | IncidentBreaker::Attempt => {
            if !evidence.is_empty() {
                incident.evidence = evidence;
            }
        }
    }
    incident
}

/// What only the breaker of this fact knows, under the keys of version 1 of the notification.
fn own_fields(fact: &Fact, entry: &Entry, text: &str) -> Vec<(&'static str, Value)> {
    let texts = entry.texts();
    match fact {
        Fact::Constraint(_) => vec![("action", json!(texts.text)), ("session", json!(texts.session))],
        Fact::Phase(phase::Fact::Iterated(iterated)) => {
            vec![("iteration", json!(iterated.iteration)), ("what", json!(text))]
        }
        Fact::Attempt(attempt::Fact::Attempted { test, attempt, .. }) => vec![
            ("test", json!(test.as_str())),
            ("strategy", json!(attempt.strategy)),
            ("what", json!(attempt.summary)),
        ],
        _other => Vec::new(),
    }
}

/// The number of the fact that began this incident.
pub(super) fn trip_of(history: &[Entry], incident: &str) -> Option<u64> {
    let begins = |entry: &&Entry| {
        let fact = entry.read().ok().and_then(|content| content.fact);
        fact.is_some_and(|fact| is_trip(&fact, incident))
    };
    history.iter().find(begins).map(|entry| entry.seq)
}

fn is_trip(fact: &Fact, incident: &str) -> bool {
    match fact {
        Fact::Constraint(constraint::Fact::Tripped { trip } | constraint::Fact::Adopted { trip: Some(trip), .. }) => {
            trip.incident == incident
        }
        Fact::Phase(phase::Fact::Tripped { trip }) => trip.incident == incident,
        Fact::Attempt(attempt::Fact::Tripped { trip }) => trip.incident == incident,
        Fact::Claim(claim::Fact::Disputed { dispute }) => dispute.incident == incident,
        _other => false,
    }
}

/// True for a fact before which nothing counts towards the trip.
fn is_boundary(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Constraint(
            constraint::Fact::Reset { .. } | constraint::Fact::Recovered | constraint::Fact::Retired { .. }
        ) | Fact::Phase(phase::Fact::Reset { .. } | phase::Fact::Modified { .. } | phase::Fact::Began { .. })
            | Fact::Attempt(attempt::Fact::Reset { .. } | attempt::Fact::Began { .. })
            | Fact::Claim(claim::Fact::Resolved { .. })
    )
}

/// The call, result, violation, error or round that a fact records, as text; `None` for other facts.
fn described(fact: &Fact, text: Option<String>) -> Option<String> {
    match fact {
        Fact::Constraint(constraint::Fact::Violated { .. }) => Some(text.unwrap_or_else(|| "(purged)".to_owned())),
        Fact::Phase(phase::Fact::Iterated(iterated)) => {
            let how = match iterated.as_str() {
                "no_progress" => "no progress",
                other => other,
            };
            let text = text.map(|text| format!(": {text}")).unwrap_or_default();
            Some(format!("iteration {}, {how}{text}", iterated.iteration))
        }
        Fact::Attempt(attempt::Fact::Attempted { test, attempt, .. }) => {
            let texts = [&attempt.strategy, &attempt.summary];
            let texts: Vec<&str> = texts.iter().map(|text| text.as_str()).filter(|text| !text.is_empty()).collect();
            Some(format!("{test}: {}", texts.join(" -> ")))
        }
        Fact::Attempt(attempt::Fact::Deviated { deviation }) => Some(deviation.description.clone()),
        Fact::Claim(claim::Fact::Reviewed(reviewed)) => {
            let objection = reviewed.text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            let answer = reviewed.answer.as_deref().map(|text| format!("; answer: {text}")).unwrap_or_default();
            Some(mask(&format!("objection O-{}{objection}{answer}", reviewed.objection)).into_owned())
        }
        _other => None,
    }
}
