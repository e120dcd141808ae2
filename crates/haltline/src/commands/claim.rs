//! `haltline claim` (D1–D5).

mod text_arguments;

use std::process::ExitCode;

use haltline_core::claim::{
    Changes, ClaimEvent, ClaimId, Confidence, Edit, Limits, NewClaim, ObjectionText, Pipeline, PipelineName, Problem,
    Resolution, Round, StageName, Status,
};
use haltline_core::{Operator, shorten};
use haltline_engine::claims::fields_with_secrets;
use serde::Serialize;

use crate::cli::{
    Claim, ClaimAdd, ClaimChanges, ClaimCycle, ClaimEdit, ClaimReexamine, ClaimResolve, ClaimRound, ClaimVerb,
};
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::AuditView;
use crate::view::claim::{ClaimAnswerView, ClaimListView, ClaimView, LedgerView, TextDisplay, ledger_schema};
use text_arguments::TextArguments;

pub fn run(context: &Context, command: Claim) -> Result<ExitCode, Failure> {
    let pipeline = PipelineName::parse(&command.pipeline).map_err(Failure::plain)?;
    let mut texts = TextArguments::default();
    let handler = PipelineHandler { context, pipeline };
    match command.verb {
        ClaimVerb::Add(command) => handler.commit(add(&mut texts, command)?),
        ClaimVerb::Round(command) => {
            if let Some(warning) = rounds_warning(&context.engine.config().policy().claim) {
                text::warn(&warning);
            }
            handler.commit(round(&mut texts, *command)?)
        }
        ClaimVerb::Cycle(ClaimCycle::Begin) => handler.commit(ClaimEvent::CycleBegin),
        ClaimVerb::Cycle(ClaimCycle::End) => handler.commit(ClaimEvent::CycleEnd),
        ClaimVerb::Show { claim, is_verbatim } => handler.show(&claim, TextDisplay { is_verbatim }),
        ClaimVerb::List { status } => handler.list(status.as_deref()),
        ClaimVerb::Ledger { is_schema: true, .. } => context.print(&ledger_schema(), |schema| format!("{schema:#}\n")),
        ClaimVerb::Ledger { is_verbatim, .. } => handler.ledger(TextDisplay { is_verbatim }),
        ClaimVerb::Promote { claim, to, reason } => {
            let reason = texts.text("--reason", reason, None)?;
            handler.commit(ClaimEvent::Promote { claim: id(&claim)?, to, reason })
        }
        ClaimVerb::Kill { claim, reason } => {
            let reason = texts.required("--reason", Some(reason), None)?;
            handler.commit(ClaimEvent::Kill { claim: id(&claim)?, reason })
        }
        ClaimVerb::Edit(command) => handler.commit(edit(&mut texts, *command)?),
        ClaimVerb::Resolve(command) => handler.resolve(&mut texts, command),
        ClaimVerb::Reexamine(command) => handler.commit(reexamine(&mut texts, command)?),
        ClaimVerb::AdvanceStage { stage } => handler.commit(ClaimEvent::AdvanceStage { stage: self::stage(&stage)? }),
        ClaimVerb::CloseStage { stage } => handler.commit(ClaimEvent::CloseStage { stage: self::stage(&stage)? }),
    }
}

/// The warning about a limit of rounds that is higher than the seed's (D5).
pub fn rounds_warning(limits: &Limits) -> Option<String> {
    let rounds = limits.circuit_breaker_rounds;
    limits.is_raised().then(|| match limits.has_reason() {
        true => format!(
            "claim.circuit_breaker_rounds is {rounds}, more than {}: a dispute that is not settled in {} rounds is seldom settled later (reason: {})",
            Limits::ROUNDS,
            Limits::ROUNDS,
            text::fit(&limits.circuit_breaker_rounds_reason, 200)
        ),
        false => format!(
            "haltline ignores claim.circuit_breaker_rounds = {rounds}: more than {} need claim.circuit_breaker_rounds_reason; it uses {}",
            Limits::ROUNDS,
            Limits::ROUNDS
        ),
    })
}

/// Runs the verbs of one pipeline and prints their results.
struct PipelineHandler<'a> {
    context: &'a Context,
    pipeline: PipelineName,
}

