//! The view of `haltline explain`.

use haltline_core::CodePage;
use haltline_engine::config::{Config, Setting};
use serde::Serialize;

use super::SCHEMA;
use super::config::ValueView;

#[derive(Debug, Serialize)]
pub struct ExplainView {
    pub schema: u32,
    pub codes: Vec<CodeView>,
}

#[derive(Debug, Serialize)]
pub struct CodeView {
    pub code: &'static str,
    pub breaker: &'static str,
    /// Empty if the code stands for no pattern.
    pub pattern: &'static str,
    pub meaning: &'static str,
    pub advice: &'static str,
    /// The limits in force.
    pub limits: Vec<ValueView>,
}

impl ExplainView {
    pub fn new(pages: &[&'static CodePage], config: &Config) -> Self {
        let view = |page: &&'static CodePage| CodeView {
            code: page.code,
            breaker: page.breaker,
            pattern: page.pattern,
            meaning: page.meaning,
            advice: page.advice,
            limits: limits(config, page),
        };
        Self { schema: SCHEMA, codes: pages.iter().map(view).collect() }
    }
}

/// The thresholds in force below a table, for a loop of `haltline run`, whose circuit shares its codes with phases.
pub fn limits_below(config: &Config, table: &str) -> Vec<ValueView> {
    let is_limit =
        |name: &str| name.strip_prefix(table).is_some_and(|key| key.ends_with("_threshold") || key.ends_with("_max"));
    config.settings().iter().filter(|setting| is_limit(setting.key.name)).map(ValueView::new).collect()
}

/// The values in force of the keys that limit what a code stands for.
pub fn limits(config: &Config, page: &CodePage) -> Vec<ValueView> {
    let is_limit = |name: &str| {
        page.is_limited_by(name)
            && !["enabled", "commands", "tools", "usd_per_call"].iter().any(|end| name.ends_with(end))
    };
    // There are many budgets, and most are off.
    let is_off = |setting: &Setting| {
        let scope = setting.key.name.strip_prefix("budget.").and_then(|rest| rest.split_once('.'));
        scope.is_some_and(|(scope, _)| scope != "velocity") && setting.value == setting.key.default_value()
    };
    let shown = |setting: &&Setting| is_limit(setting.key.name) && !is_off(setting);
    config.settings().iter().filter(shown).map(ValueView::new).collect()
}
