//! The policies that sessions are evaluated with: the current configuration, another file, a preset, or two of these.

use std::path::Path;
use std::time::Duration;

use haltline_core::Policy;
use haltline_core::loop_::Preset;
use haltline_engine::clock::Clock;
use haltline_engine::config::{Config, Price};
use haltline_engine::load_trust;
use haltline_engine::project::Project;
use haltline_engine::store::{Sqlite, SqliteOptions};

use crate::cli::{Backtest, preset};
use crate::context::PROJECT_MARKERS;
use crate::environment;
use crate::error::Failure;
use crate::front::text;

/// A policy and its name in the report.
pub struct NamedPolicy {
    pub name: String,
    pub policy: Policy,
}

/// The policies of a backtest and the prices of models.
pub struct BacktestPolicies {
    /// One policy, or two to compare.
    pub policies: Vec<NamedPolicy>,
    /// Prices from the current configuration.
    pub prices: Vec<Price>,
}

impl BacktestPolicies {
    /// Loads the configurations that the command names.
    pub fn load(command: &Backtest, folder: Option<&Path>, clock: Clock) -> Result<Self, Failure> {
        let in_force = in_force(folder, clock)?;
        let prices = in_force.prices();
        if let [a, b] = command.compare.as_slice() {
            return Ok(Self { policies: vec![load_named(a)?, load_named(b)?], prices });
        }
        let (mut name, config) = match &command.config {
            Some(file) => (file.display().to_string(), read(file)?),
            None => ("the current configuration".to_owned(), in_force),
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
        Ok(Self { policies: vec![NamedPolicy { name, policy }], prices })
    }
}

/// Loads a preset with nothing else set, or a configuration file.
fn load_named(name: &str) -> Result<NamedPolicy, Failure> {
    let policy = match preset(name) {
        Ok(preset) => {
            let mut policy = Policy::default();
            policy.loop_.preset = preset;
            policy
        }
        Err(_no_preset) => read(Path::new(name))?.policy().clone(),
    };
    Ok(NamedPolicy { name: name.to_owned(), policy })
}

/// Loads the current configuration here. It reads the store only if a person trusted something, and never writes it.
fn in_force(folder: Option<&Path>, clock: Clock) -> Result<Config, Failure> {
    let user_file = environment::user_config()?;
    let Ok(project) = Project::find(folder.unwrap_or(Path::new(".")), PROJECT_MARKERS) else {
        return Ok(Config::load(&user_file, None, || None));
    };
    let state_folder = environment::state_folder()?;
    let timeout = Duration::from_secs(5);
    let options = SqliteOptions { timeout, bytes_max: u64::MAX, journal_days: u32::MAX, clock };
    let store = Sqlite::new(&state_folder, options);
    Ok(Config::load(&user_file, Some(&project.root), || load_trust(&store, &state_folder, &project)))
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
