//! `haltline attempt`: slices, their tests and attempts (A1–A8).

mod checkpoints;
mod report;
mod scope;
mod test;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use haltline_core::Operator;
use haltline_core::attempt::{AttemptEvent, Rule, Slice, SliceId, TestName, prior_attempts};
use haltline_engine::scope_file::{self, ScopeRequest};
use haltline_engine::slice::SliceLocation;
use haltline_engine::store::{Committed, Store};

use self::checkpoints::SliceCheckpoints;
use crate::cli::{Attempt, AttemptBegin, AttemptDeviate, AttemptEnd, AttemptReset, AttemptRollback, SliceArgument};
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::attempt::{AttemptAnswerView, AttemptVerb, RollbackView, SliceHistoryView, SliceView, slice_id};

pub fn run(context: &Context, command: Attempt) -> Result<ExitCode, Failure> {
    match command {
        Attempt::Status(SliceArgument { id: None }) | Attempt::History { slice: SliceArgument { id: None }, .. }
            if context.engine.active_slices().is_empty() =>
        {
            let sentence = "No slice is in progress here. Begin one with `haltline attempt begin --slice SLICE`.";
            context.print_nothing(sentence)
        }
        Attempt::Begin(command) => begin(context, &command),
        Attempt::Check { slice, test, strategy } => {
            let location = find_slice(context, &slice)?;
            let test = test.as_deref().map(test_name).transpose()?;
            commit_and_print(context, &location, AttemptVerb::Check, AttemptEvent::Ask { test, strategy })
        }
        Attempt::Run(command) => test::run(context, &command),
        Attempt::Record(command) => test::record(context, &command),
        Attempt::Status(slice) => {
            let location = find_slice(context, &slice)?;
            let view = SliceView::new(&location.name, &load_slice(context, &location)?);
            context.print(&view, text::attempt_status)
        }
        Attempt::History { slice, limit } => {
            let location = find_slice(context, &slice)?;
            let engine = &context.engine;
            let history = engine.store().history(engine.project().key, &location.name, limit)?;
            let view = SliceHistoryView::new(&location.name, &load_slice(context, &location)?, &history);
            context.print(&view, text::attempt_history)
        }
        Attempt::Report(command) => report::run(context, &command),
        Attempt::Scope(command) => scope::run(context, &command),
        Attempt::Deviate(command) => deviate(context, &command),
        Attempt::Rollback(command) => rollback(context, &command),
        Attempt::Reset(command) => reset(context, &command),
        Attempt::Prior(slice) => {
            let location = find_slice(context, &slice)?;
            let block = prior_attempts(&load_slice(context, &location)?).unwrap_or_default();
            if block.is_empty() {
                eprintln!("slice {}: there are no earlier attempts", slice_id(&location.name));
            }
            let view = serde_json::json!({ "schema": crate::view::SCHEMA, "prior_attempts": block });
            context.print(&view, |_| block.clone())
        }
        Attempt::End(command) => end(context, &command),
    }
}

fn test_name(text: &str) -> Result<TestName, Failure> {
    TestName::parse(text).map_err(Failure::plain)
}

fn slice_location(context: &Context, id: &str) -> Result<SliceLocation, Failure> {
    let id = SliceId::parse(id).map_err(Failure::plain)?;
    Ok(SliceLocation::new(context.engine.project(), &id)?)
}

/// Returns the location of the named slice or, without a name, of the only slice in progress.
fn find_slice(context: &Context, slice: &SliceArgument) -> Result<SliceLocation, Failure> {
    if let Some(id) = &slice.id {
        return slice_location(context, id);
    }
    let running = context.engine.active_slices();
    match running.as_slice() {
        [only] => slice_location(context, slice_id(only)),
        [] => Err(Failure::Plain(
            "no slice is in progress here; `haltline attempt begin --slice SLICE` begins one".to_owned(),
        )),
        several => {
            let ids: Vec<&str> = several.iter().map(slice_id).collect();
            Err(Failure::Plain(format!(
                "several slices are in progress; name one: --slice {}",
                ids.join(" | --slice ")
            )))
        }
    }
}

