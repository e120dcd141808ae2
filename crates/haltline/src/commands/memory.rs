//! `haltline memory`: the folder in which an agent remembers things (L9).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_engine::memory_protection::{clean, report};

use crate::cli::Memory;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::surroundings;
use crate::view::SCHEMA;
use crate::view::memory::{CleanView, CleanedView, MemoryView, ReportView};
use crate::workplace::Workplace;

/// Runs a memory command.
pub fn run(workplace: &Workplace, command: &Memory) -> Result<ExitCode, Failure> {
    match command {
        Memory::Report { memory_folder } => {
            let folders = folders(workplace, memory_folder.as_deref())?;
            let folders = folders.iter().map(|folder| view(workplace, folder)).collect();
            workplace.answer(&ReportView { schema: SCHEMA, folders }, text::memory_report)?;
            Ok(exit_code::FINE)
        }
        Memory::Clean { memory_folder, session } => {
            let folders = folders(workplace, memory_folder.as_deref())?;
            let active = session.clone().or_else(surroundings::session);
            let (limits, now) = (workplace.engine.config().memory_limits(), workplace.engine.now().at);
            let mut view = CleanView { schema: SCHEMA, folders: Vec::new() };
            for folder in folders {
                let done = clean(&folder, &limits, active.as_deref(), now)
                    .map_err(|error| Failure::Plain(format!("memory folder {}: {error}", folder.display())))?;
                done.problems.iter().for_each(|problem| text::warn(problem));
                view.folders.push(CleanedView::new(&folder, &done));
            }
            workplace.answer(&view, text::memory_clean)?;
            let is_clean = view.folders.iter().all(|folder| folder.problems.is_empty());
            Ok(if is_clean { exit_code::FINE } else { exit_code::ERROR })
        }
    }
}

/// One folder, as seen; for `haltline status` too.
pub fn view(workplace: &Workplace, folder: &Path) -> MemoryView {
    let limits = workplace.engine.config().memory_limits();
    let now = workplace.engine.now().at;
    MemoryView::new(folder, &report(folder, &limits, now), limits.telemetry_lines_max)
}

/// The folder that was named, else those there are.
fn folders(workplace: &Workplace, named: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = named else { return Ok(usual_folders(workplace)) };
    match fs::metadata(folder) {
        Ok(kind) if kind.is_dir() => Ok(vec![folder.to_owned()]),
        Ok(_other) => Err(Failure::Plain(format!("--dir {}: expected a folder", folder.display()))),
        Err(error) => Err(Failure::Plain(format!("--dir {}: {error}", folder.display()))),
    }
}

/// haltline's own, and the project's where it does not lead out of the project.
pub fn usual_folders(workplace: &Workplace) -> Vec<PathBuf> {
    let engine = &workplace.engine;
    let root = &engine.project().root;
    let own = engine.store().folder().join("memory");
    let theirs = fs::canonicalize(root.join(engine.config().memory_directory())).ok();
    let is_inside = |folder: &PathBuf| fs::canonicalize(root).is_ok_and(|root| folder.starts_with(root));
    own.is_dir().then_some(own).into_iter().chain(theirs.filter(|folder| folder.is_dir()).filter(is_inside)).collect()
}
