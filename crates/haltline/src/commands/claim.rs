//! `haltline claim` (D1–D5).

mod said;

use std::process::ExitCode;

use haltline_core::claim::{
    Changes, ClaimId, Confidence, Edit, Happening, Limits, NewClaim, ObjectionSaid, Pipeline, PipelineName, Problem,
    Resolution, Round, StageName, Status,
};
use haltline_core::shorten;
use haltline_engine::claims::suspicious;

use super::constraint::audit;
use crate::cli::{
    Claim, ClaimAdd, ClaimChanges, ClaimCycle, ClaimEdit, ClaimReexamine, ClaimResolve, ClaimRound, ClaimVerb,
};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::surroundings;
use crate::view::claim::{ClaimAnswerView, ClaimListView, ClaimView, LedgerView, Showing, ledger_schema};
use crate::workplace::Workplace;
use said::Said;

/// Runs a claim command.
pub fn run(workplace: &Workplace, command: Claim) -> Result<ExitCode, Failure> {
    let pipeline = PipelineName::parse(&command.pipeline).map_err(|error| Failure::Plain(error.to_string()))?;
    let mut said = Said::default();
    let desk = Desk { workplace, pipeline };
    match command.verb {
        ClaimVerb::Add(command) => desk.tell("add", add(&mut said, command)?),
        ClaimVerb::Round(command) => {
            if let Some(warning) = rounds_warning(&workplace.engine.config().policy().claim) {
                text::warn(&warning);
            }
            desk.tell("round", round(&mut said, *command)?)
        }
        ClaimVerb::Cycle(ClaimCycle::Begin) => desk.tell("cycle begin", Happening::CycleBegin),
        ClaimVerb::Cycle(ClaimCycle::End) => desk.tell("cycle end", Happening::CycleEnd),
        ClaimVerb::Show { claim, is_verbatim } => desk.show(&claim, Showing { is_verbatim }),
        ClaimVerb::List { status } => desk.list(status.as_deref()),
        ClaimVerb::Ledger { is_schema: true, .. } => {
            workplace.answer(&ledger_schema(), |schema| format!("{schema:#}\n"))?;
            Ok(exit_code::FINE)
        }
        ClaimVerb::Ledger { is_verbatim, .. } => desk.ledger(Showing { is_verbatim }),
        ClaimVerb::Promote { claim, to, reason } => {
            let reason = said.text("--reason", reason, None)?;
            desk.tell("promote", Happening::Promote { claim: id(&claim)?, to, reason })
        }
        ClaimVerb::Kill { claim, reason } => {
            let reason = said.required("--reason", Some(reason), None)?;
            desk.tell("kill", Happening::Kill { claim: id(&claim)?, reason })
        }
        ClaimVerb::Edit(command) => desk.tell("edit", edit(&mut said, *command)?),
        ClaimVerb::Resolve(command) => desk.resolve(&mut said, command),
        ClaimVerb::Reexamine(command) => desk.tell("reexamine", reexamine(&mut said, command)?),
        ClaimVerb::AdvanceStage { stage } => {
            desk.tell("advance-stage", Happening::AdvanceStage { stage: self::stage(&stage)? })
        }
        ClaimVerb::CloseStage { stage } => {
            desk.tell("close-stage", Happening::CloseStage { stage: self::stage(&stage)? })
        }
    }
}

/// What is said of more patience than the seed has (D5).
pub fn rounds_warning(limits: &Limits) -> Option<String> {
    let rounds = limits.circuit_breaker_rounds;
    limits.is_raised().then(|| match limits.has_reason() {
        true => format!(
            "claim.circuit_breaker_rounds is {rounds}, more than {}: what was not settled in {} rounds is seldom settled later (reason: {})",
            Limits::ROUNDS,
            Limits::ROUNDS,
            text::fit(&limits.circuit_breaker_rounds_reason, 200)
        ),
        false => format!(
            "claim.circuit_breaker_rounds = {rounds} is left out: more than {} need claim.circuit_breaker_rounds_reason; {} apply",
            Limits::ROUNDS,
            Limits::ROUNDS
        ),
    })
}

/// A pipeline, and how to answer.
struct Desk<'a> {
    workplace: &'a Workplace,
    pipeline: PipelineName,
}

