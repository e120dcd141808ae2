//! Brings notices that waited for an event up to date: an incident that has ended meanwhile is reported as over, not as
//! something that needs the person now.

use haltline_engine::store::Store;
use haltline_engine::{Engine, IncidentRecord};

/// The words before the id of the incident that a notice is about.
const BEFORE_ID: &str = "haltline why ";
/// Every notice begins with this.
const START: &str = "haltline";
/// Length of an incident's id.
const ID_LENGTH: usize = 8;

/// The notices as they hold now; `None` if nothing is left to say.
pub fn up_to_date<S: Store>(engine: &Engine<S>, notices: &str) -> Option<String> {
    if !notices.contains(BEFORE_ID) {
        return Some(notices.to_owned());
    }
    // A store that cannot be read changes nothing.
    let Ok(records) = engine.incident_records(false) else { return Some(notices.to_owned()) };
    let shown: Vec<String> = split(notices).into_iter().filter_map(|notice| current(&records, &notice)).collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

/// The single notices of a text. Only their first lines begin at the margin.
fn split(notices: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in notices.lines() {
        match found.last_mut().filter(|_| !line.starts_with(START)) {
            Some(last) => {
                last.push('\n');
                last.push_str(line);
            }
            None => found.push(line.to_owned()),
        }
    }
    found
}

fn current(records: &[IncidentRecord], notice: &str) -> Option<String> {
    let Some(record) = incident_of(notice).and_then(|id| records.iter().find(|record| record.id == id)) else {
        return Some(notice.to_owned());
    };
    let Some(end) = &record.end else { return Some(notice.to_owned()) };
    if end.followed_by.is_some() {
        // The trip that took its place has a notice of its own.
        return None;
    }
    let who = end.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
    let cause = record.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let ending = record.ending().unwrap_or("ended");
    Some(format!("haltline: incident {}{cause} is over: {ending}{who}", record.id))
}

/// The id of the incident that a notice is about.
fn incident_of(notice: &str) -> Option<&str> {
    let start = notice.find(BEFORE_ID)? + BEFORE_ID.len();
    notice.get(start..start + ID_LENGTH)
}
