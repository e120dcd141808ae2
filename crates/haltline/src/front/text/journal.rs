//! Text of `haltline journal`.

use super::{WIDTH, count, fit};
use crate::view::journal::{ShowView, VerifyView};

/// `journal show`.
pub fn show(view: &ShowView) -> String {
    if view.facts.is_empty() {
        return "No facts yet.\n".to_owned();
    }
    let mut out = String::new();
    for fact in &view.facts {
        // Whole seconds; the JSON output has the fraction.
        let at = fact.at.split('.').next().unwrap_or_default();
        let line = format!("{:>6}  {at}Z  {:<19}  {}", fact.seq, fact.name, fact.circuit);
        out.push_str(&fit(&line, WIDTH));
        out.push('\n');
        let session = fact.session.as_deref().map(|session| format!(" ({session})")).unwrap_or_default();
        match (&fact.text, fact.is_purged) {
            (Some(text), _) => out.push_str(&format!("        {}\n", fit(&format!("{text}{session}"), WIDTH - 8))),
            (None, true) => out.push_str("        [purged]\n"),
            (None, false) => {}
        }
    }
    out
}

/// `journal verify`.
pub fn verify(view: &VerifyView) -> String {
    let mut out = String::new();
    for project in &view.projects {
        let verdict = if project.problems.is_empty() { "clean" } else { "NOT CLEAN" };
        let anchor = if project.anchor > 0 { format!(" after fact {}", project.anchor) } else { String::new() };
        out.push_str(&format!(
            "{verdict}: {}\n  {}{anchor}, {}, head {}\n",
            fit(&project.project, 68),
            count(project.facts, "fact"),
            count(project.circuits as u64, "circuit"),
            project.head
        ));
        for problem in &project.problems {
            out.push_str(&format!("  {problem}\n"));
        }
    }
    if view.projects.is_empty() {
        out.push_str("clean: no facts yet\n");
    }
    out
}
