//! The vocabulary of `testdata/claim/*.txt`: its settings and events.

use haltline_core::Mode;
use haltline_core::claim::{
    Changes, ClaimEvent, ClaimId, Confidence, Edit, ExaminationOutcome, Limits, NewClaim, ObjectionText, PipelineName,
    Resolution, Round, StageName, Status, Trigger,
};

use crate::claim::world::{World, id};
use crate::clock::Clock;
use crate::engine::operator;
use crate::language::interpreter::Vocabulary;
use crate::language::outcome::Outcome;
use crate::language::words::{Words, parse_number};

pub struct ClaimRules {
    pub world: World,
    pub last: Outcome,
    /// The claim that the last event was about.
    pub claim: Option<ClaimId>,
}

impl Vocabulary for ClaimRules {
    const BREAKER: &'static str = "claim";
    const RULES: &'static [&'static str] =
        &["D1", "D2", "D3", "D4", "D5", "E1", "E4", "E8", "E10", "E12", "E15", "E16", "S4"];

    fn new() -> Self {
        Self { world: World::new(), last: Outcome::default(), claim: None }
    }

    fn clock_and_mode(&mut self) -> (&mut Clock, &mut Mode) {
        (&mut self.world.clock, &mut self.world.policy.mode)
    }

    fn setting(&mut self, word: &str, words: &mut Words) -> Result<bool, String> {
        let limits = &mut self.world.policy.claim;
        match word {
            "rounds" => limits.circuit_breaker_rounds = words.number()?,
            "ceiling" => limits.rounds_max = words.number()?,
            "because" => limits.circuit_breaker_rounds_reason = words.quoted()?,
            "final-stage" => limits.final_stage = words.next()?,
            "pipeline" => {
                self.world.pipeline = PipelineName::parse(&words.next()?).map_err(|error| error.to_string())?;
            }
            _unknown => return Ok(false),
        }
        Ok(true)
    }

    fn event(&mut self, words: &mut Words) -> Result<(), String> {
        let event = parse_event(words)?;
        self.claim = claim_of(&event);
        self.last = Outcome { result: Some(self.world.handle(event)), cause: None };
        self.world.check();
        Ok(())
    }
}

fn claim_of(event: &ClaimEvent) -> Option<ClaimId> {
    match event {
        ClaimEvent::Add(new) => new.id.clone(),
        ClaimEvent::Round(round) => Some(round.claim.clone()),
        ClaimEvent::Edit(edit) => Some(edit.claim.clone()),
        ClaimEvent::Promote { claim, .. }
        | ClaimEvent::Kill { claim, .. }
        | ClaimEvent::Resolve { claim, .. }
        | ClaimEvent::Reexamine { claim, .. } => Some(claim.clone()),
        ClaimEvent::CycleBegin
        | ClaimEvent::CycleEnd
        | ClaimEvent::AdvanceStage { .. }
        | ClaimEvent::CloseStage { .. } => None,
    }
}

fn parse_event(words: &mut Words) -> Result<ClaimEvent, String> {
    let verb = words.next()?;
    Ok(match verb.as_str() {
        "add" => add(words)?,
        "round" => round(words)?,
        "edit" => edit(words)?,
        "promote" => {
            let claim = id(&words.next()?);
            let to = words.after("to", status)?.unwrap_or(Status::Verified);
            ClaimEvent::Promote { claim, to, reason: words.quoted_if_any()? }
        }
        "kill" => ClaimEvent::Kill { claim: id(&words.next()?), reason: text(words)? },
        "new-data" => {
            let (claim, evidence) = (id(&words.next()?), text(words)?);
            ClaimEvent::Resolve { claim, how: Resolution::NewData { evidence } }
        }
        "drop" => {
            let (claim, rationale) = (id(&words.next()?), text(words)?);
            ClaimEvent::Resolve { claim, how: Resolution::Drop { rationale } }
        }
        "override" => {
            let (claim, to, rationale) = (id(&words.next()?), status(words)?, text(words)?);
            ClaimEvent::Resolve { claim, how: Resolution::Override { to, rationale, operator: operator(None) } }
        }
        "reexamine" => reexamine(words)?,
        "cycle" => match words.next()?.as_str() {
            "begin" => ClaimEvent::CycleBegin,
            "end" => ClaimEvent::CycleEnd,
            other => return Err(format!("{other:?}: expected begin or end")),
        },
        "advance-stage" => ClaimEvent::AdvanceStage { stage: stage(words)? },
        "close-stage" => ClaimEvent::CloseStage { stage: stage(words)? },
        other => return Err(format!("{other:?} is no event")),
    })
}

