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
        Self { key: setting.key.name, value: shown(setting), origin, file, waiting }
    }
}

/// A value as it may be shown: the addresses of notifications carry secrets, so only their hosts are.
fn shown(setting: &Setting) -> Json {
    let value = Json::from(&setting.value);
    if !setting.key.name.starts_with("notify.") {
        return value;
    }
    match value {
        Json::String(text) => Json::String(without_path(&text)),
        Json::Array(texts) => texts.iter().filter_map(Json::as_str).map(without_path).collect(),
        other => other,
    }
}

/// An address without what follows its host; a topic of ntfy is a secret as well.
fn without_path(text: &str) -> String {
    if let Some((scheme, rest)) = text.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
        return if rest.contains('/') { format!("{scheme}://{host}/…") } else { format!("{scheme}://{host}") };
    }
    if text.starts_with("ntfy:") { "ntfy:…".to_owned() } else { text.to_owned() }
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

/// The result of `config get`.
#[derive(Debug, Serialize)]
pub struct GetView {
    pub schema: u32,
    #[serde(flatten)]
    pub value: ValueView,
}

/// The result of `config set`, `config unset` and `config edit`.
#[derive(Debug, Serialize)]
pub struct ChangeView {
    pub schema: u32,
    pub file: String,
    /// Missing if the person edited the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The value in the file before, as TOML.
    pub from: Option<String>,
    /// The value in the file now, as TOML.
    pub to: Option<String>,
    /// True if the project's file has values that wait for trust.
    pub waits: bool,
    /// Missing if haltline changed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<super::AuditView>,
}
