//! Keeps haltline's files in a project out of `git status`, if the person asks for it: two lines in the repository's own
//! `info/exclude`, which git never shares.

use std::path::PathBuf;

use haltline_engine::project::Project;

use super::{ForeignFile, make_folder};
use crate::error::Failure;

/// The files that haltline writes into a project, as git patterns.
const PATTERNS: [&str; 2] = [".prp-session/", ".circuit-state*.json"];
/// Marks the lines, so that they can be removed again.
const HEADING: &str = "# haltline's state files";

/// The exclude file of the project's repository; `None` without git.
fn path(project: &Project) -> Option<PathBuf> {
    let git_folder = &project.identity;
    git_folder.join("HEAD").exists().then(|| git_folder.join("info/exclude"))
}

/// Adds the patterns that are missing. Returns the file if it was changed.
pub fn add(project: &Project) -> Result<Option<PathBuf>, Failure> {
    let path = path(project).ok_or_else(|| {
        Failure::Plain(format!("--git-exclude: {} is not in a git repository", project.root.display()))
    })?;
    let file = ForeignFile::read(&path)?;
    let before = file.text.clone().unwrap_or_default();
    let missing: Vec<&str> =
        PATTERNS.into_iter().filter(|pattern| !before.lines().any(|line| line.trim() == *pattern)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let line_end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    make_folder(path.parent().unwrap_or(&path))?;
    file.replace(&format!("{before}{line_end}{HEADING}\n{}\n", missing.join("\n")), false)?;
    Ok(Some(path))
}

/// Removes what [`add`] wrote. Returns the file if it was changed.
pub fn remove(project: &Project) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = path(project) else { return Ok(None) };
    let file = ForeignFile::read(&path)?;
    let Some(before) = file.text.clone().filter(|text| text.lines().any(|line| line == HEADING)) else {
        return Ok(None);
    };
    let mut is_ours = false;
    let kept = before.split_inclusive('\n').filter(|line| {
        let line = line.trim_end_matches('\n');
        is_ours = line == HEADING || (is_ours && PATTERNS.contains(&line));
        !is_ours
    });
    file.replace(&kept.collect::<String>(), false)?;
    Ok(Some(path))
}
