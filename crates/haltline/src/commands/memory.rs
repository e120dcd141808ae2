//! `haltline memory`: the folder where an agent keeps its memory (L9).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haltline_engine::memory_protection::{Cleanup, clean, report};

use crate::cli::Memory;
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::memory::{FolderView, FoldersView, MemoryView};

pub fn run(context: &Context, command: &Memory) -> Result<ExitCode, Failure> {
    match command {
        Memory::Report { memory_folder } => {
            let folders = folders(context, memory_folder.as_deref())?;
            let folders = folders.iter().map(|folder| view(context, folder)).collect();
            context.print(&FoldersView { schema: SCHEMA, folders }, text::memory_report)
        }
        Memory::Clean { memory_folder, session } => {
            let folders = folders(context, memory_folder.as_deref())?;
            let active = session.clone().or_else(environment::session);
            let (limits, now) = (context.engine.config().memory_limits(), context.engine.now().at);
            let mut view = FoldersView { schema: SCHEMA, folders: Vec::new() };
            for folder in folders {
                let done = match folder.exists() {
                    true => clean(&folder, &limits, active.as_deref(), now)
                        .map_err(|error| Failure::Plain(format!("memory folder {}: {error}", folder.display())))?,
                    false => Cleanup::default(),
                };
                done.problems.iter().for_each(|problem| text::warn(problem));
                view.folders.push(FolderView::new(&folder, done));
            }
            context.print(&view, text::memory_clean)?;
            let is_clean = view.folders.iter().all(|folder| folder.content.problems.is_empty());
            Ok(if is_clean { exit_code::SUCCESS } else { exit_code::ERROR })
        }
    }
}

/// The view of one folder, also used by `haltline status`.
pub fn view(context: &Context, folder: &Path) -> MemoryView {
    let limits = context.engine.config().memory_limits();
    let now = context.engine.now().at;
    FolderView::new(folder, report(folder, &limits, now))
}

/// Returns the named folder, or else haltline's own and the project's.
fn folders(context: &Context, named: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = named else {
        // haltline's own folder is listed even before anything is in it: its absence is an answer, too.
        let mut folders = usual_folders(context);
        let own = own_folder(context);
        if !folders.contains(&own) {
            folders.push(own);
        }
        return Ok(folders);
    };
    match fs::metadata(folder) {
        Ok(kind) if kind.is_dir() => Ok(vec![folder.to_owned()]),
        Ok(_other) => Err(Failure::Plain(format!("--memory {}: expected a folder", folder.display()))),
        Err(error) => Err(Failure::Plain(format!("--memory {}: {error}", folder.display()))),
    }
}

/// haltline's own folder.
fn own_folder(context: &Context) -> PathBuf {
    context.engine.store().folder().join("memory")
}

/// Returns haltline's own folder if it exists, and the project's unless it leads out of the project.
pub fn usual_folders(context: &Context) -> Vec<PathBuf> {
    let engine = &context.engine;
    let root = &engine.project().root;
    let own = own_folder(context);
    let theirs = fs::canonicalize(root.join(engine.config().memory_directory())).ok();
    let is_inside = |folder: &PathBuf| fs::canonicalize(root).is_ok_and(|root| folder.starts_with(root));
    own.is_dir().then_some(own).into_iter().chain(theirs.filter(|folder| folder.is_dir()).filter(is_inside)).collect()
}
