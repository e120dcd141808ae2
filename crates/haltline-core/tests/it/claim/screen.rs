//! Renders actual results in the language of `testdata/claim/*.txt`, so that they can be compared as text.

use haltline_core::Effect;
use haltline_core::claim::{Claim, ClaimId, ClaimState, Cycle, Dispute, NoteKind, Pipeline};

use crate::claim::script::ClaimRules;
use crate::language::interpreter::Screen;
use crate::language::outcome::Outcome;

impl Screen for ClaimRules {
    fn last(&self) -> &Outcome {
        &self.last
    }

    /// `verdict [code] status [count/limit]`, as far as the line expects them; the status of the event's claim if it is
    /// about one.
    fn headline(&self, expected: &str) -> String {
        let mut shown = match self.last.verdict_and_code() {
            Ok(verdict) => verdict,
            Err(rejected) => return rejected,
        };
        if let Some(claim) = self.claim.as_ref().and_then(|id| self.world.claim(id.as_str())) {
            shown.push_str(&format!(" {}", claim.listed_status()));
            if expected.contains('/') {
                let highest = claim.objections.iter().map(|objection| objection.count).max().unwrap_or_default();
                shown.push_str(&format!(" {highest}/{}", self.world.policy.claim.rounds()));
            }
        }
        shown
    }

    fn part(&self, key: &str, expected: &str) -> Option<String> {
        if key.starts_with("C-") {
            return Some(self.world.claim(key).map_or("is not there".to_owned(), |claim| of_claim(claim, expected)));
        }
        Some(match key {
            "facts" => {
                let facts = self.last.facts().iter();
                joined(facts.map(|recorded| format!("{}:{}", recorded.circuit.prefix(), recorded.fact.as_str())), ", ")
            }
            "notifies" => {
                let notified = self.last.effects().iter().filter_map(|effect| match effect {
                    Effect::Notify { circuit, .. } => Some(circuit.to_string()),
                    Effect::Mirror | Effect::Archive(_) => None,
                });
                or(joined(notified, ", "), "nobody")
            }
            _of_pipeline => return of_pipeline(self.world.pipeline(), key),
        })
    }
}

fn joined(texts: impl Iterator<Item = impl ToString>, separator: &str) -> String {
    texts.map(|text| text.to_string()).collect::<Vec<_>>().join(separator)
}

/// The text, or another one if it is empty.
fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\n', "\\n").replace('\t', "\\t"))
}

/// `text "…"`: the kind of value that `expected` starts with, and the value; otherwise the status of the claim.
fn of_claim(claim: &Claim, expected: &str) -> String {
    let mut words = expected.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let value = match kind {
        "text" => quoted(&claim.text),
        "evidence" => joined(claim.evidence.iter().map(|text| quoted(text)), " "),
        "tests" => joined(claim.tests.iter().map(|text| quoted(text)), " "),
        "confidence" => claim.confidence.map(|number| number.to_string()).unwrap_or_default(),
        "counts" => joined(claim.objections.iter().map(|known| format!("{}={}", known.label(), known.count)), " "),
        "objection" => {
            let label = words.next().unwrap_or_default();
            let Some(objection) = claim.objections.iter().find(|objection| objection.label() == label) else {
                return format!("has no objection {label}");
            };
            let names = [objection.ids.join(","), objection.reviewers.join(",")].join(" by ");
            format!("{label} {} {names}", quoted(&objection.text))
        }
        "reason" | "position" | "dispute" | "queued" | "examinations" => match claim.dispute() {
            Some(dispute) => of_dispute(dispute, kind),
            None => return "is not DISPUTED".to_owned(),
        },
        "settled" => {
            let settled = claim.resolved_disputes.iter().map(|settled| {
                let (how, reason) = (&settled.how, &settled.dispute.reason);
                format!("{} {} {} was {}", how.as_str(), quoted(how.text()), settled.to, quoted(reason))
            });
            joined(settled, ", ")
        }
        "totals" => {
            let totals = &claim.totals;
            format!(
                "rounds {} changed {} repeated {} stale {} denied {} disputes {} would {}",
                totals.rounds,
                totals.changed,
                totals.repeated,
                totals.stale,
                totals.denied,
                totals.disputes,
                totals.would_dispute
            )
        }
        "about-change" => format!("{} of {}", claim.totals.about_change, claim.totals.after_change),
        "so-far" => claim.rounds_so_far.to_string(),
        "generation" => claim.generation.to_string(),
        "last" => quoted(claim.history.last().map_or("", |line| line.text.as_str())),
        "depends" => joined(claim.depends_on.iter().map(ClaimId::as_str), " "),
        _status => {
            return match &claim.state {
                ClaimState::Free(status) => status.to_string(),
                ClaimState::Disputed(_) => "DISPUTED".to_owned(),
            };
        }
    };
    format!("{kind} {value}")
}

fn of_dispute(dispute: &Dispute, kind: &str) -> String {
    match kind {
        "reason" => quoted(&dispute.reason),
        "position" => quoted(dispute.position.as_deref().unwrap_or_default()),
        "queued" => {
            let queued = dispute.queued.iter().map(|queued| format!("{} {}", queued.base, queued.fell));
            or(joined(queued, ", "), "nothing")
        }
        "examinations" => {
            let open = joined(dispute.examinations.iter().map(|open| open.trigger.as_str()), ", ");
            format!("{} unresolved {}", or(open, "none"), dispute.unresolved)
        }
        _dispute => {
            let Dispute { cycle, count, limit, before, stage, .. } = dispute;
            let stage = stage.as_deref().unwrap_or("none");
            format!("cycle {cycle} stage {stage} rounds {count}/{limit} before {before}")
        }
    }
}

fn of_pipeline(pipeline: Option<&Pipeline>, key: &str) -> Option<String> {
    let listed = |names: String| or(names, "none");
    let pipeline = pipeline?;
    Some(match key {
        "disputed" => listed(joined(pipeline.disputed().iter(), " ")),
        "stage" => pipeline.stage.as_ref().map_or("none", |stage| stage.name.as_str()).to_owned(),
        "closed" => listed(joined(pipeline.closed.iter().map(|closed| &closed.name), " ")),
        "final-stage" => pipeline.final_stage.to_string(),
        "over" => pipeline.is_over().to_string(),
        "claims" => listed(joined(pipeline.claims.keys(), " ")),
        "denied" => pipeline.totals.denied.to_string(),
        "cycle" => pipeline.cycle.as_ref().map_or("none".to_owned(), show_cycle),
        _unknown => return None,
    })
}

fn show_cycle(cycle: &Cycle) -> String {
    let notes: Vec<String> = cycle
        .notes
        .iter()
        .map(|note| {
            let what = match &note.kind {
                NoteKind::Added => "added".to_owned(),
                NoteKind::Moved { from, to } => format!("{from} to {to}"),
                NoteKind::Queued { base } => format!("waits for {base}"),
                NoteKind::Denied { verb } => format!("denied {verb}"),
            };
            format!("{} {what}", note.claim)
        })
        .collect();
    let end = if cycle.ended.is_some() { "ended" } else { "open" };
    format!("{} {end} rounds {} on {} : {}", cycle.number, cycle.rounds, cycle.reviewed.len(), notes.join(", "))
}
