//! The language of `testdata/claim/*.txt`: one line, one thing that happens, and what is then so.

use haltline_core::claim::{
    Changes, Confidence, Edit, Happening, Limits, NewClaim, ObjectionSaid, Outcome, Resolution, Round, StageName,
    Status, Trigger,
};
use haltline_core::{Decision, Mode, Operator, Rejection};

use crate::claim_screen::Screen;
use crate::pipelines::{World, id};
use crate::words::{Words, parse_number};

/// A paragraph being played.
pub struct Play {
    world: World,
}

impl Play {
    pub fn new() -> Self {
        Self { world: World::new() }
    }

    pub fn line(&mut self, line: &str, compare: fn(&str, &str) -> Result<(), String>) -> Result<(), String> {
        let mut parts = line.split(" | ");
        let first = parts.next().unwrap_or_default();
        if let Some(check) = first.strip_prefix("then ") {
            let screen = Screen { world: &self.world, last: None };
            return std::iter::once(check).chain(parts).try_for_each(|part| compare(part, &screen.show(part)?));
        }
        let Some((event, expected)) = first.split_once("->") else { return self.set(first) };
        if expected.trim().is_empty() {
            return Err("an outcome is missing".to_owned());
        }
        let mut words = Words::split(event)?;
        let times = match words.peek_second() {
            Some("times") => words.times()?,
            Some(_) | None => 1,
        };
        let what = happening(&mut words)?;
        words.end()?;
        let mut last: Option<Result<Decision, Rejection>> = None;
        for _time in 0..times {
            last = Some(self.world.tell(what.clone()));
            self.world.check();
        }
        let last = last.ok_or("nothing happened")?;
        let screen = Screen { world: &self.world, last: Some((&what, &last)) };
        compare(expected, &screen.outcome(expected)?)?;
        parts.try_for_each(|part| compare(part, &screen.show(part)?))
    }

    /// A line without an outcome sets the scene.
    fn set(&mut self, line: &str) -> Result<(), String> {
        let mut words = Words::split(line)?;
        match words.next()?.as_str() {
            "observe" => self.world.policy.mode = Mode::Observe,
            "enforce" => self.world.policy.mode = Mode::Enforce,
            "rounds" => self.world.policy.claim.circuit_breaker_rounds = parse_number(&words.next()?)?,
            "because" => self.world.policy.claim.circuit_breaker_rounds_reason = words.quoted()?,
            "final-stage" => self.world.policy.claim.final_stage = words.next()?,
            "pipeline" => {
                let name = words.next()?;
                self.world.pipeline =
                    haltline_core::claim::PipelineName::parse(&name).map_err(|error| error.to_string())?;
            }
            other => return Err(format!("{other:?}: an event needs `->`, and nothing else is set by that word")),
        }
        words.end()
    }
}

fn happening(words: &mut Words) -> Result<Happening, String> {
    let verb = words.next()?;
    Ok(match verb.as_str() {
        "add" => add(words)?,
        "round" => round(words)?,
        "edit" => edit(words)?,
        "promote" => {
            let claim = id(&words.next()?);
            let to = if words.take("to") { status(words)? } else { Status::Verified };
            Happening::Promote { claim, to, reason: words.quoted_if_any()? }
        }
        "kill" => Happening::Kill { claim: id(&words.next()?), reason: text(words)? },
        "new-data" => {
            let (claim, evidence) = (id(&words.next()?), text(words)?);
            Happening::Resolve { claim, how: Resolution::NewData { evidence } }
        }
        "drop" => {
            let (claim, rationale) = (id(&words.next()?), text(words)?);
            Happening::Resolve { claim, how: Resolution::Drop { rationale } }
        }
        "override" => {
            let (claim, to, rationale) = (id(&words.next()?), status(words)?, text(words)?);
            let operator = Operator { who: "anna".to_owned(), reason: None };
            Happening::Resolve { claim, how: Resolution::Override { to, rationale, operator } }
        }
        "reexamine" => reexamine(words)?,
        "cycle" => match words.next()?.as_str() {
            "begin" => Happening::CycleBegin,
            "end" => Happening::CycleEnd,
            other => return Err(format!("{other:?}: expected begin or end")),
        },
        "advance-stage" => Happening::AdvanceStage { stage: stage(words)? },
        "close-stage" => Happening::CloseStage { stage: stage(words)? },
        other => return Err(format!("{other:?} is no event")),
    })
}

fn add(words: &mut Words) -> Result<Happening, String> {
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
            return Ok(Happening::Add(Box::new(new)));
        }
    }
}

fn round(words: &mut Words) -> Result<Happening, String> {
    let mut round = Round {
        claim: id(&words.next()?),
        objection: ObjectionSaid::default(),
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
            round.generation = Some(parse_number(&words.next()?)?.into());
        } else if !change(words, &mut round.changes)? {
            return Ok(Happening::Round(Box::new(round)));
        }
    }
}

fn edit(words: &mut Words) -> Result<Happening, String> {
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
            return Ok(Happening::Edit(Box::new(edit)));
        }
    }
}

fn reexamine(words: &mut Words) -> Result<Happening, String> {
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
    for (word, kind) in [("resolved", Outcome::Resolved), ("unresolved", Outcome::Unresolved)] {
        if words.take(word) {
            outcome = Some((kind, text(words)?));
        }
    }
    Ok(Happening::Reexamine { claim, trigger, outcome })
}

/// One of the four changes, if the next word begins one.
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

/// A quoted text: `\n` ends a line, `\t` is a tab, and `{N bytes}` is that many letters.
fn text(words: &mut Words) -> Result<String, String> {
    let text = words.quoted()?.replace("\\n", "\n").replace("\\t", "\t");
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
    Status::named(&word).ok_or_else(|| format!("{word:?} is no status"))
}
