//! Text of `haltline journal`.

use super::{Page, count, fit, stamp};
use crate::view::journal::{ShowView, VerifyView};

/// `journal show`.
pub fn show(view: &ShowView) -> String {
    let mut page = Page::new(0);
    if view.facts.is_empty() {
        page.line("The journal has no facts yet.");
    }
    for fact in &view.facts {
        let at = stamp(&fact.at);
        page.line(fit(&format!("{:>6}  {at}  {:<19}  {}", fact.seq, fact.name, fact.circuit), 80));
        let session = fact.session.as_deref().map(|session| format!(" ({session})")).unwrap_or_default();
        match (&fact.text, fact.is_purged) {
            (Some(text), _) => page.line(format_args!("        {}", fit(&format!("{text}{session}"), 72))),
            (None, true) => page.line("        [purged]"),
            (None, false) => {}
        }
    }
    page.finish()
}

/// `journal verify`.
pub fn verify(view: &VerifyView) -> String {
    let mut page = Page::new(0);
    for project in &view.projects {
        let verdict = if project.problems.is_empty() { "clean" } else { "NOT CLEAN" };
        page.line(format_args!("{verdict}: {}", fit(&project.project, 68)));
        let anchor = if project.anchor > 0 { format!(" after fact {}", project.anchor) } else { String::new() };
        let (facts, circuits) = (count(project.facts, "fact"), count(project.circuits, "circuit"));
        page.line(format_args!("  {facts}{anchor}, {circuits}, head {}", project.head));
        page.lines(project.problems.iter().map(|problem| format!("  {problem}")));
    }
    if view.projects.is_empty() {
        page.line("clean: no facts yet");
    }
    page.finish()
}
