//! What a line of `testdata/claim/*.txt` is compared with: the outcome, and parts of what is then so.

use haltline_core::claim::{Claim, ClaimId, Cycle, Dispute, Happening, NoteKind, Pipeline, Standing};
use haltline_core::{Decision, Effect, Rejection, Verdict};

use crate::pipelines::World;

pub struct Screen<'a> {
    pub world: &'a World,
    pub last: Option<(&'a Happening, &'a Result<Decision, Rejection>)>,
}

impl Screen<'_> {
    /// `verdict [code] status [count/limit]`, as far as the line asks: a claim's where the event is about one.
    pub fn outcome(&self, expected: &str) -> Result<String, String> {
        let Some((what, last)) = self.last else { return Err("nothing happened".to_owned()) };
        let decision = match last {
            Ok(decision) => decision,
            Err(Rejection::Claim(problem)) => return Ok(format!("rejected {}", short(&problem.to_string()))),
            Err(other) => return Err(format!("{other:?} is another family's")),
        };
        let mut shown = decision.verdict.word().to_owned();
        if let Some(reason) = decision.verdict.reason() {
            shown.push_str(&format!(" {}", reason.code));
        }
        let Some(id) = self.about(what) else { return Ok(shown) };
        if let Some(claim) = self.world.claim(id.as_str()) {
            shown.push_str(&format!(" {}", claim.word()));
            if expected.contains('/') {
                let highest = claim.objections.iter().map(|objection| objection.count).max().unwrap_or_default();
                shown.push_str(&format!(" {highest}/{}", self.world.policy.claim.rounds()));
            }
        }
        Ok(shown)
    }

    fn about(&self, what: &Happening) -> Option<ClaimId> {
        match what {
            Happening::Add(new) => new.id.clone(),
            Happening::Round(round) => Some(round.claim.clone()),
            Happening::Edit(edit) => Some(edit.claim.clone()),
            Happening::Promote { claim, .. }
            | Happening::Kill { claim, .. }
            | Happening::Resolve { claim, .. }
            | Happening::Reexamine { claim, .. } => Some(claim.clone()),
            Happening::CycleBegin
            | Happening::CycleEnd
            | Happening::AdvanceStage { .. }
            | Happening::CloseStage { .. } => None,
        }
    }

    /// One part of what is so, as the part that asks for it names it.
    pub fn show(&self, part: &str) -> Result<String, String> {
        let mut words = part.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first.starts_with("C-") {
            let claim = self.world.claim(first).ok_or_else(|| format!("{first} is not there"))?;
            return of_claim(first, claim, part.trim_start_matches(first).trim());
        }
        match first {
            "facts" => {
                let facts = self.decision()?.facts.iter();
                let words: Vec<String> =
                    facts.map(|recorded| format!("{}:{}", recorded.circuit.family(), recorded.fact.word())).collect();
                Ok(format!("facts {}", words.join(", ")))
            }
            "notifies" => {
                let told = self.decision()?.effects.iter().filter_map(|effect| match effect {
                    Effect::Notify { circuit, .. } => Some(circuit.to_string()),
                    Effect::Mirror | Effect::Archive(_) => None,
                });
                let told: Vec<String> = told.collect();
                Ok(format!("notifies {}", if told.is_empty() { "nobody".to_owned() } else { told.join(", ") }))
            }
            "says" => self.says(part),
            "retry" => Ok(match self.decision()?.verdict.reason().map(|reason| reason.retry) {
                Some(haltline_core::Retry::Person) => "retry by a person".to_owned(),
                other => format!("retry {other:?}"),
            }),
            "disputed" | "stage" | "closed" | "final-stage" | "cycle" | "over" | "claims" | "refused" => {
                of_pipeline(self.world.pipeline().ok_or("there is no pipeline")?, first)
            }
            other => Err(format!("{other:?} is nothing that can be shown")),
        }
    }

    fn decision(&self) -> Result<&Decision, String> {
        match self.last {
            Some((_, Ok(decision))) => Ok(decision),
            Some((_, Err(rejection))) => Err(format!("it was rejected: {rejection:?}")),
            None => Err("nothing happened on this line".to_owned()),
        }
    }

    fn says(&self, part: &str) -> Result<String, String> {
        let said = match self.last {
            Some((_, Ok(decision))) => match &decision.verdict {
                Verdict::Pass => String::new(),
                Verdict::Warn(reason) | Verdict::Deny(reason) | Verdict::Stop(reason) => reason.text.clone(),
            },
            Some((_, Err(Rejection::Claim(problem)))) => problem.to_string(),
            Some((_, Err(other))) => format!("{other:?}"),
            None => String::new(),
        };
        let wanted = part.trim().trim_start_matches("says").trim().trim_matches('"');
        Ok(if said.contains(wanted) { part.to_owned() } else { format!("says {said:?}") })
    }
}

/// A rejection up to what it expected instead.
fn short(problem: &str) -> &str {
    problem.split([':', ';']).next().unwrap_or(problem)
}

