//! Text of `haltline config`.

use super::fit;
use crate::view::config::{CheckView, PathView, ShowView};

/// `config show`.
pub fn config_show(view: &ShowView) -> String {
    let mut out = String::new();
    for value in &view.values {
        let origin = match &value.file {
            Some(file) => format!("{} {file}", value.origin),
            None => value.origin.to_owned(),
        };
        let setting = format!("{} = {}", value.key, value.value);
        out.push_str(&format!("{}  # {}\n", format_args!("{setting:<42}"), fit(&origin, 60)));
        if let Some(waiting) = &value.waiting {
            out.push_str(&format!("  # a file of the project asks for {waiting}: waits for `haltline trust`\n"));
        }
    }
    out
}

/// `config check`.
pub fn config_check(view: &CheckView) -> String {
    let is_fine = view.errors.is_empty() && view.warnings.is_empty();
    let mut out = String::from(if is_fine { "The configuration files are fine.\n" } else { "" });
    for line in view.errors.iter().chain(&view.warnings) {
        out.push_str(&format!("{line}\n"));
    }
    for line in &view.waiting {
        out.push_str(&format!("waits for `haltline trust`: {line}\n"));
    }
    out
}

/// `config path`.
pub fn config_path(view: &PathView) -> String {
    format!(
        "user config     {}\nproject config  {}\nstate           {}\nproject         {}\n",
        view.user_config, view.project_config, view.state, view.project
    )
}
