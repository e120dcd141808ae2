//! Text of `haltline incidents`.

use super::{Page, count, fit};
use crate::view::incidents::{IncidentLineView, IncidentsView};

/// `haltline incidents`.
pub fn incidents(view: &IncidentsView) -> String {
    let mut page = Page::new(0);
    if view.incidents.is_empty() {
        page.line(match view.is_all {
            true => "No incidents: nothing has tripped.",
            false => "No incidents: nothing has tripped in this project.",
        });
        return page.finish();
    }
    page.line(format_args!("{}, {} open", count(view.total, "incident"), view.open));
    let mut project = None;
    for incident in &view.incidents {
        if view.is_all && project != Some(&incident.project) {
            page.blank();
            page.line(fit(&incident.project, 80));
            project = Some(&incident.project);
        }
        page.line(line(incident));
        page.line(format_args!("          {}", fit(&what(incident), 70)));
    }
    if view.incidents.len() < view.total {
        page.line(format_args!("{} more: --limit {}", view.total - view.incidents.len(), view.total));
    }
    page.line("haltline why ID explains an incident; haltline resume ID lets its work continue.");
    page.finish()
}

fn line(incident: &IncidentLineView) -> String {
    let end = match (&incident.ended, &incident.ended_by) {
        (Some(ended), Some(who)) => format!("CLOSED: {ended} by {who}"),
        (Some(ended), None) => format!("CLOSED: {ended}"),
        (None, _) => incident.state.to_owned(),
    };
    let IncidentLineView { incident: id, breaker, pattern, .. } = incident;
    let pattern = if pattern == breaker { String::new() } else { format!(" {pattern}") };
    let again = match incident.earlier.len() {
        0 => String::new(),
        earlier => format!(", trip {}", earlier + 1),
    };
    fit(&format!("{id}  {:>8}  {breaker}{pattern}  {end}{again}", age(incident.age_s)), 80)
}

fn what(incident: &IncidentLineView) -> String {
    match (&incident.about, &incident.why) {
        (Some(about), Some(why)) if why.contains(about.as_str()) => why.clone(),
        (Some(about), Some(why)) => format!("{about}: {why}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => "a person purged its texts".to_owned(),
    }
}

/// A time that has passed, in its largest unit: `3 min`.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        172_800.. => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_shown_in_its_largest_unit() {
        let ages = [0, 59, 60, 3599, 3600, 172_799, 172_800];
        assert_eq!(ages.map(age), ["0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d"]);
    }
}
