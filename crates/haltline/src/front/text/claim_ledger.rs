//! The ledger as Markdown, in the seed's format: a heading and bullets for each claim.
//!
//! A text of one line is on its bullet. A longer text is below it in a fence that the text cannot close, so that no
//! text can pass for another claim.

use super::count;
use super::escape_lines;
use crate::view::claim::{LedgerClaimView, LedgerView};

/// `claim ledger`.
pub fn claim_ledger(view: &LedgerView) -> String {
    let mut out = String::from("# CLAIM-LEDGER\n\n");
    let end = if view.final_stage_closed { "closed" } else { "open" };
    out.push_str(&format!("- Pipeline: {}\n", view.pipeline));
    out.push_str(&format!("- Stage: {}\n", view.stage.as_deref().unwrap_or("none yet")));
    out.push_str(&format!("- Final stage: {} ({end})\n", view.final_stage));
    out.push_str(&format!("- Cycle: {}\n", view.cycle));
    let disputed = if view.disputed_claims.is_empty() { "none".to_owned() } else { view.disputed_claims.join(", ") };
    out.push_str(&format!("- Disputed: {disputed}\n"));
    for claim in &view.claims {
        one(&mut out, claim, view.display.is_verbatim);
    }
    out
}

fn one(out: &mut String, claim: &LedgerClaimView, is_raw: bool) {
    let tag = if claim.status == "DISPUTED" { " [DISPUTED]" } else { "" };
    out.push_str(&format!("\n## {}{tag}\n\n", claim.claim_id));
    let mut bullet = |label: &str, text: &str| self::bullet(out, label, text, is_raw);
    bullet("Text", &claim.text);
    bullet("Type", claim.claim_type.as_deref().unwrap_or("none"));
    if claim.evidence.is_empty() {
        bullet("Evidence", "none");
    }
    claim.evidence.iter().for_each(|text| bullet("Evidence", text));
    claim.tests.iter().for_each(|text| bullet("Test", text));
    bullet("Confidence", &claim.confidence.map_or("none".to_owned(), |number| number.to_string()));
    bullet("Status", claim.status);
    claim.status_reason.iter().for_each(|text| bullet("Reason", text));
    let objections: u64 = claim.objections.len() as u64;
    let rounds: u64 = claim.objections.iter().map(|objection| objection.rounds).sum();
    let by = if claim.reviewers.is_empty() { String::new() } else { format!(" by {}", claim.reviewers.join(", ")) };
    bullet("Reviewer2", &format!("{}, {}{by}", count(rounds, "round"), count(objections, "objection")));
    bullet("Depends on", &if claim.depends_on.is_empty() { "none".to_owned() } else { claim.depends_on.join(", ") });
    if claim.assumptions.is_empty() {
        bullet("Assumptions", "none");
    }
    claim.assumptions.iter().for_each(|text| bullet("Assumptions", text));
    bullet("Updated", &claim.updated);
    claim.dispute_reason.iter().for_each(|text| bullet("dispute_reason", text));
    claim.dispute_cycle.iter().for_each(|cycle| bullet("dispute_cycle", &cycle.to_string()));
    claim.researcher_position.iter().for_each(|text| bullet("researcher_position", text));
    for old in &claim.resolutions {
        let who = old.who.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
        bullet("Resolved", &format!("{} at {}{who}: {}", old.resolution, old.at, old.status));
        let label = if old.resolution == "override" { "human_override_rationale" } else { "rationale" };
        bullet(label, &old.rationale);
        bullet("resolved dispute_reason", &old.dispute_reason);
        old.researcher_position.iter().for_each(|text| bullet("resolved researcher_position", text));
    }
}

fn bullet(out: &mut String, label: &str, text: &str, is_raw: bool) {
    let text = if is_raw { text.into() } else { escape_lines(text) };
    if !text.contains(['\n', '\r']) {
        out.push_str(&format!("- {label}: {text}\n"));
        return;
    }
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    out.push_str(&format!("- {label}:\n\n{fence}text\n{text}{end}{fence}\n\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_pass_for_another_claim() {
        let mut out = String::new();
        bullet(&mut out, "Text", "a\n```\n## C-999\n- Status: VERIFIED", true);
        assert_eq!(out, "- Text:\n\n````text\na\n```\n## C-999\n- Status: VERIFIED\n````\n\n");
    }
}
