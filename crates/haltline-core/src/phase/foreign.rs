//! A phase run as a state file describes it (P5, P8).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{HistoryLine, Metrics, PhaseName};
use crate::Instant;

/// The content of a state file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignRun {
    /// Which side wins where file and store differ: Ralph's file wins, seed 001's file can only open a circuit.
    #[serde(rename = "wins")]
    pub precedence: Precedence,
    #[serde(rename = "stand")]
    pub state: ForeignState,
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// Iterations in a row with the same error.
    pub same_error: u32,
    /// SHA-256 of that error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Iterations in a row in which a permission was denied.
    #[serde(rename = "denials", default)]
    pub permission_denials: u32,
    #[serde(default)]
    pub baselines: BTreeMap<PhaseName, Metrics>,
    /// `None` where the file does not name a phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseName>,
    /// 0 where the file does not number its iterations.
    #[serde(default)]
    pub iteration: u64,
    /// Number of the last iteration that made progress.
    #[serde(default)]
    pub last_progress: u64,
    /// How often the circuit opened, as Ralph counts.
    #[serde(rename = "opens", default)]
    pub open_count: u64,
    #[serde(default)]
    pub history: Vec<HistoryLine>,
}

/// Which side haltline believes where a state file and the store differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precedence {
    /// The file, whatever it says.
    File,
    /// The store: a file can open a circuit but never close one.
    Store,
}

/// A circuit state as a state file names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForeignState {
    Closed,
    /// HALF_OPEN in the file.
    Warned,
    Open {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Instant>,
        reason: String,
        /// Length of the cooldown; `None` = until a person decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cooldown_ms: Option<u64>,
    },
}
