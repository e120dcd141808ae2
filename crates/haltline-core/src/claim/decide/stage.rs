//! Cycles and stages of a pipeline (D2–D4): the final stage cannot close while a claim is DISPUTED.

use super::draft::ClaimDraft;
use crate::claim::{ClaimId, Fact, Limits, PipelineFact, Problem, StageName, Trigger};
use crate::{Halt, Verdict};

pub(super) fn begin_cycle(draft: &mut ClaimDraft<'_>) -> Result<Verdict, Halt> {
    if let Some(verdict) = draft.deny_if_over(None) {
        return Ok(verdict);
    }
    if let Some(cycle) = draft.pipeline.cycle.as_ref().filter(|cycle| cycle.ended.is_none()) {
        return Err(Problem::CycleOpen(cycle.number).into());
    }
    draft.begin()?;
    let number = draft.pipeline.cycle_number().saturating_add(1);
    draft.push_pipeline(PipelineFact::CycleBegan { number });
    Ok(Verdict::Pass)
}

/// A cycle can end even if the pipeline is over.
pub(super) fn end_cycle(draft: &mut ClaimDraft<'_>) -> Result<Verdict, Halt> {
    let open = draft.pipeline.cycle.as_ref().filter(|cycle| cycle.ended.is_none());
    let Some(number) = open.map(|cycle| cycle.number) else { return Err(Problem::NoCycle.into()) };
    draft.push_pipeline(PipelineFact::CycleEnded { number });
    Ok(Verdict::Pass)
}

/// A new stage opens a re-examination of every dispute (D4).
pub(super) fn advance(draft: &mut ClaimDraft<'_>, stage: &StageName) -> Result<Verdict, Halt> {
    if let Some(verdict) = draft.deny_if_over(None) {
        return Ok(verdict);
    }
    if draft.pipeline.stage.as_ref().is_some_and(|current| current.name == *stage) {
        return Err(Problem::InStage(stage.clone()).into());
    }
    if draft.pipeline.is_closed(stage) {
        return Err(Problem::StageClosed(stage.clone()).into());
    }
    let disputed = draft.pipeline.disputed();
    draft.load(&disputed)?;
    draft.begin()?;
    draft.push_pipeline(PipelineFact::StageEntered { stage: stage.clone() });
    for id in draft.pipeline.disputed() {
        let detail = format!("the pipeline entered stage {stage}");
        draft.push(&id, Fact::ExaminationOpened { trigger: Trigger::StageTransition, detail });
    }
    Ok(Verdict::Pass)
}

pub(super) fn close(draft: &mut ClaimDraft<'_>, stage: &StageName) -> Result<Verdict, Halt> {
    if !draft.is_begun() {
        return Err(Problem::NoPipeline.into());
    }
    if draft.pipeline.is_closed(stage) {
        return Err(Problem::StageClosed(stage.clone()).into());
    }
    if let Some(verdict) = draft.deny_if_over(None) {
        return Ok(verdict);
    }
    if draft.pipeline.closed.len() >= Limits::STAGES_MAX {
        return Err(Problem::TooMany { what: "closed stages", most: Limits::STAGES_MAX }.into());
    }
    let disputed = draft.pipeline.disputed();
    if *stage == draft.pipeline.final_stage && !disputed.is_empty() {
        let verb = "close_stage".to_owned();
        draft.push_pipeline(PipelineFact::Denied { verb, claim: None, disputed: disputed.clone() });
        return Ok(draft.pipeline_denial("HL-CLAIM-03", blocked(stage, &disputed)));
    }
    draft.push_pipeline(PipelineFact::StageClosed { stage: stage.clone() });
    Ok(Verdict::Pass)
}

/// Limit on the claims that one sentence names.
const NAMED_MAX: usize = 10;

fn blocked(stage: &StageName, disputed: &[ClaimId]) -> String {
    let named: Vec<&str> = disputed.iter().take(NAMED_MAX).map(ClaimId::as_str).collect();
    let more = disputed.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "stage {stage} cannot close while claims are DISPUTED: {}{more}. Resolve each of them: present new data, drop the claim, or ask a person to override the dispute",
        named.join(", ")
    )
}
