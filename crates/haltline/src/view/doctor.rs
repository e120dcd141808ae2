//! Views of `haltline doctor`: whether haltline works where it is installed.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct DoctorView {
    pub schema: u32,
    pub version: &'static str,
    pub binary: String,
    pub is_installed: bool,
    pub is_fine: bool,
    pub checks: Vec<CheckupView>,
    /// One for each client that has hooks.
    #[serde(rename = "rehearsals")]
    pub self_tests: Vec<SelfTestView>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct CheckupView {
    pub name: &'static str,
    pub is_fine: bool,
    /// What was found.
    pub says: String,
    /// What to type or to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl CheckupView {
    pub fn fine(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, is_fine: true, says: says.into(), fix: None }
    }

    pub fn problem(name: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, is_fine: false, says: says.into(), fix: Some(fix.into()) }
    }
}

/// A loop that was played through the installed hooks.
#[derive(Debug, Serialize)]
pub struct SelfTestView {
    pub client: &'static str,
    pub rounds: Vec<SelfTestRoundView>,
    pub hook_calls: usize,
    pub median_ms: f64,
    pub slowest_ms: f64,
}

#[derive(Debug, Serialize)]
pub struct SelfTestRoundView {
    pub verdict: &'static str,
    pub expected: &'static str,
    /// Duration of its slowest hook.
    pub ms: f64,
}
