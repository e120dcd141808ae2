//! `haltline attempt scope`: checks whether files may be changed (A5).

use std::path::Path;
use std::process::ExitCode;

use haltline_core::attempt::{AttemptEvent, Covered, Justification, Slice, Touch};
use haltline_core::shorten;
use haltline_engine::scope_path::ResolvedPaths;
use haltline_engine::slice::SliceLocation;

use super::{commit_event, find_slice, load_begun_slice, read_input};
use crate::cli::AttemptScope;
use crate::context::Context;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::attempt::{PathView, ScopeAnswerView, slice_id};
use crate::view::{SCHEMA, VerdictName};

/// Largest justification file that is read.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// Prints a verdict for each file. The exit code is that of a denial if any file is denied.
pub fn run(context: &Context, command: &AttemptScope) -> Result<ExitCode, Failure> {
    let slice_location = find_slice(context, &command.slice)?;
    let slice = load_begun_slice(context, &slice_location)?;
    let mut requested = Vec::new();
    for path in &command.paths {
        // A denial names a file relative to the root, and its reader copies that path.
        let is_from_root = path.to_str().is_some_and(|path| slice.denied_paths.iter().any(|known| known.path == path));
        let folder = if is_from_root { slice_location.project_root.path() } else { &context.folder };
        let resolved = slice_location.project_root.resolve(folder, path).map_err(Failure::plain)?;
        requested.push(RequestedFile { shown: path.display().to_string(), paths: resolved });
    }
    let forms = match &command.justify {
        Some(file) => {
            let text = read_input(context, "--justify", file, FORM_BYTES_MAX)?;
            forms(&Justification::parse_all(&String::from_utf8_lossy(&text)), context, &slice_location, &requested)?
        }
        None => vec![None; requested.len()],
    };
    let mut paths = Vec::new();
    for (requested, form) in requested.iter().zip(&forms) {
        paths.push(check_file(context, &slice_location, &slice, requested, form.as_ref(), command.is_unjustifiable)?);
    }
    let is_denied = paths.iter().any(|path| path.verdict.denies());
    let lock = if slice.scope.is_lock_off() { "off" } else { "on" };
    let view = ScopeAnswerView { schema: SCHEMA, slice: slice_id(&slice_location.name).to_owned(), lock, paths };
    context.print(&view, text::attempt_scope)?;
    Ok(exit_code::unless_denied(is_denied))
}

/// A file that the caller wants to change, with every path that would change with it.
struct RequestedFile {
    shown: String,
    paths: ResolvedPaths,
}

/// Checks all paths of one file; the view shows the first that is denied.
fn check_file(
    context: &Context,
    slice_location: &SliceLocation,
    slice: &Slice,
    requested: &RequestedFile,
    form: Option<&Justification>,
    is_unjustifiable: bool,
) -> Result<PathView, Failure> {
    let (covered, _) = slice_location.project_root.check_scope(&slice.scope, &requested.paths);
    let because = match covered {
        Covered::By(entry) => format!("{} ({})", entry.path, entry.source),
        Covered::LockOff => "the scope lock is off: nothing says what is in scope".to_owned(),
        Covered::Outside if slice.trip().is_some() => {
            "outside the scope; the slice is halted, and this file is not one of its files".to_owned()
        }
        Covered::Outside => "outside the scope, justified".to_owned(),
    };
    let mut view = PathView { path: requested.shown.clone(), verdict: VerdictName::Pass, because, reason: None };
    for resolved in requested.paths.all() {
        let (path, location) = resolved.describe();
        let justification = form.map(|form| Justification { file: path.clone(), ..form.clone() });
        let touch = Touch { path: path.clone(), location, justification, is_unjustifiable, requester: None };
        let verdict = commit_event(context, slice_location, AttemptEvent::Touch(touch))?.decision.verdict;
        if verdict.denies() {
            let (name, reason) = (VerdictName::from(&verdict), verdict.reason().cloned());
            view = PathView { path, verdict: name, because: "outside the scope".to_owned(), reason };
            break;
        }
    }
    Ok(view)
}

/// Returns the justification for each file. A missing or incomplete form is an error of input, not a denial (E8).
fn forms(
    all: &[Justification],
    context: &Context,
    slice_location: &SliceLocation,
    requested: &[RequestedFile],
) -> Result<Vec<Option<Justification>>, Failure> {
    let names = |file_name: &str, paths: &ResolvedPaths| {
        [slice_location.project_root.path(), context.folder.as_path()].into_iter().any(|folder| {
            let found = slice_location.project_root.resolve(folder, Path::new(file_name));
            found.is_ok_and(|found| found.real == paths.real)
        })
    };
    let mut forms = Vec::new();
    for RequestedFile { shown, paths } in requested {
        let form = all.iter().find(|form| names(&form.file, paths)).or_else(|| all.first());
        let Some(form) = form else {
            return Err(Failure::Plain(format!(
                "--justify: the text has no form; expected `File:`, `Failing test:`, `Reason:` and `Relationship:` for {}",
                shorten(shown)
            )));
        };
        let problems = form.problems(shown, |file_name| names(file_name, paths));
        if !problems.is_empty() {
            return Err(Failure::Plain(format!("--justify: {}", problems.join(" "))));
        }
        forms.push(Some(form.clone()));
    }
    Ok(forms)
}
