//! Properties of the claim breaker under any sequence of events: a DISPUTED claim keeps its text, its position and its
//! objection, no queued change is lost, the final stage never closes over a dispute, and every count matches a naive
//! second implementation.

use haltline_core::claim::{
    Changes, Claim, ClaimEvent, ClaimId, ClaimState, Confidence, Edit, ExaminationOutcome, Fact, ListedStatus,
    NewClaim, ObjectionText, Resolution, Round, StageName, Status, Trigger,
};
use haltline_core::{Decision, Fact as AnyFact, Operator, Rejection, Verdict};
use proptest::prelude::*;

use crate::claim::reference::{Expected, Reference};
use crate::claim::world::{World, id};

const CLAIMS: [&str; 4] = ["C-1", "C-2", "C-3", "C-4"];
const TEXTS: [&str; 6] = ["alpha", "Alpha.", "beta", "beta  gamma", "p < 1", "p > 1"];

fn claim() -> impl Strategy<Value = ClaimId> {
    prop::sample::select(&CLAIMS[..]).prop_map(id)
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(&TEXTS[..]).prop_map(str::to_owned)
}

fn rare<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.12, of)
}

fn often<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.8, of)
}

fn changes() -> impl Strategy<Value = Changes> {
    let confidence = prop::sample::select(&["0.5", "0.50", "0.9"][..])
        .prop_map(|text| Confidence::parse(text).expect("a good number"));
    (rare(text()), rare(text()), rare(confidence), rare(text())).prop_map(
        |(new_evidence, test_run, confidence, claim_text)| Changes { new_evidence, test_run, confidence, claim_text },
    )
}

fn round() -> impl Strategy<Value = ClaimEvent> {
    let flaw = prop::sample::select(&["F1", "F2"][..]).prop_map(str::to_owned);
    let at = prop::sample::select(&["F1", "F2", "alpha", "beta"][..]).prop_map(str::to_owned);
    let name = prop::sample::select(&["r1", "r2"][..]).prop_map(str::to_owned);
    (claim(), often(text()), rare(flaw), rare(at), often(text()), changes(), rare(name)).prop_map(
        |(claim, text, id, same_as, answer, changes, round)| {
            let objection = ObjectionText { id, text, same_as };
            ClaimEvent::Round(Box::new(Round {
                claim,
                objection,
                reviewer: None,
                answer,
                changes,
                round,
                generation: None,
            }))
        },
    )
}

fn edit() -> impl Strategy<Value = ClaimEvent> {
    let status = prop::sample::select(&Status::ALL[..]);
    (claim(), changes(), rare(status), rare(claim())).prop_map(|(claim, changes, status, base)| {
        let depends_on = base.into_iter().collect();
        ClaimEvent::Edit(Box::new(Edit { claim, changes, status, depends_on, reason: None }))
    })
}

fn resolution() -> impl Strategy<Value = ClaimEvent> {
    let operator = || Operator { who: "anna".to_owned(), reason: None };
    let how = prop_oneof![
        text().prop_map(|evidence| Resolution::NewData { evidence }),
        text().prop_map(|rationale| Resolution::Drop { rationale }),
        (prop::sample::select(&Status::ALL[..]), text()).prop_map(move |(to, rationale)| Resolution::Override {
            to,
            rationale,
            operator: operator()
        }),
    ];
    (claim(), how).prop_map(|(claim, how)| ClaimEvent::Resolve { claim, how })
}

fn examination() -> impl Strategy<Value = ClaimEvent> {
    let trigger = prop::sample::select(&[Trigger::NewData, Trigger::CrossModelAudit][..]);
    let outcome = prop::sample::select(
        &[ExaminationOutcome::Resolved, ExaminationOutcome::Unresolved, ExaminationOutcome::Unresolved][..],
    );
    let (trigger, outcome) = (prop::option::of((trigger, text())), prop::option::of((outcome, text())));
    (claim(), trigger, outcome).prop_map(|(claim, trigger, outcome)| ClaimEvent::Reexamine { claim, trigger, outcome })
}

fn act() -> impl Strategy<Value = ClaimEvent> {
    let stage = || prop::sample::select(&["S1", "S2", "S5"][..]).prop_map(|name| StageName::parse(name).expect("good"));
    let add = (claim(), text(), rare(claim())).prop_map(|(id, text, base)| {
        let depends_on = base.into_iter().collect();
        ClaimEvent::Add(Box::new(NewClaim { id: Some(id), text, depends_on, ..NewClaim::default() }))
    });
    let rising = prop::sample::select(&[Status::Verified, Status::Confirmed, Status::Robust, Status::Killed][..]);
    prop_oneof![
        6 => add,
        24 => round(),
        4 => edit(),
        3 => (claim(), rising).prop_map(|(claim, to)| ClaimEvent::Promote { claim, to, reason: None }),
        2 => (claim(), text()).prop_map(|(claim, reason)| ClaimEvent::Kill { claim, reason }),
        3 => resolution(),
        3 => examination(),
        1 => Just(ClaimEvent::CycleBegin),
        1 => Just(ClaimEvent::CycleEnd),
        1 => stage().prop_map(|stage| ClaimEvent::AdvanceStage { stage }),
        1 => stage().prop_map(|stage| ClaimEvent::CloseStage { stage }),
    ]
}