fn add(words: &mut Words) -> Result<ClaimEvent, String> {
    let name = if words.peek().is_some_and(|word| !word.starts_with('"')) { Some(id(&words.next()?)) } else { None };
    let mut new = NewClaim { id: name, text: text(words)?, ..NewClaim::default() };
    loop {
        if words.take("type") {
            new.kind = Some(words.next()?);
        } else if words.take("evidence") {
            new.evidence.push(text(words)?);
        } else if words.take("assuming") {
            new.assumptions.push(text(words)?);
        } else if words.take("confidence") {
            new.confidence = Some(confidence(words)?);
        } else if words.take("on") {
            new.depends_on.push(id(&words.next()?));
        } else {
            return Ok(ClaimEvent::Add(Box::new(new)));
        }
    }
}

fn round(words: &mut Words) -> Result<ClaimEvent, String> {
    let mut round = Round {
        claim: id(&words.next()?),
        objection: ObjectionText::default(),
        reviewer: None,
        answer: None,
        changes: Changes::default(),
        round: None,
        generation: None,
    };
    loop {
        if words.take("objection") {
            round.objection.text = Some(text(words)?);
        } else if words.take("id") {
            round.objection.id = Some(words.next()?);
        } else if words.take("same-as") {
            let at = words.next()?;
            round.objection.same_as = Some(at.trim_start_matches('"').to_owned());
        } else if words.take("by") {
            round.reviewer = Some(words.next()?);
        } else if words.take("answer") {
            round.answer = Some(text(words)?);
        } else if words.take("named") {
            round.round = Some(words.next()?);
        } else if words.take("generation") {
            round.generation = Some(words.long()?);
        } else if !change(words, &mut round.changes)? {
            return Ok(ClaimEvent::Round(Box::new(round)));
        }
    }
}

fn edit(words: &mut Words) -> Result<ClaimEvent, String> {
    let claim = id(&words.next()?);
    let mut edit = Edit { claim, changes: Changes::default(), status: None, depends_on: Vec::new(), reason: None };
    loop {
        if words.take("status") {
            edit.status = Some(status(words)?);
        } else if words.take("on") {
            edit.depends_on.push(id(&words.next()?));
        } else if words.take("because") {
            edit.reason = Some(text(words)?);
        } else if !change(words, &mut edit.changes)? {
            return Ok(ClaimEvent::Edit(Box::new(edit)));
        }
    }
}

fn reexamine(words: &mut Words) -> Result<ClaimEvent, String> {
    let claim = id(&words.next()?);
    let (mut trigger, mut outcome) = (None, None);
    if words.take("by") {
        let kind = match words.next()?.as_str() {
            "new-data" => Trigger::NewData,
            "audit" => Trigger::CrossModelAudit,
            other => return Err(format!("{other:?}: expected new-data or audit")),
        };
        trigger = Some((kind, text(words)?));
    }
    for (word, kind) in [("resolved", ExaminationOutcome::Resolved), ("unresolved", ExaminationOutcome::Unresolved)] {
        if words.take(word) {
            outcome = Some((kind, text(words)?));
        }
    }
    Ok(ClaimEvent::Reexamine { claim, trigger, outcome })
}

/// Parses one of the four changes, if the next word begins one.
fn change(words: &mut Words, changes: &mut Changes) -> Result<bool, String> {
    if words.take("new-evidence") {
        changes.new_evidence = Some(text(words)?);
    } else if words.take("test-run") {
        changes.test_run = Some(text(words)?);
    } else if words.take("confidence") {
        changes.confidence = Some(confidence(words)?);
    } else if words.take("text") {
        changes.claim_text = Some(text(words)?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// A quoted text; `{N bytes}` is that many letters.
fn text(words: &mut Words) -> Result<String, String> {
    let text = words.quoted()?;
    let Some(length) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix(" bytes}")) else { return Ok(text) };
    let length = match length {
        "most" => Limits::TEXT_BYTES_MAX,
        "too many" => Limits::TEXT_BYTES_MAX + 1,
        number => parse_number(number)? as usize,
    };
    Ok("x".repeat(length))
}

fn confidence(words: &mut Words) -> Result<Confidence, String> {
    Confidence::parse(&words.next()?).map_err(|error| error.to_string())
}

fn stage(words: &mut Words) -> Result<StageName, String> {
    StageName::parse(&words.next()?).map_err(|error| error.to_string())
}

fn status(words: &mut Words) -> Result<Status, String> {
    let word = words.next()?;
    Status::from_name(&word).ok_or_else(|| format!("{word:?} is no status"))
}
