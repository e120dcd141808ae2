//! `haltline attempt` (A1–A8).

mod report;
mod scope;
mod test;
mod tree;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use haltline_core::Operator;
use haltline_core::attempt::{Happening, Rule, Slice, SliceId, TestName, prior_attempts};
use haltline_engine::scope_file::{self, Asked};
use haltline_engine::slice::SlicePlace;
use haltline_engine::store::{Committed, Store};

use self::tree::Trees;
use super::constraint::audit;
use crate::cli::{Attempt, AttemptBegin, AttemptDeviate, AttemptEnd, AttemptReset, AttemptRollback, SliceArgument};
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::operator::{Proof, confirm};
use crate::surroundings;
use crate::view::attempt::{AttemptAnswerView, SliceHistoryView, SliceView, slice_id};
use crate::workplace::Workplace;

/// Runs an attempt command.
pub fn run(workplace: &Workplace, command: Attempt) -> Result<ExitCode, Failure> {
    match command {
        Attempt::Begin(command) => begin(workplace, &command),
        Attempt::Check { slice, test, strategy } => {
            let place = place(workplace, &slice)?;
            let test = test.as_deref().map(test_name).transpose()?;
            tell(workplace, &place, "check", Happening::Ask { test, strategy })
        }
        Attempt::Run(command) => test::run(workplace, &command),
        Attempt::Record(command) => test::record(workplace, &command),
        Attempt::Status { slice } => status(workplace, &slice),
        Attempt::History { slice, limit } => {
            let place = place(workplace, &slice)?;
            let engine = &workplace.engine;
            let history = engine.store().history(engine.project().key, &place.name, limit)?;
            let view = SliceHistoryView::new(&place.name, &known(workplace, &place)?, &history);
            workplace.answer(&view, text::attempt_history)?;
            Ok(exit_code::FINE)
        }
        Attempt::Report(command) => report::run(workplace, &command),
        Attempt::Scope(command) => scope::run(workplace, &command),
        Attempt::Deviate(command) => deviate(workplace, &command),
        Attempt::Rollback(command) => rollback(workplace, &command),
        Attempt::Reset(command) => reset(workplace, &command),
        Attempt::Prior { slice } => {
            let place = place(workplace, &slice)?;
            let block = prior_attempts(&known(workplace, &place)?).unwrap_or_default();
            if block.is_empty() {
                eprintln!("slice {}: nothing was tried before", slice_id(&place.name));
            }
            let view = serde_json::json!({ "schema": crate::view::SCHEMA, "prior_attempts": block });
            workplace.answer(&view, |_| block.clone())?;
            Ok(exit_code::FINE)
        }
        Attempt::End(command) => end(workplace, &command),
    }
}

fn slice_name(text: &str) -> Result<SliceId, Failure> {
    SliceId::parse(text).map_err(|error| Failure::Plain(error.to_string()))
}

fn test_name(text: &str) -> Result<TestName, Failure> {
    TestName::parse(text).map_err(|error| Failure::Plain(error.to_string()))
}

fn place_of(workplace: &Workplace, id: &str) -> Result<SlicePlace, Failure> {
    Ok(SlicePlace::new(workplace.engine.project(), &slice_name(id)?)?)
}

/// The slice that is meant: the named one, or the only one under way here.
fn place(workplace: &Workplace, slice: &SliceArgument) -> Result<SlicePlace, Failure> {
    if let Some(id) = &slice.id {
        return place_of(workplace, id);
    }
    let begun = workplace.engine.marked_slices();
    match begun.as_slice() {
        [only] => place_of(workplace, slice_id(only)),
        [] => Err(Failure::Plain(
            "no slice is under way here; `haltline attempt begin --slice SLICE` begins one".to_owned(),
        )),
        several => {
            let ids: Vec<&str> = several.iter().map(slice_id).collect();
            Err(Failure::Plain(format!("several slices are under way; say which: --slice {}", ids.join(" | --slice "))))
        }
    }
}

