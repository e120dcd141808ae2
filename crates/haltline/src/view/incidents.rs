//! The view of `haltline incidents`.

use haltline_core::Instant;
use haltline_engine::IncidentRecord;
use serde::Serialize;

use super::SCHEMA;

#[derive(Debug, Serialize)]
pub struct IncidentsView {
    pub schema: u32,
    /// How many incidents there are; the list may be shorter.
    pub total: usize,
    pub open: usize,
    pub is_all: bool,
    pub incidents: Vec<IncidentLineView>,
}

#[derive(Debug, Serialize)]
pub struct IncidentLineView {
    pub incident: String,
    pub project: String,
    pub breaker: &'static str,
    pub circuit: String,
    pub pattern: String,
    pub code: String,
    /// What it is about, such as a command.
    pub about: Option<String>,
    pub why: Option<String>,
    pub state: &'static str,
    pub is_open: bool,
    pub tripped: String,
    pub age_s: u64,
    /// How it ended, in words.
    pub ended: Option<String>,
    pub ended_at: Option<String>,
    /// The person who ended it.
    pub ended_by: Option<String>,
    pub followed_by: Option<String>,
    /// The earlier trips of the same cause, newest first.
    pub earlier: Vec<String>,
}

impl IncidentsView {
    pub fn new(records: &[IncidentRecord], limit: usize, is_all: bool, now: Instant) -> Self {
        Self {
            schema: SCHEMA,
            total: records.len(),
            open: records.iter().filter(|record| record.is_open()).count(),
            is_all,
            incidents: records.iter().take(limit).map(|record| IncidentLineView::new(record, now)).collect(),
        }
    }
}

impl IncidentLineView {
    pub fn new(record: &IncidentRecord, now: Instant) -> Self {
        let end = record.end.as_ref();
        let age_ms = now.as_millis().saturating_sub(record.tripped.as_millis());
        Self {
            incident: record.id.clone(),
            project: record.project.clone(),
            breaker: record.breaker(),
            circuit: record.circuit().to_string(),
            pattern: record.pattern.clone(),
            code: record.code.clone(),
            about: record.about.clone(),
            why: record.reason.clone(),
            state: record.state.as_str(),
            is_open: record.is_open(),
            tripped: record.tripped.to_string(),
            age_s: u64::try_from(age_ms).unwrap_or_default() / 1000,
            ended: record.ending().map(str::to_owned),
            ended_at: end.map(|end| end.at.to_string()),
            ended_by: end.and_then(|end| end.who.clone()),
            followed_by: end.and_then(|end| end.followed_by.clone()),
            earlier: record.earlier.clone(),
        }
    }
}