impl PipelineHandler<'_> {
    fn commit(&self, event: ClaimEvent) -> Result<ExitCode, Failure> {
        let secrets = fields_with_secrets(&event);
        let session = environment::session();
        let engine = &self.context.engine;
        let committed = engine.claims(&self.pipeline, session.as_deref(), event.clone()).map_err(Failure::for_claim)?;
        for name in &secrets {
            text::warn(&secret_warning(name));
        }
        let rounds = engine.config().policy().claim.rounds();
        let operator = match &event {
            ClaimEvent::Resolve { how: Resolution::Override { rationale, operator, .. }, .. } => {
                Some(Operator { who: operator.who.clone(), reason: Some(rationale.clone()) })
            }
            _by_anybody => None,
        };
        let mut view = ClaimAnswerView::new(&self.pipeline, event, &committed, rounds);
        view.secrets = secrets;
        view.audit = operator.map(|operator| AuditView::new(&committed, operator));
        self.context.print(&view, text::claim_answer)?;
        Ok(exit_code::unless_denied(committed.decision.verdict.denies()))
    }

    fn resolve(&self, texts: &mut TextArguments, command: ClaimResolve) -> Result<ExitCode, Failure> {
        let (claim, how) = match command {
            ClaimResolve::NewData { claim, evidence, evidence_file } => {
                let evidence = texts.required("--evidence", evidence, evidence_file)?;
                (id(&claim)?, Resolution::NewData { evidence })
            }
            ClaimResolve::Drop { claim, reason, reason_file } => {
                let rationale = texts.required("--reason", reason, reason_file)?;
                (id(&claim)?, Resolution::Drop { rationale })
            }
            ClaimResolve::Override { claim, status, reason, reason_file } => {
                let claim = id(&claim)?;
                let rationale = texts.required("--reason", reason, reason_file)?;
                let operator = self.context.confirm("claim resolve override", None)?;
                (claim, Resolution::Override { to: status, rationale, operator })
            }
        };
        self.commit(ClaimEvent::Resolve { claim, how })
    }

    fn load_pipeline(&self) -> Result<Pipeline, Failure> {
        let pipeline = self.context.engine.pipeline(&self.pipeline)?;
        pipeline.ok_or_else(|| Failure::Plain(Problem::NoPipeline.to_string()))
    }

    fn show(&self, claim: &str, showing: TextDisplay) -> Result<ExitCode, Failure> {
        let claim = id(claim)?;
        let engine = &self.context.engine;
        let found = engine.claim(&self.pipeline, &claim)?;
        let found = found.ok_or_else(|| Failure::Plain(Problem::NoClaim(claim.clone()).to_string()))?;
        let rounds = engine.config().policy().claim.rounds();
        let view = ClaimView::new(&self.pipeline, &claim, &found, rounds, showing);
        self.warn_masked(view.is_masked);
        self.print(&view, showing, text::claim_show)
    }

    fn list(&self, status: Option<&str>) -> Result<ExitCode, Failure> {
        if let Some(name) = status
            && Status::from_name(name).is_none()
            && !name.eq_ignore_ascii_case("DISPUTED")
        {
            return Err(Failure::Plain(format!("status {}: expected one such as VERIFIED or DISPUTED", shorten(name))));
        }
        let engine = &self.context.engine;
        let Some(pipeline) = engine.pipeline(&self.pipeline)? else {
            return self
                .context
                .print_nothing("There are no claims here. Add one with `haltline claim add --text TEXT`.");
        };
        let rounds = engine.config().policy().claim.rounds();
        let mut view = ClaimListView::new(&self.pipeline, &pipeline);
        for (id, entry) in &pipeline.claims {
            let is_wanted = status.is_none_or(|name| entry.status.as_str().eq_ignore_ascii_case(name));
            match engine.claim(&self.pipeline, id)? {
                Some(claim) if is_wanted => view.add(id, &claim, rounds),
                Some(_other) => {}
                None => warn_lost(id),
            }
        }
        self.context.print(&view, text::claim_list)
    }

    fn ledger(&self, showing: TextDisplay) -> Result<ExitCode, Failure> {
        let (pipeline, engine) = (self.load_pipeline()?, &self.context.engine);
        let mut view = LedgerView::new(&self.pipeline, &pipeline, showing);
        for id in pipeline.claims.keys() {
            match engine.claim(&self.pipeline, id)? {
                Some(claim) => view.add(id, &claim),
                None => warn_lost(id),
            }
        }
        self.warn_masked(view.is_masked);
        self.print(&view, showing, text::claim_ledger)
    }

    fn print<V: Serialize>(
        &self,
        view: &V,
        showing: TextDisplay,
        as_text: impl FnOnce(&V) -> String,
    ) -> Result<ExitCode, Failure> {
        match showing.is_verbatim {
            true => self.context.print_verbatim(view, as_text),
            false => self.context.print(view, as_text),
        }
    }

    fn warn_masked(&self, is_masked: bool) {
        if is_masked {
            text::warn("haltline masks what looks like a secret; --verbatim shows the texts unmasked");
        }
    }
}

