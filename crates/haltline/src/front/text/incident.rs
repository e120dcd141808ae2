//! Text of `haltline why`, and of operator actions on incidents.

use haltline_core::Mode;
use haltline_engine::IncidentState;

use super::{Page, count, fit, stamp, when};
use crate::view::incident::{CircuitsView, FalsePositivesView, IncidentEventView, IncidentVerb, WhyView};

/// How many events after the trip are shown.
const AFTER_MAX: usize = 6;
/// The kind of a report that counted for nothing.
const IGNORED: &str = "ignored";

/// `haltline why`.
pub fn why(view: &WhyView) -> String {
    let is_plain = view.breaker == "loop" || view.breaker == view.pattern;
    let breaker = if is_plain { String::new() } else { format!("{} ", view.breaker) };
    let title = format!("INCIDENT {}: {breaker}{} ({})", view.incident, view.pattern, view.code);
    let mut page = Page::titled(title, 10);
    let state = view.state.as_str();
    page.field(
        "State",
        match (&view.until, view.remaining_s) {
            (Some(until), Some(_)) => format!("{state} until {}, then one attempt decides", when(until)),
            (Some(_) | None, _) if view.state == IncidentState::HalfOpen => {
                let since =
                    view.half_open_since.as_deref().map(|at| format!(" since {}", when(at))).unwrap_or_default();
                format!("{state}{since}: {}", view.closes.unwrap_or("the next attempt decides"))
            }
            (Some(_) | None, _) if view.state == IncidentState::Open && view.breaker == "loop" => {
                "OPEN until a person decides or raises the limit".to_owned()
            }
            (Some(_) | None, _) if view.state == IncidentState::Open => "OPEN until a person decides".to_owned(),
            (Some(_) | None, _) => state.to_owned(),
        },
    );
    page.fields("About", view.about.iter().map(|about| fit(about, 300)));
    page.field("Circuit", &view.circuit);
    let turn = view.turn.map(|turn| format!(", in turn {turn}")).unwrap_or_default();
    let streak = if view.streak > 1 { format!(", trip {} in a row", view.streak) } else { String::new() };
    page.field("Tripped", format_args!("{}{turn}, counted {}{streak}", when(&view.tripped), view.count));
    page.field("Why", fit(&view.why, 600));
    page.fields(
        "Limits",
        view.limits.iter().map(|limit| {
            let from = limit.file.as_deref().unwrap_or(&limit.origin);
            format!("{} = {} ({from})", limit.key, limit.value)
        }),
    );
    let evidence = view.evidence.iter();
    page.fields(
        "Evidence",
        evidence.map(|event| format!("{} {}", stamp(&event.at), fit(event.text.as_deref().unwrap_or("(purged)"), 300))),
    );
    page.field(
        "Denied",
        match view.mode {
            Mode::Enforce => count(view.denied, "attempt"),
            Mode::Observe => format!("nothing: observe mode would have denied {}", count(view.denied, "attempt")),
        },
    );
    // The event that ended it has a line of its own.
    let is_end =
        |event: &IncidentEventView| view.ended.as_ref().is_some_and(|end| end.at == event.at && end.who == event.who);
    let after: Vec<&IncidentEventView> = view.after.iter().filter(|event| is_shown(event) && !is_end(event)).collect();
    let skipped = after.len().saturating_sub(AFTER_MAX);
    page.fields("Since", after[skipped..].iter().map(|event| since(event)));
    let ignored = view.after.iter().filter(|event| event.kind == IGNORED).count();
    if ignored > 0 {
        page.field("", format_args!("{} not counted while it was not CLOSED", count(ignored, "report")));
    }
    page.listed("Earlier", &view.earlier);
    if view.breaker == "loop" {
        page.field("Cost", format_args!("session {}", view.session_cost));
    }
    match (&view.ended, &view.followed_by) {
        (Some(ended), _) => {
            let who = ended.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
            let reason = ended.text.as_deref().map(|text| format!(": {}", fit(text, 200))).unwrap_or_default();
            page.field("Ended", format_args!("{} {}{who}{reason}", stamp(&ended.at), ended.kind.replace('_', " ")));
        }
        (None, Some(later)) => page.field("Ended", format_args!("its probe failed: open again as {later}")),
        (None, None) => {}
    }
    page.fields("Next", &view.next);
    page.finish()
}

/// True for what a person did, and for what became of it; denials are counted instead.
fn is_shown(event: &IncidentEventView) -> bool {
    event.who.is_some() || !["refused", "stopped", "reset", "recovered", IGNORED].contains(&event.kind)
}

fn since(event: &IncidentEventView) -> String {
    let who = event.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
    let text = event.text.as_deref().map(|text| format!(": {}", fit(text, 120))).unwrap_or_default();
    format!("{} {}{who}{text}", stamp(&event.at), event.kind.replace('_', " "))
}

/// A command in quotes; a sentence that has its own quotes stays as it is.
fn quoted(about: &str) -> String {
    let about = fit(about, 200);
    if about.contains('`') { about } else { format!("`{about}`") }
}

/// `haltline reset`, `resume`, `false-positive`.
pub fn circuits(view: &CircuitsView) -> String {
    let mut page = Page::new(10);
    let incident = view.incident.as_deref().unwrap_or_default();
    let about = view.about.as_deref().map(|about| format!(" ({})", quoted(about))).unwrap_or_default();
    let call = view.about.as_deref().map_or_else(|| "What it was about".to_owned(), quoted);
    page.sentence(match view.verb {
        IncidentVerb::Resume if view.is_limit => {
            format!("Resumed incident {incident}{about}: haltline allows one more call, then the limit applies again.")
        }
        IncidentVerb::Resume if view.was_cooled_down => {
            format!("Resumed incident {incident}{about}: its cooldown is over, and the next such call is the probe.")
        }
        IncidentVerb::Resume => {
            format!("Resumed incident {incident}{about}: the next such call may run now, as the probe.")
        }
        IncidentVerb::FalsePositive => format!(
            "{call} never trips the loop breaker again in this project. Undo: haltline false-positive --revoke {incident}"
        ),
        IncidentVerb::Revoke => format!("{call} may trip the loop breaker again."),
        IncidentVerb::Reset if view.incident.is_some() => {
            format!("Closed incident {incident}{about}; its counts start again at zero.")
        }
        IncidentVerb::Reset => format!("Closed the circuits of {}:", count(view.circuits.len(), "row")),
    });
    page.lines(view.circuits.iter().map(|circuit| format!("  {}", fit(circuit, 76))));
    let audit = &view.audit;
    page.row("By:", format_args!("{}, {}", audit.who, stamp(&audit.at)));
    page.row("Journal:", format_args!("fact {}, head {}", audit.journal_seq, audit.journal_head));
    page.finish()
}

/// `haltline false-positive --list`.
pub fn false_positives(view: &FalsePositivesView) -> String {
    let mut page = Page::new(0);
    if view.false_positives.is_empty() {
        page.line("This project has no false positives.");
        return page.finish();
    }
    page.line("The loop breaker never trips on these calls:");
    for one in &view.false_positives {
        page.line(format_args!("  {}  {}", one.incident, fit(one.about.as_deref().unwrap_or("(purged)"), 68)));
        page.line(format_args!("            {}, {}, {}", one.pattern, stamp(&one.at), fit(&one.who, 29)));
    }
    page.line("haltline false-positive --revoke ID ends an exemption.");
    page.finish()
}
