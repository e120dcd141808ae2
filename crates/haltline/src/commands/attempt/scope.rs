//! `haltline attempt scope`: may these files be changed (A5)?

use std::path::Path;
use std::process::ExitCode;

use haltline_core::attempt::{Covered, Happening, Justification, Slice, Touch};
use haltline_core::shorten;
use haltline_engine::scope_path::Landings;
use haltline_engine::slice::SlicePlace;

use super::{begun, place, read_input, take};
use crate::cli::AttemptScope;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::attempt::{PathView, ScopeAnswerView, slice_id};
use crate::workplace::Workplace;

/// The largest form that is read.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// Answers for each file; one that is refused refuses all.
pub fn run(workplace: &Workplace, command: &AttemptScope) -> Result<ExitCode, Failure> {
    let place = place(workplace, &command.slice)?;
    let slice = begun(workplace, &place)?;
    let mut wanted = Vec::new();
    for path in &command.paths {
        // A refusal names a file from the root, and is copied from there.
        let is_from_root = path.to_str().is_some_and(|path| slice.refused.iter().any(|known| known.path == path));
        let folder = if is_from_root { place.ground.root() } else { &workplace.folder };
        let landings = place.ground.landings(folder, path).map_err(|error| Failure::Plain(error.to_string()))?;
        wanted.push(Wanted { shown: path.display().to_string(), landings });
    }
    let forms = match &command.justify {
        Some(file) => {
            let text = read_input(workplace, "--justify", file, FORM_BYTES_MAX)?;
            forms(&Justification::parse_all(&String::from_utf8_lossy(&text)), workplace, &place, &wanted)?
        }
        None => vec![None; wanted.len()],
    };
    let mut paths = Vec::new();
    for (wanted, form) in wanted.iter().zip(&forms) {
        paths.push(ask(workplace, &place, &slice, wanted, form.as_ref(), command.is_unjustifiable)?);
    }
    let is_refused = paths.iter().any(|path| path.is_refused());
    let lock = if slice.scope.is_off() { "off" } else { "on" };
    let view = ScopeAnswerView { schema: SCHEMA, slice: slice_id(&place.name).to_owned(), lock, paths };
    workplace.answer(&view, text::attempt_scope)?;
    Ok(if is_refused { exit_code::refused() } else { exit_code::FINE })
}

/// A file somebody wants to change, and every place that would change with it.
struct Wanted {
    shown: String,
    landings: Landings,
}

/// Asks for all places of one file; the first that is refused is told.
fn ask(
    workplace: &Workplace,
    place: &SlicePlace,
    slice: &Slice,
    wanted: &Wanted,
    form: Option<&Justification>,
    is_unjustifiable: bool,
) -> Result<PathView, Failure> {
    let (covered, _) = place.ground.covered(&slice.scope, &wanted.landings);
    let because = match covered {
        Covered::By(entry) => format!("{} ({})", entry.path, entry.source),
        Covered::LockOff => "the scope lock is off: nothing says what is in scope".to_owned(),
        Covered::Outside if slice.trip().is_some() => {
            "outside the scope; the slice is halted, and this is none of its files".to_owned()
        }
        Covered::Outside => "outside the scope, justified".to_owned(),
    };
    let mut told = PathView { path: wanted.shown.clone(), verdict: "pass", because, reason: None };
    for landing in wanted.landings.all() {
        let (path, place_of) = landing.shown();
        let justification = form.map(|form| Justification { file: path.clone(), ..form.clone() });
        let touch = Touch { path: path.clone(), place: place_of, justification, is_unjustifiable, asker: None };
        let verdict = take(workplace, place, Happening::Touch(touch))?.decision.verdict;
        if verdict.refuses() {
            let (word, reason) = (verdict.word(), verdict.reason().cloned());
            told = PathView { path, verdict: word, because: "outside the scope".to_owned(), reason };
            break;
        }
    }
    Ok(told)
}

/// The form of each file. One that is missing or says nothing changes nothing: nobody is refused for it yet (E8).
fn forms(
    all: &[Justification],
    workplace: &Workplace,
    place: &SlicePlace,
    wanted: &[Wanted],
) -> Result<Vec<Option<Justification>>, Failure> {
    let names = |said: &str, landings: &Landings| {
        [place.ground.root(), workplace.folder.as_path()].into_iter().any(|folder| {
            let found = place.ground.landings(folder, Path::new(said));
            found.is_ok_and(|found| found.real == landings.real)
        })
    };
    let mut forms = Vec::new();
    for Wanted { shown, landings } in wanted {
        let form = all.iter().find(|form| names(&form.file, landings)).or_else(|| all.first());
        let Some(form) = form else {
            return Err(Failure::Plain(format!(
                "--justify: no form in it; expected `File:`, `Failing test:`, `Reason:` and `Relationship:` for {}",
                shorten(shown)
            )));
        };
        let problems = form.problems(shown, |said| names(said, landings));
        if !problems.is_empty() {
            return Err(Failure::Plain(format!("--justify: {}", problems.join(" "))));
        }
        forms.push(Some(form.clone()));
    }
    Ok(forms)
}
