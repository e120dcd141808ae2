//! Every fact of the claim breaker with its name and whether it needs a sync, in the order of `testdata/facts.jsonl`.

use haltline_core::claim::{
    Added, Changes, ClaimId, Confidence, Denial, Dispute, DisputeCause, ExaminationOutcome, Examined, Fact,
    ListedStatus, OpenExamination, PipelineFact, Queued, Reviewed, Settlement, StageName, Status, Trigger, Weight,
};
use haltline_core::identity::Digest;
use haltline_core::{Fact as AnyFact, Moment};

pub fn rows(now: Moment) -> Vec<(AnyFact, &'static str, bool)> {
    let claims = claims(now).into_iter().chain(reviews());
    let claims = claims.map(|(fact, name, needs_sync)| (AnyFact::Claim(fact), name, needs_sync));
    let pipelines = pipelines().into_iter();
    claims.chain(pipelines.map(|(fact, name, needs_sync)| (AnyFact::Pipeline(fact), name, needs_sync))).collect()
}

fn id(text: &str) -> ClaimId {
    ClaimId::parse(text).expect("a good name")
}

fn stage() -> StageName {
    StageName::parse("S5").expect("a good name")
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn changes() -> Changes {
    Changes {
        new_evidence: Some(text("table 2")),
        test_run: Some(text("harness")),
        confidence: Confidence::parse("0.65").ok(),
        claim_text: Some(text("x holds in mice")),
    }
}

fn dispute(now: Moment) -> Box<Dispute> {
    Box::new(Dispute {
        incident: text("0a1b2c3d"),
        since: now,
        cycle: 2,
        stage: Some(text("S2")),
        objection: 1,
        reason: text("run the harness"),
        position: Some(text("no GC column")),
        count: 3,
        limit: 3,
        cause: DisputeCause::Objection,
        before: Status::Verified,
        queued: vec![Queued { base: id("C-001"), fell: Status::Killed, at: now.at }],
        examinations: vec![OpenExamination { trigger: Trigger::StageTransition, detail: text("S3"), at: now.at }],
        unresolved: 1,
        examined: vec![Examined {
            triggers: vec![Trigger::StageTransition],
            outcome: ExaminationOutcome::Unresolved,
            reason: text("nothing new"),
            at: now.at,
        }],
    })
}

/// Facts about the rounds of a claim, which later versions added.
pub fn rounds(now: Moment) -> [(AnyFact, &'static str, bool); 2] {
    let dispute = Box::new(Dispute { count: 8, limit: 8, cause: DisputeCause::Rounds, ..*bare_dispute(now) });
    let reviewed = Reviewed {
        objection: 2,
        joined: Vec::new(),
        id: None,
        text: Some(text("the new table has no units")),
        wording: None,
        reviewer: None,
        round: None,
        answer: None,
        changes: Changes::default(),
        weight: Weight::Counted,
        count: 1,
        is_about_change: true,
    };
    [
        (AnyFact::Claim(Fact::Disputed { dispute }), "disputed", true),
        (AnyFact::Claim(Fact::Reviewed(Box::new(reviewed))), "round", false),
    ]
}

fn bare_dispute(now: Moment) -> Box<Dispute> {
    let (queued, examinations, examined) = (Vec::new(), Vec::new(), Vec::new());
    Box::new(Dispute { stage: None, position: None, queued, examinations, examined, unresolved: 0, ..*dispute(now) })
}

fn claims(now: Moment) -> Vec<(Fact, &'static str, bool)> {
    let plain = Added {
        text: text("x holds"),
        kind: None,
        evidence: Vec::new(),
        assumptions: Vec::new(),
        confidence: None,
        depends_on: Vec::new(),
    };
    let full = Added {
        kind: Some(text("hypothesis")),
        evidence: vec![text("table 1")],
        assumptions: vec![text("no batch effect")],
        confidence: Confidence::parse("0.8").ok(),
        depends_on: vec![id("C-001")],
        ..plain.clone()
    };
    let base = || id("C-001");
    let fell = Status::Rejected;
    let killed = Denial::Transition { from: Status::Killed, to: None };
    let downwards = Denial::Transition { from: Status::Robust, to: Some(Status::Verified) };
    let denied = |because| Fact::Denied { verb: text("promote"), because };
    let resolved = |how, to| Fact::Resolved { how, to };
    vec![
        (Fact::Added(Box::new(plain)), "added", false),
        (Fact::Added(Box::new(full)), "added", false),
        (Fact::Edited { changes: changes(), respelled: None, depends_on: Vec::new() }, "edited", false),
        (
            Fact::Edited { changes: Changes::default(), respelled: Some(text("X holds.")), depends_on: vec![base()] },
            "edited",
            false,
        ),
        (Fact::Moved { to: Status::Confirmed, reason: None }, "moved", true),
        (Fact::Moved { to: Status::Killed, reason: Some(text("retracted")) }, "moved", true),
        (Fact::Challenged { base: base(), fell }, "challenged", true),
        (Fact::Queued { base: base(), fell }, "queued", true),
        (Fact::Released { base: base(), fell, applied: true }, "released", true),
        (Fact::Released { base: base(), fell, applied: false }, "released", true),
        (Fact::Disputed { dispute: dispute(now) }, "disputed", true),
        (Fact::Disputed { dispute: bare_dispute(now) }, "disputed", true),
        (Fact::WouldDispute { dispute: bare_dispute(now) }, "would_dispute", true),
        (resolved(Settlement::NewData { evidence: text("the GC track") }, Status::Verified), "resolved", true),
        (resolved(Settlement::Dropped { rationale: text("not worth it") }, Status::Killed), "resolved", true),
        (
            resolved(Settlement::Overridden { who: text("anna"), rationale: text("I looked") }, Status::Robust),
            "resolved",
            true,
        ),
        (resolved(Settlement::Examined { reason: text("R3 agrees") }, Status::Unverified), "resolved", true),
        (
            Fact::ExaminationOpened { trigger: Trigger::NewData, detail: text("GC track published") },
            "examination_opened",
            false,
        ),
        (
            Fact::ExaminationOpened { trigger: Trigger::CrossModelAudit, detail: text("R3") },
            "examination_opened",
            false,
        ),
        (Fact::Examined { outcome: ExaminationOutcome::Unresolved, reason: text("nothing new") }, "examined", true),
        (Fact::Examined { outcome: ExaminationOutcome::Resolved, reason: text("answered") }, "examined", true),
        (denied(Denial::Frozen), "refused", false),
        (denied(killed), "refused", false),
        (denied(downwards), "refused", false),
    ]
}

fn reviews() -> Vec<(Fact, &'static str, bool)> {
    let bare = |weight, count| Reviewed {
        objection: 1,
        joined: Vec::new(),
        id: None,
        text: None,
        wording: None,
        reviewer: None,
        round: None,
        answer: None,
        changes: Changes::default(),
        weight,
        count,
        is_about_change: false,
    };
    let full = Reviewed {
        joined: vec![2],
        id: Some(text("FF-001")),
        text: Some(text("run the harness")),
        wording: Some(Digest(44)),
        reviewer: Some(text("R2")),
        round: Some(text("r7")),
        answer: Some(text("no GC column")),
        changes: changes(),
        ..bare(Weight::Changed, 0)
    };
    [
        (full, "round_with_change"),
        (bare(Weight::Counted, 1), "round"),
        (bare(Weight::Repeated, 1), "round_repeated"),
        (bare(Weight::Stale, 1), "stale"),
    ]
    .map(|(reviewed, word)| (Fact::Reviewed(Box::new(reviewed)), word, false))
    .to_vec()
}

fn pipelines() -> Vec<(PipelineFact, &'static str, bool)> {
    let claim = || id("C-002");
    let on = || vec![id("C-001")];
    let free = ListedStatus::Free(Status::Unverified);
    let denied = |claim, disputed| PipelineFact::Denied { verb: text("close_stage"), claim, disputed };
    vec![
        (PipelineFact::Began { final_stage: stage() }, "began", false),
        (PipelineFact::Added { claim: claim(), status: free, depends_on: Vec::new() }, "added", false),
        (PipelineFact::Added { claim: claim(), status: free, depends_on: on() }, "added", false),
        (PipelineFact::Depends { claim: claim(), on: on() }, "depends", false),
        (PipelineFact::Reviewed { claim: claim() }, "round", false),
        (PipelineFact::Moved { claim: claim(), to: ListedStatus::Disputed }, "moved", true),
        (PipelineFact::Moved { claim: claim(), to: free }, "moved", true),
        (PipelineFact::Queued { claim: claim(), base: id("C-001") }, "queued", true),
        (PipelineFact::Sized { claim: claim(), bytes: 77 }, "sized", false),
        (PipelineFact::CycleBegan { number: 2 }, "cycle_began", false),
        (PipelineFact::CycleEnded { number: 2 }, "cycle_ended", false),
        (PipelineFact::StageEntered { stage: stage() }, "stage_entered", true),
        (PipelineFact::StageClosed { stage: stage() }, "stage_closed", true),
        (denied(Some(claim()), Vec::new()), "refused", false),
        (denied(None, on()), "refused", false),
    ]
}