impl Desk<'_> {
    fn tell(&self, verb: &'static str, what: Happening) -> Result<ExitCode, Failure> {
        self.tell_as(verb, what, None)
    }

    fn tell_as(&self, verb: &'static str, what: Happening, who: Option<(String, String)>) -> Result<ExitCode, Failure> {
        let secrets = suspicious(&what);
        let session = surroundings::session();
        let engine = &self.workplace.engine;
        let committed = engine.claims(&self.pipeline, session.as_deref(), what.clone()).map_err(Failure::of_claim)?;
        for name in &secrets {
            text::warn(&secret_warning(name));
        }
        let rounds = engine.config().policy().claim.rounds();
        let mut view = ClaimAnswerView::new(verb, &self.pipeline, &what, &committed, rounds);
        view.secrets = secrets;
        view.audit = who.map(|(who, rationale)| audit(&committed, who, Some(&rationale)));
        self.workplace.answer(&view, text::claim_answer)?;
        Ok(if committed.decision.verdict.refuses() { exit_code::refused() } else { exit_code::FINE })
    }

    fn resolve(&self, said: &mut Said, command: ClaimResolve) -> Result<ExitCode, Failure> {
        match command {
            ClaimResolve::NewData { claim, evidence, evidence_file } => {
                let evidence = said.required("--evidence", evidence, evidence_file)?;
                self.tell(
                    "resolve new-data",
                    Happening::Resolve { claim: id(&claim)?, how: Resolution::NewData { evidence } },
                )
            }
            ClaimResolve::Drop { claim, rationale, rationale_file } => {
                let rationale = said.required("--rationale", rationale, rationale_file)?;
                self.tell(
                    "resolve drop",
                    Happening::Resolve { claim: id(&claim)?, how: Resolution::Drop { rationale } },
                )
            }
            ClaimResolve::Override { claim, status, rationale, rationale_file } => {
                let claim = id(&claim)?;
                let rationale = said.required("--rationale", rationale, rationale_file)?;
                let config = self.workplace.engine.config();
                let operator = confirm("claim resolve override", None, Proof::Presence, config)?;
                let who = Some((operator.who.clone(), rationale.clone()));
                let how = Resolution::Override { to: status, rationale, operator };
                self.tell_as("resolve override", Happening::Resolve { claim, how }, who)
            }
        }
    }

    fn known(&self) -> Result<Pipeline, Failure> {
        let pipeline = self.workplace.engine.pipeline(&self.pipeline)?;
        pipeline.ok_or_else(|| Failure::Plain(Problem::NoPipeline.to_string()))
    }

    fn show(&self, claim: &str, showing: Showing) -> Result<ExitCode, Failure> {
        let claim = id(claim)?;
        let engine = &self.workplace.engine;
        let found = engine.claim(&self.pipeline, &claim)?;
        let found = found.ok_or_else(|| Failure::Plain(Problem::NoClaim(claim.clone()).to_string()))?;
        let rounds = engine.config().policy().claim.rounds();
        let view = ClaimView::new(&self.pipeline, &claim, &found, rounds, showing);
        self.tell_masked(view.is_masked);
        self.workplace.answer(&view, text::claim_show)?;
        Ok(exit_code::FINE)
    }

    fn list(&self, status: Option<&str>) -> Result<ExitCode, Failure> {
        if let Some(word) = status
            && Status::named(word).is_none()
            && !word.eq_ignore_ascii_case("DISPUTED")
        {
            return Err(Failure::Plain(format!("status {}: expected one such as VERIFIED or DISPUTED", shorten(word))));
        }
        let (pipeline, engine) = (self.known()?, &self.workplace.engine);
        let rounds = engine.config().policy().claim.rounds();
        let mut view = ClaimListView::new(&self.pipeline, &pipeline);
        for (id, entry) in &pipeline.claims {
            let is_wanted = status.is_none_or(|word| entry.word.word().eq_ignore_ascii_case(word));
            match engine.claim(&self.pipeline, id)? {
                Some(claim) if is_wanted => view.add(id, &claim, rounds),
                Some(_other) => {}
                None => tell_lost(id),
            }
        }
        self.workplace.answer(&view, text::claim_list)?;
        Ok(exit_code::FINE)
    }

    fn ledger(&self, showing: Showing) -> Result<ExitCode, Failure> {
        let (pipeline, engine) = (self.known()?, &self.workplace.engine);
        let mut view = LedgerView::new(&self.pipeline, &pipeline, showing);
        for id in pipeline.claims.keys() {
            match engine.claim(&self.pipeline, id)? {
                Some(claim) => view.add(id, &claim),
                None => tell_lost(id),
            }
        }
        self.tell_masked(view.is_masked);
        self.workplace.answer(&view, text::claim_ledger)?;
        Ok(exit_code::FINE)
    }

    fn tell_masked(&self, is_masked: bool) {
        if is_masked {
            text::warn("what looks like a secret is masked here; --verbatim shows the texts as they are kept");
        }
    }
}

