//! What every command works with: the engine of the current project, and how to print results.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_engine::clock::Clock;
use haltline_engine::config::PROJECT_FILE;
use haltline_engine::project::Project;
use haltline_engine::store::Sqlite;
use haltline_engine::{ConfigReading, Engine, OwnFiles};
use serde::Serialize;

use crate::environment;
use crate::error::Failure;
use crate::front::text;

/// How long a command waits for other writers of the store (E2).
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Without git, the nearest folder that contains one of these is the project, for hooks and commands alike (E14).
pub const PROJECT_MARKERS: &[&str] = &[PROJECT_FILE, "docs/constraints", ".claude"];

/// The engine of a project and the output format.
pub struct Context {
    pub engine: Engine<Sqlite>,
    pub is_json: bool,
    /// The current folder; relative paths on the command line start here.
    pub folder: PathBuf,
}

impl Context {
    /// Opens the project that contains `folder`, or the current folder.
    pub fn open(folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<Self, Failure> {
        let folder = folder.unwrap_or(Path::new("."));
        let project = Project::find(folder, PROJECT_MARKERS)
            .map_err(|error| Failure::Plain(format!("folder {}: {error}", folder.display())))?;
        let own_files =
            OwnFiles { state_folder: environment::state_folder()?, user_config: environment::user_config()? };
        let engine = Engine::open(own_files, project, STORE_TIMEOUT, ConfigReading::Files, clock);
        engine.record_seen_values();
        Ok(Self { engine, is_json, folder: std::path::absolute(folder)? })
    }

    /// Prints a view to standard output, as JSON or as text that is safe for a terminal.
    pub fn print<V: Serialize>(&self, view: &V, as_text: impl FnOnce(&V) -> String) -> Result<(), Failure> {
        self.print_verbatim(view, |view| text::escape_lines(&as_text(view)).into_owned())
    }

    /// Prints a text that a person edits and hands back: safe on a terminal, byte for byte in a file or a pipe.
    pub fn print_document<V: Serialize>(&self, view: &V, as_text: impl FnOnce(&V) -> String) -> Result<(), Failure> {
        if std::io::stdout().is_terminal() { self.print(view, as_text) } else { self.print_verbatim(view, as_text) }
    }

    /// Prints a view to standard output, as JSON or as text without escapes, because the person asked for every byte.
    pub fn print_verbatim<V: Serialize>(&self, view: &V, as_text: impl FnOnce(&V) -> String) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if self.is_json {
            serde_json::to_writer_pretty(&mut out, view).map_err(|error| Failure::from(std::io::Error::from(error)))?;
            writeln!(out)?;
        } else {
            out.write_all(as_text(view).as_bytes())?;
        }
        Ok(out.flush()?)
    }

    /// Prints to standard error which configuration files and values are ignored.
    pub fn print_config_errors(&self) {
        for error in &self.engine.config().errors {
            text::warn(&format!("{error} (the file is left out until it is mended: haltline config check)"));
        }
        for warning in &self.engine.config().warnings {
            text::warn(&warning.to_string());
        }
    }

    /// Prints repairs of the store and other notices of the engine to standard error.
    pub fn print_notices(&self) {
        for salvage in self.engine.store().take_salvages() {
            text::warn(&text::salvage(&salvage, self.engine.store().folder()));
        }
        for notice in self.engine.take_notices() {
            text::warn(&notice);
        }
    }
}
