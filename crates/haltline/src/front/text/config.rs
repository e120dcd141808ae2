//! Text of `haltline config`.

use super::{Page, fit};
use crate::view::config::{ChangeView, CheckView, PathView, ShowView};

/// `config show`.
pub fn config_show(view: &ShowView) -> String {
    let mut page = Page::new(42);
    for value in &view.values {
        let file = value.file.as_ref().map(|file| format!(" {file}")).unwrap_or_default();
        let origin = fit(&format!("{}{file}", value.origin), 60);
        page.row(&format!("{} = {}", value.key, value.value), format_args!("  # {origin}"));
        if let Some(waiting) = &value.waiting {
            page.line(format_args!("  # the project asks for {waiting}, which waits for `haltline trust`"));
        }
    }
    page.finish()
}

/// `config check`.
pub fn config_check(view: &CheckView) -> String {
    let mut page = Page::new(0);
    if view.errors.is_empty() && view.warnings.is_empty() {
        page.line("The configuration has no errors.");
    }
    page.lines(view.errors.iter().chain(&view.warnings));
    page.lines(view.waiting.iter().map(|line| format!("waits for `haltline trust`: {line}")));
    page.finish()
}

/// `config path`.
pub fn config_path(view: &PathView) -> String {
    let mut page = Page::new(16);
    page.row("user config", &view.user_config);
    page.row("project config", &view.project_config);
    page.row("state", &view.state);
    page.row("project", &view.project);
    page.finish()
}

/// `config set`, `config unset`, `config edit`.
pub fn config_change(view: &ChangeView) -> String {
    let mut page = Page::new(0);
    match (&view.key, &view.to, &view.audit) {
        (_, _, None) => page.line("Nothing has changed."),
        (Some(key), Some(to), Some(_)) => page.line(format_args!("{key} = {to}")),
        (Some(key), None, Some(_)) => page.line(format_args!("{key} is no longer set")),
        (None, _, Some(_)) => page.line("haltline changed the file."),
    }
    page.line(format_args!("  in {}", view.file));
    if view.waits {
        page.line("Other values in this file wait for `haltline trust`.");
    }
    page.finish()
}
