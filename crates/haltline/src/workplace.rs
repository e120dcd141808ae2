//! Everything a command works with: the engine of the project one is in, and how to answer.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haltline_engine::clock::Clock;
use haltline_engine::config::{Config, PROJECT_FILE};
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions};
use haltline_engine::{Engine, trust_of};
use serde::Serialize;

use crate::error::Failure;
use crate::front::text;
use crate::surroundings;

/// How long a command waits for others (E2).
const PATIENCE: Duration = Duration::from_secs(5);

/// Without git, the nearest folder with one of these is the project: for hooks and commands alike (E14).
pub const PROJECT_MARKS: &[&str] = &[PROJECT_FILE, "docs/constraints", ".claude"];

/// The engine, and whether answers are JSON.
pub struct Workplace {
    /// The project's engine.
    pub engine: Engine<Sqlite>,
    /// Whether answers are JSON.
    pub is_json: bool,
    /// Where one is: paths on the command line start here.
    pub folder: PathBuf,
}

impl Workplace {
    /// The workplace of a folder.
    pub fn open(folder: Option<&Path>, is_json: bool, clock: Clock) -> Result<Self, Failure> {
        let folder = folder.unwrap_or(Path::new("."));
        let project = Project::around(folder, PROJECT_MARKS)
            .map_err(|error| Failure::Plain(format!("folder {}: {error}", folder.display())))?;
        let state_folder = surroundings::state_folder()?;
        let options = SqliteOptions { patience: PATIENCE, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
        let mut store = Sqlite::new(&state_folder, options);
        let trusted = || trust_of(&store, &state_folder, &project);
        let config = Config::load(&surroundings::user_config()?, Some(&project.root), trusted);
        store.set_limits(config.state_bytes_max(), config.journal_days());
        let engine = Engine::new(store, project, config, clock, state_folder);
        engine.remember_sighting();
        Ok(Self { engine, is_json, folder: std::path::absolute(folder)? })
    }

    /// Prints an answer: the view as JSON, or the text made of it.
    pub fn answer<V: Serialize>(&self, view: &V, as_text: impl FnOnce(&V) -> String) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if self.is_json {
            serde_json::to_writer_pretty(&mut out, view).map_err(|error| Failure::from(std::io::Error::from(error)))?;
            writeln!(out)?;
        } else {
            out.write_all(as_text(view).as_bytes())?;
        }
        Ok(out.flush()?)
    }

    /// Tells the person which configuration files are left out, on standard error.
    pub fn tell_config_errors(&self) {
        for error in &self.engine.config().errors {
            text::warn(&format!("{error} (the file is left out until it is mended: haltline config check)"));
        }
        for warning in &self.engine.config().warnings {
            text::warn(&warning.to_string());
        }
    }

    /// Tells the person what came up on the way, on standard error.
    pub fn tell_notices(&self) {
        for salvage in self.engine.store().salvages() {
            text::warn(&text::salvage(&salvage, self.engine.store().folder()));
        }
        for notice in self.engine.notices() {
            text::warn(&notice);
        }
    }
}