/// A claim that the index knows and that has no record: the store was damaged, and only what was held survived.
fn tell_lost(id: &ClaimId) {
    text::warn(&format!("claim {id}: its record was lost with a damaged store"));
}

/// Said where a text comes in that seems to hold a secret.
pub fn secret_warning(name: &str) -> String {
    format!("{name}: what looks like a secret is in it; it is kept word for word, and masked where it is shown")
}

fn id(text: &str) -> Result<ClaimId, Failure> {
    ClaimId::parse(text).map_err(|error| Failure::Plain(error.to_string()))
}

fn ids(texts: &[String]) -> Result<Vec<ClaimId>, Failure> {
    texts.iter().map(|text| id(text)).collect()
}

fn stage(text: &str) -> Result<StageName, Failure> {
    StageName::parse(text).map_err(|error| Failure::Plain(error.to_string()))
}

fn confidence(text: Option<&str>) -> Result<Option<Confidence>, Failure> {
    text.map(|text| Confidence::parse(text).map_err(|error| Failure::Plain(error.to_string()))).transpose()
}

fn add(said: &mut Said, command: ClaimAdd) -> Result<Happening, Failure> {
    let mut evidence = Vec::new();
    for text in command.evidence {
        evidence.extend(said.text("--evidence", Some(text), None)?);
    }
    for file in command.evidence_file {
        evidence.extend(said.text("--evidence", None, Some(file))?);
    }
    let mut assumptions = Vec::new();
    for text in command.assumption {
        assumptions.extend(said.text("--assumption", Some(text), None)?);
    }
    Ok(Happening::Add(Box::new(NewClaim {
        id: command.claim.as_deref().map(id).transpose()?,
        text: said.required("--text", command.text, command.text_file)?,
        kind: command.kind,
        evidence,
        assumptions,
        confidence: confidence(command.confidence.as_deref())?,
        depends_on: ids(&command.depends_on)?,
    })))
}

fn changes(said: &mut Said, command: ClaimChanges) -> Result<Changes, Failure> {
    Ok(Changes {
        new_evidence: said.text("--new-evidence", command.new_evidence, command.new_evidence_file)?,
        test_run: said.text("--test-run", command.test_run, command.test_run_file)?,
        confidence: confidence(command.confidence.as_deref())?,
        claim_text: said.text("--claim-text", command.claim_text, command.claim_text_file)?,
    })
}

fn round(said: &mut Said, command: ClaimRound) -> Result<Happening, Failure> {
    let objection = ObjectionSaid {
        id: command.objection_id,
        text: said.text("--objection", command.objection, command.objection_file)?,
        same_as: command.same_as,
    };
    Ok(Happening::Round(Box::new(Round {
        claim: id(&command.claim)?,
        objection,
        reviewer: command.reviewer,
        answer: said.text("--answer", command.answer, command.answer_file)?,
        changes: changes(said, command.changes)?,
        round: command.round,
        generation: command.generation,
    })))
}

fn edit(said: &mut Said, command: ClaimEdit) -> Result<Happening, Failure> {
    Ok(Happening::Edit(Box::new(Edit {
        claim: id(&command.claim)?,
        changes: changes(said, command.changes)?,
        status: command.status,
        depends_on: ids(&command.depends_on)?,
        reason: said.text("--reason", command.reason, None)?,
    })))
}

fn reexamine(said: &mut Said, command: ClaimReexamine) -> Result<Happening, Failure> {
    let detail = said.text("--detail", command.detail, None)?;
    let reason = said.text("--reason", command.reason, None)?;
    Ok(Happening::Reexamine {
        claim: id(&command.claim)?,
        trigger: command.trigger.map(|trigger| (trigger.into(), detail.unwrap_or_default())),
        outcome: command.outcome.map(|outcome| (outcome.into(), reason.unwrap_or_default())),
    })
}
