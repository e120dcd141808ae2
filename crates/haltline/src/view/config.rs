//! Views of the configuration.

use haltline_engine::config::{BREAKER_FILE, Config, Origin, Setting};
use serde::Serialize;
use serde_json::Value as Json;

use super::SCHEMA;

#[derive(Debug, Serialize)]
pub struct ShowView {
    pub schema: u32,
    pub values: Vec<ValueView>,
    pub errors: Vec<String>,
    /// Values of seed 002's file that were rejected.
    pub warnings: Vec<String>,
}

/// One value and where it comes from.
#[derive(Debug, Serialize)]
pub struct ValueView {
    pub key: &'static str,
    pub value: Json,
    /// `default`, `breaker-file`, `user` or `project`.
    pub origin: &'static str,
    pub file: Option<String>,
    /// The value that a project file requests, once trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Json>,
}

impl ShowView {
    pub fn new(config: &Config) -> Self {
        Self {
            schema: SCHEMA,
            values: config.settings().iter().map(ValueView::new).collect(),
            errors: config.errors.iter().map(ToString::to_string).collect(),
            warnings: config.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

impl ValueView {
    pub fn new(setting: &Setting) -> Self {
        let (origin, file) = match &setting.origin {
            Origin::Default => ("default", None),
            Origin::BreakerFile => ("breaker-file", Some(BREAKER_FILE.to_owned())),
            Origin::User(path) => ("user", Some(path.display().to_string())),
            Origin::Project(path) => ("project", Some(path.display().to_string())),
        };
        let waiting = setting.waiting.last().map(|waiting| Json::from(&waiting.value));
        Self { key: setting.key.name, value: Json::from(&setting.value), origin, file, waiting }
    }
}

/// Where files and folders are.
#[derive(Debug, Serialize)]
pub struct PathView {
    pub schema: u32,
    pub user_config: String,
    pub project_config: String,
    pub state: String,
    pub project: String,
}

/// Whether the files are valid.
#[derive(Debug, Serialize)]
pub struct CheckView {
    pub schema: u32,
    pub is_valid: bool,
    pub errors: Vec<String>,
    /// Values of seed 002's file that were rejected.
    pub warnings: Vec<String>,
    /// What waits for trust.
    pub waiting: Vec<String>,
}
