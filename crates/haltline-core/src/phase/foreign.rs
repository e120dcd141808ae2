//! A course as a state file tells of it (P5, P8).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{HistoryLine, Metrics, PhaseName};
use crate::Instant;

/// What a state file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    /// Whether it wins over what is known here: Ralph's file does, seed 001's can only tighten.
    pub wins: Override,
    /// The state it claims.
    pub stand: ForeignStand,
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// Iterations in a row with the same error.
    pub same_error: u32,
    /// SHA-256 of that error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Iterations in a row with denied permissions.
    #[serde(default)]
    pub denials: u32,
    /// The last numbers of each phase.
    #[serde(default)]
    pub baselines: BTreeMap<PhaseName, Metrics>,
    /// The phase, where it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseName>,
    /// The iteration, where it says one.
    #[serde(default)]
    pub iteration: u64,
    /// The last iteration that made progress.
    #[serde(default)]
    pub last_progress: u64,
    /// How often it opened.
    #[serde(default)]
    pub opens: u64,
    /// Its history.
    #[serde(default)]
    pub history: Vec<HistoryLine>,
}

/// Which of two tellings is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// The file, whatever it says.
    File,
    /// The store; a file can open a circuit, never close one.
    Store,
}

/// A state, as a file tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForeignStand {
    /// CLOSED.
    Closed,
    /// HALF_OPEN.
    Warned,
    /// OPEN.
    Open {
        /// Since when.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Instant>,
        /// Why.
        reason: String,
        /// For how long, where it ends by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cooldown_ms: Option<u64>,
    },
}
