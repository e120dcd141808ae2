//! Text of `haltline init` and `haltline uninstall`.

use super::{Page, Style, count, fit};
use crate::installation::InstallScope;
use crate::view::install::{
    InitOutcome, InitView, OwnFileChange, OwnFileView, StatusLineView, UninstallOutcome, UninstallView,
};

/// `haltline init`: the plan and its result.
pub fn init(view: &InitView) -> String {
    if view.outcome == InitOutcome::Unchanged {
        return format!("already installed: {}\n{}{}", view.settings, status_line(view), left_out(&view.files));
    }
    let client = view.client_kind.title();
    let mut page = Page::new(0);
    page.line(format_args!(
        "{client} will run this on {} hook events{}{}:\n  {} hook {}\n    --state {}\n    --config {}",
        view.client_kind.protocol().layout.listeners().count(),
        if view.scope == InstallScope::Project { " in this project" } else { "" },
        if view.diff.is_empty() { "" } else { ", shown as {…} below" },
        view.binary,
        view.client_kind.cli_name(),
        view.state,
        view.config,
    ));
    if !view.diff.is_empty() {
        let note = if view.is_new_file { " (a new file)" } else { "" };
        page.line(format_args!("\n{}{note}", view.settings));
        page.append(diff(&view.diff, &view.handlers));
    }
    for file in &view.files {
        match file.change {
            OwnFileChange::Written => page.line(format_args!("\n{} {}:\n  {}", file.title, file.says, file.file)),
            OwnFileChange::Foreign => {
                page.line(format_args!("\n{} is yours, so haltline does not change it:\n  {}", file.title, file.file));
            }
            OwnFileChange::Unchanged | OwnFileChange::Removed | OwnFileChange::LeftOut => {}
        }
    }
    if let Some(folder) = &view.main_checkout {
        page.line(format_args!("\n{client} reads the hooks of every work tree from the main checkout:\n  {folder}"));
    }
    page.block(status_line(view));
    if !view.is_client_found {
        page.line(format_args!("\n{client} is not on this machine yet; the hooks will work once it is:"));
        page.line(format_args!("  {}", view.client_evidence));
    }
    if view.outcome == InitOutcome::Installed {
        page.block(init_done(view));
    } else {
        page.block(left_out(&view.files));
        page.line("\nNothing has changed yet.");
    }
    page.finish()
}

/// Lists the files that could not be read or written and that nothing depends on.
fn left_out(files: &[OwnFileView]) -> String {
    let left_out = files.iter().filter(|file| file.change == OwnFileChange::LeftOut);
    let line = |file: &OwnFileView| {
        let reason = file.reason.as_deref().unwrap_or(&file.file);
        format!("\nhaltline skips {}, which it does not need:\n  {reason}\n", file.title)
    };
    left_out.map(line).collect()
}

fn status_line(view: &InitView) -> &'static str {
    match view.status_line {
        StatusLineView::Foreign => "\nYou already have a status line; haltline does not change it.\n",
        StatusLineView::Untouched | StatusLineView::Set | StatusLineView::Unchanged => "",
    }
}

/// What a person needs to know after the installation.
pub fn init_done(view: &InitView) -> String {
    let changes = [(view.added.len(), "added"), (view.replaced, "updated")].into_iter().filter(|(hooks, _)| *hooks > 0);
    let changes: Vec<String> = changes.map(|(hooks, done)| format!("{} {done}", count(hooks, "hook"))).collect();
    let changes = if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
    let mut page = Page::new(8);
    page.block(left_out(&view.files));
    page.line(format_args!("\nInstalled{changes}."));
    page.rows("Backup", &view.backup);
    page.row("Check", "haltline doctor");
    page.row("Undo", format_args!("haltline uninstall{}", view.scope.options(view.client_kind)));
    page.fields("Now", view.afterwards);
    view.also.iter().for_each(|client| page.row("Also", format_args!("haltline init --client {client}")));
    page.finish()
}

/// `haltline uninstall`.
pub fn uninstall(view: &UninstallView) -> String {
    let mut page = Page::new(0);
    if !view.diff.is_empty() {
        page.line(&view.settings);
        page.append(diff(&view.diff, &view.handlers));
        page.blank();
    }
    let hooks = count(view.removed, "hook");
    page.line(match (view.outcome, view.is_dry_run) {
        (UninstallOutcome::Unchanged, _) if view.removed == 0 => format!("{} has no hooks of haltline", view.settings),
        (UninstallOutcome::Unchanged, false) => format!("{hooks} removed"),
        (UninstallOutcome::Restored, false) => {
            format!("{hooks} removed; the file is as it was before the installation, byte for byte")
        }
        (UninstallOutcome::Edited, false) => format!("{hooks} removed; haltline changed nothing else in the file"),
        (UninstallOutcome::Deleted, false) => {
            format!("{hooks} removed; the file had nothing else, so haltline deleted it")
        }
        (UninstallOutcome::Unchanged, true) => format!("would remove {hooks}"),
        (UninstallOutcome::Restored, true) => {
            format!("would remove {hooks} and restore the file as it was before the installation, byte for byte")
        }
        (UninstallOutcome::Edited, true) => format!("would remove {hooks} and keep everything else in the file"),
        (UninstallOutcome::Deleted, true) => format!("would remove {hooks} and the file, which has nothing else"),
    });
    for file in &view.files {
        match file.change {
            OwnFileChange::Removed if view.is_dry_run => page.line(format_args!("would remove {}", file.title)),
            OwnFileChange::Removed => page.line(format_args!("{} removed", file.title)),
            OwnFileChange::Foreign => {
                page.line(format_args!("{} is yours and stays: {}", file.title, file.file));
            }
            OwnFileChange::Unchanged | OwnFileChange::Written | OwnFileChange::LeftOut => {}
        }
    }
    page.block(left_out(&view.files));
    page.lines(view.also.iter().map(|also| format!("still installed in {also}")));
    page.rows("", view.backup.as_ref().map(|backup| format!("A copy of the file is in {backup}")));
    if let Some(state) = &view.state {
        match (view.is_purge, view.left_in_state.as_slice()) {
            (false, _) => {
                page.line(format_args!(
                    "\nhaltline's state stays: circuits, journal, incidents and backups.\n  {state}"
                ));
                page.line("Delete it as well: haltline uninstall --purge");
            }
            (true, []) => page.line(format_args!("state folder deleted: {state}")),
            (true, left) => {
                page.line(format_args!(
                    "state deleted; {state} stays, because haltline did not write {}",
                    left.join(", ")
                ));
            }
        }
    }
    if view.is_dry_run {
        page.line("\nNothing has changed yet.");
    }
    page.finish()
}

/// Cuts the lines of a diff to the line width; `{…}` replaces haltline's handlers, which are printed above it.
fn diff(diff: &str, handlers: &[String]) -> Page {
    let mut page = Page::new(0);
    for line in diff.lines() {
        let found = handlers.iter().find(|handler| line.contains(handler.as_str()));
        let short = found.map_or_else(|| line.to_owned(), |handler| line.replace(handler, "{…}"));
        let line = fit(short.trim_end_matches('\r'), 80);
        match line.chars().next() {
            Some('+') => page.styled(Style::Good, line),
            Some('-') => page.styled(Style::Bad, line),
            Some(_) | None => page.line(line),
        }
    }
    page
}