fn of_claim(id: &str, claim: &Claim, asked: &str) -> Result<String, String> {
    let kind = asked.split_whitespace().next().unwrap_or_default();
    let quoted = |text: &str| format!("\"{}\"", text.replace('\n', "\\n").replace('\t', "\\t"));
    let dispute = || claim.dispute().ok_or_else(|| format!("{id} is not DISPUTED"));
    let shown = match kind {
        "text" => format!("text {}", quoted(&claim.text)),
        "evidence" => {
            format!("evidence {}", claim.evidence.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" "))
        }
        "tests" => format!("tests {}", claim.tests.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" ")),
        "confidence" => format!("confidence {}", claim.confidence.map(|number| number.to_string()).unwrap_or_default()),
        "counts" => {
            let counts = claim.objections.iter().map(|objection| format!("{}={}", objection.label(), objection.count));
            format!("counts {}", counts.collect::<Vec<_>>().join(" "))
        }
        "objection" => {
            let label = asked.split_whitespace().nth(1).unwrap_or_default();
            let objection = claim.objections.iter().find(|objection| objection.label() == label);
            let objection = objection.ok_or_else(|| format!("{id} has no objection {label}"))?;
            let names = [objection.ids.join(","), objection.reviewers.join(",")].join(" by ");
            format!("objection {label} {} {names}", quoted(&objection.text))
        }
        "reason" => format!("reason {}", quoted(&dispute()?.reason)),
        "position" => format!("position {}", quoted(dispute()?.position.as_deref().unwrap_or_default())),
        "dispute" => {
            let Dispute { cycle, count, limit, before, stage, .. } = dispute()?;
            format!(
                "dispute cycle {cycle} stage {} rounds {count}/{limit} before {before}",
                stage.as_deref().unwrap_or("none")
            )
        }
        "queued" => {
            let queued = dispute()?.queued.iter().map(|queued| format!("{} {}", queued.base, queued.fell));
            let queued: Vec<String> = queued.collect();
            format!("queued {}", if queued.is_empty() { "nothing".to_owned() } else { queued.join(", ") })
        }
        "examinations" => {
            let open = dispute()?.examinations.iter().map(|open| open.trigger.word());
            let open: Vec<&str> = open.collect();
            format!(
                "examinations {} unresolved {}",
                if open.is_empty() { "none".to_owned() } else { open.join(", ") },
                dispute()?.unresolved
            )
        }
        "settled" => {
            let settled = claim.settled.iter().map(|settled| {
                format!(
                    "{} {} {} was {}",
                    settled.how.word(),
                    quoted(settled.how.said()),
                    settled.to,
                    quoted(&settled.dispute.reason)
                )
            });
            format!("settled {}", settled.collect::<Vec<_>>().join(", "))
        }
        "totals" => {
            let totals = &claim.totals;
            format!(
                "totals rounds {} changed {} repeated {} stale {} refused {} disputes {} would {}",
                totals.rounds,
                totals.changed,
                totals.repeated,
                totals.stale,
                totals.refused,
                totals.disputes,
                totals.would_dispute
            )
        }
        "generation" => format!("generation {}", claim.generation),
        "last" => format!("last {}", quoted(claim.history.last().map_or("", |line| line.text.as_str()))),
        "depends" => format!("depends {}", claim.depends_on.iter().map(ClaimId::as_str).collect::<Vec<_>>().join(" ")),
        _status => match &claim.standing {
            Standing::Free(status) => status.to_string(),
            Standing::Disputed(_) => "DISPUTED".to_owned(),
        },
    };
    Ok(format!("{id} {shown}"))
}

fn of_pipeline(pipeline: &Pipeline, kind: &str) -> Result<String, String> {
    let listed = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    Ok(match kind {
        "disputed" => format!("disputed {}", listed(pipeline.disputed().iter().map(ToString::to_string).collect())),
        "stage" => format!("stage {}", pipeline.stage.as_ref().map_or("none", |stage| stage.name.as_str())),
        "closed" => {
            format!("closed {}", listed(pipeline.closed.iter().map(|closed| closed.name.to_string()).collect()))
        }
        "final-stage" => format!("final-stage {}", pipeline.final_stage),
        "over" => format!("over {}", pipeline.is_over()),
        "claims" => format!("claims {}", listed(pipeline.claims.keys().map(ToString::to_string).collect())),
        "refused" => format!("refused {}", pipeline.totals.refused),
        _cycle => cycle(pipeline.cycle.as_ref().ok_or("no cycle has begun")?),
    })
}

fn cycle(cycle: &Cycle) -> String {
    let notes: Vec<String> = cycle
        .notes
        .iter()
        .map(|note| {
            let what = match &note.what {
                NoteKind::Added => "added".to_owned(),
                NoteKind::Moved { from, to } => format!("{from} to {to}"),
                NoteKind::Queued { base } => format!("waits for {base}"),
                NoteKind::Refused { verb } => format!("refused {verb}"),
            };
            format!("{} {what}", note.claim)
        })
        .collect();
    let end = if cycle.ended.is_some() { "ended" } else { "open" };
    format!("cycle {} {end} rounds {} on {} : {}", cycle.number, cycle.rounds, cycle.reviewed.len(), notes.join(", "))
}