/// The slice as it is now.
fn known(workplace: &Workplace, place: &SlicePlace) -> Result<Slice, Failure> {
    let slice = workplace.engine.slice(&place.name)?;
    slice.ok_or_else(|| {
        let id = slice_id(&place.name);
        Failure::Plain(format!("slice {id} has not begun; `haltline attempt begin --slice {id}` begins it"))
    })
}

/// The slice, if work on it has begun and not ended.
fn begun(workplace: &Workplace, place: &SlicePlace) -> Result<Slice, Failure> {
    let slice = known(workplace, place)?;
    if slice.is_begun() {
        return Ok(slice);
    }
    let id = slice_id(&place.name);
    Err(Failure::Plain(format!("slice {id} has ended; `haltline attempt begin --slice {id}` begins it anew")))
}

/// Takes an event.
fn take(workplace: &Workplace, place: &SlicePlace, what: Happening) -> Result<Committed, Failure> {
    let session = surroundings::session();
    let committed = workplace.engine.attempt(place, session.as_deref(), what);
    committed.map_err(|error| Failure::of_slice(slice_id(&place.name), error))
}

/// Takes an event, and says what came of it.
fn tell(workplace: &Workplace, place: &SlicePlace, verb: &'static str, what: Happening) -> Result<ExitCode, Failure> {
    let committed = take(workplace, place, what)?;
    let view = AttemptAnswerView::new(verb, &place.name, &committed, &known(workplace, place)?);
    workplace.answer(&view, text::attempt_answer)?;
    Ok(code(&committed))
}

fn code(committed: &Committed) -> ExitCode {
    if committed.decision.verdict.refuses() { exit_code::refused() } else { exit_code::FINE }
}

/// Says what an operator did.
fn audited(
    workplace: &Workplace,
    place: &SlicePlace,
    (verb, committed): (&'static str, &Committed),
    operator: &Operator,
    extend: impl FnOnce(&mut AttemptAnswerView),
) -> Result<ExitCode, Failure> {
    let mut view = AttemptAnswerView::new(verb, &place.name, committed, &known(workplace, place)?);
    view.audit = Some(audit(committed, operator.who.clone(), operator.reason.as_deref()));
    extend(&mut view);
    workplace.answer(&view, text::attempt_answer)?;
    Ok(exit_code::FINE)
}

fn begin(workplace: &Workplace, command: &AttemptBegin) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let place = place_of(workplace, &command.slice)?;
    let asked = Asked {
        slice: &command.slice,
        folder: &workplace.folder,
        graph: command.graph.as_deref(),
        contracts: &command.contracts,
        in_scope: command.in_scope.as_deref(),
    };
    let built = scope_file::build(&place.ground, asked).map_err(|error| Failure::Plain(error.to_string()))?;
    for note in &built.notes {
        text::warn(note);
    }
    let scope = built.scope;
    let before = engine.slice(&place.name)?.filter(Slice::is_begun);
    let is_other = before.as_ref().is_some_and(|slice| !slice.scope.is_same(&scope));
    let operator = match (is_other, &command.reason) {
        (true, Some(reason)) => Some(confirm("attempt begin", Some(reason), Proof::Presence, engine.config())?),
        (true, None) | (false, _) => None,
    };
    // The tree of a slice that is under way is kept already.
    let checkpoint = match before {
        Some(_) => None,
        None => {
            let trees = Trees::of(workplace, &place);
            let begun = engine.marked_slices();
            trees.forget_old(&begun.iter().map(slice_id).chain([command.slice.as_str()]).collect::<Vec<_>>());
            trees.begin(engine.now().at)
        }
    };
    tell(workplace, &place, "begin", Happening::Begin { scope, checkpoint, operator })
}

fn status(workplace: &Workplace, slice: &SliceArgument) -> Result<ExitCode, Failure> {
    let place = place(workplace, slice)?;
    let view = SliceView::new(&place.name, &known(workplace, &place)?);
    workplace.answer(&view, text::attempt_status)?;
    Ok(exit_code::FINE)
}

