//! Text of `haltline why`, and of operator actions on incidents.

use haltline_engine::IncidentState;

use super::{count, fit, heading, wrap};
use crate::view::incident::{CircuitsView, FalsePositivesView, IncidentEventView, IncidentVerb, WhyView};

/// `haltline why`.
pub fn why(view: &WhyView) -> String {
    let mut out = heading(&format!("INCIDENT {}: {} ({})", view.incident, view.pattern, view.code));
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<10}"), text));
    let cooldown = match (&view.until, view.remaining_s) {
        (Some(until), Some(left)) => format!("{}, cooldown {left} s, until {until}", view.state.as_str()),
        (Some(until), None) => format!("{}, cooldown until {until}", view.state.as_str()),
        (None, _) if view.state == IncidentState::Open => {
            "OPEN, until a person decides or the limit is raised".to_owned()
        }
        (None, _) => view.state.as_str().to_owned(),
    };
    line("State", &cooldown);
    line("Circuit", &view.circuit);
    let turn = view.turn.map(|turn| format!(" in turn {turn}")).unwrap_or_default();
    let streak = if view.streak > 1 { format!(", trip {} in a row", view.streak) } else { String::new() };
    line("Tripped", &format!("{}{turn}, counted {}{streak}", view.tripped, view.count));
    line("Why", &fit(&view.why, 600));
    for (index, limit) in view.limits.iter().enumerate() {
        let from = limit.file.as_deref().unwrap_or(limit.origin);
        line(if index == 0 { "Limits" } else { "" }, &format!("{} = {} ({from})", limit.key, limit.value));
    }
    push_events(&mut out, "Evidence", &view.evidence);
    let mut line = |label: &str, text: &str| out.push_str(&wrap(&format!("{label:<10}"), text));
    line("Refused", &count(view.denied, "attempt"));
    line("Cost", &format!("session {}", view.session_cost));
    match (&view.ended, &view.followed_by) {
        (Some(ended), _) => {
            let reason = ended.text.as_deref().map(|text| format!(": {}", fit(text, 200))).unwrap_or_default();
            line("Ended", &format!("{} {}{reason}", ended.at, ended.kind.replace('_', " ")));
        }
        (None, Some(later)) => line("Ended", &format!("its probe failed: open again as {later}")),
        (None, None) => {}
    }
    for (index, command) in view.next.iter().enumerate() {
        line(if index == 0 { "Next" } else { "" }, command);
    }
    out
}

fn push_events(out: &mut String, label: &str, events: &[IncidentEventView]) {
    for (index, event) in events.iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        let text = event.text.as_deref().unwrap_or("(purged)");
        out.push_str(&format!("{label:<10}{} {}\n", event.at, fit(text, 49)));
    }
}

/// `haltline reset`, `resume`, `false-positive`.
pub fn circuits(view: &CircuitsView) -> String {
    let incident = view.incident.as_deref().unwrap_or_default();
    let mut out = match view.verb {
        IncidentVerb::Resume => format!("One probe of incident {incident} is allowed now.\n"),
        IncidentVerb::FalsePositive => {
            format!("Closed. What incident {incident} was about never trips it again here.\n")
        }
        IncidentVerb::Revoke => format!("Incident {incident} is no false positive any more: it may trip again.\n"),
        IncidentVerb::Reset if view.incident.is_some() => format!("Incident {incident} is closed.\n"),
        IncidentVerb::Reset => format!("Closed the circuits of {}:\n", count(view.circuits.len() as u64, "row")),
    };
    for circuit in &view.circuits {
        out.push_str(&format!("  {}\n", fit(circuit, 76)));
    }
    let audit = &view.audit;
    out.push_str(&format!("By:       {}, {}\n", audit.who, audit.when));
    out.push_str(&format!("Journal:  fact {}, head {}\n", audit.journal_seq, audit.journal_head));
    out
}

/// `haltline false-positive --list`.
pub fn false_positives(view: &FalsePositivesView) -> String {
    if view.false_positives.is_empty() {
        return "Nothing was declared a false positive in this project.\n".to_owned();
    }
    let mut out = String::from("Never trips again:\n");
    for one in &view.false_positives {
        out.push_str(&format!("  {}  {:<17}{}  {}\n", one.incident, one.pattern, one.at, fit(&one.who, 29)));
    }
    out
}
