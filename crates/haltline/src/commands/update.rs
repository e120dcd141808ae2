//! `haltline update`: makes the hooks run this version, and says how to get a newer one. haltline itself never uses the
//! network for this; `--check` asks the package manager that installed it.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::cli::Update;
use crate::context::Context;
use crate::error::Failure;
use crate::front::text;
use crate::installation::InstallationRecord;
use crate::installation::hook_program::{HookProgram, VersionQuery};
use crate::view::SCHEMA;
use crate::view::update::{NewestVersion, UpdateOutcome, UpdateView};

/// Replaces the program that the hooks run, or with `--check` only reports.
pub fn run(context: &Context, command: &Update) -> Result<ExitCode, Failure> {
    let program = HookProgram::of_this_process()?;
    let record = InstallationRecord::read(context.engine.state_folder())?;
    let hooks_run = record.hook_programs();
    let is_used = hooks_run.contains(&program.path.as_path());
    let outcome = match (hooks_run.is_empty(), is_used, program.is_outdated(), command.is_check) {
        (true, _, _, _) => UpdateOutcome::NotInstalled,
        (false, false, _, _) => UpdateOutcome::Elsewhere,
        (false, true, false, _) => UpdateOutcome::Current,
        (false, true, true, true) => UpdateOutcome::Outdated,
        (false, true, true, false) => UpdateOutcome::Updated,
    };
    let replaced = hooks_run.first().and_then(|path| version_of(path));
    if outcome == UpdateOutcome::Updated {
        context.confirm("update", None)?;
        program.keep()?;
    }
    let view = UpdateView {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        program: program.own.display().to_string(),
        installed_by: program.installed_by,
        hooks_run: hooks_run.iter().map(|path| path.display().to_string()).collect(),
        hooks_version: replaced,
        outcome,
        upgrade: program.installed_by.upgrade_command(),
        newest: command.is_check.then(|| newest(program.installed_by.newest_version_query())),
    };
    context.print(&view, text::update)
}

/// The version that a program prints; `None` if it prints none.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    version_after(&String::from_utf8_lossy(&output.stdout), "haltline")
}

/// Asks the package manager for the newest version.
fn newest(query: Option<VersionQuery>) -> NewestVersion {
    let Some(VersionQuery { command: [name, arguments @ ..], label }) = query else {
        return NewestVersion::Unknown { reason: "no package manager installed this program".to_owned() };
    };
    let shown = format!("{name} {}", arguments.join(" "));
    let output = match Command::new(name).args(arguments).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return NewestVersion::Unknown { reason: format!("`{shown}`: {error}") },
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match version_after(&text, label) {
        Some(version) => {
            let is_newer = numbers(&version) > numbers(env!("CARGO_PKG_VERSION"));
            NewestVersion::Known { version, is_newer }
        }
        None => NewestVersion::Unknown { reason: format!("`{shown}` names no version ({})", output.status) },
    }
}

/// The first word that looks like a version after `label`.
fn version_after(text: &str, label: &str) -> Option<String> {
    let (_, rest) = text.split_once(label)?;
    let words = rest.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '+'));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.matches('.').count() >= 2;
    words.map(|word| word.trim_matches('.')).find(is_version).map(str::to_owned)
}

/// The numbers of a version, for comparing.
fn numbers(version: &str) -> Vec<u64> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core.split('.').map(|number| number.parse().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_the_output_of_each_package_manager() {
        let cases = [
            ("0.3.1\n", "", "0.3.1"),
            ("haltline (0.3.1)\nAvailable versions: 0.3.1, 0.3.0\n", "haltline", "0.3.1"),
            (
                "haltline #agents\nStops agents.\nversion: 0.3.1 (latest 0.4.0)\nrust-version: 1.90.0\n",
                "version:",
                "0.3.1",
            ),
            ("haltline:\n  Installed: 0.1.0\n  Candidate: 0.3.1-1\n", "Candidate:", "0.3.1-1"),
            ("==> haltline: stable 0.3.1 (bottled)\n", "stable", "0.3.1"),
        ];
        for (text, label, expected) in cases {
            assert_eq!(version_after(text, label).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(version_after("no such package", "haltline"), None);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(numbers("0.10.0") > numbers("0.9.9"));
        assert!(numbers("0.3.1-1") == numbers("0.3.1"));
    }
}