fn deviate(workplace: &Workplace, command: &AttemptDeviate) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.slice)?;
    let description = required("--description", &command.description)?;
    let rule = Rule::numbered(command.rule)
        .ok_or_else(|| Failure::Plain(format!("--rule {}: expected 1, 2, 3 or 4", command.rule)))?;
    tell(workplace, &place, "deviate", Happening::Deviate { rule, description, file: command.path.clone() })
}

fn rollback(workplace: &Workplace, command: &AttemptRollback) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let place = place(workplace, &command.slice)?;
    let slice = begun(workplace, &place)?;
    let trees = Trees::of(workplace, &place);
    let to = match (&command.to, &command.test) {
        (Some(to), _) => Some(to.clone()),
        (None, Some(test)) => {
            let test = test_name(test)?;
            slice.tests.get(&test).and_then(|state| state.checkpoint.clone())
        }
        (None, None) => slice.checkpoint.clone(),
    };
    let to = to.ok_or_else(tree::no_checkpoint)?;
    let operator = confirm("attempt rollback", command.reason.as_deref(), Proof::Presence, engine.config())?;
    let done = trees.roll_back(&to, command.with_commits, engine.now().at)?;
    let what = Happening::RollBack { rollback: done.rollback(), operator: operator.clone() };
    let committed = take(workplace, &place, what)?;
    audited(workplace, &place, ("rollback", &committed), &operator, |view| view.rollback = Some(done))
}

/// The tree is taken back first: counts that are gone while the tree is not would be a lie (seed 000, section 6).
fn reset(workplace: &Workplace, command: &AttemptReset) -> Result<ExitCode, Failure> {
    let engine = &workplace.engine;
    let place = place(workplace, &command.slice)?;
    let slice = begun(workplace, &place)?;
    let guidance = required("--guidance", &command.guidance)?;
    let operator = confirm("attempt reset", command.reason.as_deref(), Proof::Presence, engine.config())?;
    let trees = Trees::of(workplace, &place);
    let done = match (&slice.checkpoint, command.keep_tree) {
        (Some(to), false) => Some(trees.roll_back(to, command.with_commits, engine.now().at)?),
        (None, false) => {
            text::warn("No checkpoint found. Cannot roll back. Starting from current state.");
            None
        }
        (_, true) => None,
    };
    let rollback = done.as_ref().map(|done| done.rollback());
    let committed = take(workplace, &place, Happening::Reset { guidance, rollback, operator: operator.clone() })?;
    trees.settle(engine.now().at);
    audited(workplace, &place, ("reset", &committed), &operator, |view| {
        view.prior_attempts = engine.slice(&place.name).ok().flatten().as_ref().and_then(prior_attempts);
        view.rollback = done;
    })
}

fn end(workplace: &Workplace, command: &AttemptEnd) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.slice)?;
    begun(workplace, &place)?;
    if !command.give_up {
        return tell(workplace, &place, "end", Happening::End { operator: None });
    }
    let operator = confirm("attempt end", command.reason.as_deref(), Proof::Presence, workplace.engine.config())?;
    let committed = take(workplace, &place, Happening::End { operator: Some(operator.clone()) })?;
    audited(workplace, &place, ("end", &committed), &operator, |_| {})
}

fn required(option: &str, text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() {
        Err(Failure::Plain(format!("{option} is empty: expected a text")))
    } else {
        Ok(text.to_owned())
    }
}

/// The content of a file, or of standard input for `-`, at most this long.
fn read_input(workplace: &Workplace, option: &str, path: &Path, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = bytes_max as u64 + 1;
    let read = match path.to_str() {
        Some("-") => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        _file => File::open(workplace.folder.join(path)).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::Plain(format!("{option} {}: {error}", path.display())))?;
    if bytes.len() > bytes_max {
        let path = path.display();
        return Err(Failure::Plain(format!("{option} {path}: expected at most {bytes_max} bytes")));
    }
    Ok(bytes)
}