fn result_of(result: &Result<Decision, Rejection>) -> Expected {
    match result {
        Err(_problem) => Expected::Rejected,
        Ok(decision) => match decision.verdict {
            Verdict::Pass => Expected::Pass,
            Verdict::Warn(_) => Expected::Disputed,
            Verdict::Deny(_) | Verdict::Stop(_) => Expected::Denied,
        },
    }
}

/// Compares the frozen claims before an event with what they are after it.
fn stays_frozen(world: &World, before: &[(String, Claim)], what: &ClaimEvent, answer: &Result<Decision, Rejection>) {
    for (name, old) in before {
        let new = world.claim(name).expect("claims do not go away");
        let frozen = old.dispute().expect("it was disputed");
        match &new.state {
            ClaimState::Disputed(dispute) => {
                let kept = |claim: &Claim| {
                    let Claim {
                        text,
                        kind,
                        evidence,
                        tests,
                        assumptions,
                        confidence,
                        depends_on,
                        objections,
                        position,
                        ..
                    } = claim.clone();
                    (text, kind, evidence, tests, assumptions, confidence, depends_on, objections, position)
                };
                assert_eq!(kept(new), kept(old), "{name} after {what:?}");
                let dispute_texts = (&dispute.reason, &dispute.position, dispute.before, &dispute.incident);
                assert_eq!(dispute_texts, (&frozen.reason, &frozen.position, frozen.before, &frozen.incident));
                for queued in &frozen.queued {
                    assert!(dispute.queued.iter().any(|now| now.base == queued.base), "{name} lost {queued:?}");
                }
            }
            ClaimState::Free(_status) => {
                let is_way_out = matches!(what, ClaimEvent::Resolve { claim, .. } | ClaimEvent::Reexamine { claim, .. } if claim.as_str() == name);
                assert!(is_way_out, "{name} was unfrozen by {what:?}");
                assert_eq!(new.text, old.text);
                let settled = &new.resolved_disputes.last().expect("a record of it").dispute;
                assert_eq!((&settled.reason, &settled.position), (&frozen.reason, &frozen.position));
                let facts = &answer.as_ref().expect("something was decided").facts;
                let released: Vec<&ClaimId> = facts
                    .iter()
                    .filter_map(|recorded| match &recorded.fact {
                        AnyFact::Claim(Fact::Released { base, .. }) => Some(base),
                        _other => None,
                    })
                    .collect();
                let queued: Vec<&ClaimId> = frozen.queued.iter().map(|queued| &queued.base).collect();
                assert_eq!(released, queued, "{name}: what waited comes to its turn");
            }
        }
    }
}

fn agrees(world: &World, reference: &Reference) {
    let mut names: Vec<&str> = reference.claims.iter().map(|sheet| sheet.id.as_str()).collect();
    names.sort_unstable();
    let pipeline = world.pipeline();
    let known: Vec<&str> =
        pipeline.map(|pipeline| pipeline.claims.keys().map(ClaimId::as_str).collect()).unwrap_or_default();
    assert_eq!(names, known);
    let Some(pipeline) = pipeline else { return };
    assert_eq!(pipeline.disputed(), reference.disputed());
    assert_eq!(pipeline.is_over(), reference.is_over());
    for sheet in &reference.claims {
        let claim = world.claim(sheet.id.as_str()).expect("it is there");
        let word = if sheet.dispute.is_some() { ListedStatus::Disputed } else { ListedStatus::Free(sheet.status) };
        assert_eq!((claim.listed_status(), &claim.text), (word, &sheet.text), "{}", sheet.id);
        assert_eq!(
            (&claim.evidence, &claim.tests, claim.confidence),
            (&sheet.evidence, &sheet.tests, sheet.confidence)
        );
        assert_eq!(claim.depends_on, sheet.bases);
        let dispute = claim.dispute().map(|dispute| {
            let queued: Vec<ClaimId> = dispute.queued.iter().map(|queued| queued.base.clone()).collect();
            (dispute.reason.clone(), dispute.position.clone(), queued)
        });
        assert_eq!(dispute, sheet.dispute, "{}", sheet.id);
    }
}