/// Loads the slice; fails if it never began.
fn load_slice(context: &Context, location: &SliceLocation) -> Result<Slice, Failure> {
    let slice = context.engine.slice(&location.name)?;
    slice.ok_or_else(|| {
        let id = slice_id(&location.name);
        Failure::Plain(format!("slice {id} has not begun; `haltline attempt begin --slice {id}` begins it"))
    })
}

/// Loads the slice; fails unless it is in progress.
fn load_begun_slice(context: &Context, location: &SliceLocation) -> Result<Slice, Failure> {
    let slice = load_slice(context, location)?;
    if slice.is_begun() {
        return Ok(slice);
    }
    let id = slice_id(&location.name);
    Err(Failure::Plain(format!("slice {id} has ended; `haltline attempt begin --slice {id}` begins it again")))
}

/// Commits an event of a slice.
fn commit_event(context: &Context, location: &SliceLocation, event: AttemptEvent) -> Result<Committed, Failure> {
    let session = environment::session();
    let committed = context.engine.attempt(location, session.as_deref(), event);
    committed.map_err(|error| Failure::for_slice(slice_id(&location.name), error))
}

/// Commits an event of a slice and prints the result.
fn commit_and_print(
    context: &Context,
    location: &SliceLocation,
    verb: AttemptVerb,
    event: AttemptEvent,
) -> Result<ExitCode, Failure> {
    let committed = commit_event(context, location, event)?;
    let view = AttemptAnswerView::new(verb, &location.name, &committed, &load_slice(context, location)?);
    context.print(&view, text::attempt_answer)?;
    Ok(exit_code::unless_denied(committed.decision.verdict.denies()))
}

/// Carries out an operator action and returns its result. `event` may change the tree before anything is committed.
fn operate(
    context: &Context,
    location: &SliceLocation,
    (verb, name): (AttemptVerb, &str),
    reason: Option<&str>,
    event: impl FnOnce(Operator) -> Result<AttemptEvent, Failure>,
) -> Result<AttemptAnswerView, Failure> {
    let (committed, audit) =
        context.operate(name, reason, |operator| commit_event(context, location, event(operator)?))?;
    let mut view = AttemptAnswerView::new(verb, &location.name, &committed, &load_slice(context, location)?);
    view.audit = Some(audit);
    Ok(view)
}

fn begin(context: &Context, command: &AttemptBegin) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let location = slice_location(context, &command.slice)?;
    let request = ScopeRequest {
        slice: &command.slice,
        folder: &context.folder,
        graph: command.graph.as_deref(),
        contracts: &command.contracts,
        in_scope: command.in_scope.as_deref(),
    };
    let built = scope_file::build(&location.project_root, request).map_err(Failure::plain)?;
    for note in &built.notes {
        text::warn(note);
    }
    let scope = built.scope;
    let before = engine.slice(&location.name)?.filter(Slice::is_begun);
    let needs_person = match &before {
        Some(slice) => !slice.scope.is_same(&scope),
        None => engine.find_conflicting_slice(&location, &scope)?.is_some(),
    };
    let operator = match (needs_person, &command.reason) {
        (true, Some(reason)) => Some(context.confirm("attempt begin", Some(reason))?),
        (true, None) | (false, _) => None,
    };
    // A slice in progress already has its checkpoint.
    let checkpoint = match before {
        Some(_) => None,
        None => {
            let checkpoints = SliceCheckpoints::open(context, &location);
            let running = engine.active_slices();
            checkpoints.forget_old(&running.iter().map(slice_id).chain([command.slice.as_str()]).collect::<Vec<_>>());
            checkpoints.begin(engine.now().at)
        }
    };
    commit_and_print(context, &location, AttemptVerb::Begin, AttemptEvent::Begin { scope, checkpoint, operator })
}

