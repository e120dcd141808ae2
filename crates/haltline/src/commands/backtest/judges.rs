//! What sessions are judged by: the configuration in force, another file, a preset, or two of these.

use std::path::Path;
use std::time::Duration;

use haltline_core::Policy;
use haltline_core::loop_::Preset;
use haltline_engine::clock::Clock;
use haltline_engine::config::{Config, Price};
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions};
use haltline_engine::trust_of;

use crate::cli::{Backtest, preset};
use crate::error::Failure;
use crate::front::text;
use crate::surroundings;
use crate::workplace::PROJECT_MARKS;

/// A policy, and what to call it.
pub struct Judge {
    /// As the report names it.
    pub name: String,
    /// What decisions see.
    pub policy: Policy,
}

/// Who judges, and what models cost.
pub struct Judges {
    /// One, or two to compare.
    pub judges: Vec<Judge>,
    /// What the configuration in force says of prices.
    pub prices: Vec<Price>,
}

impl Judges {
    /// Reads the configurations that a command names.
    pub fn load(command: &Backtest, folder: Option<&Path>, clock: Clock) -> Result<Self, Failure> {
        let in_force = in_force(folder, clock)?;
        let prices = in_force.prices();
        if let [a, b] = command.compare.as_slice() {
            return Ok(Self { judges: vec![named(a)?, named(b)?], prices });
        }
        let (mut name, config) = match &command.config {
            Some(file) => (file.display().to_string(), read(file)?),
            None => ("the configuration in force".to_owned(), in_force),
        };
        for error in config.errors.iter().chain(&config.warnings) {
            text::warn(&error.to_string());
        }
        let mut policy = config.policy().clone();
        if let Some(preset) = command.preset {
            policy.loop_.preset = preset;
        }
        match policy.loop_.preset {
            Preset::Default => name.push_str(", preset default"),
            Preset::Literal => name.push_str(", preset literal"),
        }
        Ok(Self { judges: vec![Judge { name, policy }], prices })
    }
}

/// A preset with nothing else set, or a file.
fn named(word: &str) -> Result<Judge, Failure> {
    let policy = match preset(word) {
        Ok(preset) => {
            let mut policy = Policy::default();
            policy.loop_.preset = preset;
            policy
        }
        Err(_no_preset) => read(Path::new(word))?.policy().clone(),
    };
    Ok(Judge { name: word.to_owned(), policy })
}

/// The configuration in force here. The store is asked only where a person trusted something, and only read.
fn in_force(folder: Option<&Path>, clock: Clock) -> Result<Config, Failure> {
    let user_file = surroundings::user_config()?;
    let Ok(project) = Project::around(folder.unwrap_or(Path::new(".")), PROJECT_MARKS) else {
        return Ok(Config::load(&user_file, None, || None));
    };
    let state_folder = surroundings::state_folder()?;
    let patience = Duration::from_secs(5);
    let options = SqliteOptions { patience, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
    let store = Sqlite::new(&state_folder, options);
    Ok(Config::load(&user_file, Some(&project.root), || trust_of(&store, &state_folder, &project)))
}

fn read(file: &Path) -> Result<Config, Failure> {
    if !file.exists() {
        return Err(Failure::Plain(format!(
            "config {}: there is no such file, and no preset of that name (default, literal)",
            file.display()
        )));
    }
    let config = Config::load(file, None, || None);
    match config.errors.first() {
        Some(error) => Err(Failure::Plain(error.to_string())),
        None => Ok(config),
    }
}
