//! Text of `haltline init` and `haltline uninstall`.

use super::{WIDTH, count, fit, wrap};
use crate::installation::InstallScope;
use crate::view::install::{
    InitOutcome, InitView, OwnFileChange, OwnFileView, StatusLineView, UninstallOutcome, UninstallView,
};

/// `haltline init`: the plan and its result.
pub fn init(view: &InitView) -> String {
    if view.outcome == InitOutcome::Unchanged {
        return format!("already installed: {}\n{}{}", view.settings, status_line(view), left_out(&view.files));
    }
    let mut out = format!(
        "{} runs this at {} events of every session{}{}:\n  {} hook {}\n    --state {}\n    --config {}\n",
        view.client_kind.title(),
        view.client_kind.protocol().layout.listeners().count(),
        if view.scope == InstallScope::Project { " in this project" } else { "" },
        if view.diff.is_empty() { "" } else { ", {…} below" },
        view.binary,
        view.client_kind.cli_name(),
        view.state,
        view.config,
    );
    if !view.diff.is_empty() {
        let note = if view.is_new_file { " (a new file)" } else { "" };
        out.push_str(&format!("\n{}{note}\n", view.settings));
        out.push_str(&diff(&view.diff, &view.handlers));
    }
    for file in &view.files {
        match file.change {
            OwnFileChange::Written => out.push_str(&format!("\n{} {}:\n  {}\n", file.title, file.says, file.file)),
            OwnFileChange::Foreign => {
                out.push_str(&format!("\n{} is your own and stays:\n  {}\n", file.title, file.file));
            }
            OwnFileChange::Unchanged | OwnFileChange::Removed | OwnFileChange::LeftOut => {}
        }
    }
    if let Some(folder) = &view.main_checkout {
        let client = view.client_kind.title();
        out.push_str(&format!("\n{client} takes the hooks of every work tree from the main checkout:\n  {folder}\n"));
    }
    out.push_str(&status_line(view));
    if view.outcome == InitOutcome::Installed {
        out.push_str(&init_done(view));
    } else {
        out.push_str(&left_out(&view.files));
        out.push_str("\nNothing is changed yet.\n");
    }
    out
}

/// Lists the files that could not be read or written and that nothing depends on.
fn left_out(files: &[OwnFileView]) -> String {
    let left_out = files.iter().filter(|file| file.change == OwnFileChange::LeftOut);
    let line = |file: &OwnFileView| {
        let reason = file.reason.as_deref().unwrap_or(&file.file);
        format!("\n{} is left out, and nothing depends on it:\n  {reason}\n", file.title)
    };
    left_out.map(line).collect()
}

fn status_line(view: &InitView) -> String {
    match view.status_line {
        StatusLineView::Foreign => "\nYou have a status line of your own; it stays.\n".to_owned(),
        StatusLineView::Untouched | StatusLineView::Set | StatusLineView::Unchanged => String::new(),
    }
}

/// What a person needs to know after the installation.
pub fn init_done(view: &InitView) -> String {
    let mut changes = Vec::new();
    if !view.added.is_empty() {
        changes.push(format!("{} added", count(view.added.len() as u64, "hook")));
    }
    if view.replaced > 0 {
        changes.push(format!("{} renewed", count(view.replaced as u64, "hook")));
    }
    let changes = if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
    let mut out = format!("{}\nInstalled{changes}.\n", left_out(&view.files));
    if let Some(backup) = &view.backup {
        out.push_str(&format!("Backup  {backup}\n"));
    }
    out.push_str(&format!(
        "Check   haltline doctor\nUndo    haltline uninstall{}\n",
        view.scope.options(view.client_kind)
    ));
    if let Some(afterwards) = view.afterwards {
        out.push_str(&wrap("Now     ", afterwards));
    }
    for client in &view.also {
        out.push_str(&format!("Also    haltline init --client {client}\n"));
    }
    out
}

/// `haltline uninstall`.
pub fn uninstall(view: &UninstallView) -> String {
    let mut out = String::new();
    if !view.diff.is_empty() {
        out.push_str(&format!("{}\n{}\n", view.settings, diff(&view.diff, &view.handlers)));
    }
    let hooks = count(view.removed as u64, "hook");
    let conclusion = match view.outcome {
        UninstallOutcome::Unchanged if view.removed > 0 => format!("{hooks} removed"),
        UninstallOutcome::Unchanged => format!("no hooks of haltline in {}", view.settings),
        UninstallOutcome::Restored => format!("{hooks} removed; the file is what it was, byte for byte"),
        UninstallOutcome::Edited => format!("{hooks} removed; everything else in the file stays"),
        UninstallOutcome::Deleted => format!("{hooks} removed; nothing else was in the file, so it is deleted"),
    };
    out.push_str(&format!("{conclusion}\n"));
    for file in &view.files {
        match file.change {
            OwnFileChange::Removed => out.push_str(&format!("{} removed\n", file.title)),
            OwnFileChange::Foreign => {
                out.push_str(&format!("{} is your own and stays: {}\n", file.title, file.file));
            }
            OwnFileChange::Unchanged | OwnFileChange::Written | OwnFileChange::LeftOut => {}
        }
    }
    out.push_str(&left_out(&view.files));
    if let Some(also) = &view.also {
        out.push_str(&format!("still in {also}\n"));
    }
    if view.is_dry_run {
        out.push_str("\nNothing is changed yet.\n");
    }
    out
}

/// Cuts the lines of a diff to the line width; `{…}` replaces haltline's handlers, which are printed above it.
fn diff(diff: &str, handlers: &[String]) -> String {
    let mut out = String::new();
    for line in diff.lines() {
        let found = handlers.iter().find(|handler| line.contains(handler.as_str()));
        let short = found.map_or_else(|| line.to_owned(), |handler| line.replace(handler, "{…}"));
        out.push_str(&fit(short.trim_end_matches('\r'), WIDTH));
        out.push('\n');
    }
    out
}
