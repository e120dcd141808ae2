//! Text of `haltline update`.

use super::Page;
use crate::view::update::{NewestVersion, UpdateOutcome, UpdateView};

/// `haltline update`.
pub fn update(view: &UpdateView) -> String {
    let mut page = Page::new(8);
    let before = view.hooks_version.as_deref().unwrap_or("an unknown version");
    let is_same_version = view.hooks_version.as_deref() == Some(view.version);
    page.line(match view.outcome {
        UpdateOutcome::NotInstalled => {
            format!("This is haltline {}. No hooks are installed; install them: haltline init", view.version)
        }
        UpdateOutcome::Elsewhere => {
            format!("The hooks run another program (version {before}). Make them run this one: haltline init")
        }
        UpdateOutcome::Current => format!("The hooks run this version, {}.", view.version),
        UpdateOutcome::Outdated if is_same_version => {
            format!("The hooks run another build of version {before}. Replace it: haltline update")
        }
        UpdateOutcome::Outdated => {
            format!("The hooks run version {before}, and this is {}. Replace it: haltline update", view.version)
        }
        UpdateOutcome::Updated if is_same_version => {
            format!("Updated: the hooks run this build of version {before} from now on.")
        }
        UpdateOutcome::Updated => format!("Updated: the hooks run {} instead of {before}.", view.version),
    });
    page.rows("Hooks", &view.hooks_run);
    page.row("This", &view.program);
    match &view.newest {
        Some(NewestVersion::Known { version, is_newer: true }) => {
            page.row("Newest", format_args!("{version}, newer than this one"));
        }
        Some(NewestVersion::Known { version, is_newer: false }) => page.row("Newest", version),
        Some(NewestVersion::Unknown { reason }) => page.row("Newest", format_args!("unknown: {reason}")),
        None => {}
    }
    page.rows("Upgrade", view.upgrade);
    page.finish()
}