fn deviate(context: &Context, command: &AttemptDeviate) -> Result<ExitCode, Failure> {
    let location = find_slice(context, &command.slice)?;
    let description = required("--description", &command.description)?;
    let rule = Rule::from_number(command.rule)
        .ok_or_else(|| Failure::Plain(format!("--rule {}: expected 1, 2, 3 or 4", command.rule)))?;
    commit_and_print(
        context,
        &location,
        AttemptVerb::Deviate,
        AttemptEvent::Deviate { rule, description, file: command.path.clone() },
    )
}

fn rollback(context: &Context, command: &AttemptRollback) -> Result<ExitCode, Failure> {
    let location = find_slice(context, &command.slice)?;
    let slice = load_begun_slice(context, &location)?;
    let checkpoints = SliceCheckpoints::open(context, &location);
    let to = match (&command.to, &command.test) {
        (Some(to), _) => Some(to.clone()),
        (None, Some(test)) => {
            let test = test_name(test)?;
            slice.tests.get(&test).and_then(|state| state.checkpoint.clone())
        }
        (None, None) => slice.checkpoint.clone(),
    };
    let to = to.ok_or_else(checkpoints::no_checkpoint)?;
    let mut done = None;
    let verb = (AttemptVerb::Rollback, "attempt rollback");
    let mut view = operate(context, &location, verb, command.reason.as_deref(), |operator| {
        let done = done.insert(checkpoints.roll_back(&to, command.with_commits, context.engine.now().at)?);
        Ok(AttemptEvent::RollBack { rollback: done.rollback(), operator })
    })?;
    view.rollback = done;
    context.print(&view, text::attempt_answer)
}

/// Rolls the tree back before the counts are reset: reset counts on an unrestored tree would be a lie (seed 000,
/// section 6).
fn reset(context: &Context, command: &AttemptReset) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    let location = find_slice(context, &command.slice)?;
    let slice = load_begun_slice(context, &location)?;
    let guidance = required("--hint", &command.hint)?;
    let (mut opened, mut done) = (None, None);
    let verb = (AttemptVerb::Reset, "attempt reset");
    let mut view = operate(context, &location, verb, command.reason.as_deref(), |operator| {
        let checkpoints = opened.insert(SliceCheckpoints::open(context, &location));
        match (&slice.checkpoint, command.keep_tree) {
            (Some(to), false) => done = Some(checkpoints.roll_back(to, command.with_commits, engine.now().at)?),
            (None, false) => text::warn("No checkpoint found. Cannot roll back. Starting from current state."),
            (_, true) => {}
        }
        Ok(AttemptEvent::Reset { guidance, rollback: done.as_ref().map(RollbackView::rollback), operator })
    })?;
    opened.iter().for_each(|checkpoints| checkpoints.keep_last_tree(engine.now().at));
    view.prior_attempts = engine.slice(&location.name).ok().flatten().as_ref().and_then(prior_attempts);
    view.rollback = done;
    context.print(&view, text::attempt_answer)
}

fn end(context: &Context, command: &AttemptEnd) -> Result<ExitCode, Failure> {
    let location = find_slice(context, &command.slice)?;
    load_begun_slice(context, &location)?;
    if !command.give_up {
        return commit_and_print(context, &location, AttemptVerb::End, AttemptEvent::End { operator: None });
    }
    let verb = (AttemptVerb::End, "attempt end");
    let view = operate(context, &location, verb, command.reason.as_deref(), |operator| {
        Ok(AttemptEvent::End { operator: Some(operator) })
    })?;
    context.print(&view, text::attempt_answer)
}

fn required(option: &str, text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() {
        Err(Failure::Plain(format!("{option} is empty: expected a text")))
    } else {
        Ok(text.to_owned())
    }
}

/// Reads a file, or standard input for `-`; fails if there are more than `bytes_max` bytes.
fn read_input(context: &Context, option: &str, path: &Path, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = bytes_max as u64 + 1;
    let read = match path.to_str() {
        Some("-") => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        _file => File::open(context.folder.join(path)).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::Plain(format!("{option} {}: {error}", path.display())))?;
    if bytes.len() > bytes_max {
        let path = path.display();
        return Err(Failure::Plain(format!("{option} {path}: expected at most {bytes_max} bytes")));
    }
    Ok(bytes)
}
