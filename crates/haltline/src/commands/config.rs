//! `haltline config`.

mod change;

pub use change::set_value;

use std::process::ExitCode;

use haltline_engine::config::{PROJECT_FILE, commented_toml, json_schema};

use super::claim::rounds_warning;
use super::trust;
use crate::cli::Config;
use crate::context::Context;
use crate::environment;
use crate::error::Failure;
use crate::exit_code;
use crate::front::text;
use crate::view::SCHEMA;
use crate::view::config::{CheckView, PathView, ShowView};

pub fn run(context: &Context, command: &Config) -> Result<ExitCode, Failure> {
    let engine = &context.engine;
    match command {
        Config::Get { key } => return change::get(context, key),
        Config::Set(command) => return change::set(context, command),
        Config::Unset(command) => return change::unset(context, command),
        Config::Edit(command) => return change::edit(context, command),
        Config::Show => context.print(&ShowView::new(engine.config()), text::config_show)?,
        Config::Schema => context.print(&json_schema(), |schema| format!("{schema:#}\n"))?,
        Config::Defaults => context.print(&serde_json::json!({"toml": commented_toml()}), |_| commented_toml())?,
        Config::Path => {
            let view = PathView {
                schema: SCHEMA,
                user_config: environment::user_config()?.display().to_string(),
                project_config: engine.project().root.join(PROJECT_FILE).display().to_string(),
                state: engine.store().folder().display().to_string(),
                project: engine.project().identity.display().to_string(),
            };
            context.print(&view, text::config_path)?
        }
        Config::Check => {
            let errors: Vec<String> = engine.config().errors.iter().map(ToString::to_string).collect();
            let waiting = trust::waiting(context)?;
            let waiting = waiting
                .iter()
                .map(|waiting| format!("{}: {} {} → {}", waiting.file, waiting.key, waiting.from, waiting.to));
            let view = CheckView {
                schema: SCHEMA,
                is_valid: errors.is_empty(),
                errors,
                warnings: engine
                    .config()
                    .warnings
                    .iter()
                    .map(ToString::to_string)
                    .chain(rounds_warning(&engine.config().policy().claim))
                    .collect(),
                waiting: waiting.collect(),
            };
            context.print(&view, text::config_check)?
        }
    };
    Ok(if engine.config().errors.is_empty() { exit_code::SUCCESS } else { exit_code::ERROR })
}