/// Warns about a claim that the index lists but that has no row: the store was damaged, and only tripped circuits
/// survived.
fn warn_lost(id: &ClaimId) {
    text::warn(&format!("claim {id}: a damaged store lost its record"));
}

/// The warning about an input text that seems to contain a secret.
pub fn secret_warning(name: &str) -> String {
    format!(
        "{name}: it contains what looks like a secret; haltline keeps the text unchanged and masks the secret when it shows the text"
    )
}

fn id(text: &str) -> Result<ClaimId, Failure> {
    ClaimId::parse(text).map_err(Failure::plain)
}

fn ids(texts: &[String]) -> Result<Vec<ClaimId>, Failure> {
    texts.iter().map(|text| id(text)).collect()
}

fn stage(text: &str) -> Result<StageName, Failure> {
    StageName::parse(text).map_err(Failure::plain)
}

fn confidence(text: Option<&str>) -> Result<Option<Confidence>, Failure> {
    text.map(|text| Confidence::parse(text).map_err(Failure::plain)).transpose()
}

fn add(texts: &mut TextArguments, command: ClaimAdd) -> Result<ClaimEvent, Failure> {
    let mut evidence = Vec::new();
    for text in command.evidence {
        evidence.extend(texts.text("--evidence", Some(text), None)?);
    }
    for file in command.evidence_file {
        evidence.extend(texts.text("--evidence", None, Some(file))?);
    }
    let mut assumptions = Vec::new();
    for text in command.assumption {
        assumptions.extend(texts.text("--assumption", Some(text), None)?);
    }
    Ok(ClaimEvent::Add(Box::new(NewClaim {
        id: command.claim.as_deref().map(id).transpose()?,
        text: texts.required("--text", command.text, command.text_file)?,
        kind: command.kind,
        evidence,
        assumptions,
        confidence: confidence(command.confidence.as_deref())?,
        depends_on: ids(&command.depends_on)?,
    })))
}

fn changes(texts: &mut TextArguments, command: ClaimChanges) -> Result<Changes, Failure> {
    Ok(Changes {
        new_evidence: texts.text("--new-evidence", command.new_evidence, command.new_evidence_file)?,
        test_run: texts.text("--test-run", command.test_run, command.test_run_file)?,
        confidence: confidence(command.confidence.as_deref())?,
        claim_text: texts.text("--claim-text", command.claim_text, command.claim_text_file)?,
    })
}

fn round(texts: &mut TextArguments, command: ClaimRound) -> Result<ClaimEvent, Failure> {
    let objection = ObjectionText {
        id: command.objection_id,
        text: texts.text("--objection", command.objection, command.objection_file)?,
        same_as: command.same_as,
    };
    Ok(ClaimEvent::Round(Box::new(Round {
        claim: id(&command.claim)?,
        objection,
        reviewer: command.reviewer,
        answer: texts.text("--answer", command.answer, command.answer_file)?,
        changes: changes(texts, command.changes)?,
        round: command.round,
        generation: command.generation,
    })))
}

fn edit(texts: &mut TextArguments, command: ClaimEdit) -> Result<ClaimEvent, Failure> {
    Ok(ClaimEvent::Edit(Box::new(Edit {
        claim: id(&command.claim)?,
        changes: changes(texts, command.changes)?,
        status: command.status,
        depends_on: ids(&command.depends_on)?,
        reason: texts.text("--reason", command.reason, None)?,
    })))
}

fn reexamine(texts: &mut TextArguments, command: ClaimReexamine) -> Result<ClaimEvent, Failure> {
    let detail = texts.text("--detail", command.detail, None)?;
    let reason = texts.text("--reason", command.reason, None)?;
    Ok(ClaimEvent::Reexamine {
        claim: id(&command.claim)?,
        trigger: command.trigger.map(|trigger| (trigger.into(), detail.unwrap_or_default())),
        outcome: command.outcome.map(|outcome| (outcome.into(), reason.unwrap_or_default())),
    })
}