fn play(acts: &[ClaimEvent]) -> (World, Reference) {
    let (mut world, mut reference) = (World::without_ceiling(), Reference::default());
    for what in acts {
        let frozen: Vec<(String, Claim)> = CLAIMS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), world.claim(name)?.clone())))
            .filter(|(_, claim)| claim.dispute().is_some())
            .collect();
        let answer = world.handle(what.clone());
        assert_eq!(result_of(&answer), reference.handle(what), "{what:?}\n{answer:?}");
        world.check();
        stays_frozen(&world, &frozen, what, &answer);
        agrees(&world, &reference);
    }
    (world, reference)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_events_changes_a_dispute_loses_a_queued_change_or_closes_over_a_dispute(acts in prop::collection::vec(act(), 1..70)) {
        play(&acts);
    }

    #[test]
    fn rounds_on_one_claim_are_counted_as_in_the_reference(rounds in prop::collection::vec(round(), 1..12)) {
        let add = ClaimEvent::Add(Box::new(NewClaim { id: Some(id("C-1")), text: "alpha".to_owned(), ..NewClaim::default() }));
        let on_one = rounds.into_iter().map(|event| match event {
            ClaimEvent::Round(round) => ClaimEvent::Round(Box::new(Round { claim: id("C-1"), ..*round })),
            other => other,
        });
        play(&std::iter::once(add).chain(on_one).collect::<Vec<_>>());
    }
}

#[test]
fn a_lost_index_is_rebuilt_from_the_claims_and_closes_over_no_dispute() {
    let add = NewClaim { id: Some(id("C-1")), text: "x".to_owned(), ..NewClaim::default() };
    let objection = ObjectionText { text: Some("no".to_owned()), ..ObjectionText::default() };
    let changes = Changes::default();
    let round =
        Round { claim: id("C-1"), objection, reviewer: None, answer: None, changes, round: None, generation: None };
    let round = ClaimEvent::Round(Box::new(round));
    let mut world = World::without_ceiling();
    world.handle(ClaimEvent::Add(Box::new(add))).expect("added");
    for _round in 0..3 {
        world.handle(round.clone()).expect("counted");
    }
    world.rows.remove(&haltline_core::CircuitName::pipeline("main"));
    assert_eq!(result_of(&world.handle(round)), Expected::Denied);
    assert_eq!(world.pipeline().map(|pipeline| pipeline.disputed()), Some(vec![id("C-1")]));
    let stage = StageName::parse("S5").expect("a good name");
    assert_eq!(result_of(&world.handle(ClaimEvent::CloseStage { stage })), Expected::Denied);
}

#[test]
fn a_claim_whose_row_was_lost_can_be_added_again_and_keeps_its_dependents() {
    let add = |name: &str, on: &[&str]| {
        let depends_on = on.iter().map(|base| id(base)).collect();
        let new = NewClaim { id: Some(id(name)), text: "x".to_owned(), depends_on, ..NewClaim::default() };
        ClaimEvent::Add(Box::new(new))
    };
    let mut world = World::without_ceiling();
    world.handle(add("C-1", &[])).expect("added");
    world.handle(add("C-2", &["C-1"])).expect("added");
    world.rows.remove(&haltline_core::CircuitName::claim("main", "C-1"));
    assert_eq!(result_of(&world.handle(add("C-1", &[]))), Expected::Pass);
    world.handle(ClaimEvent::Kill { claim: id("C-1"), reason: "wrong".to_owned() }).expect("killed");
    assert_eq!(world.claim("C-2").map(Claim::listed_status), Some(ListedStatus::Free(Status::Challenged)));
}

#[test]
fn every_short_history_matches_the_reference() {
    let round = |claim: &str, evidence: Option<&str>| {
        let objection = ObjectionText { text: Some("no".to_owned()), ..ObjectionText::default() };
        let changes = Changes { new_evidence: evidence.map(str::to_owned), ..Changes::default() };
        let (answer, claim) = (Some("why".to_owned()), id(claim));
        ClaimEvent::Round(Box::new(Round {
            claim,
            objection,
            reviewer: None,
            answer,
            changes,
            round: None,
            generation: None,
        }))
    };
    let add = |name: &str, on: &[&str]| {
        let depends_on = on.iter().map(|base| id(base)).collect();
        ClaimEvent::Add(Box::new(NewClaim {
            id: Some(id(name)),
            text: "x".to_owned(),
            depends_on,
            ..NewClaim::default()
        }))
    };
    let stage = StageName::parse("S5").expect("a good name");
    let drop = Resolution::Drop { rationale: "enough".to_owned() };
    let data = Resolution::NewData { evidence: "table".to_owned() };
    let alphabet = [
        round("C-2", None),
        round("C-2", Some("table")),
        ClaimEvent::Kill { claim: id("C-1"), reason: "wrong".to_owned() },
        ClaimEvent::Promote { claim: id("C-2"), to: Status::Verified, reason: None },
        ClaimEvent::Resolve { claim: id("C-2"), how: data },
        ClaimEvent::Resolve { claim: id("C-2"), how: drop },
        ClaimEvent::CloseStage { stage: stage.clone() },
        ClaimEvent::AdvanceStage { stage },
    ];
    let start = [add("C-1", &[]), add("C-2", &["C-1"]), round("C-2", None)];
    for number in 0..alphabet.len().pow(5) {
        let mut acts: Vec<ClaimEvent> = start.to_vec();
        let mut rest = number;
        for _position in 0..5 {
            acts.push(alphabet[rest % alphabet.len()].clone());
            rest /= alphabet.len();
        }
        play(&acts);
    }
}
